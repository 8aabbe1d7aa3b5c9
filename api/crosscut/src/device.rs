//! Devices: which there are, and which to use.

use std::sync::OnceLock;

use crosscut_runtime::Runtime;

use crate::{Device, Platform, Result};

/// The one runtime of the process. It is never taken down: work in flight at exit needs nothing
/// from it any more, and static destructors may still use it.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new(crosscut_adapters::all()))
}

/// The devices that `CROSSCUT_DEVICE` accepts; all without it.
///
/// ```
/// use crosscut::Feature;
///
/// for device in crosscut::devices()? {
///     let info = device.info();
///     println!("{} {device}: {} compute units", device.selector(), info.compute_units);
///     if device.has(Feature::Fp64) {
///         println!("  groups of up to {} items", info.limits.work_group_size);
///     }
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// The selector cannot be read or accepts no device; the message lists what there is.
pub fn devices() -> Result<Vec<Device>> {
    runtime().devices()
}

/// The drivers of those devices, each with its own.
///
/// ```
/// for platform in crosscut::platforms()? {
///     println!("{} {} by {}", platform.name(), platform.version(), platform.vendor());
///     assert!(!platform.devices().is_empty());
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// As [`devices`].
pub fn platforms() -> Result<Vec<Platform>> {
    runtime().platforms()
}

/// The device of [`Queue::new`](crate::Queue::new): the best that can run this program's kernels, among
/// those that `CROSSCUT_DEVICE` accepts. Without device code that is the host CPU.
///
/// ```
/// use crosscut::prelude::*;
///
/// let device = crosscut::default_device()?;
/// assert_eq!(Queue::new()?.device(), &device);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// As [`devices`], or none of them can run this program's kernels.
pub fn default_device() -> Result<Device> {
    runtime().default_device()
}

/// The device with the highest score among those that `CROSSCUT_DEVICE` accepts and that can run this
/// program's kernels; the first of several. A device without a score is out.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::{DeviceKind, Feature};
///
/// // One with doubles; a GPU if there is one, and the largest of those.
/// let device = crosscut::select_device(|device| {
///     let large = (device.kind() == DeviceKind::Gpu, device.info().compute_units);
///     device.has(Feature::Fp64).then_some(large)
/// })?;
/// let queue = Queue::on(&device)?;
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// As [`devices`], or no device has a score.
pub fn select_device<S: Ord>(score: impl FnMut(&Device) -> Option<S>) -> Result<Device> {
    runtime().select(score)
}

/// The best device that a selector accepts, in the syntax of `CROSSCUT_DEVICE`, among those that
/// `CROSSCUT_DEVICE` itself accepts and that can run this program's kernels.
///
/// Where it names parts of devices (`opencl:0.1`), each call cuts the device anew: keep what it returns.
///
/// ```
/// use crosscut::prelude::*;
///
/// let device = crosscut::select("opencl:gpu,cpu").or_else(|_| crosscut::default_device())?;
/// let queue = Queue::on(&device)?;
/// let error = crosscut::select("opencl:gqu").expect_err("a misspelt device");
/// assert!(error.message().contains("`gqu` is no device"));
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// As [`devices`]; the selector cannot be read or accepts none of them; or none of those can run this
/// program's kernels.
pub fn select(selector: &str) -> Result<Device> {
    runtime().select_by_text(selector)
}
