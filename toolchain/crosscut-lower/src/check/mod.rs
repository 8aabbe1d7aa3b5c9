//! Finds what a device cannot do, and says so in the user's terms.

use std::collections::BTreeSet;

use crate::ir::{Ir, Kind};
use crate::job::Diagnostic;
use crate::passes::{library, panics};

/// The functions that kernels call and that nobody defines.
pub(crate) fn missing_functions(ir: &Ir, entries: &[String]) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for entry in entries {
        let Some(function) = ir.find(&format!("@{entry}")) else { continue };
        for call in function.calls() {
            let declared =
                ir.find(call.callee).is_some_and(|item| item.kind == Kind::Declaration);
            let name = call.callee.trim_start_matches('@').trim_matches('"');
            if declared
                && !name.starts_with("llvm.")
                && !crosscut_image::hooks::FUNCTIONS.contains(&name)
                && call.callee != panics::PANIC
                && library::math_function(name).is_none()
                && library::definition(&format!("__crosscut_{name}")).is_none()
            {
                missing.insert(name.to_owned());
            }
        }
    }
    missing
}

/// Every problem of every kernel.
pub(crate) fn check(_ir: &Ir, _entries: &[String]) -> Vec<Diagnostic> {
    Vec::new()
}
