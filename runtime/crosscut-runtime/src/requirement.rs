//! What a kernel needs of its device beyond what every device can.
//!
//! SPIR-V declares it in its capabilities, and each kernel has a module of its own, so the list of a
//! module is the list of its kernel. It is read from the code itself: it cannot be out of date.
//! Capabilities that belong to no feature are the driver's to judge.

use crosscut_adapter_api::{Feature, Features};

use crate::device::Device;
use crate::{Error, ErrorKind};

/// SPIR-V's numbers of the capabilities that stand for a feature.
const CAPABILITIES: &[(u32, Feature)] = &[
    (9, Feature::Fp16),
    (10, Feature::Fp64),
    (12, Feature::Atomic64),
    (58, Feature::SubGroups),
    (61, Feature::SubGroups),
    (62, Feature::SubGroups),
    (63, Feature::SubGroups),
    (64, Feature::SubGroups),
    (65, Feature::SubGroupShuffle),
    (66, Feature::SubGroupShuffle),
    (5612, Feature::AtomicFp32MinMax),
    (5613, Feature::AtomicFp64MinMax),
    (6033, Feature::AtomicFp32Add),
    (6034, Feature::AtomicFp64Add),
];

/// The features that a module with these capabilities needs.
pub(crate) fn of_capabilities(capabilities: &[u32]) -> Features {
    let feature = |number: &u32| {
        CAPABILITIES.iter().find(|(known, _)| known == number).map(|(_, feature)| *feature)
    };
    capabilities.iter().filter_map(feature).collect()
}

/// Refuses a kernel that needs what the device has not.
pub(crate) fn check(kernel: &str, needs: Features, device: &Device) -> Result<(), Error> {
    let missing = needs.missing_from(device.info().features);
    if missing.is_empty() {
        return Ok(());
    }
    let (name, backend) = (device.name(), device.backend());
    Err(Error::new(
        ErrorKind::KernelNotSupported,
        format!("kernel `{kernel}` needs {missing}, which `{name}` ({backend}) does not have"),
    )
    .with_help(help(missing)))
}

/// The way out, for the first that is missing.
fn help(missing: Features) -> &'static str {
    match missing.iter().next() {
        Some(Feature::Fp64) => {
            "compute in `f32`, or choose a device that has it: `cargo crosscut ls --verbose` tells"
        }
        Some(Feature::Atomic64) => {
            "use atomics of 32 bits, or choose a device that has it: `cargo crosscut ls --verbose` tells"
        }
        _ => "choose a device that has it: `cargo crosscut ls --verbose` tells",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_device_has_is_no_requirement() {
        // Addresses, Linkage, Kernel, Int64, Int8 and one that nobody knows.
        assert!(of_capabilities(&[4, 5, 6, 11, 39, 60_000]).is_empty());
    }

    #[test]
    fn a_feature_is_needed_once_however_often_it_is_declared() {
        assert_eq!(of_capabilities(&[10, 61, 58, 10]).to_string(), "fp64, sub_groups");
    }

    #[test]
    fn each_capability_is_listed_once() {
        assert!(CAPABILITIES.is_sorted_by(|one, other| one.0 < other.0));
    }
}
