//! What kernels may call on a device, and its host twin.
