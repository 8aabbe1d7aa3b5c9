//! Finding devices and asking what they are.

use std::any::Any;
use std::ffi::CStr;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    Absence, CodeForm, Context, Device, DeviceInfo, DeviceKind, DriverError, Feature, Joinable,
    Partitionable,
};

use crate::context::ClContext;
use crate::query::{self, bytes, number, text};
use crate::reach::Unified;
use crate::sys::{self, Api, Handle, Usm};
use crate::{MemoryModel, exit, memory_model, set_up};

/// A device with what the rest of the adapter must know about it.
pub(crate) struct ClDevice {
    pub(crate) api: &'static Api,
    /// `cl_device_id`. Root devices are not reference counted: it is valid for ever.
    pub(crate) id: Handle,
    /// The `cl_platform_id` it was found on.
    pub(crate) platform: Handle,
    /// Which memory to use.
    pub(crate) memory: MemoryModel,
    /// Whether it is a part of another, which has to be released.
    pub(crate) is_part: bool,
    /// The entry points of unified shared memory, if it is to be used.
    pub(crate) usm: Option<Usm>,
    /// Which unified shared memory it has besides its own.
    pub(crate) unified: Unified,
    /// The entry points for variables of programs, if it is to be used as it is.
    pub(crate) variables: Option<sys::Variables>,
    /// Takes SPIR-V, if the device does.
    pub(crate) create_program: Option<sys::CreateProgramWithIl>,
    /// Whether queues can be out of order.
    pub(crate) out_of_order_queues: bool,
    /// The alignment in bytes of every memory object, and of every part of one.
    pub(crate) base_alignment: usize,
    /// What programs are built with.
    pub(crate) build_options: &'static CStr,
    pub(crate) info: DeviceInfo,
}

// SAFETY: the only raw pointers are a `cl_device_id` and a `cl_platform_id`, and OpenCL 3.0, appendix A.2, says: "All OpenCL
// API calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ClDevice {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClDevice {}

/// The devices of all platforms, in the driver's order.
pub(crate) fn list(memory: MemoryModel) -> Result<Vec<Arc<dyn Device>>, Absence> {
    static DRIVERS_LOADED: Once = Once::new();
    let api = sys::api()?;
    let Some(_alive) = exit::driver() else {
        return Err(Absence {
            reason: "the process is ending".to_owned(),
            help: "list devices before `main` returns".to_owned(),
        });
    };
    let platforms = platforms(api);
    exit::watch(&DRIVERS_LOADED);
    if platforms.is_empty() {
        return Err(Absence {
            reason: "the OpenCL library found no driver".to_owned(),
            help: set_up::help(
                "install your device's OpenCL driver, or point OCL_ICD_VENDORS at the folder with its .icd file, as \
                 `.crosscut/env` in a checkout of Crosscut does once set up; `cargo crosscut doctor` looks for both",
            ),
        });
    }
    let mut found: Vec<Arc<dyn Device>> = Vec::new();
    for platform in platforms {
        for id in device_ids(api, platform) {
            if let Some(device) = ClDevice::ask(api, platform, id, memory) {
                found.push(Arc::new(Listed(Arc::new(device))));
            }
        }
    }
    if found.is_empty() {
        return Err(Absence {
            reason: "the OpenCL drivers found no device".to_owned(),
            help: "check that this user may open the device, for example by its group".to_owned(),
        });
    }
    Ok(found)
}

fn platforms(api: &Api) -> Vec<Handle> {
    let mut count = 0;
    // SAFETY: asking for the count alone; `count` is writable.
    let status = unsafe { (api.clGetPlatformIDs)(0, std::ptr::null_mut(), &raw mut count) };
    if status != sys::CL_SUCCESS || count == 0 {
        return Vec::new();
    }
    let mut ids = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: `ids` has room for `count` handles.
    let status = unsafe { (api.clGetPlatformIDs)(count, ids.as_mut_ptr(), std::ptr::null_mut()) };
    if status == sys::CL_SUCCESS { ids } else { Vec::new() }
}

fn device_ids(api: &Api, platform: Handle) -> Vec<Handle> {
    let all = sys::CL_DEVICE_TYPE_ALL;
    let mut count = 0;
    // SAFETY: `platform` came from `clGetPlatformIDs`; asking for the count alone.
    let status =
        unsafe { (api.clGetDeviceIDs)(platform, all, 0, std::ptr::null_mut(), &raw mut count) };
    if status != sys::CL_SUCCESS || count == 0 {
        return Vec::new();
    }
    let mut ids = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: the same platform, and `ids` has room for `count` handles.
    let status = unsafe {
        (api.clGetDeviceIDs)(platform, all, count, ids.as_mut_ptr(), std::ptr::null_mut())
    };
    if status == sys::CL_SUCCESS { ids } else { Vec::new() }
}

impl ClDevice {
    /// Asks the driver about a device; `None` if it is not available.
    pub(crate) fn ask(
        api: &'static Api,
        platform: Handle,
        id: Handle,
        memory: MemoryModel,
    ) -> Option<Self> {
        // SAFETY: `id` came from `clGetDeviceIDs` or `clCreateSubDevices`.
        let ask = |property| unsafe { bytes(api.clGetDeviceInfo, id, property) };
        if number(&ask(sys::CL_DEVICE_AVAILABLE)) == 0 {
            return None;
        }
        let extensions = text(&ask(sys::CL_DEVICE_EXTENSIONS));
        let has = |name: &str| extensions.split_whitespace().any(|known| known == name);

        // SAFETY: `platform` came from `clGetPlatformIDs`.
        let usm = unsafe { Usm::find(api, platform) }.filter(|_| {
            memory == MemoryModel::BestAvailable
                && has("cl_intel_unified_shared_memory")
                && can_access(number(&ask(sys::CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL)))
        });
        // SAFETY: as above.
        let variables = unsafe { sys::Variables::find(api, platform) }
            .filter(|_| memory == MemoryModel::BestAvailable);
        let can_access = |property| usm.is_some() && can_access(number(&ask(property)));
        let unified = Unified {
            on_host: can_access(sys::CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL),
            shared: can_access(sys::CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
            across: can_access(sys::CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
        };
        let system = can_access(sys::CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL);
        let features = query::features(has, ask)
            .and(memory_model::features(ask))
            .with_if(usm.is_some(), Feature::UsmDevice)
            .with_if(unified.on_host, Feature::UsmHost)
            .with_if(unified.shared, Feature::UsmShared)
            .with_if(system, Feature::UsmSystem);

        let takes_spirv = text(&ask(sys::CL_DEVICE_IL_VERSION)).contains("SPIR-V")
            || text(&ask(sys::CL_DEVICE_ILS_WITH_VERSION)).contains("SPIR-V");
        // SAFETY: `platform` came from `clGetPlatformIDs`.
        let create_program = unsafe { sys::create_program_with_il(api, platform) };
        let address_bits = number(&ask(sys::CL_DEVICE_ADDRESS_BITS)) as u32;
        let code_forms_note = match (takes_spirv && create_program.is_some(), address_bits == 64) {
            (true, true) => None,
            (true, false) => Some("device has 32-bit addresses".to_owned()),
            (false, _) => Some("driver takes no SPIR-V".to_owned()),
        };
        let code_forms =
            if code_forms_note.is_none() { vec![CodeForm::Spirv64] } else { Vec::new() };

        let device_type = number(&ask(sys::CL_DEVICE_TYPE));
        let kind = if device_type & sys::CL_DEVICE_TYPE_GPU != 0 {
            DeviceKind::Gpu
        } else if device_type & sys::CL_DEVICE_TYPE_CPU != 0 {
            DeviceKind::Cpu
        } else {
            DeviceKind::Accelerator
        };
        // SAFETY: `platform` came from `clGetPlatformIDs`.
        let ask_platform = |what| text(&unsafe { bytes(api.clGetPlatformInfo, platform, what) });
        let platform_vendor = ask_platform(sys::CL_PLATFORM_VENDOR);
        let mut sub_group_sizes = query::sub_group_sizes(has, ask);
        if kind == DeviceKind::Cpu {
            let has_avx512 = query::has_avx512();
            sub_group_sizes =
                query::sizes_that_compile(sub_group_sizes, &platform_vendor, has_avx512);
        }
        let info = DeviceInfo {
            name: text(&ask(sys::CL_DEVICE_NAME)),
            vendor: text(&ask(sys::CL_DEVICE_VENDOR)),
            platform: ask_platform(sys::CL_PLATFORM_NAME),
            platform_vendor,
            platform_version: ask_platform(sys::CL_PLATFORM_VERSION),
            version: text(&ask(sys::CL_DEVICE_VERSION)),
            driver_version: text(&ask(sys::CL_DRIVER_VERSION)),
            kind,
            code_forms,
            code_forms_note,
            memory_size: number(&ask(sys::CL_DEVICE_GLOBAL_MEM_SIZE)),
            largest_allocation: number(&ask(sys::CL_DEVICE_MAX_MEM_ALLOC_SIZE)),
            compute_units: number(&ask(sys::CL_DEVICE_MAX_COMPUTE_UNITS)) as u32,
            address_bits,
            limits: query::limits(ask),
            features,
            sub_group_sizes,
        };
        let rounds_correctly = number(&ask(sys::CL_DEVICE_SINGLE_FP_CONFIG))
            & sys::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
            != 0;
        Some(Self {
            api,
            id,
            platform,
            memory,
            is_part: false,
            usm,
            unified,
            variables,
            create_program,
            out_of_order_queues: features.has(Feature::OutOfOrderQueue),
            base_alignment: bytes_of_bits(number(&ask(sys::CL_DEVICE_MEM_BASE_ADDR_ALIGN))),
            // Rust's division and square root are correctly rounded.
            build_options: if rounds_correctly {
                c"-cl-fp32-correctly-rounded-divide-sqrt"
            } else {
                c""
            },
            info,
        })
    }
}

/// An alignment in bytes: at least 1, also where the driver does not know it.
fn bytes_of_bits(bits: u64) -> usize {
    usize::try_from(bits / 8).unwrap_or(1).max(1)
}

fn can_access(capabilities: u64) -> bool {
    capabilities & sys::CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL != 0
}

/// A device as the contract has it.
pub(crate) struct Listed(pub(crate) Arc<ClDevice>);

impl Device for Listed {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(Arc::new(ClContext::create(&self.0)?))
    }

    fn as_joinable(&self) -> Option<&dyn Joinable> {
        Some(self)
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        (self.0.info.limits.sub_devices > 1).then_some(self)
    }
}

/// A `cl_context` takes any devices of one platform, parts of them among others.
impl Joinable for Listed {
    fn can_join(&self, other: &dyn Joinable) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.0.platform == self.0.platform)
    }

    fn create_contexts(
        &self,
        others: &[&dyn Joinable],
    ) -> Result<Vec<Arc<dyn Context>>, DriverError> {
        let device = |other: &&dyn Joinable| match other.as_any().downcast_ref::<Self>() {
            Some(other) => Arc::clone(&other.0),
            None => panic!("the runtime joins only devices that can be joined"),
        };
        let others: Vec<Arc<ClDevice>> = others.iter().map(device).collect();
        let contexts = ClContext::create_several(&self.0, others)?;
        Ok(contexts.into_iter().map(|context| Arc::new(context) as Arc<dyn Context>).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_that_the_driver_does_not_know_is_still_one() {
        assert_eq!([1024, 8, 0].map(bytes_of_bits), [128, 1, 1]);
    }
}
