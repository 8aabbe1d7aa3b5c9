//! The host CPU as a device: native code, always there.
//!
//! Commands run when they are submitted and have completed when the call returns, so their events are
//! complete from the start. Only events of promises, and barriers behind them, complete later; a
//! command that waits for one of those holds up whoever submits it. Launches that take long are spread over a thread pool
//! of our own; short ones never leave the calling thread.
//!
//! Never here: images. The only code form is `CodeForm::Native`, launched by address through
//! [`NativeQueue`](crosscut_adapter_api::NativeQueue).

mod context;
mod device;
mod event;
mod fill;
mod gate;
mod memory;
mod pool;
mod queue;
mod team;
mod workers;

use std::sync::Arc;

use crosscut_adapter_api::{Absence, Adapter, Backend, Device};

/// The adapter of the host CPU.
#[derive(Debug, Default)]
pub struct HostAdapter;

impl Adapter for HostAdapter {
    fn backend(&self) -> Backend {
        Backend::Host
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        Ok(vec![Arc::new(device::HostDevice::detect())])
    }
}
