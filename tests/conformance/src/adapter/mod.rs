//! What the traits of `crosscut-adapter-api` promise.

mod barriers;
mod copies;
mod device_copies;
mod drops;
mod events;
mod groups;
mod info;
mod launches;
mod memory;
mod ordering;
mod partition;
mod programs;
mod refusals;
mod threads;
mod unified;

use crate::Behaviour;

/// The behaviours, by file.
pub const BEHAVIOURS: &[&[Behaviour]] = &[
    info::BEHAVIOURS,
    partition::BEHAVIOURS,
    memory::BEHAVIOURS,
    copies::BEHAVIOURS,
    device_copies::BEHAVIOURS,
    ordering::BEHAVIOURS,
    events::BEHAVIOURS,
    barriers::BEHAVIOURS,
    drops::BEHAVIOURS,
    threads::BEHAVIOURS,
    unified::BEHAVIOURS,
    programs::BEHAVIOURS,
    refusals::BEHAVIOURS,
    launches::BEHAVIOURS,
    groups::BEHAVIOURS,
];

/// A behaviour of every device.
const fn everywhere(
    name: &'static str,
    run: fn(&crate::TestDevice) -> Result<(), String>,
) -> Behaviour {
    Behaviour { name, applies: crate::Applies::Everywhere, run }
}

/// A behaviour of devices that take SPIR-V.
const fn where_kernels_run(
    name: &'static str,
    run: fn(&crate::TestDevice) -> Result<(), String>,
) -> Behaviour {
    Behaviour { name, applies: crate::Applies::WhereKernelsRun, run }
}

/// Bytes that differ from their neighbours, to see that none went elsewhere.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(31) ^ (i >> 8)) as u8).collect()
}
