//! OpenCL devices, through a library found at run time.
//!
//! One file per idea, named as in the other adapters: `sys` (the driver's types and entry points),
//! `error`, `device`, `context`, `memory`, `program`, `queue`, `event`; and of its own: `query`, which asks what a
//! device is, `memory_model`, which asks about its atomics, `set_up`, which knows where `cargo crosscut` would look for
//! drivers, `partition`, which cuts a device, `reach`, which knows the memory of several, `arguments`, which sets those
//! that changed, `binaries`, by which programs become bytes, `callback`, by which the driver calls us, `variable`, which
//! copies variables by name, `looking`, which knows when a wait need not sleep, `barriers`, which keeps rows of them short,
//! `command_queue`, which is the driver's queue, `waits`, what its commands wait for, and `lanes`, which makes a queue out of
//! order of several in order. The contract's `exit` keeps the driver from being called once the process has begun to end.
//!
//! How OpenCL meets the contract of `crosscut-adapter-api`:
//! - The library is loaded at the first [`Adapter::devices`] and stays loaded. Without it, or
//!   without a driver behind it, there is an [`Absence`] and nothing else happens.
//! - Memory is unified shared memory where the device has it (`cl_intel_unified_shared_memory`):
//!   then it has a device address. Elsewhere it is a memory object, which has none; offsets of
//!   arguments are then multiples of [`Context::argument_alignment`].
//! - Devices that are opened together share one `cl_context`. Their programs are built for each alone.
//! - Released objects stay for as long as commands use them. For commands behind a user event that has not been set the
//!   standard does not promise it (`clSetUserEventStatus`); all drivers known to us count references all the same.
//! - OpenCL lets threads share every object but `cl_kernel`, so setting arguments and enqueueing
//!   are one step under a lock of the kernel.
//! - OpenCL's dimension 0 is the fastest, Crosscut's the slowest: a launch reverses them, and device
//!   code asks for dimension `D - 1 - d` where Crosscut says `d` of `D`.
//! - A built program is turned into bytes and back by `binaries`.
//! - A command is flushed as it is submitted, so that nobody waits for one that never started.

mod arguments;
mod barriers;
mod binaries;
mod callback;
mod command_queue;
mod context;
mod device;
mod error;
mod event;
mod lanes;
mod looking;
mod memory;
mod memory_model;
mod partition;
mod program;
mod query;
mod queue;
mod reach;
mod set_up;
mod sys;
mod variable;
mod waits;

use std::sync::Arc;

use crosscut_adapter_api::{Absence, Adapter, Backend, Device, exit};

#[cfg(doc)]
use crosscut_adapter_api::Context;

/// All devices of all OpenCL platforms.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenCl {
    memory: MemoryModel,
}

/// Which of OpenCL's two kinds of memory to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MemoryModel {
    /// Unified shared memory where the device has it.
    #[default]
    BestAvailable,
    /// Memory objects everywhere.
    ObjectsOnly,
}

impl OpenCl {
    /// The adapter; nothing is loaded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, without unified shared memory even where a device has it: how tests reach the path
    /// of poorer devices on a driver that has everything.
    #[must_use]
    pub fn without_usm() -> Self {
        Self { memory: MemoryModel::ObjectsOnly }
    }
}

impl Adapter for OpenCl {
    fn backend(&self) -> Backend {
        Backend::OpenCl
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        device::list(self.memory)
    }
}
