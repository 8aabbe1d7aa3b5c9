//! Modules and their variables.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Arc;

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, answer_bytes, bytes, description, misuse, properties, text};
use crate::driver::{CONTEXTS, Context, is_device};
use crate::kernel;
use crate::live::{Live, OfContext};
use crate::opencl::Cl;
use crate::spirv;

/// A program, built unless it imports something.
pub(crate) struct Module {
    pub(crate) context: Arc<Context>,
    of: usize,
    pub(crate) raw: Cl,
    pub(crate) code: spirv::Module,
    spirv: Vec<u8>,
}

// SAFETY: the raw pointer is a `cl_program`, which threads may share.
unsafe impl Send for Module {}
// SAFETY: as for `Send`.
unsafe impl Sync for Module {}

impl OfContext for Module {
    fn context(&self) -> usize {
        self.of
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nobody else releases it.
        unsafe { (self.context.below.core.clReleaseProgram)(self.raw) };
    }
}

pub(crate) static MODULES: Live<Module> = Live::new("module");
static LOGS: Live<CString> = Live::new("build log");

/// How native binaries begin. The SPIR-V follows, after its length, and then OpenCL's binary.
const NATIVE: &[u8; 8] = b"fake ze0";

fn answer_log(call: &str, place: *mut Handle, log: &str) {
    if !place.is_null() {
        let log = CString::new(log.replace('\0', " ")).unwrap_or_default();
        answer(call, place, LOGS.add(Arc::new(log)));
    }
}

/// OpenCL's options for Level Zero's.
fn options(call: &str, flags: *const c_char) -> &'static CStr {
    let mut found = c"";
    let flags = if flags.is_null() { c"" } else { text(call, flags) };
    for flag in flags.to_string_lossy().split_whitespace() {
        match flag {
            "-ze-fp32-correctly-rounded-divide-sqrt" => {
                found = c"-cl-fp32-correctly-rounded-divide-sqrt";
            }
            "-ze-opt-greater-than-4GB-buffer-required" => {}
            other => misuse(call, &format!("{other} is no build flag")),
        }
    }
    found
}

pub(crate) extern "C" fn create(
    handle: Handle,
    device: Handle,
    desc: *const abi::ze_module_desc_t,
    place: *mut Handle,
    log: *mut Handle,
) -> Status {
    const CALL: &str = "zeModuleCreate";
    let (context, desc) = (CONTEXTS.get(CALL, handle), description(CALL, desc));
    is_device(CALL, device);
    if !desc.pConstants.is_null() {
        return abi::ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    let input = bytes(CALL, desc.pInputModule, desc.inputSize);
    let options = options(CALL, desc.pBuildFlags);
    let (spirv, native) = match desc.format {
        abi::ZE_MODULE_FORMAT_IL_SPIRV => (input, None),
        abi::ZE_MODULE_FORMAT_NATIVE => match unpack(input) {
            Some((spirv, native)) => (spirv, Some(native)),
            None => return abi::ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
        },
        other => misuse(CALL, &format!("{other} is no format")),
    };
    let Some(code) = spirv::Module::read(spirv) else {
        answer_log(CALL, log, "this is no SPIR-V");
        return abi::ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    };
    let raw = match create_below(&context, spirv, native) {
        Ok(raw) => raw,
        Err(status) => {
            answer_log(CALL, log, &format!("OpenCL does not take it: {status}"));
            return abi::ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
        }
    };
    let of = handle.addr();
    let module = Module { context, of, raw, code, spirv: spirv.to_vec() };
    // What imports something is built when it is linked.
    let below = module.context.below;
    if module.code.imports.is_empty() && below.build(raw, options) != 0 {
        answer_log(CALL, log, &below.build_log(raw));
        return abi::ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    }
    answer_log(CALL, log, &below.build_log(raw));
    answer(CALL, place, MODULES.add(Arc::new(module)));
    ZE_RESULT_SUCCESS
}

fn create_below(context: &Context, spirv: &[u8], native: Option<&[u8]>) -> Result<Cl, i32> {
    let (core, mut status) = (&context.below.core, 0);
    let raw = match native {
        // SAFETY: the context is alive, the code is readable for its length, the status is writable.
        None => unsafe {
            let start = spirv.as_ptr().cast();
            (core.clCreateProgramWithIL)(context.raw, start, spirv.len(), &raw mut status)
        },
        Some(native) => {
            let (length, start, none) = (native.len(), native.as_ptr(), std::ptr::null_mut());
            // SAFETY: as above, with one length and one address for one device.
            unsafe {
                (core.clCreateProgramWithBinary)(
                    context.raw,
                    1,
                    &raw const context.below.device,
                    &raw const length,
                    &raw const start,
                    none,
                    &raw mut status,
                )
            }
        }
    };
    if status == 0 { Ok(raw) } else { Err(status) }
}

/// The SPIR-V and OpenCL's binary in a native binary.
fn unpack(binary: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = binary.strip_prefix(NATIVE)?.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

pub(crate) extern "C" fn destroy(handle: Handle) -> Status {
    const CALL: &str = "zeModuleDestroy";
    let module = MODULES.remove(CALL, handle);
    if kernel::KERNELS.all().iter().any(|kernel| Arc::ptr_eq(&kernel.module, &module)) {
        misuse(CALL, "some of its kernels are alive");
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn dynamic_link(
    count: u32,
    modules: *const Handle,
    log: *mut Handle,
) -> Status {
    const CALL: &str = "zeModuleDynamicLink";
    if modules.is_null() || count == 0 {
        misuse(CALL, "there are no modules");
    }
    let mut missing = Vec::new();
    for at in 0..count as usize {
        // SAFETY: it is not null, and by Level Zero's rules there are as many as announced.
        let module = MODULES.get(CALL, unsafe { modules.wrapping_add(at).read() });
        missing.extend(module.code.imports.iter().cloned());
    }
    if missing.is_empty() {
        answer_log(CALL, log, "");
        return ZE_RESULT_SUCCESS;
    }
    // Whoever has it is not looked for: nothing below this driver links variables of several modules.
    answer_log(CALL, log, &format!("undefined: {}", missing.join(", ")));
    abi::ZE_RESULT_ERROR_MODULE_LINK_FAILURE
}

pub(crate) extern "C" fn get_native_binary(
    handle: Handle,
    size: *mut usize,
    place: *mut u8,
) -> Status {
    const CALL: &str = "zeModuleGetNativeBinary";
    let module = MODULES.get(CALL, handle);
    let mut binary = NATIVE.to_vec();
    binary.extend((module.spirv.len() as u64).to_le_bytes());
    binary.extend(&module.spirv);
    binary.extend(module.context.below.binary(module.raw));
    answer_bytes(CALL, size, place, &binary)
}

pub(crate) extern "C" fn get_global_pointer(
    handle: Handle,
    name: *const c_char,
    size: *mut usize,
    place: *mut *mut c_void,
) -> Status {
    const CALL: &str = "zeModuleGetGlobalPointer";
    let (module, name) = (MODULES.get(CALL, handle), text(CALL, name));
    if !module.code.imports.is_empty() {
        return abi::ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
    }
    let below = module.context.below;
    let known = name.to_str().ok().and_then(|name| module.code.variable(name));
    let Some(name) = known.and_then(|name| CString::new(name).ok()) else {
        return abi::ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
    };
    let (mut bytes, mut address) = (0, std::ptr::null_mut());
    // SAFETY: device and program are alive and belong together, the name is terminated, and both
    // results are writable.
    let status = unsafe {
        (below.more.clGetDeviceGlobalVariablePointerINTEL)(
            below.device,
            module.raw,
            name.as_ptr(),
            &raw mut bytes,
            &raw mut address,
        )
    };
    if status != 0 || address.is_null() {
        return abi::ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
    }
    // Both results are optional.
    if !size.is_null() {
        answer(CALL, size, bytes);
    }
    if !place.is_null() {
        answer(CALL, place, address);
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn get_properties(
    handle: Handle,
    place: *mut abi::ze_module_properties_t,
) -> Status {
    const CALL: &str = "zeModuleGetProperties";
    let module = MODULES.get(CALL, handle);
    let imports = !module.code.imports.is_empty();
    properties(CALL, place).flags = if imports { abi::ZE_MODULE_PROPERTY_FLAG_IMPORTS } else { 0 };
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn log_destroy(handle: Handle) -> Status {
    LOGS.remove("zeModuleBuildLogDestroy", handle);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn log_get_string(
    handle: Handle,
    size: *mut usize,
    place: *mut c_char,
) -> Status {
    const CALL: &str = "zeModuleBuildLogGetString";
    let log = LOGS.get(CALL, handle);
    answer_bytes(CALL, size, place.cast(), log.as_bytes_with_nul())
}
