//! One list of behaviours that every device must show.
//!
//! A behaviour is a sentence and a function that holds a device to it. The tests of this crate run
//! the whole list on one adapter each; what an adapter is known not to do is listed there with its
//! reason, and the run fails as soon as that is no longer true. What a device is not asked for has a
//! condition, which is looked at in every run.
//!
//! - [`adapter`]: what the traits of `crosscut-adapter-api` promise; `device` and `kernel` keep every
//!   promise that these ask of their callers.
//! - [`model`]: what the runtime promises on top of any adapter.
//! - `native`: the kernels once more, for devices that run native code.
//! - `condition`, `verdict`: who is asked, and running the list.

pub mod adapter;
mod condition;
mod device;
mod kernel;
pub mod model;
mod native;
mod verdict;

pub use condition::{Applies, Condition};
pub use device::{Bench, Pending, TestDevice, TestKernel};
pub use kernel::{Place, Work, assemble, code, kernels};
pub use model::{Failure, Stage};
pub use verdict::{ExpectedFailure, Report, run};

/// Something that every device does.
pub struct Behaviour {
    /// What it does, as a sentence.
    pub name: &'static str,
    /// Which devices it is asked of.
    pub applies: Applies,
    /// Holds a device to it; the error says what happened instead.
    pub check: Check,
}

/// How a device is held to a behaviour.
#[derive(Clone, Copy)]
pub enum Check {
    /// By its adapter.
    Adapter(fn(&TestDevice) -> Result<(), String>),
    /// By the runtime, in a context of its own.
    Model(fn(&Stage) -> Result<(), Failure>),
}

/// Every behaviour there is.
#[must_use]
pub fn behaviours() -> Vec<&'static Behaviour> {
    let all = adapter::BEHAVIOURS.iter().chain(model::BEHAVIOURS);
    all.copied().flatten().collect()
}

/// Ends a behaviour with what happened instead, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+).into());
        }
    };
}
pub(crate) use ensure;
