//! One list of behaviours that every adapter must show.
//!
//! A behaviour is a sentence and a function that holds a device to it. The tests of this crate run
//! the whole list on one adapter each; what an adapter is known not to do is listed there with its
//! reason, and the run fails as soon as that is no longer true.
//!
//! - [`adapter`]: what the traits of `crosscut-adapter-api` promise.
//! - `device`, `kernel`: the device under test, and the kernels it is made to run, behind an
//!   interface that keeps every promise the traits ask of their callers.
//! - `verdict`: running the list.

pub mod adapter;
mod device;
mod kernel;
mod verdict;

pub use device::{Bench, Pending, TestDevice, TestKernel};
pub use kernel::{Place, Work, assemble, kernels};
pub use verdict::{ExpectedFailure, run};

/// Something that every device does.
pub struct Behaviour {
    /// What it does, as a sentence.
    pub name: &'static str,
    /// Which devices it is asked of.
    pub applies: Applies,
    /// Holds a device to it; the error says what happened instead.
    pub run: fn(&TestDevice) -> Result<(), String>,
}

/// Which devices a behaviour is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// All.
    Everywhere,
    /// Those that take SPIR-V.
    WhereKernelsRun,
}

/// Every behaviour there is.
#[must_use]
pub fn behaviours() -> Vec<&'static Behaviour> {
    adapter::BEHAVIOURS.iter().copied().flatten().collect()
}

/// Ends a behaviour with what happened instead, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;
