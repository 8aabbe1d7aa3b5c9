//! The locks and threads of the event graph.
//!
//! They are those of `std`. With the feature `shuttle`, which is for `schedules` alone, they are those
//! of the crate of that name, which runs a test under one schedule after the other: what takes part in
//! who waits for whom takes its locks from here.

#[cfg(all(test, feature = "shuttle"))]
mod device;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, RwLock, RwLockWriteGuard, atomic};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockWriteGuard, atomic};
