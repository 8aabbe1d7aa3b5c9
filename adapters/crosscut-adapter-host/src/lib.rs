//! The host CPU as a device: native code on a thread pool.
