//! Accepts what the tools print now as what tests expect.

use crate::{Result, checkout, setup};

/// The packages with text tests.
const PACKAGES: &[&str] = &["crosscut", "crosscut-diagnostics", "crosscut-link", "crosscut-lower"];

pub(crate) fn run() -> Result {
    setup::run()?;
    let mut command = checkout::cargo();
    command.arg("test");
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    // The second name is trybuild's.
    checkout::run(command.env("CROSSCUT_BLESS", "1").env("TRYBUILD", "overwrite"))?;
    println!("blessed: read `git diff` before you commit");
    Ok(())
}
