//! The list of adapters: the only place that knows them all.

use std::sync::Arc;

use crosscut_adapter_api::Adapter;

/// Every adapter, the host CPU first. Nothing is loaded before an adapter is asked for its devices.
#[must_use]
pub fn all() -> Vec<Arc<dyn Adapter>> {
    vec![
        Arc::new(crosscut_adapter_host::HostAdapter),
        Arc::new(crosscut_adapter_opencl::OpenCl::new()),
        // After OpenCL: where both have a device, the one that has been tried more is the default.
        Arc::new(crosscut_adapter_level_zero::LevelZero),
    ]
}
