//! Which devices a test runs on.

use std::sync::OnceLock;

use crosscut::{Backend, Device, Queue, Result};

/// A queue and what its device is called.
pub struct Target {
    /// What to call it in messages.
    pub name: String,
    /// Where kernels go.
    pub queue: Queue,
}

/// The host first, then every device that can run this program's kernels; with queues of their own for whoever asks,
/// because a queue tells of the panics of all who use it.
///
/// # Panics
/// There is no host device, or a required one is missing.
#[must_use]
pub fn targets() -> Vec<Target> {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| {
        let mut devices = crosscut::devices().expect("there is always the host");
        devices.sort_by_key(|device| device.backend() != Backend::Host);
        assert!(devices[0].backend() == Backend::Host, "the host must be among the devices");
        // A program that plain cargo built has no images: only the host can run it.
        devices.retain(|device| probe(device).is_ok());
        let required =
            std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|value| value == "1");
        assert!(
            !required || devices.iter().any(|device| device.backend() == Backend::OpenCl),
            "CROSSCUT_REQUIRE_OPENCL is set and no OpenCL device runs this program"
        );
        devices
    });
    let target = |device: &Device| Target {
        name: format!("{} ({})", device.name(), device.backend()),
        queue: Queue::on(device).expect("it had one when it was asked first"),
    };
    devices.iter().map(target).collect()
}

/// Whether the device runs kernels of this program at all.
fn probe(device: &Device) -> Result<()> {
    Queue::on(device)?.single_task((), |()| ())?.wait()
}
