//! Which devices a test runs on.

use std::sync::OnceLock;

use crosscut::{Backend, Queue, Result};

/// A queue and what its device is called.
pub struct Target {
    /// What to call it in messages.
    pub name: String,
    /// Where kernels go.
    pub queue: Queue,
}

/// The host first, then every device that can run this program's kernels.
///
/// # Panics
/// There is no host device, or a required one is missing.
pub fn targets() -> &'static [Target] {
    static TARGETS: OnceLock<Vec<Target>> = OnceLock::new();
    TARGETS.get_or_init(|| {
        let devices = crosscut::devices().expect("there is always the host");
        let mut targets: Vec<(Backend, Target)> = devices
            .iter()
            .filter_map(|device| {
                let name = format!("{} ({})", device.name(), device.backend());
                let queue = Queue::on(device).ok()?;
                Some((device.backend(), Target { name, queue }))
            })
            .collect();
        targets.sort_by_key(|target| target.0 != Backend::Host);
        assert!(targets[0].0 == Backend::Host, "the host must be among the devices");
        // A program that plain cargo built has no images: only the host can run it.
        targets.retain(|target| probe(&target.1.queue).is_ok());
        let required =
            std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|value| value == "1");
        assert!(
            !required || targets.iter().any(|target| target.0 == Backend::OpenCl),
            "CROSSCUT_REQUIRE_OPENCL is set and no OpenCL device runs this program"
        );
        targets.into_iter().map(|target| target.1).collect()
    })
}

/// Whether the device runs kernels of this program at all.
fn probe(queue: &Queue) -> Result<()> {
    queue.single_task((), |()| ())?.wait()
}
