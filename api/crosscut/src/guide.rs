//! From the first kernel to work-groups, and pages for those who come from elsewhere.
//!
//! 1. [`first_kernel`]: a closure, its arguments, its errors
//! 2. [`device_globals`]: statics that live on the device
//! 3. [`memory`]: buffers, parts of them, copies
//! 4. [`ordering`]: queues, events, what waits for what
//! 5. [`work_groups`]: local memory and barriers
//!
//! For people who know another tool: [`from_sycl`], [`from_cuda`], [`from_rayon`].

#[doc = include_str!("guide/first_kernel.md")]
pub mod first_kernel {}

#[doc = include_str!("guide/device_globals.md")]
pub mod device_globals {}

#[doc = include_str!("guide/memory.md")]
pub mod memory {}

#[doc = include_str!("guide/ordering.md")]
pub mod ordering {}

#[doc = include_str!("guide/work_groups.md")]
pub mod work_groups {}

#[doc = include_str!("guide/from_sycl.md")]
pub mod from_sycl {}

#[doc = include_str!("guide/from_cuda.md")]
pub mod from_cuda {}

#[doc = include_str!("guide/from_rayon.md")]
pub mod from_rayon {}
