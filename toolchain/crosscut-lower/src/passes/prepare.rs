//! Turns host functions into ones that can be inlined and run on a device.
//!
//! Expects the linked module, invokes already lowered to calls.
//! Leaves: hooks as declarations, "on device" folded to true, features of the host's CPU to false, no attribute that speaks of the host's
//! CPU or forbids inlining, no personality, no empty inline assembly.
//!
//! `define void @f() #0 personality ptr @p` with `#0 = { noinline "target-cpu"="x86-64" }`
//! becomes `define void @f() #0 alwaysinline convergent` with `#0 = { nounwind }`.

use crosscut_image::hooks;

use crate::ir::{Call, Ir, Item, Kind, replace_tokens, tokens};

/// What each hook promises the optimiser. Those with `memory(none)` and without `nomerge` may be moved and merged
/// freely: within one item they always answer the same.
const HOOK_DECLARATIONS: &[(&str, &str)] = &[
    (hooks::KERNEL, "declare void @{}(i64, i32, i64) nounwind"),
    (
        hooks::CAPTURES,
        "declare noundef nonnull align 16 ptr @{}() nounwind willreturn memory(none)",
    ),
    (
        hooks::ARGUMENT_ADDRESS,
        "declare noundef nonnull ptr @{}(i32) nounwind willreturn memory(none)",
    ),
    (
        hooks::READ_ARGUMENT_ADDRESS,
        "declare noundef nonnull ptr @{}(i32) nounwind willreturn memory(none)",
    ),
    (hooks::ARGUMENT_LENGTH, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::GLOBAL_ID, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::GLOBAL_SIZE, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::LOCAL_ID, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::LOCAL_SIZE, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::GROUP_ID, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::GROUP_COUNT, "declare noundef i64 @{}(i32) nounwind willreturn memory(none)"),
    (hooks::GROUP_SCRATCH, "declare noundef nonnull ptr @{}(i32) nounwind willreturn memory(none)"),
    (hooks::LOCAL_ADDRESS, "declare noundef nonnull ptr @{}(i32) nounwind willreturn memory(none)"),
    (
        hooks::GLOBAL_ADDRESS,
        "declare noundef nonnull ptr @{}(ptr, i64, i64, i64) nounwind willreturn memory(none)",
    ),
    // Each call must keep saying which constant it reads: two of them may not become one that chooses.
    (
        hooks::SPEC_CONSTANT,
        "declare noundef i64 @{}(ptr, i64, i32, i64) nomerge nounwind willreturn memory(none)",
    ),
    // Atomics may not move across these, so they touch memory, and stay where they are.
    (hooks::SCOPE_BEGIN, "declare void @{}(i32) nomerge nounwind willreturn"),
    (hooks::SCOPE_END, "declare void @{}() nomerge nounwind willreturn"),
    (hooks::BARRIER, "declare void @{}() convergent nounwind willreturn"),
    (hooks::SUB_GROUP_LOCAL_ID, "declare noundef i32 @{}() nounwind willreturn memory(none)"),
    (hooks::SUB_GROUP_SIZE, "declare noundef i32 @{}() nounwind willreturn memory(none)"),
    (hooks::SUB_GROUP_MAX_SIZE, "declare noundef i32 @{}() nounwind willreturn memory(none)"),
    (hooks::SUB_GROUP_ID, "declare noundef i32 @{}() nounwind willreturn memory(none)"),
    (hooks::SUB_GROUP_COUNT, "declare noundef i32 @{}() nounwind willreturn memory(none)"),
    (hooks::LINES, "declare noundef nonnull align 8 ptr @{}() nounwind willreturn memory(none)"),
    // Not a function of its operands: where it stands decides who takes part.
    (
        hooks::SUB_GROUP_SHUFFLE,
        "declare i32 @{}(i32, i32) convergent nounwind willreturn memory(inaccessiblemem: readwrite)",
    ),
    (hooks::SUB_GROUP_BARRIER, "declare void @{}() convergent nounwind willreturn"),
];

/// Attributes that speak of the host, or forbid what a device needs.
const DROPPED_ATTRIBUTES: &[&str] = &[
    "noinline",
    "optnone",
    "uwtable",
    "nonlazybind",
    "sspstrong",
    "ssp",
    "sspreq",
    "minsize",
    "optsize",
    "inlinehint",
    "noredzone",
];

/// Checks of pointers that debug builds add, and that cost a branch at every access. What they
/// would find is undefined behaviour that safe code cannot reach.
const DROPPED_CHECKS: &[&str] =
    &["panic_misaligned_pointer_dereference", "panic_null_pointer_dereference"];

/// The module of std's functions that ask what the host's CPU can do: on a device the answer is no, and
/// crates then take the way that every processor can go.
const DETECTION: &str = "__is_feature_detected";

/// What those functions remember, where they are inlined: words whose highest bit says that the others,
/// a feature each, are known.
const DETECTED: &str = "std_detect6detect5cache5CACHE";

/// [`DETECTED`] without a feature, in bytes.
const KNOWN: &str = r"\00\00\00\00\00\00\00\80";

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    // Assembly of whole modules is the host's. Who calls what it defines is refused for the symbol.
    ir.items.retain(|item| !item.lines[0].starts_with("module asm"));
    for item in &mut ir.items {
        match item.kind {
            Kind::Attributes => filter_attributes(item),
            Kind::Variable if item.name[1..] == *hooks::ON_DEVICE => {
                item.lines = vec![format!("@{} = internal constant i8 1", hooks::ON_DEVICE)];
            }
            Kind::Variable if item.name.contains(DETECTED) => forget_features(item),
            Kind::Variable => keep_variable(item),
            Kind::Function | Kind::Declaration => {
                let hook = HOOK_DECLARATIONS.iter().find(|hook| hook.0 == &item.name[1..]);
                if let Some((name, declaration)) = hook {
                    item.kind = Kind::Declaration;
                    item.lines = vec![declaration.replace("{}", name)];
                } else if item.name.contains(DETECTION) {
                    item.kind = Kind::Function;
                    item.lines = vec![
                        format!("define internal i1 {}() alwaysinline {{", item.name),
                        "  ret i1 false".to_owned(),
                        "}".to_owned(),
                    ];
                } else if item.kind == Kind::Function {
                    prepare_function(item);
                }
            }
            _ => {}
        }
    }
}

/// Keeps the optimiser from folding what a static holds at the start of the program into code: the
/// host may have changed it, and whoever uses it must be told that a device cannot see that.
fn keep_variable(item: &mut Item) {
    let line = &item.lines[0];
    let words: Vec<(usize, &str)> = tokens(line).collect();
    let Some(&(at, "global")) = words.iter().find(|word| matches!(word.1, "global" | "constant"))
    else {
        return;
    };
    if words.iter().any(|word| matches!(word.1, "externally_initialized" | "external")) {
        return;
    }
    let kept = replace_tokens(&line[..at], |token| {
        matches!(token, "internal" | "private" | "linkonce_odr").then(String::new)
    });
    item.lines[0] = format!("{kept}externally_initialized {}", &line[at..]);
}

/// Makes what is known of the host's CPU a constant: nothing.
fn forget_features(item: &mut Item) {
    let length = |token: &str| token.trim_start_matches('[').parse::<usize>().ok();
    let line = &item.lines[0];
    let bytes = line.find('[').and_then(|at| line[at..].split(' ').next()).and_then(length);
    if let Some(bytes) = bytes.filter(|bytes| bytes % 8 == 0) {
        let words = KNOWN.repeat(bytes / 8);
        item.lines =
            vec![format!("{} = internal constant [{bytes} x i8] c\"{words}\", align 8", item.name)];
    }
}

fn filter_attributes(item: &mut Item) {
    let line = &item.lines[0];
    let Some(open) = line.find('{') else { return };
    // Nothing unwinds on a device; and a group may not be empty.
    let mut kept = " nounwind".to_owned();
    let words: Vec<&str> = tokens(&line[open + 1..]).map(|(_, token)| token).collect();
    let mut at = 0;
    while at < words.len() && words[at] != "}" {
        let word = words[at];
        let mut end = at + 1;
        // A string attribute may have a value, a named one operands in brackets.
        if word.starts_with('"') {
            if words.get(end) == Some(&"=") {
                end += 2;
            }
        } else if words.get(end) == Some(&"(") {
            while words[end] != ")" {
                end += 1;
            }
            end += 1;
        }
        if !word.starts_with('"') && word != "nounwind" && !DROPPED_ATTRIBUTES.contains(&word) {
            kept.push(' ');
            kept.push_str(&words[at..end].join(" "));
        }
        at = end;
    }
    item.lines[0] = format!("{}{{{kept} }}", &line[..open]);
}

fn prepare_function(item: &mut Item) {
    let head = &mut item.lines[0];
    if let Some(at) = head.find(" personality ") {
        let rest = &head[at + " personality ".len()..];
        let after = tokens(rest).find(|token| token.1.starts_with('@'));
        let tail = after.map_or("", |(start, token)| &rest[start + token.len()..]).to_owned();
        head.truncate(at);
        head.push_str(&tail);
    }
    // Attributes stand before the metadata and the opening brace.
    let brace = head.rfind('{').unwrap_or(head.len());
    let at = head[..brace].find(" !dbg ").unwrap_or(brace);
    head.insert_str(at, " alwaysinline convergent ");
    item.lines.retain(|line| !is_dropped(line));
}

/// Whether a line is one of ours to drop: empty assembly, or a check of [`DROPPED_CHECKS`].
fn is_dropped(line: &str) -> bool {
    if !line.contains("call ") {
        return false;
    }
    let Some(call) = Call::parse(line) else { return false };
    if call.callee == "asm" {
        let text = tokens(line).skip_while(|token| token.1 != "asm").map(|token| token.1);
        let template = text.into_iter().find(|token| token.starts_with('"'));
        return call.result.is_none() && template == Some("\"\"");
    }
    DROPPED_CHECKS.iter().any(|check| call.callee.contains(check))
}
