//! Which handles there are. A handle is a number that never comes again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_cuda::abi::Handle;

use crate::checked::misuse;
use crate::context::Here;

/// All objects of one sort, each with its context.
pub(crate) struct Live<T> {
    sort: &'static str,
    objects: Mutex<BTreeMap<usize, (usize, Arc<T>)>>,
}

impl<T> Live<T> {
    pub(crate) const fn new(sort: &'static str) -> Self {
        Self { sort, objects: Mutex::new(BTreeMap::new()) }
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<usize, (usize, Arc<T>)>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, here: Here, object: T) -> Handle {
        static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
        let number = NEXT.fetch_add(0x10, Ordering::Relaxed);
        self.objects().insert(number, (here.context, Arc::new(object)));
        std::ptr::without_provenance_mut(number)
    }

    pub(crate) fn get(&self, call: &str, here: Here, handle: Handle) -> Arc<T> {
        let found = self.objects().get(&handle.addr()).cloned();
        match found {
            Some((context, object)) if context == here.context => object,
            Some(_) => misuse(call, &format!("{handle:?} is of another context")),
            None => misuse(call, &format!("{handle:?} is no {}, or is gone", self.sort)),
        }
    }

    pub(crate) fn remove(&self, call: &str, here: Here, handle: Handle) -> Arc<T> {
        let object = self.get(call, here, handle);
        self.objects().remove(&handle.addr());
        object
    }

    /// Removes those of which this is true.
    pub(crate) fn remove_where(&self, gone: impl Fn(&T) -> bool) {
        self.objects().retain(|_, (_, object)| !gone(object));
    }

    /// Ends the process if a context that is released has left one.
    pub(crate) fn none_of(&self, call: &str, context: usize) {
        let left = self.objects().values().filter(|(of, _)| *of == context).count();
        if left > 0 {
            misuse(call, &format!("{left} of its objects are alive: {}", self.sort));
        }
    }

    /// Forgets all of a context.
    pub(crate) fn forget(&self, context: usize) {
        self.objects().retain(|_, (of, _)| *of != context);
    }
}
