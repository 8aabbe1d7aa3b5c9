//! Turns panics into records that the host reads.
//!
//! Expects an optimised kernel in device form with `@__crosscut_panic_site` calls.
//! Leaves at each panic a call of the recording function and a return: the item ends, the others go on.
//! So nothing in the module is `noreturn` any more, a kernel that always panics neither.
//!
//! `call void @__crosscut_panic_site(ptr addrspace(1) %r, i32 2, i64 %a, i64 %b)` and `unreachable` become
//! `call void @__crosscut_record_1(ptr addrspace(1) %r, i32 3, i64 %a, i64 %b)`
//! and `ret void`.

use super::sites::PANIC_SITE;
use crate::ir::{Call, Ir, Item, Kind, replace_tokens};

/// Runs the pass for a kernel of this many dimensions.
pub(crate) fn run(ir: &mut Ir, dimensions: u8) {
    for function in ir.functions_mut() {
        let mut returns = false;
        for line in function.lines.iter_mut().skip(1) {
            if returns && line.trim() == "unreachable" {
                *line = "  ret void".into();
            }
            let Some(call) = Call::parse(line) else {
                returns = false;
                continue;
            };
            returns = call.callee == PANIC_SITE;
            if !returns {
                continue;
            }
            let site = call.number(1).unwrap_or(0) + 1;
            // Whole, with their types: the address of a variable is an expression.
            if let [record, _, a, b] = *call.arguments.as_slice() {
                *line = format!(
                    "  call void @__crosscut_record_{dimensions}({record}, i32 {site}, {a}, {b})"
                );
            }
        }
    }
    ir.items.retain(|item| item.name != PANIC_SITE);
    for item in &mut ir.items {
        if item.kind == Kind::Attributes {
            item.lines[0] =
                replace_tokens(&item.lines[0], |token| (token == "noreturn").then(String::new));
        }
    }
}

/// How many panics are left in a function.
pub(crate) fn count(function: &Item) -> usize {
    function.calls().filter(|call| call.callee == PANIC_SITE).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_always_panics_records_it_and_returns() {
        let mut ir = Ir::parse(
            "define spir_kernel void @k(ptr addrspace(1) %cc.panic) #0 {\n\
             \x20 call void @__crosscut_panic_site(ptr addrspace(1) %cc.panic, i32 2, i64 %a, i64 7)\n\
             \x20 unreachable\n}\n\
             attributes #0 = { noreturn nounwind }\n",
        );
        run(&mut ir, 1);
        assert_eq!(
            ir.print(),
            "define spir_kernel void @k(ptr addrspace(1) %cc.panic) #0 {\n\
             \x20 call void @__crosscut_record_1(ptr addrspace(1) %cc.panic, i32 3, i64 %a, i64 7)\n\
             \x20 ret void\n}\n\
             attributes #0 = {  nounwind }\n"
        );
    }

    #[test]
    fn an_address_is_recorded_as_it_is() {
        let value = "i64 ptrtoint (ptr addrspace(1) @F to i64)";
        let mut ir = Ir::parse(&format!(
            "define void @k() {{\n  call void @__crosscut_panic_site(ptr addrspace(1) %r, i32 0, {value}, i64 0)\n  \
             unreachable\n}}\n"
        ));
        run(&mut ir, 1);
        let text = ir.print();
        assert!(
            text.contains(&format!("_record_1(ptr addrspace(1) %r, i32 1, {value}, i64 0)\n")),
            "{text}"
        );
    }
}
