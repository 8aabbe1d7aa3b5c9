//! Built programs and their kernels.

use std::any::Any;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, Once};

use crosscut_adapter_api::{DriverError, DriverErrorKind, Kernel, KernelGroups, Program, Variable};

use crate::arguments::Arguments;
use crate::context::ContextHandle;
use crate::error::{check, error};
use crate::exit;
use crate::sys::{self, Handle};
use crate::variable::ClVariable;

/// A `cl_program`. Its kernels share it; the last one releases it.
pub(crate) struct ProgramHandle {
    pub(crate) context: Arc<ContextHandle>,
    pub(crate) raw: Handle,
}

// SAFETY: the raw pointer is a `cl_program`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API
// calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ProgramHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ProgramHandle {}

impl Drop for ProgramHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that creating the program gave.
            unsafe { (self.context.api.clReleaseProgram)(self.raw) };
        }
    }
}

/// A program as the contract has it.
pub(crate) struct ClProgram(pub(crate) Arc<ProgramHandle>);

impl ClProgram {
    /// Builds SPIR-V, which the runtime has checked: drivers crash on what they do not expect.
    pub(crate) fn build(context: &Arc<ContextHandle>, code: &[u8]) -> Result<Self, DriverError> {
        const CREATE: &str = "clCreateProgramWithIL";
        let _alive = exit::enter(CREATE)?;
        let Some(create) = context.create_program else {
            panic!("the runtime builds only forms that a device lists");
        };
        let mut status = 0;
        // SAFETY: the context is alive, `code` is readable for its length, `status` is writable.
        let raw = unsafe { create(context.raw, code.as_ptr().cast(), code.len(), &raw mut status) };
        // "CL_INVALID_VALUE if il is NULL, or if il does not point to a well-formed intermediate
        // language module": there is no other way to read it here.
        check(CREATE, status).map_err(|refusal| match refusal.code {
            sys::CL_INVALID_VALUE => DriverError { kind: DriverErrorKind::Build, ..refusal },
            _ => refusal,
        })?;
        Self::finish(ProgramHandle { context: Arc::clone(context), raw })
    }

    /// Builds a program that was created from code of whatever form.
    pub(crate) fn finish(program: ProgramHandle) -> Result<Self, DriverError> {
        const BUILD: &str = "clBuildProgram";
        static FIRST_PROGRAM: Once = Once::new();
        let context = &program.context;
        let _alive = exit::enter(BUILD)?;
        // SAFETY: the program is alive, the device is its context's, the options are terminated,
        // and without a callback the call returns when the build has ended.
        let status = unsafe {
            (context.api.clBuildProgram)(
                program.raw,
                1,
                &raw const context.id,
                context.build_options.as_ptr(),
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        };
        exit::watch(&FIRST_PROGRAM);
        check(BUILD, status)
            .map_err(|refusal| DriverError { log: program.build_log(), ..refusal })?;
        Ok(Self(Arc::new(program)))
    }
}

impl ProgramHandle {
    /// What the compiler in the driver wrote.
    fn build_log(&self) -> Option<String> {
        let device = self.context.id;
        let get = self.context.api.clGetProgramBuildInfo;
        let what = sys::CL_PROGRAM_BUILD_LOG;
        let mut size = 0;
        // SAFETY: program and device are alive and belong together; asking for the size alone.
        let status = unsafe { get(self.raw, device, what, 0, std::ptr::null_mut(), &raw mut size) };
        if status != sys::CL_SUCCESS || size == 0 {
            return None;
        }
        let mut log = vec![0_u8; size];
        // SAFETY: as above, and `log` has room for `size` bytes.
        let status = unsafe {
            get(self.raw, device, what, size, log.as_mut_ptr().cast(), std::ptr::null_mut())
        };
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned();
        (status == sys::CL_SUCCESS && !log.is_empty()).then_some(log)
    }
}

impl Program for ClProgram {
    fn kernel(&self, name: &str) -> Result<Box<dyn Kernel>, DriverError> {
        const CALL: &str = "clCreateKernel";
        let _alive = exit::enter(CALL)?;
        // A name with a zero byte inside is no kernel's name; drivers could not even be asked.
        let name = CString::new(name).map_err(|_| error(CALL, sys::CL_INVALID_KERNEL_NAME))?;
        let mut status = 0;
        // SAFETY: the program is built and alive, the name is terminated, `status` is writable.
        let raw = unsafe {
            (self.0.context.api.clCreateKernel)(self.0.raw, name.as_ptr(), &raw mut status)
        };
        check(CALL, status)?;
        let mut kernel = ClKernel {
            program: Arc::clone(&self.0),
            raw,
            groups: KernelGroups::default(),
            arguments: Mutex::default(),
        };
        kernel.groups = kernel.ask_for_groups();
        kernel.allow_indirect_access()?;
        Ok(Box::new(kernel))
    }

    fn variable(&self, name: &str) -> Option<Box<dyn Variable>> {
        Some(Box::new(ClVariable::find(&self.0, name)?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A `cl_kernel`, the one object that threads may not share as it is.
pub(crate) struct ClKernel {
    program: Arc<ProgramHandle>,
    pub(crate) raw: Handle,
    groups: KernelGroups,
    /// To be held from the first argument set until the launch that takes them is enqueued.
    pub(crate) arguments: Mutex<Arguments>,
}

// SAFETY: the raw pointer is a `cl_kernel`. Its state changes only before it is shared, in
// `allow_indirect_access`, and by a launch, which holds `arguments` meanwhile; for all else
// OpenCL 3.0, appendix A.2, says: "All OpenCL API calls are thread-safe except those that modify
// the state of cl_kernel objects".
unsafe impl Send for ClKernel {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClKernel {}

impl ClKernel {
    /// What the driver says of its groups. One that does not say it refuses launches itself.
    fn ask_for_groups(&self) -> KernelGroups {
        let [largest] = self.sizes(sys::CL_KERNEL_WORK_GROUP_SIZE);
        let required = self.sizes(sys::CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
        KernelGroups {
            largest: NonZeroUsize::new(largest),
            required: (required != [0; 3]).then_some(required),
        }
    }

    /// Sizes that the driver knows of the kernel on its device; zeros where it does not.
    fn sizes<const N: usize>(&self, what: u32) -> [usize; N] {
        let (context, mut sizes) = (&self.program.context, [0; N]);
        // SAFETY: kernel and device are alive and belong together; `sizes` has room for as much as is
        // said.
        let status = unsafe {
            (context.api.clGetKernelWorkGroupInfo)(
                self.raw,
                context.id,
                what,
                size_of_val(&sizes),
                sizes.as_mut_ptr().cast(),
                std::ptr::null_mut(),
            )
        };
        if status == sys::CL_SUCCESS { sizes } else { [0; N] }
    }

    /// Tells the driver, once for all launches, that the kernel may follow addresses that it finds
    /// in memory: device globals hold addresses.
    fn allow_indirect_access(&self) -> Result<(), DriverError> {
        const CALL: &str = "clSetKernelExecInfo";
        let context = &self.program.context;
        let (Some(_), Some(set)) = (context.reach.usm, context.api.clSetKernelExecInfo) else {
            return Ok(());
        };
        let yes = 1_u32;
        let host = sys::CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL;
        let places = [
            sys::CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
            sys::CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
        ];
        for place in places.into_iter().chain(context.reach.on_host.then_some(host)) {
            // SAFETY: the kernel is alive and not shared yet, and the value is a `cl_bool`.
            let status = unsafe { set(self.raw, place, size_of::<u32>(), (&raw const yes).cast()) };
            check(CALL, status)?;
        }
        Ok(())
    }
}

impl Kernel for ClKernel {
    fn groups(&self) -> KernelGroups {
        self.groups
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for ClKernel {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that `clCreateKernel` gave.
            unsafe { (self.program.context.api.clReleaseKernel)(self.raw) };
        }
    }
}
