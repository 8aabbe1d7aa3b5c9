//! What the runtime promises on top of any adapter: the programming model, without its types.
//!
//! `stage` is a context with a queue, behind an interface that keeps what the runtime asks of its
//! callers; `program` is a program with kernels and device globals as the link step would have made
//! it. The other modules are behaviours, by what they are about.

mod blocks;
mod buffers;
mod copies;
mod devices;
mod events;
mod fills;
mod globals;
mod inside_tasks;
mod launches;
mod lent;
mod limits;
mod program;
mod spirv;
mod stage;
mod tasks;
mod together;
mod unified;

pub use stage::{Failure, Stage};

use crate::condition::{RUNS_IMAGES, TAKES_SPIRV};
use crate::{Applies, Behaviour, Check, Condition};

/// The behaviours, by file.
pub const BEHAVIOURS: &[&[Behaviour]] = &[
    devices::BEHAVIOURS,
    together::BEHAVIOURS,
    buffers::BEHAVIOURS,
    fills::BEHAVIOURS,
    copies::BEHAVIOURS,
    blocks::BEHAVIOURS,
    tasks::BEHAVIOURS,
    lent::BEHAVIOURS,
    inside_tasks::BEHAVIOURS,
    events::BEHAVIOURS,
    launches::BEHAVIOURS,
    limits::BEHAVIOURS,
    globals::BEHAVIOURS,
    unified::BEHAVIOURS,
    spirv::BEHAVIOURS,
];

type Outcome = Result<(), Failure>;

/// A behaviour of every device.
const fn everywhere(name: &'static str, run: fn(&Stage) -> Outcome) -> Behaviour {
    Behaviour { name, applies: Applies::Everywhere, check: Check::Model(run) }
}

/// A behaviour of the devices of which `condition` is true.
const fn only_where(
    condition: &'static Condition,
    name: &'static str,
    run: fn(&Stage) -> Outcome,
) -> Behaviour {
    Behaviour { name, applies: Applies::Where(condition), check: Check::Model(run) }
}

/// A behaviour of devices that run kernels.
const fn where_kernels_run(name: &'static str, run: fn(&Stage) -> Outcome) -> Behaviour {
    only_where(&RUNS_IMAGES, name, run)
}

/// A behaviour of devices that programs are built for.
const fn where_programs_are_built(name: &'static str, run: fn(&Stage) -> Outcome) -> Behaviour {
    only_where(&TAKES_SPIRV, name, run)
}
