//! Which memory a context uses: such as all of its devices reach.
//!
//! A `cl_context` of one device uses that device's own. Memory of one device is out of reach for the
//! others of the context (`cl_intel_unified_shared_memory` promises nothing there), so with several it is
//! shared memory that belongs to none, host memory, or memory objects, whichever all of them have; the
//! driver moves memory objects between devices itself.

use crosscut_adapter_api::{Feature, MemoryKind};

use crate::device::ClDevice;
use crate::sys::Usm;

/// The memory of a context.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// The entry points of unified shared memory, if it is used; else there are memory objects.
    pub(crate) usm: Option<Usm>,
    /// Which unified shared memory stands for that of a device.
    pub(crate) for_device: MemoryKind,
    /// Whether there is host memory.
    pub(crate) on_host: bool,
    /// Whether there is shared memory.
    pub(crate) shared: bool,
    /// Whether shared memory belongs to the device that asks for it.
    pub(crate) of_one_device: bool,
    /// The alignment in bytes of every memory object, and of every part of one.
    pub(crate) base_alignment: usize,
}

/// Of unified shared memory, what a device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unified {
    /// Host memory.
    pub(crate) on_host: bool,
    /// Shared memory of its own.
    pub(crate) shared: bool,
    /// Shared memory of several devices.
    pub(crate) across: bool,
}

impl Reach {
    /// Of a context of this device alone.
    pub(crate) fn of_one(device: &ClDevice) -> Self {
        Self {
            usm: device.usm,
            for_device: MemoryKind::Device,
            on_host: device.unified.on_host,
            shared: device.unified.shared,
            of_one_device: true,
            base_alignment: device.base_alignment,
        }
    }

    /// Of a context that adds these devices to one.
    pub(crate) fn of_several<'a>(
        first: &ClDevice,
        others: impl Iterator<Item = &'a ClDevice> + Clone,
    ) -> Self {
        let all_have_usm = others.clone().all(|device| device.usm.is_some());
        let unified = others.clone().map(|device| device.unified).fold(first.unified, common);
        let for_device = stand_in(unified);
        let usm = first.usm.filter(|_| all_have_usm && for_device.is_some());
        Self {
            usm,
            for_device: for_device.unwrap_or_default(),
            on_host: usm.is_some() && unified.on_host,
            shared: usm.is_some() && unified.across,
            of_one_device: false,
            // All are powers of two: the largest is a multiple of the others.
            base_alignment: others
                .map(|device| device.base_alignment)
                .fold(first.base_alignment, usize::max),
        }
    }

    /// Whether a feature of a device is missing here.
    pub(crate) fn lacks(&self, feature: Feature) -> bool {
        match feature {
            Feature::UsmDevice => self.usm.is_none(),
            Feature::UsmHost => !self.on_host,
            Feature::UsmShared => !self.shared,
            _ => false,
        }
    }
}

/// What both have.
fn common(one: Unified, other: Unified) -> Unified {
    Unified {
        on_host: one.on_host && other.on_host,
        shared: one.shared && other.shared,
        across: one.across && other.across,
    }
}

/// What memory all devices reach that have this much in common.
fn stand_in(unified: Unified) -> Option<MemoryKind> {
    match unified {
        Unified { across: true, .. } => Some(MemoryKind::Shared),
        Unified { on_host: true, .. } => Some(MemoryKind::Host),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_use_the_best_memory_that_all_of_them_reach() {
        let all = Unified { on_host: true, shared: true, across: true };
        let alone = Unified { across: false, ..all };
        let least = Unified { on_host: false, ..alone };
        assert_eq!(stand_in(common(all, all)), Some(MemoryKind::Shared));
        assert_eq!(stand_in(common(all, alone)), Some(MemoryKind::Host));
        assert_eq!(stand_in(common(alone, least)), None);
    }
}
