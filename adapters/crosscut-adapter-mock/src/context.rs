//! The device, opened.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, DriverErrorKind, Memory, MemoryKind, Program, ProgramBinaries,
    Promised, Queue, QueueOptions,
};

use crate::engine::Engine;
use crate::event::{Completion, MockEvent, MockPromise};
use crate::log::{Call, Operation};
use crate::memory::HostMemory;
use crate::program::MockProgram;
use crate::queue::MockQueue;

/// The first word of every SPIR-V module.
const SPIRV_MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

/// What the bytes of a built program begin with; its code follows.
const BINARY_MAGIC: &[u8] = b"mock binary\n";

/// SPIR-V's capability `GlobalVariableHostAccessINTEL`.
const HOST_ACCESS: u32 = 6187;

pub(crate) struct MockContext {
    pub(crate) engine: Arc<Engine>,
    pub(crate) largest_allocation: u64,
}

impl Context for MockContext {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        let operation = Operation::Allocate;
        let refuse = |log| self.engine.refuse(operation, DriverErrorKind::OutOfMemory, log);
        if size.get() as u64 > self.largest_allocation {
            return Err(refuse("larger than the device's largest allocation"));
        }
        let number = self.engine.number();
        let call = || Call::Allocate { memory: number, kind, size, align };
        self.engine.record(operation, call)?;
        match HostMemory::allocate(&self.engine, number, kind, size, align) {
            Some(memory) => Ok(Box::new(memory)),
            None => Err(refuse("the host has not enough memory")),
        }
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        let (queue, order) = (self.engine.number(), options.order);
        self.engine.record(Operation::CreateQueue, || Call::CreateQueue { queue, order })?;
        Ok(Box::new(MockQueue::new(&self.engine, queue, *options)))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        let number = self.engine.number();
        self.engine.record(Operation::Promise, || Call::Promise { event: number })?;
        let completion = Arc::new(Completion::default());
        let promise =
            MockPromise { engine: Arc::clone(&self.engine), completion: Arc::clone(&completion) };
        let engine = Arc::clone(&self.engine);
        let event = MockEvent { engine, number, completion, profiling: false };
        Ok((Box::new(event), Box::new(promise)))
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        assert_eq!(form, CodeForm::Spirv64, "the mock takes no other form");
        if !code.starts_with(&SPIRV_MAGIC) {
            let log = "this is not SPIR-V";
            return Err(self.engine.refuse(Operation::Build, DriverErrorKind::Build, log));
        }
        self.engine.record(Operation::Build, || Call::Build { length: code.len() })?;
        Ok(Box::new(MockProgram { engine: Arc::clone(&self.engine), code: code.to_vec() }))
    }

    fn takes_annotation(&self, capability: u32) -> bool {
        capability == HOST_ACCESS && self.engine.has_variables()
    }

    fn argument_alignment(&self) -> usize {
        self.engine.argument_alignment()
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        Some(self)
    }
}

impl ProgramBinaries for MockContext {
    fn build_identity(&self) -> String {
        "mock".to_owned()
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        let Some(program) = program.as_any().downcast_ref::<MockProgram>() else {
            panic!("the runtime hands over only programs of the same context");
        };
        let binary = [BINARY_MAGIC, &program.code].concat();
        self.engine.record(Operation::Binary, || Call::Binary { length: binary.len() })?;
        Ok(binary)
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        let operation = Operation::BuildBinary;
        let Some(code) = binary.strip_prefix(BINARY_MAGIC) else {
            let log = "this is no binary of the mock";
            return Err(self.engine.refuse(operation, DriverErrorKind::Build, log));
        };
        self.engine.record(operation, || Call::BuildBinary { length: binary.len() })?;
        Ok(Box::new(MockProgram { engine: Arc::clone(&self.engine), code: code.to_vec() }))
    }
}
