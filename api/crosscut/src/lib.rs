//! Single-source heterogeneous computing on stable Rust: kernels are closures, device globals are
//! statics.
//!
//! ```
//! use crosscut::prelude::*;
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! static COUNTS: DeviceGlobal<[AtomicU32; 26]> = DeviceGlobal::zeroed();
//!
//! let queue = Queue::new()?;
//! let text = queue.upload(b"the quick brown fox")?;
//! queue.parallel_for(text.len(), &text, |i, text| {
//!     let letter = text[i].wrapping_sub(b'a') as usize;
//!     if letter < 26 {
//!         COUNTS[letter].fetch_add(1, Relaxed);
//!     }
//! })?;
//! let counts: [u32; 26] = queue.read(&COUNTS)?;
//! assert_eq!(counts[4], 1);
//! # Ok::<(), crosscut::Error>(())
//! ```
//!
//! Plain `cargo run` runs kernels as native code on the host CPU, on all its cores.
//! `cargo crosscut run` cuts the device part out of the same program at link time and runs it on an
//! OpenCL device. `CROSSCUT_DEVICE` chooses.
//!
//! # Device globals
//!
//! A [`DeviceGlobal`] is a static of which every device and context has its own instance. It starts
//! with its initial value and lives across launches. The rule:
//!
//! **Atomics by name; plain values by argument (`&G`, borrowed for the launch), by copy
//! (`G.get()`), or, in a single task, by `exclusive()`.**
//!
//! ```
//! use crosscut::prelude::*;
//!
//! #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
//! #[repr(C)]
//! struct Params { gain: f32, steps: u32 }
//!
//! static PARAMS: DeviceGlobal<Params> = DeviceGlobal::new(Params { gain: 0.5, steps: 3 });
//! static LAST: DeviceGlobal<u32> = DeviceGlobal::zeroed();
//!
//! let queue = Queue::new()?;
//! let mut y = queue.zeroed::<f32>(8)?;
//! queue.for_each(&mut y, &PARAMS, |_, y, params| *y = params.gain)?; // by argument
//! queue.single_task(LAST.exclusive(), |last| *last = PARAMS.get().steps)?; // exclusively, by copy
//! assert_eq!(queue.read(&LAST)?, 3);
//! # Ok::<(), crosscut::Error>(())
//! ```
//!
//! Outside kernels the host uses [`Queue::read`] and [`Queue::write`], [`Queue::copy_to`] and
//! [`Queue::copy_from`] for parts. [`property`] has what can be said about a global in its type: a
//! copy that this forbids does not compile.
//!
//! # Specialization constants
//!
//! A [`SpecConstant`] is a static that every launch may give a value of its own. On a device the value
//! is a literal of the kernel: each value is compiled once, and costs nothing in the kernel.
//!
//! ```
//! use crosscut::prelude::*;
//!
//! static POWER: SpecConstant<u32> = SpecConstant::new(2);
//!
//! let queue = Queue::new()?;
//! let mut x = queue.upload(&[2u64, 3])?;
//! queue.launch().with(&POWER, 10).for_each(&mut x, (), |_, x, ()| *x = x.pow(POWER.get()))?;
//! assert_eq!(queue.download(&x)?, [1024, 59049]);
//! # Ok::<(), crosscut::Error>(())
//! ```
//!
//! # Panics
//!
//! A panic in a kernel, an index out of bounds for example, is an [`Error`] of kind
//! [`ErrorKind::Panic`] from [`Event::wait`], or from whatever waits next. It names file, line,
//! column and item. The queue stays usable. A panic that nobody has asked about when its queue is
//! dropped, and nobody can ask about later, is printed.

// The derive macro names this crate by its own name, also in here.
extern crate self as crosscut;

mod buffer;
mod builder;
mod bundle;
mod chunks;
mod copies;
mod copy;
mod device;
mod global;
mod group;
pub mod guide;
mod host_arg;
mod kernel;
mod launch;
mod part;
mod program;
mod queue;
mod reduction;
mod scope;
mod slice;
mod snapshot;
mod specialize;
mod symbol;
mod tasks;
pub mod usm;

pub use buffer::Buffer;
pub use builder::QueueBuilder;
pub use bundle::{Bundle, BundleBuilder};
pub use chunks::{Chunks, ChunksMut};
pub use copy::{CopySource, CopyTarget, HostElement};
pub use crosscut_derive::{DeviceCopy, device_println};
#[cfg(feature = "half")]
pub use crosscut_device::HalfMath;
pub use crosscut_device::{
    AtomicF32, AtomicF64, ByName, Constant, DeviceCopy, DeviceData, DeviceGlobal, DevicePtr,
    Exclusive, Global, Index, NdItem, Scope, Space, SpecConstant, SpecValue, SubGroup, Symbol,
    Tile, WorkGroup, in_scope,
};
pub use crosscut_runtime::{
    Backend, BundledKernel, CodeForm, Context, Device, DeviceInfo, DeviceKind, Error, ErrorKind,
    Event, EventState, EventTimes, Feature, Features, KernelPanic, Limits, Platform, QueueOrder,
};
pub use device::{default_device, devices, platforms, select, select_device};
pub use group::Handler;
pub use host_arg::HostArg;
pub use kernel::{
    Grid, GridMut, GridPart, GridPartMut, ItemIndex, KernelArg, Local, NdRange, Once, PerItem,
    Range, Reducer, View,
};
pub use launch::Launch;
pub use part::{BufferPart, BufferPartMut, DeviceRows, DeviceRowsMut, Rows, RowsMut};
pub use program::{
    ByValue, Program, ProgramArg, ProgramArgs, ProgramBuilder, ProgramKernel, ProgramParameter,
    SpecNumber,
};
pub use queue::Queue;
pub use reduction::{Number, Operator, Reduction};
pub use scope::{CopyScope, ScopedCopy};
pub use slice::{BufferSlice, BufferSliceMut, DeviceSlice, DeviceSliceMut};
pub use usm::{Usm, UsmPtr};

#[doc(hidden)]
pub use crosscut_device::device_println as __device_println;
pub use crosscut_device::print::Printable;
pub use crosscut_device::property;
pub use crosscut_runtime::Snapshot;
pub use snapshot::{AnyGlobal, Named, broadcast, gather, reduce};

#[doc(hidden)]
pub use kernel::Shape;

/// What calls of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// What most programs need: `use crosscut::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Buffer, Constant, Device, DeviceCopy, DeviceGlobal, Event, Local, NdRange, Queue,
        Reduction, SpecConstant, Symbol, device_println,
    };
}
