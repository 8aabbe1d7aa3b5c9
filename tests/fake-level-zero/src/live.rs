//! Which handles there are. A handle is a number that never comes again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_level_zero::abi::Handle;

use crate::checked::misuse;

/// All objects of one sort.
pub(crate) struct Live<T> {
    sort: &'static str,
    objects: Mutex<BTreeMap<usize, Arc<T>>>,
}

/// What belongs to a context.
pub(crate) trait OfContext {
    /// The context's handle.
    fn context(&self) -> usize;
}

impl<T> Live<T> {
    pub(crate) const fn new(sort: &'static str) -> Self {
        Self { sort, objects: Mutex::new(BTreeMap::new()) }
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<T>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, object: Arc<T>) -> Handle {
        static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
        let number = NEXT.fetch_add(0x10, Ordering::Relaxed);
        self.objects().insert(number, object);
        std::ptr::without_provenance_mut(number)
    }

    pub(crate) fn get(&self, call: &str, handle: Handle) -> Arc<T> {
        match self.objects().get(&handle.addr()) {
            Some(object) => Arc::clone(object),
            None => misuse(call, &format!("{handle:?} is no {}, or is gone", self.sort)),
        }
    }

    pub(crate) fn remove(&self, call: &str, handle: Handle) -> Arc<T> {
        let object = self.get(call, handle);
        self.objects().remove(&handle.addr());
        object
    }

    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.objects().values().cloned().collect()
    }
}

impl<T: OfContext> Live<T> {
    /// Ends the process if a context that is destroyed has left one.
    pub(crate) fn none_of(&self, call: &str, context: Handle) {
        let left = self.all().iter().filter(|one| one.context() == context.addr()).count();
        if left > 0 {
            misuse(call, &format!("{left} of its objects are alive: {}", self.sort));
        }
    }
}
