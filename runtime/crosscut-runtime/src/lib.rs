//! The runtime: devices, contexts, memory, device globals, programs, queues and events.
//!
//! All validation is here: adapters trust what they are given. The way of a launch:
//!
//! 1. `queue` and `launch` check ranges and arguments.
//! 2. On the host CPU the kernel runs as native code, before the call returns.
//! 3. Elsewhere `program` finds the kernel in the images that `registry` was given before `main`,
//!    checks and builds them once per context, or has `cache` load what an earlier run built, and
//!    `global` makes the instances it uses.
//! 4. `command` orders it after whatever else uses the same memory, `dependency` after the events it
//!    was given. `host_task` has closures of the host wait their turn, for a thread of `worker`,
//!    with the memory that they were `lent`.
//! 5. `pending` remembers it until somebody has asked, and `notice` wakes those who await it. Whoever
//!    waits learns of a panic from the `record` the kernel wrote.
//!
//! Invariants:
//! - No panic crosses a public function, nor the C functions of `registry`.
//! - Memory is freed only after every command that may touch it has completed.
//! - A panic of a kernel is told once by queues, and once by its event whoever was told before. Once
//!   the event has told it, queues do not.

mod across;
mod argument_limit;
mod block;
mod bundle;
mod bytes;
mod cache;
mod command;
mod context;
mod copy;
mod declared;
mod dependency;
mod detour;
mod device;
mod direct;
mod ended;
mod error;
mod escaped;
mod event;
mod extent;
mod few;
mod global;
mod global_buffer;
mod global_copy;
mod gone;
mod groups;
#[cfg(all(test, not(feature = "shuttle")))]
mod happening;
mod home;
mod host_task;
mod image_global;
mod join;
mod launch;
mod lent;
mod lines;
mod loaded;
mod memory;
mod native_launch;
mod notice;
mod panic;
mod partition;
mod pending;
mod platform;
mod program;
mod queue;
mod record;
mod region;
mod registry;
mod requirement;
mod row;
mod selection;
mod selector;
mod snapshot;
mod specialization;
mod spirv_program;
mod staged;
mod sub_group_size;
mod sync;
mod timed;
mod trace;
mod uses;
mod usm;
pub mod work_group;
#[cfg_attr(feature = "shuttle", path = "sync/worker.rs")]
mod worker;

pub use block::Block;
pub use bundle::{Bundle, BundledKernel};
pub use cache::ProgramCache;
pub use context::Context;
pub use copy::Reading;
pub use crosscut_adapter_api::{
    Absence, Backend, CodeForm, DeviceInfo, DeviceKind, Extent, Feature, Features, Limits,
    NativeEntry, NativeLaunch, NativePanic, Slot,
};
pub use crosscut_adapter_api::{QueueOptions, QueueOrder};
pub use device::{BackendReport, Device, Runtime};
#[doc(hidden)]
pub use ended::kept_if_in_use;
pub use error::{Error, ErrorKind};
pub use event::{Event, EventState, EventTimes};
pub use few::Few;
pub use global::{GlobalHandle, NativeScope};
pub use home::GlobalIn;
pub use host_task::HostTask;
pub use launch::{Binding, KernelDefinition, KernelLaunch, Source, Variant};
pub use lines::{LineValue, print_line};
pub use memory::Buffer;
pub use panic::KernelPanic;
pub use platform::Platform;
pub use queue::Queue;
pub use region::Region;
pub use registry::{__crosscut_register, __crosscut_unregister};
pub use snapshot::{GlobalLayout, Snapshot};
pub use specialization::{Setting, Specialization};
pub use spirv_program::{
    KernelParameter, SpirvArgument, SpirvConstant, SpirvKernel, SpirvProgram, ValueKind,
};
#[doc(hidden)]
pub use trace::traced_to;
pub use uses::Access;
pub use usm::{UsmKind, UsmPointer};
