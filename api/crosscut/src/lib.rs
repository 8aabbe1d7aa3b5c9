//! Single-source heterogeneous computing on stable Rust: kernels are closures, device globals are statics.
