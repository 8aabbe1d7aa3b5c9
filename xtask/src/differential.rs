//! Random kernels, compared between devices.

use crate::checkout::{cargo, run as run_command};
use crate::{Result, setup};

/// The kernels of `cargo xtask test`: always the same, and few enough for every change.
pub(crate) const FIXED: [&str; 4] = ["--kernels", "24", "--seed", "2"];

pub(crate) fn run(arguments: &[String]) -> Result {
    setup::run()?;
    compare(arguments)
}

/// Runs the tester, which must find no difference.
pub(crate) fn compare<T: AsRef<std::ffi::OsStr>>(arguments: &[T]) -> Result {
    let tester = ["run", "--quiet", "--package", "crosscut-differential", "--"];
    run_command(cargo().args(tester).args(arguments))
}
