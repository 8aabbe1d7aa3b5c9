//! The memory that kernels are given: parts of buffers, more dimensions, unified shared memory.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod chunks;
mod parts;
mod rectangles;
mod usm;
