//! Gives atomics the scope that the program asks for.
//!
//! Expects an optimised entry in host form, where two hooks stand around the atomics of a scope: they touch
//! memory as far as the optimiser knows, so no atomic has moved across them.
//! Leaves LLVM's sync scopes on those atomics and fences, and no hook. `system` is the scope that LLVM means
//! by none; it has a name until [`finish`], because none means the device before that.
//!
//! `call void @__crosscut_scope_begin(i32 1)` … `fence acquire` … `call void @__crosscut_scope_end()` becomes
//! `fence syncscope("workgroup") acquire`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crosscut_image::hooks;

use crate::ir::{Call, Instruction, Ir, Item, tokens};

const SYSTEM: &str = "system";

/// Runs the pass on `entry`.
pub(crate) fn run(ir: &mut Ir, entry: &str) {
    for function in ir.functions_mut().filter(|function| function.name == entry) {
        let asks = |line: &String| line.contains(hooks::SCOPE_BEGIN);
        if function.lines.iter().any(asks) {
            let states = states(function);
            rewrite(function, &states);
        }
    }
}

/// Removes the name of LLVM's own scope.
pub(crate) fn finish(ir: &mut Ir) {
    let named = format!("syncscope(\"{SYSTEM}\") ");
    for function in ir.functions_mut() {
        for line in &mut function.lines {
            if line.contains(&named) {
                *line = line.replace(&named, "");
            }
        }
    }
}

/// The scope of an atomic for which the program asks none: the device, and for a relaxed one in a work-group's own
/// memory that work-group, which is all that can see it. One that orders other memory, too, orders it for the device.
pub(crate) fn unasked(line: &str) -> &'static str {
    let orders = |word| matches!(word, "acquire" | "release" | "acq_rel" | "seq_cst");
    // What is stored may be a pointer, too.
    let local = line.matches("ptr addrspace(3) ").count();
    let is_local = local > 0 && local == line.matches("ptr ").count();
    if is_local && !tokens(line).any(|token| orders(token.1)) { "workgroup" } else { "device" }
}

/// The line with a scope in front of its memory order; as it is if it has one, or no order.
pub(crate) fn scoped(line: &str, scope: &str) -> String {
    if line.contains("syncscope(") {
        return line.to_owned();
    }
    match tokens(line).find(|token| is_order(token.1)) {
        Some((at, _)) => format!("{}syncscope(\"{scope}\") {}", &line[..at], &line[at..]),
        None => line.to_owned(),
    }
}

/// Whether a word is a memory order.
pub(crate) fn is_order(word: &str) -> bool {
    matches!(word, "unordered" | "monotonic" | "acquire" | "release" | "acq_rel" | "seq_cst")
}

/// The scopes that are open, the innermost last.
type Open = Vec<&'static str>;

/// What a line does to the scopes; whether it is one of the hooks.
fn step(line: &str, open: &mut Open) -> bool {
    let Some(call) = Call::parse(line) else { return false };
    match call.callee.strip_prefix('@') {
        Some(hooks::SCOPE_BEGIN) => open.push(match call.number(0) {
            Some(0) => "subgroup",
            Some(1) => "workgroup",
            Some(2) => "device",
            // Also where it is not known when the program is linked: everybody is never too few.
            _ => SYSTEM,
        }),
        Some(hooks::SCOPE_END) => {
            open.pop();
        }
        _ => return false,
    }
    true
}

/// The block that a line begins.
fn label(line: &str) -> Option<&str> {
    let is_label = !line.starts_with(' ') && Instruction::parse(line).is_none();
    is_label.then(|| line.split_once(':')).flatten().map(|(name, _)| name)
}

/// The scopes that are open where each block begins. Begin and end are nested in the program, so all ways to
/// a block agree.
fn states(function: &Item) -> BTreeMap<String, Open> {
    let mut states: BTreeMap<String, Open> = BTreeMap::new();
    // Each round carries scopes over at least one more edge.
    for _ in 0..function.lines.len() {
        let mut changed = false;
        let mut open = Some(Open::new());
        for line in &function.lines[1..] {
            if let Some(label) = label(line) {
                // The first block may have its label written or not.
                let is_first = states.is_empty() && open.as_ref().is_some_and(Vec::is_empty);
                if is_first {
                    states.insert(label.to_owned(), Open::new());
                }
                open = states.get(label).cloned();
                continue;
            }
            let Some(open) = &mut open else { continue };
            step(line, open);
            let words: Vec<&str> = tokens(line).map(|token| token.1).collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "label") {
                let target = pair[1].trim_start_matches('%').to_owned();
                if let Entry::Vacant(entry) = states.entry(target) {
                    entry.insert(open.clone());
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    states
}

fn rewrite(function: &mut Item, states: &BTreeMap<String, Open>) {
    let mut open = Open::new();
    let mut lines = Vec::with_capacity(function.lines.len());
    for line in function.lines.drain(..) {
        if let Some(label) = label(&line) {
            open = states.get(label).cloned().unwrap_or_default();
        }
        if step(&line, &mut open) {
            continue;
        }
        let opcode = Instruction::parse(&line).map(|instruction| instruction.opcode);
        let is_atomic = match opcode {
            Some("atomicrmw" | "cmpxchg" | "fence") => true,
            Some("load" | "store") => tokens(&line).any(|token| token.1 == "atomic"),
            _ => false,
        };
        match open.last() {
            Some(scope) if is_atomic => lines.push(scoped(&line, scope)),
            _ => lines.push(line),
        }
    }
    function.lines = lines;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_group_can_see_reaches_no_further_unless_it_orders_other_memory() {
        let local = "  %x = atomicrmw add ptr addrspace(3) %p, i32 1 monotonic, align 4";
        assert_eq!(unasked(local), "workgroup");
        assert_eq!(unasked(&local.replace("monotonic", "acq_rel")), "device");
        assert_eq!(unasked(&local.replace("(3)", "(1)")), "device");
        assert_eq!(unasked(&local.replace("(3)", "(4)")), "device");
        assert_eq!(unasked("  fence release"), "device");
        let address = "  store atomic ptr addrspace(3) %a, ptr addrspace(1) %p monotonic, align 8";
        assert_eq!(unasked(address), "device");
    }

    #[test]
    fn scopes_hold_across_blocks_and_nest() {
        let mut ir = Ir::parse(
            "define void @k(ptr %p, i1 %c) {\nstart:\n  call void @__crosscut_scope_begin(i32 1)\n  \
             br i1 %c, label %a, label %b\na:\n  fence acquire\n  br label %b\nb:\n  \
             call void @__crosscut_scope_begin(i32 3)\n  \
             %x = atomicrmw add ptr %p, i32 1 seq_cst, align 4\n  call void @__crosscut_scope_end()\n  \
             store atomic i32 1, ptr %p release, align 4\n  call void @__crosscut_scope_end()\n  \
             %y = load atomic i32, ptr %p monotonic, align 4\n  ret void\n}\n",
        );
        run(&mut ir, "@k");
        let text = ir.print();
        assert!(!text.contains("__crosscut_scope"), "{text}");
        for line in [
            "  fence syncscope(\"workgroup\") acquire\n",
            "  %x = atomicrmw add ptr %p, i32 1 syncscope(\"system\") seq_cst, align 4\n",
            "  store atomic i32 1, ptr %p syncscope(\"workgroup\") release, align 4\n",
            "  %y = load atomic i32, ptr %p monotonic, align 4\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
        finish(&mut ir);
        assert!(ir.print().contains("  %x = atomicrmw add ptr %p, i32 1 seq_cst, align 4\n"));
    }
}
