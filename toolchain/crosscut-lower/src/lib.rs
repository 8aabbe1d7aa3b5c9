//! Turns a program's device bitcode into device images.

pub mod job;
