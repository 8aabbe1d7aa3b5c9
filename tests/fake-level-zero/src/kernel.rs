//! Kernels, their arguments and groups.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, bytes, description, misuse, properties, text};
use crate::live::{Live, OfContext};
use crate::module::{MODULES, Module};
use crate::opencl::Cl;
use crate::spirv::Parameter;

pub(crate) struct Kernel {
    pub(crate) module: Arc<Module>,
    raw: Cl,
    parameters: Vec<Parameter>,
    /// How many commands that are not over run it.
    pub(crate) users: AtomicUsize,
    state: Mutex<Launch>,
    /// To be held from OpenCL's first argument until its launch is over.
    running: Mutex<()>,
}

/// What a launch takes of its kernel.
#[derive(Clone, Default)]
pub(crate) struct Launch {
    arguments: Vec<Option<Given>>,
    pub(crate) group: Option<[usize; 3]>,
}

#[derive(Clone)]
enum Given {
    Address(usize),
    Local(usize),
    Value(Vec<u8>),
}

// SAFETY: the raw pointer is a `cl_kernel`, which is used under the lock or before it is shared.
unsafe impl Send for Kernel {}
// SAFETY: as for `Send`.
unsafe impl Sync for Kernel {}

impl OfContext for Kernel {
    fn context(&self) -> usize {
        self.module.context()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: nobody else releases it.
        unsafe { (self.module.context.below.core.clReleaseKernel)(self.raw) };
    }
}

pub(crate) static KERNELS: Live<Kernel> = Live::new("kernel");

impl Kernel {
    fn state(&self) -> MutexGuard<'_, Launch> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a launch takes now; it must have been given all of it.
    pub(crate) fn launch(&self, call: &str) -> Launch {
        let launch = self.state().clone();
        if launch.group.is_none() || launch.arguments.iter().any(Option::is_none) {
            misuse(call, "the kernel has no group size, or lacks an argument");
        }
        launch
    }

    /// Runs it over so many groups, and returns when it is over.
    pub(crate) fn run(&self, queue: Cl, launch: &Launch, groups: [usize; 3]) {
        const CALL: &str = "running a kernel";
        let (core, more) = (&self.module.context.below.core, &self.module.context.below.more);
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, given) in (0..).zip(&launch.arguments) {
            // SAFETY (all of these): the kernel is alive and locked, and values are readable for their
            // sizes.
            let status = match given {
                // SAFETY: see above.
                Some(Given::Address(address)) => unsafe {
                    let address = std::ptr::with_exposed_provenance::<c_void>(*address);
                    (more.clSetKernelArgMemPointerINTEL)(self.raw, index, address)
                },
                // SAFETY: see above.
                Some(Given::Local(size)) => unsafe {
                    (core.clSetKernelArg)(self.raw, index, *size, std::ptr::null())
                },
                // SAFETY: see above.
                Some(Given::Value(value)) => unsafe {
                    (core.clSetKernelArg)(self.raw, index, value.len(), value.as_ptr().cast())
                },
                None => misuse(CALL, "the kernel lacks an argument"),
            };
            if status != 0 {
                misuse(CALL, &format!("OpenCL refuses argument {index}: {status}"));
            }
        }
        let group = launch.group.unwrap_or([1; 3]);
        let size: [usize; 3] = std::array::from_fn(|at| groups[at] * group[at]);
        let (none, no_events) = (std::ptr::null(), std::ptr::null());
        // SAFETY: queue and kernel are alive and of one context, and there are three sizes of both.
        let status = unsafe {
            (core.clEnqueueNDRangeKernel)(
                queue,
                self.raw,
                3,
                none,
                size.as_ptr(),
                group.as_ptr(),
                0,
                no_events,
                std::ptr::null_mut(),
            )
        };
        if status != 0 {
            misuse(
                CALL,
                &format!("OpenCL refuses the launch over {size:?} by {group:?}: {status}"),
            );
        }
        // SAFETY: the queue is alive.
        unsafe { (core.clFinish)(queue) };
    }
}

impl Launch {
    /// The addresses among its arguments.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = usize> {
        self.arguments.iter().filter_map(|given| match given {
            Some(Given::Address(address)) => Some(*address),
            _ => None,
        })
    }
}

pub(crate) extern "C" fn create(
    module: Handle,
    desc: *const abi::ze_kernel_desc_t,
    place: *mut Handle,
) -> Status {
    const CALL: &str = "zeKernelCreate";
    let (module, desc) = (MODULES.get(CALL, module), description(CALL, desc));
    if !module.code.imports.is_empty() {
        return abi::ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
    }
    let name = text(CALL, desc.pKernelName);
    let Some(parameters) = name.to_str().ok().and_then(|name| module.code.kernels.get(name)) else {
        return abi::ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    };
    let (parameters, mut status) = (parameters.clone(), 0);
    // SAFETY: the program is built and alive, the name is terminated, the status is writable.
    let raw = unsafe {
        (module.context.below.core.clCreateKernel)(module.raw, name.as_ptr(), &raw mut status)
    };
    if status != 0 {
        return abi::ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    }
    let state = Launch { arguments: vec![None; parameters.len()], group: None };
    let (users, running) = (AtomicUsize::new(0), Mutex::default());
    let kernel = Kernel { module, raw, parameters, users, state: Mutex::new(state), running };
    answer(CALL, place, KERNELS.add(Arc::new(kernel)));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn destroy(handle: Handle) -> Status {
    const CALL: &str = "zeKernelDestroy";
    let kernel = KERNELS.remove(CALL, handle);
    if kernel.users.load(SeqCst) > 0 {
        misuse(CALL, "a command that is not over runs it");
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn set_group_size(handle: Handle, x: u32, y: u32, z: u32) -> Status {
    const CALL: &str = "zeKernelSetGroupSize";
    let kernel = KERNELS.get(CALL, handle);
    if [x, y, z].contains(&0) {
        misuse(CALL, "a group has no items");
    }
    kernel.state().group = Some([x, y, z].map(|size| size as usize));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn suggest_group_size(
    handle: Handle,
    x: u32,
    y: u32,
    z: u32,
    x_place: *mut u32,
    y_place: *mut u32,
    z_place: *mut u32,
) -> Status {
    const CALL: &str = "zeKernelSuggestGroupSize";
    KERNELS.get(CALL, handle);
    // Not a multiple of anything, and no more than every device takes.
    answer(CALL, x_place, x.clamp(1, 67));
    answer(CALL, y_place, y.clamp(1, 3));
    answer(CALL, z_place, z.clamp(1, 1));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn set_argument_value(
    handle: Handle,
    index: u32,
    size: usize,
    value: *const c_void,
) -> Status {
    const CALL: &str = "zeKernelSetArgumentValue";
    let kernel = KERNELS.get(CALL, handle);
    let Some(parameter) = kernel.parameters.get(index as usize) else {
        misuse(CALL, &format!("there is no argument {index}"));
    };
    let given = match parameter {
        Parameter::Local if value.is_null() && size > 0 => Given::Local(size),
        Parameter::Address if size == size_of::<usize>() => {
            let mut address = [0; 8];
            address.copy_from_slice(bytes(CALL, value.cast(), size));
            Given::Address(usize::from_ne_bytes(address))
        }
        Parameter::Value => Given::Value(bytes(CALL, value.cast(), size).to_vec()),
        other => {
            misuse(CALL, &format!("argument {index} is of {size} bytes at {value:?}: {other:?}"))
        }
    };
    kernel.state().arguments[index as usize] = Some(given);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn set_indirect_access(handle: Handle, flags: u32) -> Status {
    const CALL: &str = "zeKernelSetIndirectAccess";
    let kernel = KERNELS.get(CALL, handle);
    let below = [
        (abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST, 0x4200),
        (abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE, 0x4201),
        (abi::ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED, 0x4202),
    ];
    for (flag, what) in below {
        let yes = u32::from(flags & flag != 0);
        let set = kernel.module.context.below.core.clSetKernelExecInfo;
        let _running = kernel.running.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the kernel is alive and locked, and the value is a `cl_bool`.
        unsafe { set(kernel.raw, what, size_of::<u32>(), (&raw const yes).cast()) };
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn get_properties(
    handle: Handle,
    place: *mut abi::ze_kernel_properties_t,
) -> Status {
    const CALL: &str = "zeKernelGetProperties";
    const COMPILED_GROUP: u32 = 0x11B1;
    let (kernel, told) = (KERNELS.get(CALL, handle), properties(CALL, place));
    let (below, mut group) = (kernel.module.context.below, [0_usize; 3]);
    // SAFETY: kernel and device are alive and belong together, and there is room for three sizes.
    unsafe {
        let (size, sizes) = (size_of_val(&group), group.as_mut_ptr().cast());
        let get = below.core.clGetKernelWorkGroupInfo;
        get(kernel.raw, below.device, COMPILED_GROUP, size, sizes, std::ptr::null_mut())
    };
    told.numKernelArgs = kernel.parameters.len() as u32;
    let [x, y, z] = group.map(|size| size as u32);
    (told.requiredGroupSizeX, told.requiredGroupSizeY, told.requiredGroupSizeZ) = (x, y, z);
    ZE_RESULT_SUCCESS
}
