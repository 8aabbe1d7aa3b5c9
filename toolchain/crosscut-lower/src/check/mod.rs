//! Finds what a device cannot do, and says so in the user's terms.
//!
//! Runs on optimised code: a branch that cannot be taken is gone, a call that could be resolved is,
//! and what is left is really wanted. Debug info then still knows how it got there.

mod captures;
mod debug;
mod flow;
mod layouts;
mod problem;

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::hooks;

use crate::ir::{Call, Ir, Item, Kind, tokens};
use crate::job::Diagnostic;
use crate::names;
use crate::passes::globals::used_globals;
use crate::passes::legalise::DROPPED;
use crate::passes::{self, constants, library, panics};
use debug::{DebugInfo, Frame};
use problem::Problem;

/// The functions that kernels call and that nobody defines.
pub(crate) fn missing_functions(ir: &Ir, entries: &[String]) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for entry in entries {
        for function in reachable(ir, entry) {
            let calls = function.calls();
            missing.extend(calls.filter_map(|call| undefined(ir, &call)).map(str::to_owned));
        }
    }
    missing
}

/// The name of the function that a call wants, if nobody defines it and the device has none.
fn undefined<'a>(ir: &Ir, call: &Call<'a>) -> Option<&'a str> {
    let name = call.callee.strip_prefix('@')?.trim_matches('"');
    let declared = ir.find(call.callee).is_some_and(|item| item.kind == Kind::Declaration);
    let known = passes::is_built_in(call.callee)
        || library::math_function(name).is_some()
        || library::definition(&format!("__crosscut_{name}")).is_some();
    (declared && !known).then_some(name)
}

/// Every problem of every kernel, in the order of the sources, each place once.
pub(crate) fn check(ir: &Ir, entries: &[String]) -> Vec<Diagnostic> {
    let debug = DebugInfo::of(ir);
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for entry in entries {
        let kernel = names::kernel(entry);
        let found = problems(ir, entry).into_iter().map(|(problem, location)| {
            let frames = location.map(|location| debug.frames(&location)).unwrap_or_default();
            (problem.seen_from(&frames), frames)
        });
        let mut found: Vec<(Problem, Vec<Frame>)> = found.collect();
        // What is made is dropped: one cause, told once.
        if found.iter().any(|(problem, _)| problem.is_system() && !problem.is_drop()) {
            found.retain(|(problem, _)| !problem.is_drop());
        }
        for (problem, frames) in found {
            let diagnostic = problem.tell(&kernel, &frames);
            let known = diagnostics
                .iter()
                .any(|known| known.message == diagnostic.message && known.span == diagnostic.span);
            if !known {
                diagnostics.push(diagnostic);
            }
        }
    }
    // Where a kernel has another problem, what it takes a global for may come from that.
    if diagnostics.is_empty() {
        diagnostics = layouts::contradictions(ir, entries, &debug);
    }
    diagnostics.sort_by_key(|diagnostic| {
        diagnostic.span.as_ref().map(|span| (span.file.clone(), span.line, span.column))
    });
    diagnostics
}

/// The entry and the functions that could not be inlined into it.
fn reachable<'a>(ir: &'a Ir, entry: &str) -> Vec<&'a Item> {
    let mut found: BTreeMap<String, &Item> = BTreeMap::new();
    let mut queue = vec![format!("@{entry}")];
    let mut order = Vec::new();
    while let Some(name) = queue.pop() {
        let Some(item) = ir.find(&name).filter(|item| item.kind == Kind::Function) else {
            continue;
        };
        if found.insert(name, item).is_none() {
            order.push(item);
            queue.extend(item.calls().map(|call| call.callee.to_owned()));
        }
    }
    order
}

fn problems(ir: &Ir, entry: &str) -> Vec<(Problem, Option<String>)> {
    let functions = reachable(ir, entry);
    let mut problems = Vec::new();
    // Whatever else is wrong in a function that calls itself, that is what must go first.
    if functions.len() > 1 {
        for line in &functions[0].lines {
            let Some(callee) = Call::parse(line).and_then(|call| ir.find(call.callee)) else {
                continue;
            };
            if callee.kind == Kind::Function {
                let circle = recursion(ir, &reachable(ir, callee.name.trim_start_matches('@')));
                // Each is told once, where the kernel first gets to it.
                if !problems.iter().any(|(known, _): &(Problem, _)| known.is_same_circle(&circle)) {
                    problems.push((circle, location_of(line)));
                }
            }
        }
        return problems;
    }
    for function in functions {
        problems.extend(problems_of(ir, function));
    }
    // What is allocated is freed: one cause, told once.
    if problems.iter().any(|(problem, _)| matches!(problem, Problem::Heap | Problem::Format)) {
        problems.retain(|(problem, _)| *problem != Problem::Free);
    }
    problems
}

/// The problems of one function.
fn problems_of(ir: &Ir, function: &Item) -> Vec<(Problem, Option<String>)> {
    let globals = used_globals(ir, function);
    let symbols: BTreeSet<&str> =
        globals.iter().flatten().map(|global| global.symbol.as_str()).collect();
    let mut problems = Vec::new();
    let followed = captures::followed(function);
    for line in &function.lines[1..] {
        // What is done to a vector of the host need not allocate: the reference to it is what is wrong.
        let is_followed = || followed.iter().any(|it| std::ptr::eq(*it, line));
        if let Some(problem) = problem_of(ir, &symbols, line)
            && !(matches!(problem, Problem::Heap | Problem::Free) && is_followed())
        {
            problems.push((problem, location_of(line)));
        }
    }
    for line in followed {
        problems.push((Problem::Captured, location_of(line)));
    }
    for line in flow::divergent_barriers(function) {
        problems.push((Problem::Barrier, location_of(line)));
    }
    if let Err(reason) = globals {
        let hook = function.lines.iter().find(|line| line.contains(hooks::GLOBAL_ADDRESS));
        let location = hook.and_then(|line| location_of(line));
        // Which statics are device globals is not known then, and what looks like a captured
        // reference at the same place is this one.
        problems.retain(|(problem, place)| match problem {
            Problem::Static { .. } => false,
            Problem::Captured => *place != location,
            _ => true,
        });
        problems.push((Problem::GlobalAddress { reason }, location));
    }
    problems
}

fn location_of(line: &str) -> Option<String> {
    crate::ir::Instruction::parse(line)?.debug_location().map(str::to_owned)
}

/// What is wrong with one instruction of a function that uses these device globals.
fn problem_of(ir: &Ir, device_globals: &BTreeSet<&str>, line: &str) -> Option<Problem> {
    if line.contains("call ")
        && let Some(call) = Call::parse(line)
    {
        if call.callee == "asm" {
            return Some(Problem::Assembly);
        }
        if call.callee.starts_with("@llvm.x86.") && !DROPPED.contains(&call.callee) {
            return Some(Problem::OneCpu);
        }
        if call.callee.starts_with('%') {
            return Some(Problem::Pointer);
        }
        if call.callee.starts_with("@llvm.threadlocal.address") {
            return Some(Problem::ThreadLocal);
        }
        if let Some(symbol) = undefined(ir, &call) {
            return Some(Problem::of_call(symbol));
        }
        if let Some(reason) = constants::fault(line) {
            return Some(Problem::SpecConstant { reason });
        }
        if call.callee.strip_prefix('@') == Some(hooks::GLOBAL_ADDRESS)
            || call.callee == panics::PANIC
        {
            return None;
        }
    }
    let names = tokens(line).map(|token| token.1).filter(|token| token.starts_with('@'));
    for name in names {
        if device_globals.contains(name) {
            continue;
        }
        if let Some(problem) = mutable_static(ir, device_globals, name, &mut BTreeSet::new()) {
            return Some(problem);
        }
    }
    None
}

/// The static that only the host has, if `name` is one or leads to one.
fn mutable_static(
    ir: &Ir,
    device_globals: &BTreeSet<&str>,
    name: &str,
    seen: &mut BTreeSet<String>,
) -> Option<Problem> {
    let item = ir.find(name).filter(|item| item.kind == Kind::Variable)?;
    if !seen.insert(name.to_owned()) {
        return None;
    }
    let line = &item.lines[0];
    let words: Vec<&str> = tokens(line).map(|token| token.1).collect();
    if words.contains(&"thread_local") {
        return Some(Problem::ThreadLocal);
    }
    let kind = words.iter().find(|word| matches!(**word, "global" | "constant"));
    if kind == Some(&"global") {
        let symbol = name.trim_start_matches('@');
        return Some(Problem::Static { name: names::display(symbol) });
    }
    words[1..]
        .iter()
        .filter(|word| word.starts_with('@'))
        .filter(|word| !device_globals.contains(**word))
        .find_map(|word| mutable_static(ir, device_globals, word, seen))
}

/// Names the circle that functions call each other in.
fn recursion(ir: &Ir, functions: &[&Item]) -> Problem {
    for start in functions {
        let mut queue = vec![vec![start.name.as_str()]];
        let mut seen = BTreeSet::new();
        while let Some(path) = queue.pop() {
            let Some(last) = path.last().and_then(|name| ir.find(name)) else { continue };
            for call in last.calls() {
                if call.callee == start.name {
                    let functions =
                        path.iter().map(|name| names::display(name.trim_start_matches('@')));
                    return Problem::Recursion { functions: functions.collect() };
                }
                let Some(next) = ir.find(call.callee).filter(|item| item.kind == Kind::Function)
                else {
                    continue;
                };
                if seen.insert(next.name.as_str()) {
                    let mut longer = path.clone();
                    longer.push(&next.name);
                    queue.push(longer);
                }
            }
        }
    }
    let functions = functions.iter().take(1).map(|item| names::display(&item.name[1..]));
    Problem::Recursion { functions: functions.collect() }
}
