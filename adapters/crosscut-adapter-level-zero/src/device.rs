//! Finding devices and asking what they are.

use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    Absence, CodeForm, Context, Device, DeviceInfo, DeviceKind, DriverError, Feature, Features,
    exit,
};

use crate::abi::{self, Handle, Typed};
use crate::clock::Clock;
use crate::context::ZeContext;
use crate::query;
use crate::sys::{self, Api};

/// A device with what the rest of the adapter must know about it.
pub(crate) struct ZeDevice {
    pub(crate) api: &'static Api,
    /// `ze_device_handle_t`, valid for ever.
    pub(crate) id: Handle,
    /// The `ze_driver_handle_t` it was found on.
    pub(crate) driver: Handle,
    /// Which command queue group takes kernels and copies.
    pub(crate) ordinal: u32,
    /// The longest pattern that a fill on that group takes, in bytes.
    pub(crate) longest_pattern: usize,
    /// Whether there is host memory that the device reaches.
    pub(crate) on_host: bool,
    /// What programs are built with; ends with a zero byte, as the driver wants it.
    pub(crate) build_flags: &'static std::ffi::CStr,
    pub(crate) clock: Clock,
    pub(crate) info: DeviceInfo,
}

// SAFETY: the raw pointers are handles of a driver and a device, and of the functions that take
// those Level Zero's specification says: "The application may call this function from simultaneous
// threads".
unsafe impl Send for ZeDevice {}
// SAFETY: as for `Send`.
unsafe impl Sync for ZeDevice {}

/// The devices of all drivers, in the drivers' order.
pub(crate) fn list() -> Result<Vec<Arc<dyn Device>>, Absence> {
    static DRIVERS_LOADED: Once = Once::new();
    let Some(_alive) = exit::driver() else {
        return Err(Absence {
            reason: "the process is ending".to_owned(),
            help: "list devices before `main` returns".to_owned(),
        });
    };
    let api = sys::api()?;
    exit::watch(&DRIVERS_LOADED);
    let mut found: Vec<Arc<dyn Device>> = Vec::new();
    for driver in query::drivers(api) {
        for id in query::devices(api, driver) {
            if let Some(device) = ZeDevice::ask(api, driver, id) {
                found.push(Arc::new(Listed(Arc::new(device))));
            }
        }
    }
    if found.is_empty() {
        return Err(Absence {
            reason: "the Level Zero drivers found no device".to_owned(),
            help: "check that this user may open the device, for example by its group".to_owned(),
        });
    }
    Ok(found)
}

impl ZeDevice {
    /// Asks the driver about a device; `None` if it does not say what it is, or has no
    /// queues that take both kernels and copies.
    fn ask(api: &'static Api, driver: Handle, id: Handle) -> Option<Self> {
        let properties = query::one(id, api.zeDeviceGetProperties)?;
        let compute = query::one(id, api.zeDeviceGetComputeProperties)?;
        let access = query::one(id, api.zeDeviceGetMemoryAccessProperties)?;
        let extensions = query::extensions(api, driver);
        let has = |name: &str| extensions.iter().any(|known| known == name);
        let mut atomics = abi::ze_float_atomic_ext_properties_t::new();
        let mut module = abi::ze_device_module_properties_t::new();
        if has(abi::ZE_FLOAT_ATOMICS_EXT_NAME) {
            module.pNext = (&raw mut atomics).cast();
        }
        // SAFETY: the device is the driver's own; the structure and the one that it leads to have
        // their types, and the driver knows both.
        let status = unsafe { (api.zeDeviceGetModuleProperties)(id, &raw mut module) };
        if status != abi::ZE_RESULT_SUCCESS {
            return None;
        }
        let groups = query::several(id, api.zeDeviceGetCommandQueueGroupProperties);
        let kernels_and_copies = abi::ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
            | abi::ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        let (ordinal, group) = (0..)
            .zip(&groups)
            .find(|(_, group)| group.flags & kernels_and_copies == kernels_and_copies)?;
        let memory = query::several(id, api.zeDeviceGetMemoryProperties);

        let sub_group_sizes = query::sub_group_sizes(&compute);
        let features = query::features(&module, &atomics, &access)
            .with_if(!sub_group_sizes.is_empty(), Feature::SubGroups)
            .with_if(
                !sub_group_sizes.is_empty() && has(abi::ZE_SUBGROUPS_EXT_NAME),
                Feature::SubGroupShuffle,
            )
            // Level Zero's SPIR-V has all orders and scopes; no call asks about them.
            .and(Features::WHOLE_MEMORY_MODEL)
            .with(Feature::OutOfOrderQueue)
            .with_if(properties.kernelTimestampValidBits > 0, Feature::QueueProfiling);
        let takes_spirv = module.spirvVersionSupported > 0;
        let vendor = query::vendor(properties.vendorId);
        let version = query::version(api, driver);
        let info = DeviceInfo {
            name: query::text(&properties.name),
            vendor: vendor.clone(),
            platform: "Level Zero".to_owned(),
            platform_vendor: vendor,
            platform_version: version.clone(),
            version: format!("Level Zero {version}"),
            driver_version: query::driver_version(api, driver),
            kind: match properties.r#type {
                abi::ZE_DEVICE_TYPE_GPU => DeviceKind::Gpu,
                abi::ZE_DEVICE_TYPE_CPU => DeviceKind::Cpu,
                _ => DeviceKind::Accelerator,
            },
            code_forms: if takes_spirv { vec![CodeForm::Spirv64] } else { Vec::new() },
            code_forms_note: (!takes_spirv).then(|| "driver takes no SPIR-V".to_owned()),
            memory_size: memory.iter().map(|memory| memory.totalSize).sum(),
            largest_allocation: properties.maxMemAllocSize,
            compute_units: properties
                .numSlices
                .saturating_mul(properties.numSubslicesPerSlice)
                .saturating_mul(properties.numEUsPerSubslice)
                .max(1),
            address_bits: 64,
            limits: query::limits(&compute, &module, &sub_group_sizes),
            features,
            sub_group_sizes,
        };
        let rounds_correctly = module.fp32flags & abi::ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT != 0;
        Some(Self {
            api,
            id,
            driver,
            ordinal,
            longest_pattern: group.maxMemoryFillPatternSize,
            on_host: access.hostAllocCapabilities & abi::ZE_MEMORY_ACCESS_CAP_FLAG_RW != 0,
            // Rust's division and square root are correctly rounded, and its slices may be long.
            build_flags: if rounds_correctly {
                c"-ze-opt-greater-than-4GB-buffer-required -ze-fp32-correctly-rounded-divide-sqrt"
            } else {
                c"-ze-opt-greater-than-4GB-buffer-required"
            },
            clock: Clock::new(&properties),
            info,
        })
    }
}

/// A device as the contract has it.
pub(crate) struct Listed(Arc<ZeDevice>);

impl Device for Listed {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(Arc::new(ZeContext::create(&self.0)?))
    }
}
