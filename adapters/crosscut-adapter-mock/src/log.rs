//! What was asked of the mock.

use std::num::NonZeroUsize;

use crosscut_adapter_api::{Extent, MemoryKind, QueueOrder};

/// One call. Objects are told apart by numbers that are never used twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The devices were listed.
    Devices,
    /// A device was opened.
    CreateContext,
    /// Devices were opened together.
    CreateContexts {
        /// How many.
        count: usize,
    },
    /// A device was cut.
    Partition {
        /// The compute units of each part.
        units: Vec<u32>,
    },
    /// Memory was allocated.
    Allocate {
        /// Its number.
        memory: u64,
        /// Where.
        kind: MemoryKind,
        /// How much.
        size: NonZeroUsize,
        /// How aligned.
        align: usize,
    },
    /// Memory was freed.
    Free {
        /// Its number.
        memory: u64,
    },
    /// Memory was freed while a held command used it: a fault of the caller.
    FreedInUse {
        /// Its number.
        memory: u64,
    },
    /// A queue was made.
    CreateQueue {
        /// Its number.
        queue: u64,
        /// How its commands may overlap.
        order: QueueOrder,
    },
    /// A program was built.
    Build {
        /// The length of its code in bytes.
        length: usize,
    },
    /// A built program was asked for its bytes.
    Binary {
        /// How many they are.
        length: usize,
    },
    /// A program was made from such bytes.
    BuildBinary {
        /// How many they are.
        length: usize,
    },
    /// A kernel was asked for.
    Kernel {
        /// Its name.
        name: String,
    },
    /// A kernel was launched.
    Launch {
        /// On which queue.
        queue: u64,
        /// The launch's event.
        event: u64,
        /// The kernel's name.
        kernel: String,
        /// The index space.
        extent: Extent,
        /// The arguments.
        arguments: Vec<RecordedArgument>,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// Memory was written.
    Write {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// What was written to.
        memory: u64,
        /// From which byte on.
        offset: usize,
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// Memory was read.
    Read {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// What was read from.
        memory: u64,
        /// From which byte on.
        offset: usize,
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// Memory was filled.
    Fill {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// What was filled.
        memory: u64,
        /// From which byte on.
        offset: usize,
        /// With what.
        pattern: Vec<u8>,
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// Memory was copied to memory.
    Copy {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// What was written to, and from which byte on.
        target: (u64, usize),
        /// What was read from, and from which byte on.
        source: (u64, usize),
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// A variable of a program was written.
    WriteVariable {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// Its name.
        name: String,
        /// From which byte on.
        offset: usize,
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// A variable of a program was read.
    ReadVariable {
        /// On which queue.
        queue: u64,
        /// The command's event.
        event: u64,
        /// Its name.
        name: String,
        /// From which byte on.
        offset: usize,
        /// How many bytes.
        size: NonZeroUsize,
        /// The events to wait for.
        after: Vec<u64>,
    },
    /// A barrier was put into a queue.
    Barrier {
        /// On which queue.
        queue: u64,
        /// The barrier's event.
        event: u64,
        /// The events to wait for; all commands of the queue if there are none.
        after: Vec<u64>,
    },
    /// An event was made that completes when the caller says so.
    Promise {
        /// The event.
        event: u64,
    },
    /// A queue was waited for.
    QueueWait {
        /// Which.
        queue: u64,
    },
    /// An event was waited for.
    EventWait {
        /// Which.
        event: u64,
    },
    /// An event was asked whether it is complete.
    EventQuery {
        /// Which.
        event: u64,
    },
    /// An event was asked to call back.
    OnComplete {
        /// Which.
        event: u64,
    },
    /// An event was asked when its command ran.
    EventTimes {
        /// Which.
        event: u64,
    },
    /// A call that failed because the test, or the contract, wanted it to.
    Failed(
        /// What was asked for.
        Operation,
    ),
}

/// One argument of a recorded launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedArgument {
    /// Plain bytes.
    Value(Vec<u8>),
    /// A place in memory.
    Memory {
        /// Which.
        memory: u64,
        /// From which byte on.
        offset: usize,
    },
    /// So many bytes for each work-group.
    Local(usize),
}

/// A sort of call, for [`Mock::fail`](crate::Mock::fail).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Listing the devices.
    Devices,
    /// Opening a device, or several together.
    CreateContext,
    /// Cutting a device.
    Partition,
    /// Allocating memory.
    Allocate,
    /// Making a queue.
    CreateQueue,
    /// Building a program.
    Build,
    /// Asking a built program for its bytes.
    Binary,
    /// Making a program from such bytes.
    BuildBinary,
    /// Finding a kernel.
    Kernel,
    /// Launching a kernel.
    Launch,
    /// Writing memory.
    Write,
    /// Reading memory.
    Read,
    /// Filling memory.
    Fill,
    /// Copying memory to memory.
    Copy,
    /// Writing a variable of a program.
    WriteVariable,
    /// Reading a variable of a program.
    ReadVariable,
    /// Putting a barrier into a queue.
    Barrier,
    /// Making an event that completes when the caller says so.
    Promise,
    /// Waiting for a queue.
    QueueWait,
    /// Waiting for an event.
    EventWait,
    /// Asking an event.
    EventQuery,
    /// Asking an event to call back.
    OnComplete,
    /// Asking an event when its command ran.
    EventTimes,
}

impl Operation {
    /// What the mock's own refusals give as the driver's call.
    pub(crate) fn call(self) -> &'static str {
        match self {
            Self::Devices => "mockDevices",
            Self::CreateContext => "mockCreateContext",
            Self::Partition => "mockPartition",
            Self::Allocate => "mockAllocate",
            Self::CreateQueue => "mockCreateQueue",
            Self::Build => "mockBuild",
            Self::Binary => "mockBinary",
            Self::BuildBinary => "mockBuildBinary",
            Self::Kernel => "mockKernel",
            Self::Launch => "mockLaunch",
            Self::Write => "mockWrite",
            Self::Read => "mockRead",
            Self::Fill => "mockFill",
            Self::Copy => "mockCopy",
            Self::WriteVariable => "mockWriteVariable",
            Self::ReadVariable => "mockReadVariable",
            Self::Barrier => "mockBarrier",
            Self::Promise => "mockPromise",
            Self::OnComplete => "mockOnComplete",
            Self::EventTimes => "mockEventTimes",
            Self::QueueWait => "mockQueueWait",
            Self::EventWait => "mockEventWait",
            Self::EventQuery => "mockEventQuery",
        }
    }
}
