//! Which devices a behaviour is asked of.

use crosscut_adapter_api::{CodeForm, Feature};

use crate::TestDevice;

/// Which devices a behaviour is asked of.
#[derive(Clone, Copy)]
pub enum Applies {
    /// All.
    Everywhere,
    /// Those of which this is true.
    Where(&'static Condition),
}

/// Something that is true of some devices.
pub struct Condition {
    /// Why the others are not asked.
    pub otherwise: &'static str,
    /// Whether it is true.
    pub holds: fn(&TestDevice) -> bool,
}

fn has(device: &TestDevice, feature: Feature) -> bool {
    device.info().features.has(feature)
}

fn takes(device: &TestDevice, form: CodeForm) -> bool {
    device.info().code_forms.contains(&form)
}

/// Kernels run on it.
pub(crate) const RUNS_KERNELS: Condition = Condition {
    otherwise: "it takes no code",
    holds: |device| !device.info().code_forms.is_empty(),
};
/// Programs are built for it.
pub(crate) const TAKES_PROGRAMS: Condition = Condition {
    otherwise: "it takes no code that is built",
    holds: |device| takes(device, CodeForm::Spirv64) || takes(device, CodeForm::Ptx),
};
/// The runtime has code for it: images, or native functions.
pub(crate) const RUNS_IMAGES: Condition = Condition {
    otherwise: "images have no code of its form",
    holds: |device| takes(device, CodeForm::Spirv64) || takes(device, CodeForm::Native),
};
/// Programs of images are built for it.
pub(crate) const TAKES_SPIRV: Condition =
    Condition { otherwise: "it takes no SPIR-V", holds: |device| takes(device, CodeForm::Spirv64) };
/// Functions of the host run on it.
pub(crate) const RUNS_NATIVE_CODE: Condition = Condition {
    otherwise: "it runs no native code",
    holds: |device| takes(device, CodeForm::Native),
};
/// Host and device share addresses.
pub(crate) const HAS_UNIFIED_MEMORY: Condition = Condition {
    otherwise: "it has no memory at one address for host and device",
    holds: |device| has(device, Feature::UsmHost) || has(device, Feature::UsmShared),
};
/// It has unified shared memory of its own.
pub(crate) const HAS_DEVICE_MEMORY: Condition = Condition {
    otherwise: "it has no device memory with addresses",
    holds: |device| has(device, Feature::UsmDevice),
};
/// Kernels of images share addresses with the host.
pub(crate) const IMAGES_SHARE_MEMORY: Condition = Condition {
    otherwise: "images have no code of its form, or no memory that they share with the host",
    holds: |device| (RUNS_IMAGES.holds)(device) && (HAS_UNIFIED_MEMORY.holds)(device),
};
/// Kernels of images use device memory by its address.
pub(crate) const IMAGES_USE_DEVICE_MEMORY: Condition = Condition {
    otherwise: "images have no code of its form, or no device memory with addresses",
    holds: |device| (RUNS_IMAGES.holds)(device) && (HAS_DEVICE_MEMORY.holds)(device),
};
/// It can be cut.
pub(crate) const CAN_BE_CUT: Condition = Condition {
    otherwise: "it cannot be cut into sub-devices",
    holds: |device| {
        has(device, Feature::PartitionEqually) && has(device, Feature::PartitionByCounts)
    },
};
/// It can be opened together with its parts.
pub(crate) const CAN_BE_OPENED_TOGETHER: Condition = Condition {
    otherwise: "it cannot be opened together with parts of itself",
    holds: |device| (CAN_BE_CUT.holds)(device) && device.can_be_joined(),
};
/// Programs are built for it and its parts, opened together.
pub(crate) const PROGRAMS_OF_SEVERAL: Condition = Condition {
    otherwise: "no programs are built for it and its parts together",
    holds: |device| (CAN_BE_OPENED_TOGETHER.holds)(device) && (TAKES_SPIRV.holds)(device),
};
