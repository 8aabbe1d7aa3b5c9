//! The language suite: what Rust means on the host it means on every device.
//!
//! One file per theme. Each test is one kernel or a few, compared with the host by `crosscut_language`.

#![allow(
    clippy::approx_constant,
    clippy::double_ended_iterator_last,
    clippy::excessive_precision,
    clippy::iter_nth,
    clippy::manual_contains,
    clippy::precedence,
    clippy::redundant_closure_call,
    clippy::unnecessary_map_on_constructor,
    reason = "the suite is about every way to write Rust, also the long ones"
)]

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
