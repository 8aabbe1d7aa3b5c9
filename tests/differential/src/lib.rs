//! Random kernels, each run natively, on the host device and on every other; all must agree.
//!
//! 1. `choices`: a sequence of numbers, random or recorded.
//! 2. `generate`: a kernel in plain Rust from such a sequence.
//! 3. `package`: some hundred kernels as one program: built by `cargo crosscut`, run, judged.
//! 4. `shrink`: from a kernel that fails to a small one that fails too, by shortening its sequence.
//!
//! Integers and exact floating-point operations must agree in every bit; functions of the math library
//! within the units in the last place that OpenCL allows; panics in place, item and text.

pub mod choices;
pub mod generate;
pub mod package;
pub mod shrink;
