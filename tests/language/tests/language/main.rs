//! The language suite: what Rust means on the host it means on every device.
//!
//! One file per theme. Each test is one kernel or a few, compared with the host by `crosscut_language`.

mod casts;
mod floats;
mod integers;
