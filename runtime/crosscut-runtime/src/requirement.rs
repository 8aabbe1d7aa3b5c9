//! What a kernel needs of its device beyond what every device can.
//!
//! SPIR-V declares it in its capabilities, and says at each atomic and each fence how far it reaches and what it
//! orders. Each kernel has a module of its own, so the list of a
//! module is the list of its kernel. It is read from the code itself: it cannot be out of date.
//! Capabilities that belong to no feature are the driver's to judge.

use crosscut_adapter_api::{Feature, Features};
use crosscut_image::spirv::{self, Module, Strength, Synchronisation};

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

/// The features that a checked module needs; `bytes` are its own, or those with the values of its constants.
pub(crate) fn of_module(module: &Module, bytes: &[u8]) -> Features {
    // It has been checked: what is wrong with its bytes was said.
    let synchronisation = spirv::synchronisation(bytes).unwrap_or_default();
    of_capabilities(&module.capabilities).and(of_synchronisation(synchronisation))
}

/// The features that such atomics and fences need. Wider scopes and stronger orders need no narrower and weaker
/// ones: those are not what the code says.
fn of_synchronisation(Synchronisation { atomics, fences }: Synchronisation) -> Features {
    use Feature::{AtomicAcqRel, AtomicScopeDevice, AtomicScopeSystem, AtomicSeqCst};
    use Feature::{FenceAcqRel, FenceScopeDevice, FenceScopeSystem, FenceSeqCst};

    let of = |strength: Strength, [acq_rel, seq_cst, device, system]: [Feature; 4]| {
        Features::NONE
            .with_if(strength.acquire_release, acq_rel)
            .with_if(strength.sequentially_consistent, seq_cst)
            .with_if(strength.device, device)
            .with_if(strength.system, system)
            .with_if(strength.sub_group, Feature::SubGroups)
    };
    of(atomics, [AtomicAcqRel, AtomicSeqCst, AtomicScopeDevice, AtomicScopeSystem])
        .and(of(fences, [FenceAcqRel, FenceSeqCst, FenceScopeDevice, FenceScopeSystem]))
}

/// The features that a module with these capabilities needs.
fn of_capabilities(capabilities: &[u32]) -> Features {
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
fn help(missing: Features) -> String {
    const OTHER_DEVICE: &str = "choose a device that has it: `cargo crosscut ls --verbose` tells";
    match missing.iter().next().and_then(other_code) {
        Some(instead) => format!("{instead}, or {OTHER_DEVICE}"),
        None => OTHER_DEVICE.to_owned(),
    }
}

/// What a kernel can do instead.
fn other_code(missing: Feature) -> Option<&'static str> {
    Some(match missing {
        Feature::Fp64 => "compute in `f32`",
        Feature::Atomic64 => "use atomics of 32 bits",
        Feature::AtomicAcqRel => "use `Relaxed` atomics, and barriers or fences to order them",
        Feature::AtomicSeqCst => "order atomics by `AcqRel`, `Acquire` or `Release`",
        // Some of these are not the program's own.
        Feature::AtomicScopeDevice => {
            "use atomics `in_scope(Scope::WorkGroup, ..)`, and neither print nor panic (what reports a panic \
             is such an atomic, too)"
        }
        // What is not known at link time becomes the widest.
        Feature::AtomicScopeSystem | Feature::FenceScopeSystem => {
            "give `in_scope` a constant, `Scope::Device` at most"
        }
        Feature::FenceAcqRel => "fence by `SeqCst`, or wait at a barrier of the work-group",
        Feature::FenceSeqCst => "fence by `AcqRel`, `Acquire` or `Release`",
        Feature::FenceScopeDevice => "fence `in_scope(Scope::WorkGroup, ..)`",
        _ => return None,
    })
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
