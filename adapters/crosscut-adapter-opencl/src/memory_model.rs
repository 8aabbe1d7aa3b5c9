//! Which atomics and fences a device has.
//!
//! Since OpenCL 3.0 a device says so itself. Before, the version does, in the SPIR-V environment specification: 2.x
//! requires all of them, 1.2 takes relaxed atomics of the device and sequentially consistent fences of the work-group.

use crosscut_adapter_api::{Feature, Features};

use crate::query::{number, text};
use crate::sys;

const ORDER_ACQ_REL: u64 = 1 << 1;
const ORDER_SEQ_CST: u64 = 1 << 2;
const SCOPE_DEVICE: u64 = 1 << 5;
const SCOPE_ALL_DEVICES: u64 = 1 << 6;

/// The features of atomics, then those of fences, each with its bit in the device's answer.
const ATOMICS: [(u64, Feature); 4] = [
    (ORDER_ACQ_REL, Feature::AtomicAcqRel),
    (ORDER_SEQ_CST, Feature::AtomicSeqCst),
    (SCOPE_DEVICE, Feature::AtomicScopeDevice),
    (SCOPE_ALL_DEVICES, Feature::AtomicScopeSystem),
];
const FENCES: [(u64, Feature); 4] = [
    (ORDER_ACQ_REL, Feature::FenceAcqRel),
    (ORDER_SEQ_CST, Feature::FenceSeqCst),
    (SCOPE_DEVICE, Feature::FenceScopeDevice),
    (SCOPE_ALL_DEVICES, Feature::FenceScopeSystem),
];

/// The orders and scopes that the device has, by what `ask` answers about each property.
pub(crate) fn features(ask: impl Fn(u32) -> Vec<u8>) -> Features {
    let told = |property, known: [(u64, Feature); 4]| {
        let bits = number(&ask(property));
        known.into_iter().filter(move |(bit, _)| bits & bit != 0).map(|(_, feature)| feature)
    };
    match major_version(&text(&ask(sys::CL_DEVICE_VERSION))) {
        0 => Features::NONE,
        1 => Features::NONE.with(Feature::AtomicScopeDevice).with(Feature::FenceSeqCst),
        2 => Features::WHOLE_MEMORY_MODEL,
        _ => told(sys::CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, ATOMICS)
            .chain(told(sys::CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, FENCES))
            .collect(),
    }
}

/// The 3 of `OpenCL 3.0 and what the vendor adds`; 0 where it is something else.
fn major_version(version: &str) -> u32 {
    let numbers = version.strip_prefix("OpenCL ").and_then(|rest| rest.split_once('.'));
    numbers.and_then(|(major, _)| major.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of this version that answers with these bits about atomics and about fences.
    fn device(version: &str, atomics: u64, fences: u64) -> Features {
        features(|property| match property {
            sys::CL_DEVICE_VERSION => version.as_bytes().to_vec(),
            sys::CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES => atomics.to_ne_bytes().to_vec(),
            sys::CL_DEVICE_ATOMIC_FENCE_CAPABILITIES => fences.to_ne_bytes().to_vec(),
            _ => Vec::new(),
        })
    }

    #[test]
    fn a_device_of_version_3_has_what_it_says() {
        // Relaxed in a work-group, and acquire-release: no device has less.
        assert_eq!(device("OpenCL 3.0 (Build 0)", 0x11, 0x13).to_string(), "fence_order_acq_rel");
        assert_eq!(
            device("OpenCL 3.1 x", 0x37, 0x5b).to_string(),
            "atomic_order_acq_rel, atomic_order_seq_cst, atomic_scope_device, fence_order_acq_rel, \
             fence_scope_system"
        );
        assert_eq!(device("OpenCL 3.0", 0x7f, 0x7f), Features::WHOLE_MEMORY_MODEL);
    }

    #[test]
    fn before_version_3_the_version_says_it() {
        assert_eq!(device("OpenCL 2.1 vendor", 0, 0), Features::WHOLE_MEMORY_MODEL);
        let first = device("OpenCL 1.2 vendor", 0x7f, 0x7f);
        assert_eq!(first.to_string(), "atomic_scope_device, fence_order_seq_cst");
    }

    #[test]
    fn a_version_that_cannot_be_read_promises_nothing() {
        for version in ["", "OpenCL", "OpenCL three", "2.0"] {
            assert!(device(version, 0x7f, 0x7f).is_empty(), "{version}");
        }
    }
}
