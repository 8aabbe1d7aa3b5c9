//! Makes a kernel of an entry function: hooks become parameters.
//!
//! Expects one optimised entry in host form, panics numbered.
//! Leaves a kernel with one parameter for each thing the entry asks for, in the order captures,
//! arguments, lengths, globals, panic record, and the list of them.
//!
//! A one-dimensional kernel that can panic becomes two: the second is compiled with the assumption that
//! this item's index is within every argument it reads, and is launched where the whole range is. A
//! check in each item would keep a loop from being vectorised, and even a choice that all items make
//! alike costs the loop of it. The caller says by `assume` whether it is worth it.
//!
//! `%p = call ptr @__crosscut_argument_address(i32 0)` becomes
//! `%p = getelementptr i8, ptr %cc.argument.0, i64 0` in a body whose parameter
//! `ptr addrspace(1) %cc.argument.0.global` was cast to it.

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::{Parameter, hooks};

use super::sites::PANIC_SITE;
use super::{address_numbers, sub_groups};
use crate::ir::{Call, Instruction, Ir, Item, Kind, replace_tokens, split_at_commas, tokens};

/// What an entry function says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    /// The kernel's key.
    pub(crate) key: u64,
    /// Dimensions of its index space; 0 for a single task.
    pub(crate) dimensions: u8,
    /// Bytes of its closure.
    pub(crate) captures_size: u32,
    /// What the closure's address is a multiple of.
    pub(crate) captures_align: u32,
}

/// What the optimiser was told of every closure's address.
const LEAST_ALIGN: u32 = 16;
/// `Kernel::DEFINITION` refuses closures that need more.
const MOST_ALIGN: u32 = 64;

impl Announcement {
    /// Reads the call that announces a kernel; `None` if its operands are no constants.
    pub(crate) fn of(function: &Item) -> Option<Self> {
        let call = function.calls().find(|call| is_hook(call, hooks::KERNEL))?;
        // The size, and above it the alignment as a power of two.
        let captures = call.number(2)?;
        let align = 1u32.checked_shl(u32::try_from(captures >> 32).ok()?)?;
        Some(Self {
            key: call.number(0)?,
            dimensions: u8::try_from(call.number(1)?).ok()?,
            captures_size: captures as u32,
            captures_align: align.clamp(LEAST_ALIGN, MOST_ALIGN),
        })
    }
}

fn is_hook(call: &Call<'_>, hook: &str) -> bool {
    call.callee.strip_prefix('@') == Some(hook)
}

/// A kernel as [`outline`] leaves it.
pub(crate) struct Outlined {
    /// The module with the kernel.
    pub(crate) ir: Ir,
    /// What it is to be given; [`Parameter::Global`] counts into the list of globals handed in.
    pub(crate) parameters: Vec<Parameter>,
    /// The kernel that counts on its arguments being long enough, if there is one.
    pub(crate) assumed: Option<Assumed>,
}

/// A kernel that is to be launched only where some arguments are as long as the range.
pub(crate) struct Assumed {
    /// Its name.
    pub(crate) name: String,
    /// The slots of those arguments.
    pub(crate) slots: Vec<u32>,
}

/// What an entry asks for.
#[derive(Default)]
struct Uses {
    captures: bool,
    /// Slot number, and whether it is only read.
    addresses: BTreeMap<u32, bool>,
    lengths: BTreeSet<u32>,
    /// The slots of local memory.
    locals: BTreeSet<u32>,
    /// The most bytes for each item of a group that a call asks for.
    scratch: Option<u32>,
    panics: bool,
    prints: bool,
}

impl Uses {
    fn of(function: &Item) -> Self {
        let mut uses = Self::default();
        for call in function.calls() {
            let slot = call.number(0).and_then(|slot| u32::try_from(slot).ok());
            match (call.callee.trim_start_matches('@'), slot) {
                (hooks::CAPTURES, _) => uses.captures = true,
                (hooks::ARGUMENT_ADDRESS, Some(slot)) => {
                    uses.addresses.insert(slot, false);
                }
                (hooks::READ_ARGUMENT_ADDRESS, Some(slot)) => {
                    uses.addresses.entry(slot).or_insert(true);
                }
                (hooks::ARGUMENT_LENGTH, Some(slot)) => {
                    uses.lengths.insert(slot);
                }
                (hooks::LOCAL_ADDRESS, Some(slot)) => {
                    uses.locals.insert(slot);
                }
                (hooks::GROUP_SCRATCH, bytes) => uses.scratch = uses.scratch.max(bytes),
                (hooks::LINES, _) => uses.prints = true,
                _ if call.callee == PANIC_SITE => uses.panics = true,
                _ => {}
            }
        }
        uses
    }
}

/// Runs the pass on `entry`, whose kernel will be called `name`.
///
/// `globals` are those that become parameters, by their number in the image.
pub(crate) fn outline(
    ir: &Ir,
    entry: &str,
    name: &str,
    announcement: Announcement,
    globals: &[(u32, String)],
    assume: bool,
) -> Option<Outlined> {
    let function = ir.find(entry)?;
    let uses = Uses::of(function);
    let globals: Vec<(u32, &str)> =
        globals.iter().map(|(index, symbol)| (*index, symbol.as_str())).collect();

    let parameters = parameters(&uses, announcement, &globals);
    let signature = declarations(&parameters, &uses);
    // Only slices that are read have an address and a length that the item's index is checked against;
    // local memory is indexed within the group, and a number without an address is how long chunks are.
    let is_checked = |slot: &&u32| uses.addresses.contains_key(slot) && !uses.locals.contains(slot);
    let checked: Vec<u32> = uses.lengths.iter().filter(is_checked).copied().collect();
    let assumed = assume && uses.panics && announcement.dimensions == 1 && !checked.is_empty();

    let prologue = prologue(&uses, announcement, &globals);
    let is_global = |token: &str| globals.iter().any(|global| global.1 == token);
    let (numbers, rest) = address_numbers::take_apart(&function.lines[1..], is_global);
    let kernel = |name: &str, assumptions: &[String]| {
        let mut lines = vec![format!("define spir_kernel void @{name}({signature}) {{")];
        // The first line of the body is its label, if it has one.
        let label = usize::from(Instruction::parse(&rest[0]).is_none());
        lines.extend_from_slice(&rest[..label]);
        lines.extend(prologue.iter().cloned());
        lines.extend(assumptions.iter().cloned());
        let dimensions = announcement.dimensions;
        let lines_of_body = numbers.iter().chain(&rest[label..]);
        lines.extend(lines_of_body.filter_map(|line| rewrite(line, dimensions, &globals)));
        Item { kind: Kind::Function, name: format!("@{name}"), lines }
    };

    let mut functions = vec![kernel(name, &[])];
    let assumed = assumed.then(|| Assumed { name: format!("{name}_assumed"), slots: checked });
    if let Some(assumed) = &assumed {
        functions.push(kernel(&assumed.name, &assumptions(&assumed.slots)));
    }

    let mut ir = ir.only(&[entry]);
    ir.items.retain(|item| item.name != entry && !is_hook_item(item));
    let first_metadata = ir
        .items
        .iter()
        .position(|item| matches!(item.kind, Kind::Attributes | Kind::Metadata))
        .unwrap_or(ir.items.len());
    ir.items.splice(first_metadata..first_metadata, functions);
    let declarations = [
        "declare i64 @_Z13get_global_idj(i32) nounwind willreturn memory(none)",
        "declare i64 @_Z15get_global_sizej(i32) nounwind willreturn memory(none)",
        "declare i64 @_Z12get_local_idj(i32) nounwind willreturn memory(none)",
        "declare i64 @_Z14get_local_sizej(i32) nounwind willreturn memory(none)",
        "declare i64 @_Z12get_group_idj(i32) nounwind willreturn memory(none)",
        "declare i64 @_Z14get_num_groupsj(i32) nounwind willreturn memory(none)",
        "declare void @_Z22__spirv_ControlBarrieriii(i32, i32, i32) convergent nounwind",
        "declare void @llvm.assume(i1)",
    ];
    for declaration in declarations.iter().chain(sub_groups::DECLARATIONS).copied() {
        if !ir.items.iter().any(|item| item.lines[0].contains(function_name(declaration))) {
            ir.items.insert(
                first_metadata,
                Item {
                    kind: Kind::Declaration,
                    name: function_name(declaration).into(),
                    lines: vec![declaration.into()],
                },
            );
        }
    }
    Some(Outlined { ir, parameters, assumed })
}

fn function_name(declaration: &str) -> &str {
    tokens(declaration).map(|token| token.1).find(|token| token.starts_with('@')).unwrap_or("")
}

fn is_hook_item(item: &Item) -> bool {
    item.kind == Kind::Declaration
        && hooks::FUNCTIONS.iter().any(|hook| item.name.strip_prefix('@') == Some(hook))
}

fn parameters(uses: &Uses, announcement: Announcement, globals: &[(u32, &str)]) -> Vec<Parameter> {
    let words = if uses.captures { announcement.captures_size.div_ceil(8) } else { 0 };
    let mut parameters: Vec<Parameter> =
        (0..words).map(|word| Parameter::Captures { word }).collect();
    parameters.extend(uses.addresses.keys().map(|&slot| Parameter::Address { slot }));
    parameters.extend(uses.lengths.iter().map(|&slot| Parameter::Length { slot }));
    parameters.extend(uses.locals.iter().map(|&slot| Parameter::Local { slot }));
    parameters.extend(uses.scratch.map(|bytes| Parameter::Scratch { bytes }));
    parameters.extend(globals.iter().map(|&(index, _)| Parameter::Global { index }));
    if uses.panics {
        parameters.push(Parameter::PanicRecord);
    }
    if uses.prints {
        parameters.push(Parameter::Lines);
    }
    parameters
}

/// The name of a parameter's value.
fn value(parameter: Parameter) -> String {
    match parameter {
        Parameter::Captures { word } => format!("%cc.capture.{word}"),
        Parameter::Address { slot } => format!("%cc.argument.{slot}.global"),
        Parameter::Length { slot } => format!("%cc.length.{slot}"),
        Parameter::Local { slot } => format!("%cc.local.{slot}.local"),
        Parameter::Scratch { .. } => "%cc.scratch.local".into(),
        Parameter::Global { index } => format!("%cc.global.{index}.global"),
        Parameter::PanicRecord => "%cc.panic".into(),
        Parameter::Lines => "%cc.lines.global".into(),
    }
}

/// The type of a parameter.
fn kind(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Captures { .. } | Parameter::Length { .. } => "i64",
        Parameter::Local { .. } | Parameter::Scratch { .. } => "ptr addrspace(3)",
        Parameter::Address { .. }
        | Parameter::Global { .. }
        | Parameter::PanicRecord
        | Parameter::Lines => "ptr addrspace(1)",
    }
}

/// The parameters with what is known of them: arguments do not overlap where one of them is written, by the rules of
/// borrowing, and for atomics, which those let be borrowed twice, because the runtime refuses such a launch. Of local memory
/// that may not be said, because it changes at barriers, which do not get its address.
fn declarations(parameters: &[Parameter], uses: &Uses) -> String {
    let declared: Vec<String> = parameters
        .iter()
        .map(|&parameter| {
            let attributes = match parameter {
                Parameter::Address { slot } if uses.addresses[&slot] => " noalias readonly",
                Parameter::Address { .. } | Parameter::PanicRecord | Parameter::Lines => " noalias",
                _ => "",
            };
            format!("{}{attributes} {}", kind(parameter), value(parameter))
        })
        .collect();
    declared.join(", ")
}

/// Gives every hook's answer a name, at the top of a body.
fn prologue(uses: &Uses, announcement: Announcement, globals: &[(u32, &str)]) -> Vec<String> {
    let mut lines = Vec::new();
    let words = announcement.captures_size.div_ceil(8);
    if uses.captures {
        // A closure without captures still has an address.
        let align = announcement.captures_align;
        lines.push(format!("  %cc.captures = alloca [{} x i64], align {align}", words.max(1)));
        for word in 0..words {
            lines.push(format!(
                "  %cc.captures.{word} = getelementptr i8, ptr %cc.captures, i64 {}",
                word * 8
            ));
            lines.push(format!("  store i64 %cc.capture.{word}, ptr %cc.captures.{word}, align 8"));
        }
    }
    let casts = uses.addresses.keys().map(|slot| format!("%cc.argument.{slot}"));
    let casts = casts.chain(globals.iter().map(|(index, _)| format!("%cc.global.{index}")));
    for name in casts.chain(uses.prints.then(|| "%cc.lines".to_owned())) {
        lines.push(format!("  {name} = addrspacecast ptr addrspace(1) {name}.global to ptr"));
    }
    let locals = uses.locals.iter().map(|slot| format!("%cc.local.{slot}"));
    for name in locals.chain(uses.scratch.map(|_| "%cc.scratch".to_owned())) {
        lines.push(format!("  {name} = addrspacecast ptr addrspace(3) {name}.local to ptr"));
    }
    lines
}

/// The assumption that this item's index is within every argument that has a length.
fn assumptions(checked: &[u32]) -> Vec<String> {
    let mut lines =
        vec!["  %cc.id = call range(i64 0, 2147483648) i64 @_Z13get_global_idj(i32 0)".to_owned()];
    for slot in checked {
        lines.push(format!("  %cc.within.{slot} = icmp ult i64 %cc.id, %cc.length.{slot}"));
        lines.push(format!("  call void @llvm.assume(i1 %cc.within.{slot})"));
    }
    lines
}

/// A line of the entry with hooks resolved; `None` if nothing is left of it.
fn rewrite(line: &str, dimensions: u8, globals: &[(u32, &str)]) -> Option<String> {
    let global_of =
        |symbol: &str| globals.iter().find(|global| global.1 == symbol).map(|global| global.0);
    if let Some(call) = Call::parse(line) {
        let result = call.result.unwrap_or("%cc.unused");
        let number = call.number(0).unwrap_or(0);
        match call.callee.trim_start_matches('@') {
            hooks::KERNEL => return None,
            hooks::CAPTURES => {
                return Some(format!("  {result} = getelementptr i8, ptr %cc.captures, i64 0"));
            }
            hooks::ARGUMENT_ADDRESS | hooks::READ_ARGUMENT_ADDRESS => {
                return Some(format!(
                    "  {result} = getelementptr i8, ptr %cc.argument.{number}, i64 0"
                ));
            }
            hooks::ARGUMENT_LENGTH => {
                return Some(format!("  {result} = add i64 %cc.length.{number}, 0"));
            }
            hooks::LOCAL_ADDRESS => {
                return Some(format!(
                    "  {result} = getelementptr i8, ptr %cc.local.{number}, i64 0"
                ));
            }
            hooks::LINES => {
                return Some(format!("  {result} = getelementptr i8, ptr %cc.lines, i64 0"));
            }
            hooks::GROUP_SCRATCH => {
                return Some(format!("  {result} = getelementptr i8, ptr %cc.scratch, i64 0"));
            }
            hook if let Some((function, least)) = index_function(hook) => {
                // OpenCL's fastest dimension is its first, ours the last.
                let dimension = u64::from(dimensions.saturating_sub(1)).saturating_sub(number);
                return Some(format!(
                    "  {result} = call range(i64 {least}, 2147483648) i64 {function}(i32 {dimension})"
                ));
            }
            hooks::GLOBAL_ADDRESS => {
                let address = call.value(0)?;
                let address = global_of(address)
                    .map_or_else(|| address.to_owned(), |index| format!("%cc.global.{index}"));
                // By the way of global memory: of an address out of a table nothing else says so, and
                // atomics are the better for it.
                return Some(format!(
                    "  {result}.global = addrspacecast ptr {address} to ptr addrspace(1)\n  \
                     {result} = addrspacecast ptr addrspace(1) {result}.global to ptr"
                ));
            }
            _ if call.callee == PANIC_SITE => {
                return Some(format!(
                    "  call void {PANIC_SITE}(ptr addrspace(1) %cc.panic, {})",
                    call.arguments.join(", ")
                ));
            }
            hooks::BARRIER => {
                return Some(
                    "  call void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 784) convergent"
                        .to_owned(),
                );
            }
            hook if let Some(call) = sub_groups::call(hook, result, &call) => return Some(call),
            _ => {}
        }
    }
    Some(replace_tokens(line, |token| global_of(token).map(|index| format!("%cc.global.{index}"))))
}

/// OpenCL's function for a hook that asks about the index space, and its least answer.
fn index_function(hook: &str) -> Option<(&'static str, u8)> {
    Some(match hook {
        hooks::GLOBAL_ID => ("@_Z13get_global_idj", 0),
        hooks::GLOBAL_SIZE => ("@_Z15get_global_sizej", 1),
        hooks::LOCAL_ID => ("@_Z12get_local_idj", 0),
        hooks::LOCAL_SIZE => ("@_Z14get_local_sizej", 1),
        hooks::GROUP_ID => ("@_Z12get_group_idj", 0),
        hooks::GROUP_COUNT => ("@_Z14get_num_groupsj", 1),
        _ => return None,
    })
}

/// Takes the parameters that `kernel` does not use from its list, and from `parameters`.
pub(crate) fn drop_unused(kernel: &mut Item, parameters: &mut Vec<Parameter>) {
    let used: BTreeSet<String> = kernel.lines[1..]
        .iter()
        .flat_map(|line| tokens(line).map(|token| token.1))
        .filter(|token| token.starts_with('%'))
        .map(str::to_owned)
        .collect();
    let head = &kernel.lines[0];
    let (Some(open), Some(close)) = (head.find('('), closing(head)) else { return };
    let declared = split_at_commas(&head[open + 1..close]);
    if declared.len() != parameters.len() {
        return;
    }
    let is_used: Vec<bool> =
        parameters.iter().map(|&parameter| used.contains(&value(parameter))).collect();
    let kept: Vec<&str> = declared
        .iter()
        .zip(&is_used)
        .filter_map(|(declaration, used)| used.then_some(declaration.trim()))
        .collect();
    let head = format!("{}({}){}", &head[..open], kept.join(", "), &head[close + 1..]);
    kernel.lines[0] = head;
    let mut is_used = is_used.into_iter();
    parameters.retain(|_| is_used.next().unwrap_or(true));
}

/// Where the parenthesis is closed that is opened first.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at),
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which arguments the kernel with an assumption counts on, where it asks for all this.
    fn assumed(body: &str) -> Option<Vec<u32>> {
        let ir = Ir::parse(&format!(
            "define void @entry() {{\nstart:\n{body}  call void {PANIC_SITE}(i32 0, i64 0, i64 0)\n  ret void\n}}\n"
        ));
        let announcement =
            Announcement { key: 1, dimensions: 1, captures_size: 0, captures_align: 16 };
        let outlined = outline(&ir, "@entry", "kernel", announcement, &[], true)?;
        outlined.assumed.map(|assumed| assumed.slots)
    }

    const SLICE: &str = "  %a = call ptr @__crosscut_argument_address(i32 0)\n  \
        %n = call i64 @__crosscut_argument_length(i32 0)\n";
    const CHUNKS: &str = "  %b = call ptr @__crosscut_argument_address(i32 1)\n  \
        %each = call i64 @__crosscut_argument_length(i32 2)\n";

    #[test]
    fn the_length_of_chunks_is_no_length_that_an_index_is_checked_against() {
        assert_eq!(assumed(SLICE), Some(vec![0]));
        // A range is mostly longer than a chunk: the kernel without checks would never be launched.
        assert_eq!(assumed(&format!("{SLICE}{CHUNKS}")), Some(vec![0]));
        assert_eq!(assumed(CHUNKS), None);
    }
}
