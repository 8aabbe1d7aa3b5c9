//! The device under test.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{
    Backend, CodeForm, Context, Device, DeviceInfo, DriverError, Event, Extent, Feature, Kernel,
    Memory, MemoryKind, NativeEntry, NativeLaunch, Partition, Program, Queue, QueueOptions,
    QueueOrder, Slot,
};

use crate::kernel::{Work, code};
use crate::{Stage, ensure, native};

/// The device that behaviours are held against.
pub struct TestDevice {
    backend: Backend,
    device: Arc<dyn Device>,
}

impl TestDevice {
    /// Tests `device` of this back end.
    #[must_use]
    pub fn new(backend: Backend, device: Arc<dyn Device>) -> Self {
        Self { backend, device }
    }

    /// Opens it by way of the runtime, in a new context.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn stage(&self) -> Result<Stage, String> {
        Stage::of(self.backend, &self.device).map_err(text)
    }

    /// What the device says about itself.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Cuts it, if it can be cut that way.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn partition(&self, way: Partition<'_>) -> Result<Option<Vec<Self>>, String> {
        let feature = match way {
            Partition::Equally(_) => Feature::PartitionEqually,
            Partition::ByCounts(_) => Feature::PartitionByCounts,
        };
        if !self.info().features.has(feature) {
            return Ok(None);
        }
        let cut = self.device.as_partitionable().ok_or("it says that it can be cut")?;
        let parts = cut.partition(way).map_err(text)?;
        Ok(Some(parts.into_iter().map(|part| Self::new(self.backend, part)).collect()))
    }

    /// Opens it.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn context(&self) -> Result<Arc<dyn Context>, String> {
        self.device.create_context().map_err(text)
    }

    /// Whether it can be opened together with other devices.
    #[must_use]
    pub fn can_be_joined(&self) -> bool {
        self.device.as_joinable().is_some()
    }

    /// Opens it together with parts of one compute unit each, itself first.
    ///
    /// # Errors
    /// It cannot be; the driver's refusal.
    pub fn opened_with_parts(&self) -> Result<Vec<Arc<dyn Context>>, String> {
        let parts = self.partition(Partition::Equally(std::num::NonZeroU32::MIN))?;
        let parts = parts.ok_or("it cannot be cut")?;
        let whole = self.device.as_joinable().ok_or("it cannot be joined")?;
        let parts: Option<Vec<_>> = parts.iter().map(|part| part.device.as_joinable()).collect();
        let parts = parts.ok_or("a part cannot be joined")?;
        ensure!(parts.iter().all(|part| whole.can_join(*part)), "it does not join its parts");
        whole.create_contexts(&parts).map_err(text)
    }

    /// Opens it, with a queue in order.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn bench(&self) -> Result<Bench, String> {
        self.bench_on(self.context()?, QueueOrder::InOrder)
    }

    /// A new queue on `context`, which is one of this device.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn bench_on(&self, context: Arc<dyn Context>, order: QueueOrder) -> Result<Bench, String> {
        let form = self.info().code_forms.first().copied().unwrap_or(CodeForm::Native);
        Bench::made(context, form, &QueueOptions { order, ..QueueOptions::default() })
    }
}

/// An error of a driver as the outcome of a behaviour.
pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A length, for behaviours that know that theirs is not zero.
pub(crate) fn length(bytes: usize) -> Result<NonZeroUsize, String> {
    NonZeroUsize::new(bytes).ok_or_else(|| "a behaviour asked for no bytes".to_owned())
}

/// A kernel of [`code`], by its name.
#[derive(Clone)]
pub struct TestKernel {
    name: &'static str,
    code: Code,
}

#[derive(Clone)]
enum Code {
    Built(Arc<dyn Kernel>),
    Native(NativeEntry),
}

/// A context with a queue.
///
/// Its methods keep the promises that a queue asks of its callers: what a command uses lives in the
/// [`Pending`] it returns, and ranges are checked.
#[derive(Clone)]
pub struct Bench {
    /// The context.
    pub context: Arc<dyn Context>,
    /// The queue.
    pub queue: Arc<dyn Queue>,
    /// The form of code that the device takes.
    form: CodeForm,
}

impl Bench {
    fn made(
        context: Arc<dyn Context>,
        form: CodeForm,
        options: &QueueOptions,
    ) -> Result<Self, String> {
        let queue = context.create_queue(options).map_err(text)?;
        Ok(Self { context, queue: Arc::from(queue), form })
    }

    /// Another queue on the same context, with these options.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn with(&self, options: QueueOptions) -> Result<Self, String> {
        Self::made(Arc::clone(&self.context), self.form, &options)
    }

    /// Another queue on the same context.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn another(&self, order: QueueOrder) -> Result<Self, String> {
        self.with(QueueOptions { order, ..QueueOptions::default() })
    }

    /// Memory on the device, aligned to 64 bytes.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn memory(&self, size: usize) -> Result<Arc<dyn Memory>, String> {
        self.memory_of(MemoryKind::Device, size)
    }

    /// Memory of a kind, aligned to 64 bytes.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn memory_of(&self, kind: MemoryKind, size: usize) -> Result<Arc<dyn Memory>, String> {
        Ok(Arc::from(self.context.allocate(kind, length(size)?, 64).map_err(text)?))
    }

    /// Memory on the device that holds `bytes`.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn holding(&self, bytes: &[u8]) -> Result<Arc<dyn Memory>, String> {
        let memory = self.memory(bytes.len())?;
        self.write(&memory, 0, bytes)?;
        Ok(memory)
    }

    /// A kernel of [`code`].
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn kernel(&self, name: &'static str) -> Result<TestKernel, String> {
        if self.queue.as_native().is_some() {
            let entry = native::entry(name).ok_or("a behaviour asks for another kernel")?;
            return Ok(TestKernel { name, code: Code::Native(entry) });
        }
        self.kernel_of(&*self.program()?, name)
    }

    /// A program with the kernels of [`code`].
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn program(&self) -> Result<Box<dyn Program>, String> {
        self.build(self.code()?).map_err(text)
    }

    /// A program of code in the form that the device takes.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn build(&self, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        self.context.build(self.form, code)
    }

    /// The code of [`program`](Self::program).
    ///
    /// # Errors
    /// There is none.
    pub fn code(&self) -> Result<&'static [u8], String> {
        code(self.form)
    }

    /// A kernel of a program that was built from [`code`].
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn kernel_of(
        &self,
        program: &dyn Program,
        name: &'static str,
    ) -> Result<TestKernel, String> {
        let kernel = Arc::from(program.kernel(name).map_err(text)?);
        Ok(TestKernel { name, code: Code::Built(kernel) })
    }

    /// Starts a write.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn start_write(
        &self,
        target: &Arc<dyn Memory>,
        offset: usize,
        bytes: &[u8],
        after: &[&Pending],
    ) -> Result<Pending, String> {
        let (bytes, size) = (bytes.to_vec(), length(bytes.len())?);
        inside(&**target, offset, size)?;
        // SAFETY: `Pending` keeps the bytes and the memory until the event completes.
        let event =
            unsafe { self.queue.write(&**target, offset, bytes.as_ptr(), size, &events(after)) };
        Ok(Pending { event: event.map_err(text)?, bytes, memory: vec![Arc::clone(target)] })
    }

    /// Starts a read; [`Pending::bytes`] has what was read.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn start_read(
        &self,
        source: &Arc<dyn Memory>,
        offset: usize,
        size: usize,
        after: &[&Pending],
    ) -> Result<Pending, String> {
        let (mut bytes, size) = (vec![0; size], length(size)?);
        inside(&**source, offset, size)?;
        // SAFETY: `Pending` keeps the bytes, untouched, and the memory until the event completes.
        let event =
            unsafe { self.queue.read(&**source, offset, bytes.as_mut_ptr(), size, &events(after)) };
        Ok(Pending { event: event.map_err(text)?, bytes, memory: vec![Arc::clone(source)] })
    }

    /// Starts a fill with one byte.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn start_fill(
        &self,
        target: &Arc<dyn Memory>,
        offset: usize,
        value: u8,
        size: usize,
        after: &[&Pending],
    ) -> Result<Pending, String> {
        self.start_fill_with(target, offset, &[value], size, after)
    }

    /// Starts a fill with a pattern.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn start_fill_with(
        &self,
        target: &Arc<dyn Memory>,
        offset: usize,
        pattern: &[u8],
        size: usize,
        after: &[&Pending],
    ) -> Result<Pending, String> {
        let whole = offset.is_multiple_of(pattern.len()) && size.is_multiple_of(pattern.len());
        ensure!(whole, "a behaviour fills a part of a pattern");
        let size = length(size)?;
        inside(&**target, offset, size)?;
        // SAFETY: `Pending` keeps the memory until the event completes.
        let event = unsafe { self.queue.fill(&**target, offset, pattern, size, &events(after)) };
        let memory = vec![Arc::clone(target)];
        Ok(Pending { event: event.map_err(text)?, bytes: Vec::new(), memory })
    }

    /// Starts a launch of `kernel`.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn start_launch(
        &self,
        kernel: &TestKernel,
        extent: Extent,
        work: &Work,
        after: &[&Pending],
    ) -> Result<Pending, String> {
        ensure!(work.kernel() == kernel.name, "a behaviour launches another kernel");
        ensure!(work.fits(extent), "a behaviour launches more items than there is memory for");
        let event = match &kernel.code {
            Code::Built(kernel) => work.with_arguments(|arguments| {
                // SAFETY: `Work` has the arguments of its kernel, the items stay inside the memory,
                // and `Pending` keeps that memory until the event completes.
                unsafe { self.queue.launch(&**kernel, extent, arguments, &events(after)) }
            }),
            Code::Native(entry) => return self.launch_native(*entry, extent, work, after),
        };
        Ok(Pending { event: event.map_err(text)?, bytes: Vec::new(), memory: work.memory() })
    }

    fn launch_native(
        &self,
        entry: NativeEntry,
        extent: Extent,
        work: &Work,
        after: &[&Pending],
    ) -> Result<Pending, String> {
        let queue = self.queue.as_native().ok_or("a native kernel for another device")?;
        let slot = |(address, length)| Slot { address, length };
        let slots: Vec<Slot> = work.addresses()?.into_iter().map(slot).collect();
        let value = work.value().to_ne_bytes();
        let launch =
            NativeLaunch { captures: value.as_ptr(), slots: &slots, extent, local_memory: 0 };
        // SAFETY: `Work` has the arguments of its kernel, in order, and they live until it returns.
        let (event, panic) =
            unsafe { queue.launch_native(entry, &launch, &events(after)) }.map_err(text)?;
        panic.map_err(|panic| panic.message)?;
        Ok(Pending { event, bytes: Vec::new(), memory: work.memory() })
    }

    /// Fills all of `target` and drops the event at once; then waits for the queue.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn fill_without_event(&self, target: &Arc<dyn Memory>, value: u8) -> Result<(), String> {
        // SAFETY: the memory lives until the wait below, which ends after the command has.
        let event = unsafe { self.queue.fill(&**target, 0, &[value], target.size(), &[]) };
        drop(event.map_err(text)?);
        self.queue.wait().map_err(text)
    }

    /// Writes and waits.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn write(&self, to: &Arc<dyn Memory>, offset: usize, bytes: &[u8]) -> Result<(), String> {
        self.start_write(to, offset, bytes, &[])?.wait()
    }

    /// Reads and waits.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn read(
        &self,
        from: &Arc<dyn Memory>,
        offset: usize,
        size: usize,
    ) -> Result<Vec<u8>, String> {
        self.start_read(from, offset, size, &[])?.bytes()
    }

    /// Reads all of it and waits.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn read_all(&self, from: &Arc<dyn Memory>) -> Result<Vec<u8>, String> {
        self.read(from, 0, from.size().get())
    }

    /// Finds the kernel, launches it once over `size` and waits.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn launch(&self, size: &[usize], work: &Work) -> Result<(), String> {
        let kernel = self.kernel(work.kernel())?;
        self.start_launch(&kernel, extent(size), work, &[])?.wait()
    }
}

/// The index space of 1 to 3 sizes.
pub(crate) fn extent(size: &[usize]) -> Extent {
    let mut all = [1; 3];
    all[..size.len()].copy_from_slice(size);
    Extent { dimensions: size.len() as u8, size: all, group: None }
}

fn inside(memory: &dyn Memory, offset: usize, size: NonZeroUsize) -> Result<(), String> {
    let end = offset.saturating_add(size.get());
    ensure!(end <= memory.size().get(), "a behaviour copies outside of its memory");
    Ok(())
}

fn events<'a>(after: &[&'a Pending]) -> Vec<&'a dyn Event> {
    after.iter().map(|pending| &*pending.event).collect()
}

/// A command on its way, with all that it uses. Dropping it waits for it.
pub struct Pending {
    event: Box<dyn Event>,
    bytes: Vec<u8>,
    memory: Vec<Arc<dyn Memory>>,
}

impl Pending {
    /// Its event.
    #[must_use]
    pub fn event(&self) -> &dyn Event {
        &*self.event
    }

    /// Waits for it.
    ///
    /// # Errors
    /// The driver's word that it failed.
    pub fn wait(&self) -> Result<(), String> {
        self.event.wait().map_err(text)
    }

    /// Waits for a read and gives what it read.
    ///
    /// # Errors
    /// The driver's word that it failed.
    pub fn bytes(mut self) -> Result<Vec<u8>, String> {
        self.wait()?;
        Ok(std::mem::take(&mut self.bytes))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.event.wait().is_err() {
            // Nobody knows whether the command still uses them.
            std::mem::forget(std::mem::take(&mut self.bytes));
            std::mem::forget(std::mem::take(&mut self.memory));
        }
    }
}
