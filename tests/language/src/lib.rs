//! Runs small kernels on every device of the process and compares the answers with the host's.
//!
//! Built by plain cargo there is only the host; built by `cargo crosscut` each test also runs on every
//! device that a driver offers. `CROSSCUT_REQUIRE_OPENCL=1` makes the absence of one a failure.

mod answers;
mod devices;
mod failures;

pub use answers::{Ulps, agree, agree_within};
pub use devices::{Target, targets};
pub use failures::{Message, panics};

use crosscut::{DeviceCopy, Queue, Result};

/// Applies `kernel` to each input on every device; returns the host's answers, which all share.
pub fn map<I, O, F>(inputs: &[I], kernel: F) -> Vec<O>
where
    I: DeviceCopy,
    O: DeviceCopy + std::fmt::Debug,
    F: Fn(I) -> O + Copy + Send + 'static,
{
    agree(|queue| apply(queue, inputs, kernel))
}

/// As [`map`], for floating-point functions of which devices promise only so many units in the last
/// place.
pub fn map_within<I, O, F>(ulps: u64, inputs: &[I], kernel: F) -> Vec<O>
where
    I: DeviceCopy,
    O: Ulps,
    F: Fn(I) -> O + Copy + Send + 'static,
{
    agree_within(ulps, |queue| apply(queue, inputs, kernel))
}

fn apply<I, O, F>(queue: &Queue, inputs: &[I], kernel: F) -> Result<Vec<O>>
where
    I: DeviceCopy,
    O: DeviceCopy,
    F: Fn(I) -> O + Copy + Send + 'static,
{
    let inputs = queue.upload(inputs)?;
    let mut outputs = queue.zeroed::<O>(inputs.len())?;
    queue.for_each(&mut outputs, &inputs, move |i, output, inputs| *output = kernel(inputs[i]))?;
    queue.download(&outputs)
}
