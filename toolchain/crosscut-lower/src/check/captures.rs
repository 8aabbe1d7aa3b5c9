//! Finds captured references that a kernel follows.

use std::collections::BTreeSet;

use crosscut_image::hooks;

use crate::ir::{Call, Instruction, Item, value_of};

/// The instructions that read or write through an address loaded from the captures: each is where a
/// captured reference, pointer or slice is followed.
pub(crate) fn followed(function: &Item) -> Vec<&String> {
    let mut captures: BTreeSet<&str> = BTreeSet::new();
    for line in &function.lines[1..] {
        let call = Call::parse(line).filter(|call| call.callee.ends_with(hooks::CAPTURES));
        captures.extend(call.and_then(|call| call.result));
    }
    if captures.is_empty() {
        return Vec::new();
    }
    let instructions: Vec<(Instruction<'_>, &String)> = function.lines[1..]
        .iter()
        .filter_map(|line| Some((Instruction::parse(line)?, line)))
        .collect();
    // Addresses inside the captures, and pointers loaded from there; both grow until nothing is new.
    let mut pointers: BTreeSet<&str> = BTreeSet::new();
    loop {
        let (inside, loaded) = (captures.len(), pointers.len());
        for (instruction, _) in &instructions {
            let Some(result) = instruction.result else { continue };
            let uses = |set: &BTreeSet<&str>| instruction.operands().any(|name| set.contains(name));
            match instruction.opcode {
                "getelementptr" | "phi" | "select" | "freeze" => {
                    if uses(&pointers) {
                        pointers.insert(result);
                    } else if uses(&captures) {
                        captures.insert(result);
                    }
                }
                "load" if uses(&captures) && instruction.text.contains("= load ptr,") => {
                    pointers.insert(result);
                }
                _ => {}
            }
        }
        if (inside, loaded) == (captures.len(), pointers.len()) {
            break;
        }
    }
    instructions
        .into_iter()
        .filter(|(instruction, _)| follows(instruction, &pointers))
        .map(|(_, line)| line)
        .collect()
}

fn follows(instruction: &Instruction<'_>, pointers: &BTreeSet<&str>) -> bool {
    match instruction.opcode {
        "load" | "store" | "atomicrmw" | "cmpxchg" => {
            instruction.operands().any(|name| pointers.contains(name))
        }
        // Calling a captured pointer is another problem than handing one on.
        "call" => Call::parse(instruction.text).is_some_and(|call| {
            !call.callee.starts_with("@llvm.assume")
                && call
                    .arguments
                    .iter()
                    .filter_map(|argument| value_of(argument))
                    .any(|value| pointers.contains(value))
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    #[test]
    fn a_loaded_address_that_is_read_is_found_and_a_loaded_value_is_not() {
        let ir = Ir::parse(
            "define void @k() {\n\
             \x20 %c = call ptr @__crosscut_captures()\n\
             \x20 %r = load ptr, ptr %c, align 8\n\
             \x20 %e = getelementptr i8, ptr %r, i64 4\n\
             \x20 %v = load i32, ptr %e, align 4\n\
             \x20 %g = getelementptr i8, ptr %c, i64 8\n\
             \x20 %n = load i64, ptr %g, align 8\n\
             \x20 ret void\n}\n",
        );
        let lines = followed(ir.find("@k").unwrap());
        assert_eq!(lines, ["  %v = load i32, ptr %e, align 4"]);
    }
}
