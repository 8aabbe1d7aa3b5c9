//! An adapter around another that counts how programs are made. All else is the other's.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crosscut_adapter_api::{
    Absence, Adapter, Backend, CodeForm, Context, Device, DeviceInfo, DriverError, Memory,
    MemoryKind, Program, ProgramBinaries, Promised, Queue, QueueOptions,
};

#[derive(Clone)]
pub(crate) struct Counting {
    inner: Arc<dyn Adapter>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    built: AtomicUsize,
    loaded: AtomicUsize,
}

impl Counting {
    pub(crate) fn new(inner: Arc<dyn Adapter>) -> Self {
        Self { inner, counts: Arc::default() }
    }

    /// How many programs were built from code.
    pub(crate) fn built(&self) -> usize {
        self.counts.built.load(Ordering::Relaxed)
    }

    /// How many were made from bytes.
    pub(crate) fn loaded(&self) -> usize {
        self.counts.loaded.load(Ordering::Relaxed)
    }
}

impl Adapter for Counting {
    fn backend(&self) -> Backend {
        self.inner.backend()
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        let counting = |inner| -> Arc<dyn Device> {
            Arc::new(Counted { inner, counts: Arc::clone(&self.counts) })
        };
        Ok(self.inner.devices()?.into_iter().map(counting).collect())
    }
}

/// A device or a context, counted.
struct Counted<T: ?Sized> {
    inner: Arc<T>,
    counts: Arc<Counts>,
}

impl Device for Counted<dyn Device> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        let inner = self.inner.create_context()?;
        Ok(Arc::new(Counted { inner, counts: Arc::clone(&self.counts) }))
    }
}

impl Counted<dyn Context> {
    fn caching(&self) -> &dyn ProgramBinaries {
        self.inner.as_caching().expect("asked only where the inner context can")
    }
}

impl Context for Counted<dyn Context> {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        self.inner.allocate(kind, size, align)
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        self.inner.create_queue(options)
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        self.inner.promise()
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        self.counts.built.fetch_add(1, Ordering::Relaxed);
        self.inner.build(form, code)
    }

    fn argument_alignment(&self) -> usize {
        self.inner.argument_alignment()
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        self.inner.as_caching().map(|_| self as &dyn ProgramBinaries)
    }
}

impl ProgramBinaries for Counted<dyn Context> {
    fn build_identity(&self) -> String {
        self.caching().build_identity()
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        self.caching().binary(program)
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        self.counts.loaded.fetch_add(1, Ordering::Relaxed);
        self.caching().build_binary(binary)
    }
}
