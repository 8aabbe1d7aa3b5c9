//! A context that writes when programs are built, and wraps its queues.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, Feature, Memory, MemoryKind, Program, ProgramBinaries,
    Promised, Queue, QueueOptions,
};

use super::current_name;
use super::execution::Track;
use super::queue::TracedQueue;
use super::writer::Writer;

pub(super) struct Traced {
    pub(super) inner: Arc<dyn Context>,
    pub(super) writer: &'static Writer,
    /// The device, as a process of the timeline.
    pub(super) process: u64,
    /// Whether its queues can measure when commands ran.
    pub(super) measures: bool,
}

impl Traced {
    /// Notes how long a program took to be made.
    fn building<T>(
        &self,
        verb: &str,
        arguments: &str,
        build: impl FnOnce() -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let begin = self.writer.now();
        let built = build();
        let name = current_name().unwrap_or_else(|| "a program".to_owned());
        let arguments = format!("{arguments},\"built\":{}", built.is_ok());
        self.writer.on_this_thread(
            "build",
            &format!("{verb} {name}"),
            begin,
            self.writer.now(),
            &arguments,
        );
        built
    }
}

impl Context for Traced {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        self.inner.allocate(kind, size, align)
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        // Measured for the timeline, whoever else wants to know.
        let profiling = options.profiling || self.measures;
        let inner = self.inner.create_queue(&QueueOptions { profiling, ..*options })?;
        let number = self.writer.queues.fetch_add(1, Ordering::Relaxed);
        let track = Arc::new(Track::new(self.writer, self.process, number, options.order));
        Ok(Box::new(TracedQueue { inner, track, tells_times: options.profiling }))
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        let arguments =
            format!("\"form\":\"{}\",\"bytes\":{},\"cache\":\"miss\"", form.name(), code.len());
        self.building("build", &arguments, || self.inner.build(form, code))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        self.inner.promise()
    }

    fn reorders_loops(&self) -> bool {
        self.inner.reorders_loops()
    }

    fn takes_annotation(&self, capability: u32) -> bool {
        self.inner.takes_annotation(capability)
    }

    fn argument_alignment(&self) -> usize {
        self.inner.argument_alignment()
    }

    fn lacks(&self, feature: Feature) -> bool {
        self.inner.lacks(feature)
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        self.inner.as_caching()?;
        Some(self)
    }
}

impl Traced {
    fn caching(&self) -> &dyn ProgramBinaries {
        match self.inner.as_caching() {
            Some(caching) => caching,
            None => unreachable!("`as_caching` gave this away only if there is one"),
        }
    }
}

impl ProgramBinaries for Traced {
    fn build_identity(&self) -> String {
        self.caching().build_identity()
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        self.caching().binary(program)
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        let arguments = format!("\"form\":\"binary\",\"bytes\":{},\"cache\":\"hit\"", binary.len());
        self.building("load", &arguments, || self.caching().build_binary(binary))
    }
}
