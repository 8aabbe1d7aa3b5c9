//! Finding devices and asking what they are.

use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    Absence, CodeForm, Context, Device, DeviceInfo, DeviceKind, DriverError, exit,
};

use crate::abi::{self, DeviceNumber};
use crate::context::CuContext;
use crate::query;
use crate::sys::{self, Api};

/// A device with what the rest of the adapter must know about it.
pub(crate) struct CuDevice {
    pub(crate) api: &'static Api,
    pub(crate) number: DeviceNumber,
    /// The most groups of a launch in each dimension, the fastest one first.
    pub(crate) most_groups: [u32; 3],
    /// `sm_80` and the like: what programs are built for.
    pub(crate) architecture: String,
    /// Whether there is host memory that the device reaches by the host's address.
    pub(crate) on_host: bool,
    pub(crate) info: DeviceInfo,
}

/// The devices, in the driver's order.
pub(crate) fn list() -> Result<Vec<Arc<dyn Device>>, Absence> {
    static DRIVER_LOADED: Once = Once::new();
    let Some(_alive) = exit::driver() else {
        return Err(Absence {
            reason: "the process is ending".to_owned(),
            help: "list devices before `main` returns".to_owned(),
        });
    };
    let api = sys::api()?;
    exit::watch(&DRIVER_LOADED);
    let asked = query::devices(api).into_iter().filter_map(|number| CuDevice::ask(api, number));
    let found: Vec<Arc<dyn Device>> =
        asked.map(|device| Arc::new(Listed(Arc::new(device))) as Arc<dyn Device>).collect();
    if found.is_empty() {
        return Err(Absence {
            reason: "the CUDA driver found no device".to_owned(),
            help: "check that `CUDA_VISIBLE_DEVICES` does not hide it".to_owned(),
        });
    }
    Ok(found)
}

impl CuDevice {
    /// Asks the driver about a device; `None` if it does not say what it is.
    fn ask(api: &'static Api, number: DeviceNumber) -> Option<Self> {
        let ask = |attribute| query::attribute(api, number, attribute);
        let name = query::name(api, number)?;
        let memory_size = query::memory_size(api, number)?;
        let version = query::version(api)?;
        let (major, minor) = (
            ask(abi::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            ask(abi::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        );
        let most = |attribute| ask(attribute).max(1);
        Some(Self {
            api,
            number,
            most_groups: [
                most(abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                most(abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                most(abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
            ],
            architecture: format!("sm_{major}{minor}"),
            on_host: ask(abi::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0,
            info: DeviceInfo {
                name,
                vendor: "NVIDIA Corporation".to_owned(),
                platform: "CUDA".to_owned(),
                platform_vendor: "NVIDIA Corporation".to_owned(),
                platform_version: version.clone(),
                version: format!("compute capability {major}.{minor}"),
                // No call of the driver tells its own version, only that of its interface.
                driver_version: version,
                kind: DeviceKind::Gpu,
                code_forms: vec![CodeForm::Ptx],
                code_forms_note: None,
                memory_size,
                largest_allocation: memory_size,
                compute_units: most(abi::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                address_bits: 64,
                limits: query::limits(ask),
                features: query::features((major, minor), ask),
                sub_group_sizes: vec![most(abi::CU_DEVICE_ATTRIBUTE_WARP_SIZE) as usize],
            },
        })
    }
}

/// A device as the contract has it.
pub(crate) struct Listed(Arc<CuDevice>);

impl Device for Listed {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(Arc::new(CuContext::create(&self.0)?))
    }
}
