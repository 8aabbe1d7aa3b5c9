//! CUDA devices, through the driver's library, found at run time.
//!
//! One file per idea, named as in the other adapters: `sys` (the library's entry points), `error`,
//! `device`, `query`, `context`, `memory`, `program`, `binaries`, `variable`, `queue`, `event`; and of its
//! own: `abi`, the vendor's types and numbers, `jit`, which makes programs of PTX, `pool`, which uses
//! events again, `command`, what a queue hands over, `deferred`, what it does not hand over yet,
//! `promise`, and `clock`.
//!
//! How CUDA meets the contract of `crosscut-adapter-api`:
//! - The driver's library is loaded, and `cuInit` called, at the first [`Adapter::devices`]; it stays
//!   loaded. Without it, or without a device behind it, there is an [`Absence`] and nothing else happens.
//! - A context is the device's primary one, which everybody in the process shares, and which is current
//!   on a thread only while that is in one of our calls.
//! - Memory always has an address. Device, host and shared memory are `cuMemAlloc`, `cuMemHostAlloc` and
//!   `cuMemAllocManaged`.
//! - A queue is one stream, in or out of order: commands on it start one after the other, which keeps
//!   every promise of a queue out of order too.
//! - CUDA's events know no failure before their command is the driver's, so commands that wait for a
//!   promise are handed over when that is kept. What it calls back may not call it, so the thread of
//!   `crosscut_adapter_api::watch` looks.
//! - Commands hold their kernel and what is copied from us until they are seen to be over.
//! - Its dimension x is the fastest, Crosscut's the slowest: a launch reverses them. Groups that a launch
//!   does not care about divide it.
//! - An argument of local memory is its offset in the launch's dynamic shared memory.
//! - Variables are found by name, and copied as memory is.

pub mod abi;
mod binaries;
mod clock;
mod command;
mod context;
mod deferred;
mod device;
mod error;
mod event;
mod jit;
mod memory;
mod pool;
mod program;
mod promise;
mod query;
mod queue;
mod sys;
mod variable;

use std::sync::Arc;

use crosscut_adapter_api::{Absence, Adapter, Backend, Device};

/// All devices of the CUDA driver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuda;

impl Adapter for Cuda {
    fn backend(&self) -> Backend {
        Backend::Cuda
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        device::list()
    }
}
