//! Links a program's device code: what kernels need, and nothing else.

use std::collections::BTreeSet;

use crosscut_image::hooks;

use crate::LowerError;
use crate::ir::{Ir, Kind};
use crate::job::Job;
use crate::llvm::{Linkage, Llvm, Module};
use crate::names;
use crate::passes::{self, assertions, panic_values, panics, prepare};
use crate::providers::Providers;

/// A program's device code in one module, panics in their one form.
pub(crate) struct Linked {
    /// The module.
    pub(crate) module: Module,
    /// The entry functions of its kernels.
    pub(crate) entries: Vec<String>,
    /// Functions that are called and that nobody defines.
    pub(crate) missing: Vec<String>,
    /// Functions whose calls were replaced without knowing all there is to know of them: a definition would
    /// tell more.
    pub(crate) untold: BTreeSet<String>,
}

/// How often the module may grow by the symbols that the last growth asked for. Call chains through
/// crates are far shorter; the bound keeps a bug from running for ever.
const MOST_ROUNDS: usize = 100;

/// Links the job's modules. `None` if there is no kernel among them.
pub(crate) fn link(llvm: &Llvm, job: &Job) -> Result<Option<Linked>, LowerError> {
    let mut providers = Providers::default();
    let mut module = Module::empty(llvm, &job.crate_name);
    let mut entries = Vec::new();
    for path in &job.modules {
        let number = providers.add_file(llvm, path)?;
        let mut source = providers.get(number).load(llvm)?;
        let found = source.callers(hooks::KERNEL);
        if found.is_empty() {
            continue;
        }
        source.set_linkage_of_exports(Linkage::LinkOnceOdr);
        for entry in found {
            source.set_linkage(&entry, Linkage::External);
            entries.push(entry);
        }
        module.link(source)?;
    }
    if entries.is_empty() {
        return Ok(None);
    }
    // One generic kernel may be instantiated in several crates.
    entries.sort();
    entries.dedup();

    let preserve: Vec<String> =
        entries.iter().map(|entry| format!("preserve-gv={entry}")).collect();
    // Nothing here may simplify: hooks are not yet known for what they are, and a barrier could be
    // copied into two branches.
    let clean_up = format!(
        "function(lower-invoke,unreachableblockelim),internalize<{}>,globaldce",
        preserve.join(";")
    );
    let mut std_is_open = false;
    let mut missing = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        // Internal symbols cannot be linked to, so the module is cleaned as a copy of its text.
        let text = module.print();
        let mut ir = clean(llvm, &text, &clean_up)?;
        prepare::run(&mut ir);
        panic_values::run(&mut ir);
        let untold = assertions::untold(&ir);
        panics::run(&mut ir);
        let mut wanted = undefined(&ir);
        missing = std::mem::take(&mut wanted.called);
        missing.extend(wanted.mentioned);
        let mut numbers = numbers_of(&providers, &missing);
        numbers.extend(numbers_of(&providers, &untold));
        if numbers.is_empty() && !std_is_open && !missing.is_empty() {
            std_is_open = true;
            for archive in &job.std_archives {
                providers.add_archive(llvm, archive)?;
            }
            numbers = numbers_of(&providers, &missing);
        }
        if numbers.is_empty() {
            let mut module = Module::from_text(llvm, &ir.print())?;
            module.run("globaldce", None)?;
            let called = undefined(&Ir::parse(&module.print())).called;
            let missing = called.into_iter().collect();
            return Ok(Some(Linked { module, entries, missing, untold }));
        }
        for number in numbers {
            let provider = providers.get(number);
            let mut source = provider.load(llvm)?;
            source.set_linkage_of_exports(Linkage::LinkOnceOdr);
            if provider.is_std {
                // It is wanted for code of `core`: what else it has answers no call.
                for symbol in source.exported_names().iter().filter(|it| needs_a_host(it)) {
                    source.set_linkage(symbol, Linkage::Internal);
                }
            }
            module.link(source)?;
        }
    }
    Err(LowerError::Endless { symbols: missing.into_iter().collect() })
}

fn clean(llvm: &Llvm, text: &str, passes: &str) -> Result<Ir, LowerError> {
    let mut module = Module::from_text(llvm, text)?;
    module.run(passes, None)?;
    Ok(Ir::parse(&module.print()))
}

/// Whether a symbol is of a crate whose own code is never asked for: what it would bring needs an operating system.
pub(crate) fn needs_a_host(symbol: &str) -> bool {
    matches!(names::crate_of(symbol).as_deref(), Some("std" | "alloc"))
}

/// The providers of the symbols, each once. Instances that the program's crates have are asked for whatever they are of.
fn numbers_of(providers: &Providers, symbols: &BTreeSet<String>) -> BTreeSet<usize> {
    symbols
        .iter()
        .filter_map(|symbol| Some((symbol, providers.of(symbol)?)))
        .filter(|(symbol, number)| !(providers.get(*number).is_std && needs_a_host(symbol)))
        .map(|(_, number)| number)
        .collect()
}

struct Undefined {
    /// Functions that are called.
    called: BTreeSet<String>,
    /// Variables that are mentioned.
    mentioned: BTreeSet<String>,
}

fn undefined(ir: &Ir) -> Undefined {
    let declared: BTreeSet<&str> = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Declaration)
        .map(|item| item.name.as_str())
        .collect();
    let mut called = BTreeSet::new();
    for function in ir.functions() {
        for call in function.calls() {
            let name = call.callee.trim_start_matches('@').trim_matches('"');
            if declared.contains(call.callee) && !passes::is_built_in(call.callee) {
                called.insert(name.to_owned());
            }
        }
    }
    let mentioned = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Variable)
        .filter(|item| item.lines[0].contains(" = external "))
        .map(|item| item.name.trim_start_matches('@').trim_matches('"').to_owned())
        .collect();
    Undefined { called, mentioned }
}
