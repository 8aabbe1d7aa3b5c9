//! The arguments of a native launch.

use crosscut_adapter_api::Slot;

/// The slots of a native launch. Few of them, the usual case, take no allocation.
pub(crate) enum Slots {
    Few([Slot; FEW_SLOTS], usize),
    Many(Vec<Slot>),
}

const FEW_SLOTS: usize = 9;

impl Slots {
    /// Room for as many arguments, and the scope.
    pub(crate) fn for_arguments(count: usize) -> Self {
        if count < FEW_SLOTS {
            let empty = Slot { address: std::ptr::null_mut(), length: 0 };
            Self::Few([empty; FEW_SLOTS], 0)
        } else {
            Self::Many(Vec::with_capacity(count + 1))
        }
    }

    pub(crate) fn push(&mut self, slot: Slot) {
        match self {
            Self::Few(slots, count) => {
                slots[*count] = slot;
                *count += 1;
            }
            Self::Many(slots) => slots.push(slot),
        }
    }

    pub(crate) fn as_slice(&self) -> &[Slot] {
        match self {
            Self::Few(slots, count) => &slots[..*count],
            Self::Many(slots) => slots,
        }
    }
}
