//! Variables of programs, by the calls of `cl_intel_global_variable_access`.
//!
//! Drivers that have the calls do not always list the extension, so the calls themselves are asked for.

use std::any::Any;
use std::ffi::{CStr, CString, c_void};
use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Event, Variable, VariableQueue};

use crate::exit;
use crate::program::ProgramHandle;
use crate::queue::{ClQueue, NON_BLOCKING};
use crate::sys;

/// SPIR-V's capability `GlobalVariableHostAccessINTEL`: what such drivers take.
pub(crate) const HOST_ACCESS: u32 = 6187;

/// A variable that the host may name.
pub(crate) struct ClVariable {
    program: Arc<ProgramHandle>,
    name: CString,
    size: NonZeroUsize,
    address: usize,
}

impl ClVariable {
    /// The variable of this name; `None` if the driver knows none.
    pub(crate) fn find(program: &Arc<ProgramHandle>, name: &str) -> Option<Self> {
        let (_alive, name) = (exit::driver()?, CString::new(name).ok()?);
        let calls = program.context.variables?;
        let (mut size, mut address) = (0, std::ptr::null_mut());
        // SAFETY: device and program are alive and belong together, the program is built, the name is
        // terminated, both results are writable.
        let status = unsafe {
            (calls.get_pointer)(
                program.context.id,
                program.raw,
                name.as_ptr(),
                &raw mut size,
                &raw mut address,
            )
        };
        let size = NonZeroUsize::new(size).filter(|_| status == sys::CL_SUCCESS)?;
        Some(Self { program: Arc::clone(program), name, size, address: address.addr() })
    }

    fn of(variable: &dyn Variable) -> &Self {
        match variable.as_any().downcast_ref() {
            Some(variable) => variable,
            None => panic!("the runtime hands over only variables of the same context"),
        }
    }
}

impl Variable for ClVariable {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn device_address(&self) -> Option<u64> {
        (self.address != 0).then_some(self.address as u64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ClQueue {
    /// Runs one of the two calls, which differ in the direction alone.
    ///
    /// # Safety
    /// `host` is valid for `size` bytes, in the direction of the call, until the event completes.
    unsafe fn copy_variable(
        &self,
        call: (&'static str, sys::EnqueueVariable),
        variable: &dyn Variable,
        offset: usize,
        host: *mut c_void,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let (name, enqueue) = call;
        let variable = ClVariable::of(variable);
        let symbol: &CStr = &variable.name;
        self.enqueue(name, after, |queue, waits, event| {
            // SAFETY: queue, program and events are alive and of one context, the name is terminated, the
            // range lies inside the variable, and the caller vouches for `host`.
            unsafe {
                enqueue(
                    queue,
                    variable.program.raw,
                    symbol.as_ptr(),
                    NON_BLOCKING,
                    size.get(),
                    offset,
                    host,
                    waits.count(),
                    waits.as_ptr(),
                    event,
                )
            }
        })
    }

    fn variables(&self) -> sys::Variables {
        match self.context().variables {
            Some(calls) => calls,
            None => panic!("the runtime copies variables only where a queue can"),
        }
    }
}

impl VariableQueue for ClQueue {
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let call = ("clEnqueueWriteGlobalVariableINTEL", self.variables().enqueue_write);
        // SAFETY: the call only reads there, and the caller vouches for `source`.
        unsafe { self.copy_variable(call, target, offset, source.cast_mut().cast(), size, after) }
    }

    unsafe fn read_variable(
        &self,
        source: &dyn Variable,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let call = ("clEnqueueReadGlobalVariableINTEL", self.variables().enqueue_read);
        // SAFETY: the caller vouches for `target`.
        unsafe { self.copy_variable(call, source, offset, target.cast(), size, after) }
    }
}
