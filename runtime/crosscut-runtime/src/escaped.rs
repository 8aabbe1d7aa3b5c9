//! Device globals whose addresses kernels may have kept.
//!
//! A kernel that follows an address it found may touch any of them, so it counts as one that writes them
//! all. Only kernels that were loaded in a context can have kept addresses there: each says at loading
//! whose. The list holds nothing alive.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use crosscut_image::{Addresses, Image};

use crate::memory::Allocation;
use crate::program::Loaded;

/// The globals of one context whose addresses may be anywhere.
#[derive(Default)]
pub(crate) struct Escaped {
    list: RwLock<Vec<Weak<Allocation>>>,
}

impl Escaped {
    /// Notes what the kernel of this name, which is being loaded, does with addresses; `global` finds
    /// the instance of a global of its image. True if it follows addresses.
    pub(crate) fn load(
        &self,
        image: &Image,
        kernel: &str,
        global: impl Fn(&u32) -> Option<Arc<Allocation>>,
    ) -> bool {
        let Addresses { follows, leave } = Addresses::of(image, kernel);
        if !leave.is_empty() {
            let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
            list.retain(|known| known.strong_count() > 0);
            for allocation in leave.iter().filter_map(global) {
                let escaped = Arc::downgrade(&allocation);
                if !list.iter().any(|known| known.ptr_eq(&escaped)) {
                    list.push(escaped);
                }
            }
        }
        follows
    }

    /// Those that a kernel may find: all that are still there, if it follows addresses.
    pub(crate) fn reached_by(&self, kernel: &Loaded) -> Vec<Arc<Allocation>> {
        if !kernel.follows {
            return Vec::new();
        }
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        list.iter().filter_map(Weak::upgrade).collect()
    }
}
