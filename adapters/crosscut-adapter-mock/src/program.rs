//! Programs, whose kernels are the test's closures.

use std::any::Any;
use std::sync::Arc;

use crosscut_adapter_api::{
    DriverError, DriverErrorKind, Extent, Kernel, KernelGroups, Program, Variable,
};

use crate::engine::Engine;
use crate::log::{Call, Operation};
use crate::memory::View;
use crate::variable::MockVariable;

/// What a kernel does, for its whole index space at once.
pub(crate) type KernelBody = Arc<dyn Fn(&Launch<'_>) + Send + Sync>;

/// A launch, as the kernel sees it.
pub struct Launch<'a> {
    /// The index space.
    pub extent: Extent,
    /// The arguments.
    pub arguments: &'a [Resolved],
    pub(crate) engine: &'a Engine,
}

/// One argument of a launch.
#[derive(Debug)]
pub enum Resolved {
    /// Plain bytes.
    Value(Vec<u8>),
    /// Memory, from the argument's offset to the end of its allocation.
    Memory(View),
    /// So many bytes for each work-group.
    Local(usize),
}

impl Launch<'_> {
    /// The bytes of an argument; empty if it is memory or not there.
    #[must_use]
    pub fn value(&self, index: usize) -> &[u8] {
        match self.arguments.get(index) {
            Some(Resolved::Value(bytes)) => bytes,
            _ => &[],
        }
    }

    /// The memory of an argument.
    ///
    /// # Panics
    /// If the argument is a value or not there.
    #[must_use]
    pub fn memory(&self, index: usize) -> &View {
        match self.arguments.get(index) {
            Some(Resolved::Memory(view)) => view,
            _ => panic!("argument {index} is no memory"),
        }
    }

    /// Runs `visit` on the memory that `address` points into, from there to its end: what a kernel
    /// reaches that follows an address it found. `None` if there is none.
    pub fn at_address<R>(&self, address: u64, visit: impl FnOnce(&View) -> R) -> Option<R> {
        self.engine.memory_at(address).map(|view| visit(&view))
    }
}

pub(crate) struct MockProgram {
    pub(crate) engine: Arc<Engine>,
    /// What it was built from.
    pub(crate) code: Vec<u8>,
}

impl Program for MockProgram {
    fn kernel(&self, name: &str) -> Result<Box<dyn Kernel>, DriverError> {
        let Some(body) = self.engine.kernel(name) else {
            let log = "the test has defined no kernel of this name";
            return Err(self.engine.refuse(Operation::Kernel, DriverErrorKind::Build, log));
        };
        let name = name.to_owned();
        self.engine.record(Operation::Kernel, || Call::Kernel { name: name.clone() })?;
        let groups = self.engine.groups(&name);
        Ok(Box::new(MockKernel { name, body, groups }))
    }

    fn variable(&self, name: &str) -> Option<Box<dyn Variable>> {
        Some(Box::new(MockVariable::new(name, self.engine.variable(name)?)?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(crate) struct MockKernel {
    pub(crate) name: String,
    pub(crate) body: KernelBody,
    groups: KernelGroups,
}

impl Kernel for MockKernel {
    fn groups(&self) -> KernelGroups {
        self.groups
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
