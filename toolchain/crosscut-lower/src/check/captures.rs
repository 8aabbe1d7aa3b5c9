//! Finds captured references that a kernel follows.

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::hooks;

use crate::ir::{Call, Instruction, Item, tokens, value_of};

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
    let locals = Locals::of(&instructions);
    // Addresses inside the captures or a copy of them, and pointers loaded from there; both grow until
    // nothing is new.
    let mut pointers: BTreeSet<&str> = BTreeSet::new();
    // The optimiser copies a pointer as a number and makes it one again where it is followed. Kernels
    // have no other numbers that are addresses.
    let mut numbers: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = (captures.len(), pointers.len(), numbers.len());
        for (instruction, _) in &instructions {
            captures.extend(locals.copied_to(instruction, &captures));
            let Some(result) = instruction.result else { continue };
            let uses = |set: &BTreeSet<&str>| instruction.operands().any(|name| set.contains(name));
            match instruction.opcode {
                "getelementptr" | "phi" | "select" | "freeze" => {
                    if uses(&pointers) {
                        pointers.insert(result);
                    } else if uses(&captures) {
                        captures.insert(result);
                    } else if uses(&numbers) && instruction.opcode != "getelementptr" {
                        numbers.insert(result);
                    }
                }
                "load" if uses(&captures) && instruction.text.contains("= load i64,") => {
                    numbers.insert(result);
                }
                "inttoptr" if uses(&numbers) => {
                    pointers.insert(result);
                }
                "load" if uses(&captures) && instruction.text.contains("= load ptr,") => {
                    pointers.insert(result);
                }
                _ => {}
            }
        }
        if before == (captures.len(), pointers.len(), numbers.len()) {
            break;
        }
    }
    instructions
        .into_iter()
        .filter(|(instruction, _)| follows(instruction, &pointers))
        .map(|(_, line)| line)
        .collect()
}

/// The kernel's own variables, and which address is inside which.
struct Locals<'a> {
    /// Of each address that is computed from another one: that one.
    bases: BTreeMap<&'a str, &'a str>,
    /// Variables that hold pointers of their own: what is loaded from them may be no captured one.
    mixed: BTreeSet<&'a str>,
    all: BTreeSet<&'a str>,
}

impl<'a> Locals<'a> {
    fn of(instructions: &[(Instruction<'a>, &'a String)]) -> Self {
        let mut locals =
            Self { bases: BTreeMap::new(), mixed: BTreeSet::new(), all: BTreeSet::new() };
        let mut calls = BTreeSet::new();
        for (instruction, _) in instructions {
            match (instruction.opcode, instruction.result) {
                ("alloca", Some(result)) => drop(locals.all.insert(result)),
                ("call", Some(result)) => drop(calls.insert(result)),
                ("getelementptr", Some(result)) => {
                    // Types before it may have names too.
                    let mut words = tokens(instruction.text).map(|token| token.1);
                    words.find(|word| *word == "ptr");
                    let base = words.find(|word| word.starts_with(['%', '@']));
                    locals.bases.extend(base.map(|base| (result, base)));
                }
                _ => {}
            }
        }
        for (instruction, _) in instructions {
            if instruction.opcode == "store" && instruction.text.starts_with("store ptr ") {
                let mut operands = instruction.operands();
                let (Some(value), Some(target)) = (operands.next(), operands.next()) else {
                    continue;
                };
                let source = locals.root(value);
                let foreign = locals.all.contains(source)
                    || calls.contains(source)
                    || source.starts_with('@');
                if foreign {
                    let target = locals.root(target);
                    locals.mixed.insert(target);
                }
            }
        }
        locals
    }

    /// The address that this one was computed from in the first place.
    fn root(&self, mut address: &'a str) -> &'a str {
        // No address is computed from itself, but text could say so.
        for _ in 0..=self.bases.len() {
            match self.bases.get(address) {
                Some(base) => address = base,
                None => break,
            }
        }
        address
    }

    /// The variable that this instruction copies captures to.
    fn copied_to(
        &self,
        instruction: &Instruction<'a>,
        captures: &BTreeSet<&str>,
    ) -> Option<&'a str> {
        let call = Call::parse(instruction.text)?;
        if !call.callee.starts_with("@llvm.memcpy.") && !call.callee.starts_with("@llvm.memmove.") {
            return None;
        }
        let (target, source) = (call.value(0)?, call.value(1)?);
        let target = self.root(target);
        let carries = captures.contains(source) || captures.contains(self.root(source));
        (carries && self.all.contains(target) && !self.mixed.contains(target)).then_some(target)
    }
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

    #[test]
    fn an_address_that_was_copied_as_a_number_is_found() {
        let ir = Ir::parse(
            "define void @k() {\n\
             \x20 %c = call ptr @__crosscut_captures()\n\
             \x20 %n = load i64, ptr %c, align 8\n\
             \x20 %r = inttoptr i64 %n to ptr\n\
             \x20 %v = load i32, ptr %r, align 4\n\
             \x20 ret void\n}\n",
        );
        let lines = followed(ir.find("@k").unwrap());
        assert_eq!(lines, ["  %v = load i32, ptr %r, align 4"]);
    }

    /// A kernel that copies its captures, stores what `stores` says, and follows an address of the copy.
    fn through_a_copy(stores: &str) -> Ir {
        Ir::parse(&format!(
            "define void @k(i64 %i) {{\n\
             \x20 %b = alloca [40 x ptr], align 8\n\
             \x20 %c = call ptr @__crosscut_captures()\n\
             \x20 call void @llvm.memcpy.p0.p0.i64(ptr align 8 %b, ptr align 8 %c, i64 320, i1 false)\n\
             \x20 %e = getelementptr inbounds [40 x ptr], ptr %b, i64 0, i64 %i\n\
             {stores}\
             \x20 %r = load ptr, ptr %e, align 8\n\
             \x20 %v = load i32, ptr %r, align 4\n\
             \x20 ret void\n}}\n"
        ))
    }

    #[test]
    fn an_address_is_found_in_a_copy_of_the_captures_whose_elements_were_moved() {
        let swap = "  %x = load ptr, ptr %b, align 8\n  store ptr %x, ptr %e, align 8\n";
        for stores in ["", swap] {
            let ir = through_a_copy(stores);
            let lines = followed(ir.find("@k").unwrap());
            assert!(lines.iter().any(|line| line.contains("%v = load i32")), "{stores:?}");
        }
    }

    #[test]
    fn a_copy_that_also_holds_addresses_of_the_kernels_own_is_no_proof() {
        let own = "  %l = alloca i32, align 4\n  store ptr %l, ptr %e, align 8\n";
        assert!(followed(through_a_copy(own).find("@k").unwrap()).is_empty());
    }
}
