//! The rustc wrapper and the linker wrapper of `cargo crosscut`.
//!
//! cargo runs [`wrapper`] where it would have run rustc, and rustc runs [`linker`] where it would
//! have run the linker:
//!
//! 1. `wrapper` lets rustc compile the crate for the host. If the crate reaches the device crate,
//!    it has the same rustc compile it a second time, to unoptimised bitcode; of every other crate
//!    it only writes down the command, in a [`record`].
//! 2. `linker` collects that bitcode, has `crosscut-lower` turn it into an object with device
//!    images, and runs the real linker with that object added. Commands written down in step 1 are
//!    run here, for the crates that turn out to be called from kernels.
//! 3. What `linker` has to say to the user, `wrapper` prints as rustc prints its own messages.
//!
//! Invariants:
//! - A crate that does not reach the device crate is compiled and linked by an unchanged command.
//! - The host's code is the one that rustc makes without us; only an object is added at the link.
//! - No device is opened: this runs on build machines without one.
//! - Files are written beside the compiler's own output only, in a folder named `device`.

mod arguments;
pub mod diagnostic;
pub mod environment;
mod exec;
pub mod linker;
mod paths;
pub mod record;
mod response;
mod second_pass;
mod source;
mod symbols;
pub mod tools;
pub mod variables;
pub mod wrapper;
