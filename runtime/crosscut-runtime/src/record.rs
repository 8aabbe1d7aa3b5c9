//! Panic records: where a kernel on a device writes that it panicked. The one who watches them also keeps
//! the lines that the kernel prints.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crosscut_adapter_api::{self as adapter, DriverError, MemoryKind, QueueOptions};
use crosscut_image::registration::PANIC_RECORD_SIZE;

use crate::Error;
use crate::context::Context;
use crate::ended::{FailedCopy, ended};
use crate::lines::Lines;
use crate::memory::{Allocation, allocate};
use crate::panic::{KernelPanic, Space};
use crate::program::{Entry, Loaded};

/// Records of one allocation.
const RECORDS_PER_BLOCK: usize = 64;
const RECORD_SIZE: NonZeroUsize = NonZeroUsize::new(PANIC_RECORD_SIZE).unwrap();
/// No two records share a cache line: kernels side by side may write them.
const LEAST_STRIDE: usize = 64;

/// The records of a context that no launch has: all zero.
#[derive(Default)]
pub(crate) struct Records {
    free: Mutex<Vec<Record>>,
    /// For looking into records, and for first bytes of memory, where the host cannot do it itself. A queue of
    /// its own, because that must not wait for what other queues were given: a host task among it may
    /// wait for the very thread that asks.
    queue: OnceLock<Box<dyn adapter::Queue>>,
}

/// Room for one panic.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) block: Arc<Allocation>,
    pub(crate) offset: usize,
}

/// One launch's record, and what is needed to tell what it says; and the lines it prints, which are
/// delivered when this is dropped.
pub(crate) struct Watch {
    record: Option<Record>,
    lines: Option<Lines>,
    context: Context,
    kernel: Arc<Loaded>,
    space: Space,
}

impl Records {
    /// A zeroed record of this context, which these are the records of.
    pub(crate) fn take(&self, context: &Context) -> Result<Record, Error> {
        if let Some(record) = self.free().pop() {
            return Ok(record);
        }
        let stride = LEAST_STRIDE.next_multiple_of(context.inner().adapter.argument_alignment());
        let size = NonZeroUsize::MIN.saturating_add(RECORDS_PER_BLOCK * stride - 1);
        let block = allocate(context, MemoryKind::HostVisible, size, LEAST_STRIDE)?;
        zero(&block, 0, size, context)
            .map_err(|error| Error::driver("preparing room for kernel panics", error))?;
        let mut free = self.free();
        free.extend(
            (1..RECORDS_PER_BLOCK)
                .map(|index| Record { block: Arc::clone(&block), offset: index * stride }),
        );
        Ok(Record { block, offset: 0 })
    }

    /// Takes a zeroed record back.
    pub(crate) fn give_back(&self, record: Record) {
        self.free().push(record);
    }

    pub(crate) fn queue(&self, context: &Context) -> Result<&dyn adapter::Queue, DriverError> {
        if let Some(queue) = self.queue.get() {
            return Ok(&**queue);
        }
        let queue = context.inner().adapter.create_queue(&QueueOptions::default())?;
        Ok(&**self.queue.get_or_init(|| queue))
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Record>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn zero(
    block: &Arc<Allocation>,
    offset: usize,
    size: NonZeroUsize,
    context: &Context,
) -> Result<(), DriverError> {
    let zeroed = block.visit_on_host(&mut |address| {
        // SAFETY: `offset` and `size` are inside the block, which no command uses there.
        unsafe { address.as_ptr().wrapping_add(offset).write_bytes(0, size.get()) };
    })?;
    if zeroed {
        return Ok(());
    }
    let queue = context.inner().records.queue(context)?;
    // SAFETY: `kept` has the block for as long as the fill runs.
    let filled = unsafe { queue.fill(block.memory(), offset, &[0], size, &[]) };
    Ok(kept(block, queue, filled)?)
}

/// Reads a part of a block that the host cannot look into. The bytes arrive on the heap: where nobody can tell
/// whether the read goes on, they stay for ever, as the block does.
pub(crate) fn fetch(
    block: &Arc<Allocation>,
    offset: usize,
    size: NonZeroUsize,
    context: &Context,
) -> Result<Vec<u8>, DriverError> {
    let queue = context.inner().records.queue(context)?;
    let mut bytes = vec![0; size.get()];
    let target = bytes.as_mut_ptr();
    // SAFETY: `size` bytes are there on both sides, and both stay until the read has ended: the block by `kept`,
    // the bytes because they are let go of below only after it has.
    let read = unsafe { queue.read(block.memory(), offset, target, size, &[]) };
    match kept(block, queue, read) {
        Ok(()) => Ok(bytes),
        Err(failed) => {
            if failed.may_run {
                std::mem::forget(bytes);
            }
            Err(failed.into())
        }
    }
}

/// Blocks until what was started on `queue` for `block` has ended. Where that cannot be told, the block stays
/// for ever.
pub(crate) fn kept(
    block: &Arc<Allocation>,
    queue: &dyn adapter::Queue,
    started: Result<Box<dyn adapter::Event>, DriverError>,
) -> Result<(), FailedCopy> {
    let outcome = ended(&*started?, queue);
    if outcome.as_ref().is_err_and(|failed| failed.may_run) {
        std::mem::forget(Arc::clone(block));
    }
    outcome
}

impl Watch {
    /// For a launch of this form of a kernel; `None` if it neither panics nor prints.
    pub(crate) fn begin(
        context: &Context,
        kernel: &Arc<Loaded>,
        entry: &Entry,
        space: Space,
    ) -> Result<Option<Self>, Error> {
        if !entry.has_record && !entry.has_lines {
            return Ok(None);
        }
        let lines = entry.has_lines.then(|| Lines::take(context)).transpose()?;
        let take = || context.inner().records.take(context);
        let record = entry.has_record.then(take).transpose()?;
        Ok(Some(Self {
            record,
            lines,
            context: context.clone(),
            kernel: Arc::clone(kernel),
            space,
        }))
    }

    /// The record, as the kernel is given it.
    pub(crate) fn record(&self) -> Option<Record> {
        self.record.clone()
    }

    /// The memory for lines, as the kernel is given it.
    pub(crate) fn lines(&self) -> Option<Arc<Allocation>> {
        self.lines.as_ref().map(Lines::area)
    }

    /// Whether nothing panicked. The command has completed.
    pub(crate) fn is_clean(&self) -> bool {
        matches!(self.words(), Ok([0, ..]))
    }

    /// The panic, if there was one. The command has completed.
    pub(crate) fn take(self) -> Option<Error> {
        let words = match self.words() {
            Ok(words) => words,
            Err(error) => return Some(Error::driver("reading whether a kernel panicked", error)),
        };
        let site = usize::try_from(words[0]).ok()?.checked_sub(1)?;
        Some(Error::panic(KernelPanic::from_record(
            self.kernel.display_name(),
            self.space,
            self.kernel.panic_site(site),
            words[1],
            [words[2], words[3]],
        )))
    }

    fn words(&self) -> Result<[u64; 4], DriverError> {
        let mut words = [0u64; 4];
        let Some(Record { block, offset }) = &self.record else { return Ok(words) };
        let read = block.visit_on_host(&mut |address| {
            let source = address.as_ptr().wrapping_add(*offset).cast::<[u64; 4]>();
            // SAFETY: inside the block, aligned to its stride; the device, done by now, wrote it
            // behind the compiler's back, hence volatile.
            words = unsafe { source.read_volatile() };
        })?;
        if !read {
            let bytes = fetch(block, *offset, RECORD_SIZE, &self.context)?;
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_ne_bytes(*bytes);
            }
        }
        Ok(words)
    }
}

impl Drop for Watch {
    /// Gives the record back, zeroed. The command has completed.
    fn drop(&mut self) {
        let Some(record) = &self.record else { return };
        let Record { block, offset } = record;
        // A record that cannot be zeroed is not used again.
        if self.is_clean() || zero(block, *offset, RECORD_SIZE, &self.context).is_ok() {
            self.context.inner().records.give_back(record.clone());
        }
    }
}
