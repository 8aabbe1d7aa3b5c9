//! Built programs and their kernels.

use std::any::Any;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{DriverError, Kernel, KernelGroups, Program, Variable, exit};

use crate::abi::{self, Handle};
use crate::context::{ContextHandle, Current};
use crate::jit::{self, Log};
use crate::variable::CuVariable;

/// What the device's own code begins with: it is a file of the form ELF, whose head has 64 bytes.
const ELF: &[u8] = b"\x7fELF";
const ELF_HEAD: usize = 64;

/// A `CUmodule`. Its kernels and variables share it; the last one unloads it.
pub(crate) struct ModuleHandle {
    pub(crate) context: Arc<ContextHandle>,
    pub(crate) raw: Handle,
    /// The device's own code.
    pub(crate) code: Vec<u8>,
}

// SAFETY: the raw pointer is a `CUmodule`, which any thread may use whose current context is its own; it
// is unloaded once.
unsafe impl Send for ModuleHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ModuleHandle {}

impl Drop for ModuleHandle {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_if_alive() {
            // SAFETY: its kernels and variables hold it, and commands hold kernels until they are over,
            // so nothing uses it; nobody else unloads it.
            unsafe { (self.context.api.cuModuleUnload)(self.raw) };
        }
    }
}

/// A program as the contract has it.
pub(crate) struct CuProgram(pub(crate) Arc<ModuleHandle>);

impl CuProgram {
    /// Builds PTX.
    pub(crate) fn build(context: &Arc<ContextHandle>, ptx: &[u8]) -> Result<Self, DriverError> {
        let entered = context.enter("cuLinkCreate_v2")?;
        let code = jit::compile(context, &entered.current, ptx)?;
        Self::load(context, &entered.current, code)
    }

    /// Loads the device's own code.
    pub(crate) fn load(
        context: &Arc<ContextHandle>,
        _current: &Current,
        code: Vec<u8>,
    ) -> Result<Self, DriverError> {
        const CALL: &str = "cuModuleLoadDataEx";
        static FIRST_PROGRAM: Once = Once::new();
        let api = context.api;
        // The driver is not told how long the code is, and takes everything else for text.
        if !code.starts_with(ELF) || code.len() < ELF_HEAD {
            return Err(DriverError {
                log: Some("this is no code of a CUDA device".to_owned()),
                ..api.error(CALL, abi::CUDA_ERROR_INVALID_IMAGE)
            });
        }
        let (mut log, mut raw) = (Log::new(), std::ptr::null_mut());
        let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
        // SAFETY: the context is current, the code is what the driver made, as many options as are
        // announced live until the call returns, `raw` is writable.
        let status = unsafe {
            (api.cuModuleLoadDataEx)(
                &raw mut raw,
                code.as_ptr().cast(),
                log.count(),
                options,
                values,
            )
        };
        exit::watch(&FIRST_PROGRAM);
        log.check(context, CALL, status)?;
        Ok(Self(Arc::new(ModuleHandle { context: Arc::clone(context), raw, code })))
    }
}

impl Program for CuProgram {
    fn kernel(&self, name: &str) -> Result<Box<dyn Kernel>, DriverError> {
        const CALL: &str = "cuModuleGetFunction";
        let context = &self.0.context;
        let (api, _entered) = (context.api, context.enter(CALL)?);
        // A name with a zero byte inside is no kernel's name; drivers could not even be asked.
        let name = CString::new(name).map_err(|_| api.error(CALL, abi::CUDA_ERROR_NOT_FOUND))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module is alive and of the context that is current, the name is terminated,
        // `raw` is writable.
        let status = unsafe { (api.cuModuleGetFunction)(&raw mut raw, self.0.raw, name.as_ptr()) };
        api.check(CALL, status)?;
        let mut largest = 0;
        let attribute = abi::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function is alive, and `largest` is writable.
        let status = unsafe { (api.cuFuncGetAttribute)(&raw mut largest, attribute, raw) };
        api.check("cuFuncGetAttribute", status)?;
        let largest = usize::try_from(largest).ok().and_then(NonZeroUsize::new);
        let module = Arc::clone(&self.0);
        Ok(Box::new(CuKernel(Arc::new(KernelHandle { module, raw, largest }))))
    }

    fn variable(&self, name: &str) -> Option<Box<dyn Variable>> {
        Some(Box::new(CuVariable::find(&self.0, name)?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A `CUfunction`. Commands that run it share it.
pub(crate) struct KernelHandle {
    /// It lives as long as this.
    pub(crate) module: Arc<ModuleHandle>,
    pub(crate) raw: Handle,
    /// The most items of a group that there are registers for.
    largest: Option<NonZeroUsize>,
}

// SAFETY: the raw pointer is a `CUfunction`, which has no state that we change.
unsafe impl Send for KernelHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelHandle {}

impl KernelHandle {
    /// The most items of a group.
    pub(crate) fn largest_group(&self) -> usize {
        let device = self.module.context.info.limits.work_group_size;
        self.largest.map_or(device, |largest| largest.get().min(device))
    }
}

/// A kernel as the contract has it.
pub(crate) struct CuKernel(pub(crate) Arc<KernelHandle>);

impl Kernel for CuKernel {
    fn groups(&self) -> KernelGroups {
        let device = self.0.module.context.info.limits.work_group_size;
        let largest = self.0.largest.filter(|largest| largest.get() < device);
        KernelGroups { largest, required: None }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
