//! Built programs and their kernels.

use std::any::Any;
use std::ffi::CString;
use std::sync::{Arc, Mutex, Once};

use crosscut_adapter_api::{
    DriverError, DriverErrorKind, Kernel, KernelGroups, Program, Variable, exit,
};

use crate::abi::{self, Handle, Typed};
use crate::context::ContextHandle;
use crate::error::{check, error};
use crate::query;
use crate::sys::Api;
use crate::variable::ZeVariable;

/// A `ze_module_handle_t`. Its kernels share it; the last one destroys it.
pub(crate) struct ModuleHandle {
    pub(crate) context: Arc<ContextHandle>,
    pub(crate) raw: Handle,
}

// SAFETY: the raw pointer is a `ze_module_handle_t`, and of the functions that take one Level Zero's
// specification says: "The application may call this function from simultaneous threads"; the one
// that destroys it is called once.
unsafe impl Send for ModuleHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ModuleHandle {}

impl Drop for ModuleHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: its kernels and variables hold it, so there are none; nobody else destroys it.
            unsafe { (self.context.api.zeModuleDestroy)(self.raw) };
        }
    }
}

/// A program as the contract has it.
pub(crate) struct ZeProgram(pub(crate) Arc<ModuleHandle>);

impl ZeProgram {
    /// Builds SPIR-V, which the runtime has checked: drivers crash on what they do not expect.
    pub(crate) fn build(context: &Arc<ContextHandle>, code: &[u8]) -> Result<Self, DriverError> {
        Self::create(context, abi::ZE_MODULE_FORMAT_IL_SPIRV, code)
    }

    /// Builds code of either form.
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        format: u32,
        code: &[u8],
    ) -> Result<Self, DriverError> {
        const CALL: &str = "zeModuleCreate";
        static FIRST_PROGRAM: Once = Once::new();
        let _alive = exit::enter(CALL)?;
        let mut description = abi::ze_module_desc_t::new();
        description.format = format;
        description.inputSize = code.len();
        description.pInputModule = code.as_ptr();
        description.pBuildFlags = context.build_flags.as_ptr();
        let (mut raw, mut log) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: context and device are alive and belong together; the description says its type, the
        // code is readable for its length and the flags are terminated; both handles are writable.
        let status = unsafe {
            (context.api.zeModuleCreate)(
                context.raw,
                context.id,
                &raw const description,
                &raw mut raw,
                &raw mut log,
            )
        };
        exit::watch(&FIRST_PROGRAM);
        built(context.api, CALL, status, log)?;
        let module = ModuleHandle { context: Arc::clone(context), raw };
        module.link()?;
        Ok(Self(Arc::new(module)))
    }
}

/// Turns the status of a build into a result, with what the driver wrote about it.
fn built(api: &Api, call: &'static str, status: u32, log: Handle) -> Result<(), DriverError> {
    let text = (!log.is_null()).then(|| read_log(api, log)).filter(|text| !text.is_empty());
    check(call, status).map_err(|refusal| {
        let code = refusal.log.iter().cloned();
        let lines: Vec<String> = code.chain(text).collect();
        // Whatever the driver does not like about the code: there is nothing else to dislike.
        let kind = match refusal.kind {
            DriverErrorKind::Other => DriverErrorKind::Build,
            kind => kind,
        };
        DriverError { kind, log: (!lines.is_empty()).then(|| lines.join("\n")), ..refusal }
    })
}

/// What the compiler in the driver wrote. The log is gone after this.
fn read_log(api: &Api, log: Handle) -> String {
    let mut size = 0;
    let get = api.zeModuleBuildLogGetString;
    // SAFETY: the log is alive; asking for the size alone.
    let status = unsafe { get(log, &raw mut size, std::ptr::null_mut()) };
    let mut text = vec![0_u8; if status == abi::ZE_RESULT_SUCCESS { size } else { 0 }];
    if !text.is_empty() {
        // SAFETY: the log is alive, and there is room for as many bytes as are announced.
        let status = unsafe { get(log, &raw mut size, text.as_mut_ptr().cast()) };
        text.truncate(if status == abi::ZE_RESULT_SUCCESS { size } else { 0 });
    }
    // SAFETY: the log is alive, and nobody else has it.
    unsafe { (api.zeModuleBuildLogDestroy)(log) };
    query::text(&text)
}

impl ModuleHandle {
    /// Links a module that imports something: before that it has neither kernels nor variables.
    fn link(&self) -> Result<(), DriverError> {
        const CALL: &str = "zeModuleDynamicLink";
        let api = self.context.api;
        let imports = query::one(self.raw, api.zeModuleGetProperties)
            .is_some_and(|module| module.flags & abi::ZE_MODULE_PROPERTY_FLAG_IMPORTS != 0);
        if !imports {
            return Ok(());
        }
        let mut log = std::ptr::null_mut();
        // SAFETY: one module is announced and alive, and the handle is writable.
        let status = unsafe { (api.zeModuleDynamicLink)(1, &raw const self.raw, &raw mut log) };
        built(api, CALL, status, log)
    }
}

impl Program for ZeProgram {
    fn kernel(&self, name: &str) -> Result<Box<dyn Kernel>, DriverError> {
        const CALL: &str = "zeKernelCreate";
        let _alive = exit::enter(CALL)?;
        // A name with a zero byte inside is no kernel's name; drivers could not even be asked.
        let name = CString::new(name)
            .map_err(|_| error(CALL, abi::ZE_RESULT_ERROR_INVALID_KERNEL_NAME))?;
        let (api, mut raw) = (self.0.context.api, std::ptr::null_mut());
        let mut description = abi::ze_kernel_desc_t::new();
        description.pKernelName = name.as_ptr();
        // SAFETY: the module is built and alive, the description says its type, the name is
        // terminated, `raw` is writable.
        let status =
            unsafe { (api.zeKernelCreate)(self.0.raw, &raw const description, &raw mut raw) };
        check(CALL, status)?;
        let module = Arc::clone(&self.0);
        let mut kernel = KernelHandle {
            module,
            raw,
            groups: KernelGroups::default(),
            launching: Mutex::default(),
        };
        kernel.groups.required = kernel.required_group();
        kernel.allow_indirect_access()?;
        Ok(Box::new(ZeKernel(Arc::new(kernel))))
    }

    fn variable(&self, name: &str) -> Option<Box<dyn Variable>> {
        Some(Box::new(ZeVariable::find(&self.0, name)?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A `ze_kernel_handle_t`. Commands that run it share it.
pub(crate) struct KernelHandle {
    pub(crate) module: Arc<ModuleHandle>,
    pub(crate) raw: Handle,
    pub(crate) groups: KernelGroups,
    /// To be held from the first argument set until the launch that takes them is appended.
    pub(crate) launching: Mutex<()>,
}

// SAFETY: the raw pointer is a `ze_kernel_handle_t`. Its state changes only before it is shared, in
// `allow_indirect_access`, and by a launch, which holds `launching` meanwhile.
unsafe impl Send for KernelHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for KernelHandle {}

impl KernelHandle {
    /// The one shape of groups that it was compiled for.
    fn required_group(&self) -> Option<[usize; 3]> {
        let kernel = query::one(self.raw, self.module.context.api.zeKernelGetProperties)?;
        let size =
            [kernel.requiredGroupSizeX, kernel.requiredGroupSizeY, kernel.requiredGroupSizeZ];
        (size != [0; 3]).then(|| size.map(|size| size.max(1) as usize))
    }

    /// Tells the driver, once for all launches, that the kernel may follow addresses that it finds
    /// in memory: device globals hold addresses.
    fn allow_indirect_access(&self) -> Result<(), DriverError> {
        let flags = abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST
            | abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE
            | abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
        // SAFETY: the kernel is alive and not shared yet.
        let status =
            unsafe { (self.module.context.api.zeKernelSetIndirectAccess)(self.raw, flags) };
        check("zeKernelSetIndirectAccess", status)
    }
}

impl Drop for KernelHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: commands that run it hold it until they are over, and nobody else destroys it.
            unsafe { (self.module.context.api.zeKernelDestroy)(self.raw) };
        }
    }
}

/// A kernel as the contract has it.
pub(crate) struct ZeKernel(pub(crate) Arc<KernelHandle>);

impl Kernel for ZeKernel {
    fn groups(&self) -> KernelGroups {
        self.0.groups
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
