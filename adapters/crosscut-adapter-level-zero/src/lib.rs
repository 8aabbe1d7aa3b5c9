//! Level Zero devices, through a loader found at run time.
//!
//! One file per idea, named as in the other adapters: `sys` (the loader's entry points), `error`,
//! `device`, `query`, `context`, `memory`, `program`, `binaries`, `variable`, `queue`, `event`; and of its
//! own: `abi`, the vendor's types, `pool`, which makes events in dozens, `command`, what a queue hands
//! over, `deferred`, what it does not hand over yet, `promise`, and `clock`.
//!
//! How Level Zero meets the contract of `crosscut-adapter-api`:
//! - The loader is loaded, and `zeInit` called, at the first [`Adapter::devices`]; it stays loaded.
//!   Without it, or without a driver behind it, there is an [`Absence`] and nothing else happens.
//! - Memory always has an address. Device, host and shared memory are the driver's own three kinds.
//! - A queue is an immediate command list. Commands on it may overtake one another, so a queue in order
//!   has each wait for the event of the one before.
//! - Level Zero's events know no failure, so commands that wait for a promise are handed over when that
//!   is kept. It calls nobody back, so a thread of ours looks.
//! - Level Zero destroys what commands still use, if told to. So commands hold their events, the events
//!   they wait for, and their kernel, until they are seen to be over.
//! - Its dimension 0 is the fastest, Crosscut's the slowest: a launch reverses them. Groups that a launch
//!   does not care about are the driver's suggestion, as far as it divides the launch.
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

/// All devices of all Level Zero drivers.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelZero;

impl Adapter for LevelZero {
    fn backend(&self) -> Backend {
        Backend::LevelZero
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        device::list()
    }
}
