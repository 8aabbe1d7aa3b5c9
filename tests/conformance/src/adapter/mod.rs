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
mod together;
mod unified;

use crate::condition::{RUNS_KERNELS, TAKES_PROGRAMS};
use crate::{Applies, Behaviour, Check, Condition};

/// The behaviours, by file.
pub const BEHAVIOURS: &[&[Behaviour]] = &[
    info::BEHAVIOURS,
    partition::BEHAVIOURS,
    together::BEHAVIOURS,
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
    Behaviour { name, applies: Applies::Everywhere, check: Check::Adapter(run) }
}

/// A behaviour of the devices of which `condition` is true.
const fn only_where(
    condition: &'static Condition,
    name: &'static str,
    run: fn(&crate::TestDevice) -> Result<(), String>,
) -> Behaviour {
    Behaviour { name, applies: Applies::Where(condition), check: Check::Adapter(run) }
}

/// A behaviour of devices that run kernels.
const fn where_kernels_run(
    name: &'static str,
    run: fn(&crate::TestDevice) -> Result<(), String>,
) -> Behaviour {
    only_where(&RUNS_KERNELS, name, run)
}

/// A behaviour of devices that programs are built for.
const fn where_programs_are_built(
    name: &'static str,
    run: fn(&crate::TestDevice) -> Result<(), String>,
) -> Behaviour {
    only_where(&TAKES_PROGRAMS, name, run)
}

/// Bytes that differ from their neighbours, to see that none went elsewhere.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i.wrapping_mul(31) ^ (i >> 8)) as u8).collect()
}
