//! The language suite: what Rust means on the host it means on every device.
//!
//! One file per theme. Each test is one kernel or a few, compared with the host by `crosscut_language`.

mod atomics;
mod casts;
mod closures;
mod crates;
mod dimensions;
mod enums;
mod floats;
mod globals;
mod integers;
mod iterators;
mod math;
mod memory;
mod panics;
mod slices;
mod strings;
mod wide;
