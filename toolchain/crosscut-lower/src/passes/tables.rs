//! Makes constants that hold addresses of device globals.
//!
//! Expects an optimised entry in host form.
//! Leaves numbers in the constants: where a global is, only a launch knows. The number is made an address
//! where it is used, which is where the access hook is asked, where it is compared and where it becomes an integer.
//!
//! `@T = constant [1 x ptr] [ptr @A]`, `%p = load ptr, ptr @T` and a hook that is asked for `%p` become
//! `@T = constant [1 x i64] [i64 -9223372036854775808]`, the same load,
//! `%cc.found.0.0 = select i1 %cc.found.0.0.is, ptr @A, ptr %p` and a hook that is asked for that.

use std::collections::{HashMap, HashSet};

use crosscut_image::hooks;

use super::globals::{UsedGlobal, is_constant};
use super::initializers::{Initializer, Value};
use crate::ir::{Call, Instruction, Ir, Item, replace_tokens, tokens};

/// The number of the first global, as an address: on no device is memory there, and it has every alignment
/// that a global may have, as have the numbers that follow. So code that knows what addresses look like is
/// not misled.
const FIRST: u64 = 1 << 63;

/// The distance from number to number.
const STEP: u32 = 32;

/// Up to so many globals are tried one after the other; more of them are looked up in memory.
const FEW: usize = 8;

/// Runs the pass on `entry`, which uses these globals.
///
/// # Errors
/// Says which constant cannot be made.
pub(crate) fn run(ir: &mut Ir, entry: &str, used: &[UsedGlobal]) -> Result<(), String> {
    let mut numbers = Numbers { used, found: HashMap::new() };
    for item in ir.items.iter_mut().filter(|item| is_constant(item)) {
        numbers.put_into(item)?;
    }
    if numbers.found.is_empty() {
        return Ok(());
    }
    let mut globals: Vec<(String, u64)> = numbers.found.into_iter().collect();
    globals.sort_by_key(|global| global.1);
    let globals: Vec<String> = globals.into_iter().map(|global| global.0).collect();
    if let Some(function) = ir.functions_mut().find(|function| function.name == entry) {
        look_up(function, &globals);
    }
    Ok(())
}

/// Which number stands for which global, in the order in which tables mention them.
struct Numbers<'a> {
    used: &'a [UsedGlobal],
    found: HashMap<String, u64>,
}

impl Numbers<'_> {
    /// Puts numbers in the place of the globals in a constant.
    fn put_into(&mut self, item: &mut Item) -> Result<(), String> {
        let line = &item.lines[0];
        if !tokens(line).skip(1).any(|(_, token)| self.is_used(token)) {
            return Ok(());
        }
        let cannot = || {
            let name = &item.name;
            format!("the constant `{name}` holds device globals in a way that cannot be followed")
        };
        let mut initializer = Initializer::parse(line).ok_or_else(cannot)?;
        self.number(&mut initializer.value).ok_or_else(cannot)?;
        let line = initializer.print();
        item.lines[0] = line;
        Ok(())
    }

    fn is_used(&self, symbol: &str) -> bool {
        symbol.starts_with('@')
            && (self.found.contains_key(symbol)
                || self.used.iter().any(|global| global.symbol == symbol))
    }

    /// `None` if a global's address is computed with.
    fn number(&mut self, value: &mut Value<'_>) -> Option<()> {
        match value {
            Value::Bytes(_) => Some(()),
            Value::List(elements) => elements.iter_mut().try_for_each(|value| self.number(value)),
            Value::Plain { kind, text } if self.is_used(text) => {
                let next = self.found.len() as u64;
                let number = *self.found.entry(text.to_string()).or_insert(next);
                *kind = "i64".into();
                *text = address(number).to_string().into();
                Some(())
            }
            Value::Plain { text, .. } => {
                (!tokens(text).any(|(_, token)| self.is_used(token))).then_some(())
            }
        }
    }
}

/// A global's number as an address, and that as LLVM writes words.
fn address(number: u64) -> i64 {
    (FIRST + (number << STEP)).cast_signed()
}

/// Makes addresses of numbers wherever the function uses one.
fn look_up(function: &mut Item, globals: &[String]) {
    let body = &function.lines[1..];
    let label = usize::from(body.first().is_some_and(|line| Instruction::parse(line).is_none()));
    let mut lines = function.lines[..1 + label].to_vec();
    if globals.len() > FEW {
        lines.extend(in_memory(globals));
    }
    let mut count = 0;
    let loaded = loaded(body);
    for line in &body[label..] {
        let mut line = line.clone();
        for value in
            unknown_addresses(&line, &loaded).into_iter().map(str::to_owned).collect::<Vec<_>>()
        {
            let found = if globals.len() > FEW {
                by_memory(&value, count, globals.len(), &mut lines)
            } else {
                by_trying(&value, count, globals, &mut lines)
            };
            line = with_operand(&line, &value, &found);
            count += 1;
        }
        lines.push(line);
    }
    function.lines = lines;
}

/// The values that come from memory, directly or by a choice: they may be numbers. What is computed from one is
/// none, because a number is only used as a whole.
fn loaded(body: &[String]) -> HashSet<&str> {
    let instructions: Vec<Instruction<'_>> =
        body.iter().filter_map(|line| Instruction::parse(line)).collect();
    let mut loaded = HashSet::new();
    loop {
        let before = loaded.len();
        for instruction in &instructions {
            let Some(result) = instruction.result else { continue };
            let comes_from_memory = match instruction.opcode {
                "load" | "inttoptr" | "extractvalue" | "extractelement" => true,
                "phi" | "select" | "freeze" => {
                    instruction.operands().any(|operand| loaded.contains(operand))
                }
                _ => false,
            };
            if comes_from_memory {
                loaded.insert(result);
            }
        }
        if loaded.len() == before {
            return loaded;
        }
    }
}

/// The values of an instruction that may be numbers and must be addresses.
fn unknown_addresses<'a>(line: &'a str, loaded: &HashSet<&str>) -> Vec<&'a str> {
    if line.contains(hooks::GLOBAL_ADDRESS)
        && let Some(call) = Call::parse(line)
        && call.callee.strip_prefix('@') == Some(hooks::GLOBAL_ADDRESS)
    {
        return call.value(0).filter(|value| value.starts_with('%')).into_iter().collect();
    }
    let Some(instruction) = Instruction::parse(line) else { return Vec::new() };
    let is_of_addresses = match instruction.opcode {
        // No number is null.
        "icmp" => tokens(line).any(|it| it.1 == "ptr") && !tokens(line).any(|it| it.1 == "null"),
        "ptrtoint" => true,
        _ => false,
    };
    if !is_of_addresses {
        return Vec::new();
    }
    let mut values: Vec<&str> =
        instruction.operands().filter(|operand| loaded.contains(operand)).collect();
    values.dedup();
    values
}

/// The line with another operand; its result may have any name but that of an operand.
fn with_operand(line: &str, from: &str, to: &str) -> String {
    replace_tokens(line, |token| (token == from).then(|| to.to_owned()))
}

/// Compares `value` with each number.
fn by_trying(value: &str, count: usize, globals: &[String], lines: &mut Vec<String>) -> String {
    let number = format!("%cc.found.{count}.number");
    lines.push(format!("  {number} = ptrtoint ptr {value} to i64"));
    let mut found = value.to_owned();
    for (index, global) in (0u64..).zip(globals) {
        let next = format!("%cc.found.{count}.{index}");
        lines.push(format!("  {next}.is = icmp eq i64 {number}, {}", address(index)));
        lines.push(format!("  {next} = select i1 {next}.is, ptr {global}, ptr {found}"));
        found = next;
    }
    found
}

/// The addresses of all globals in private memory, by number.
fn in_memory(globals: &[String]) -> Vec<String> {
    let mut lines = vec![format!("  %cc.globals = alloca [{} x ptr], align 8", globals.len())];
    for (index, global) in globals.iter().enumerate() {
        let place = format!("%cc.globals.{index}");
        lines.push(format!("  {place} = getelementptr ptr, ptr %cc.globals, i64 {index}"));
        lines.push(format!("  store ptr {global}, ptr {place}, align 8"));
    }
    lines
}

/// Looks `value` up there, if it is a number.
fn by_memory(value: &str, count: usize, globals: usize, lines: &mut Vec<String>) -> String {
    let name = format!("%cc.found.{count}");
    lines.extend([
        format!("  {name}.number = ptrtoint ptr {value} to i64"),
        format!("  {name}.distance = sub i64 {name}.number, {}", address(0)),
        // Addresses of a device may have their first bit set, too.
        format!("  {name}.is = icmp ult i64 {name}.distance, {}", (globals as u64) << STEP),
        format!("  {name}.index = lshr i64 {name}.distance, {STEP}"),
        // What is no number leads to the first, and is not used.
        format!("  {name}.inside = select i1 {name}.is, i64 {name}.index, i64 0"),
        format!("  {name}.place = getelementptr ptr, ptr %cc.globals, i64 {name}.inside"),
        format!("  {name}.there = load ptr, ptr {name}.place, align 8"),
        format!("  {name} = select i1 {name}.is, ptr {name}.there, ptr {value}"),
    ]);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(symbols: &[&str]) -> Vec<UsedGlobal> {
        let global = |symbol: &&str| UsedGlobal {
            symbol: (*symbol).into(),
            size: 4,
            align: 4,
            properties: 6,
        };
        symbols.iter().map(global).collect()
    }

    const TABLES: &str = "\
@A = global [8 x i8] zeroinitializer, align 4
@C = global [8 x i8] zeroinitializer, align 4
@T = constant <{ ptr, [8 x i8], ptr, ptr }> <{ ptr @A, [8 x i8] c\"\\01\\00\\00\\00\\00\\00\\00\\00\", ptr @B, ptr @C }>, align 8
@U = constant [2 x ptr] [ptr @T, ptr getelementptr inbounds (i8, ptr @T, i64 8)], align 8
@B = constant [1 x i8] zeroinitializer
define void @k(i64 %i) {
start:
  %p = load ptr, ptr @T, align 8
  %f = call ptr @__crosscut_global_address(ptr %p, i64 4, i64 4, i64 6)
  %g = call ptr @__crosscut_global_address(ptr @A, i64 4, i64 4, i64 6)
  %same = icmp eq ptr %p, @A
  %q = select i1 %same, ptr @A, ptr @C
  %also = icmp eq ptr %p, %q
  %none = icmp eq ptr %p, null
  ret void
}
";

    #[test]
    fn tables_hold_numbers_and_hooks_get_addresses() {
        let mut ir = Ir::parse(TABLES);
        run(&mut ir, "@k", &used(&["@A", "@C"])).unwrap();
        assert_eq!(
            ir.find("@T").unwrap().lines[0],
            "@T = constant <{ i64, [8 x i8], ptr, i64 }> <{ i64 -9223372036854775808, [8 x i8] c\"\\01\\00\\00\\00\\00\\00\\00\\00\", ptr @B, i64 -9223372032559808512 }>, align 8"
        );
        assert!(ir.print().contains("@U = constant [2 x ptr] [ptr @T, ptr getelementptr"));
        let expected = "\
start:
  %p = load ptr, ptr @T, align 8
  %cc.found.0.number = ptrtoint ptr %p to i64
  %cc.found.0.0.is = icmp eq i64 %cc.found.0.number, -9223372036854775808
  %cc.found.0.0 = select i1 %cc.found.0.0.is, ptr @A, ptr %p
  %cc.found.0.1.is = icmp eq i64 %cc.found.0.number, -9223372032559808512
  %cc.found.0.1 = select i1 %cc.found.0.1.is, ptr @C, ptr %cc.found.0.0
  %f = call ptr @__crosscut_global_address(ptr %cc.found.0.1, i64 4, i64 4, i64 6)
  %g = call ptr @__crosscut_global_address(ptr @A, i64 4, i64 4, i64 6)
  %cc.found.1.number = ptrtoint ptr %p to i64
  %cc.found.1.0.is = icmp eq i64 %cc.found.1.number, -9223372036854775808
  %cc.found.1.0 = select i1 %cc.found.1.0.is, ptr @A, ptr %p
  %cc.found.1.1.is = icmp eq i64 %cc.found.1.number, -9223372032559808512
  %cc.found.1.1 = select i1 %cc.found.1.1.is, ptr @C, ptr %cc.found.1.0
  %same = icmp eq ptr %cc.found.1.1, @A
  %q = select i1 %same, ptr @A, ptr @C
  %cc.found.2.number = ptrtoint ptr %p to i64
  %cc.found.2.0.is = icmp eq i64 %cc.found.2.number, -9223372036854775808
  %cc.found.2.0 = select i1 %cc.found.2.0.is, ptr @A, ptr %p
  %cc.found.2.1.is = icmp eq i64 %cc.found.2.number, -9223372032559808512
  %cc.found.2.1 = select i1 %cc.found.2.1.is, ptr @C, ptr %cc.found.2.0
  %also = icmp eq ptr %cc.found.2.1, %q
  %none = icmp eq ptr %p, null
  ret void
}";
        assert_eq!(ir.find("@k").unwrap().lines[1..].join("\n"), expected);
    }

    #[test]
    fn many_globals_are_looked_up_in_memory() {
        let symbols: Vec<String> = (0..=FEW).map(|number| format!("@G{number}")).collect();
        let entries: Vec<String> = symbols.iter().map(|symbol| format!("ptr {symbol}")).collect();
        let table = format!("@T = constant [9 x ptr] [{}], align 8\n", entries.join(", "));
        let mut ir = Ir::parse(&(table + &TABLES[TABLES.find("define").unwrap()..]));
        run(&mut ir, "@k", &used(&symbols.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
        let text = ir.print();
        assert!(text.contains("@T = constant [9 x i64] [i64 -9223372036854775808, "), "{text}");
        assert!(text.contains("store ptr @G8, ptr %cc.globals.8, align 8"), "{text}");
        assert!(text.contains("address(ptr %cc.found.0, i64 4"), "{text}");
        // Nine times the step: what lies beyond is an address, whatever its first bit.
        assert!(text.contains(".is = icmp ult i64 %cc.found.0.distance, 38654705664"), "{text}");
    }

    #[test]
    fn values_that_come_from_memory_by_choices_are_looked_up_where_they_become_integers() {
        let body = "  %a = load ptr, ptr @T, align 8\n  %b = phi ptr [ %c, %x ], [ @A, %y ]\n  \
                    %c = select i1 %s, ptr %a, ptr %b\n  %d = getelementptr i8, ptr %m, i64 8\n";
        let lines: Vec<String> = body.lines().map(str::to_owned).collect();
        let mut found: Vec<&str> = loaded(&lines).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, ["%a", "%b", "%c"]);
        let asked = |line| unknown_addresses(line, &loaded(&lines)).join(" ");
        assert_eq!(asked("  %n = ptrtoint ptr %b to i64"), "%b");
        assert_eq!(asked("  %n = icmp ult ptr %d, %c"), "%c");
        assert_eq!(asked("  %n = icmp eq ptr %c, %c"), "%c");
        assert_eq!(asked("  %n = icmp eq i64 %a, %b"), "");
    }

    #[test]
    fn entries_without_tables_stay_as_they_are() {
        let mut ir = Ir::parse(TABLES);
        let before = ir.print();
        run(&mut ir, "@k", &used(&["@D"])).unwrap();
        assert_eq!(ir.print(), before);
    }
}
