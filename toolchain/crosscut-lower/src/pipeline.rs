//! Runs the passes: from bitcode to images.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use crosscut_image::{
    Addresses, AssumedKernel, Global, Image, Kernel, PanicSite, Parameter, PropertySet,
    SpecConstant, Target, spirv,
};

use crate::check;
use crate::dump::Dump;
use crate::error::MOST_PARAMETERS;
use crate::ir::Ir;
use crate::job::{Diagnostic, Job, Outcome};
use crate::link::{self, Linked};
use crate::llvm::{Llvm, Module, TargetMachine};
use crate::names;
use crate::passes::globals::{UsedGlobal, used_globals};
use crate::passes::outline::{self, Announcement};
use crate::passes::{
    aggregates, arrivals, assertions, atomic_access, constants, decorations, division,
    element_addresses, integers, legalise, long_constants, masks, memory_scopes, parts, records,
    scope, sets, sites, spaces, sub_groups, tables, turns,
};
use crate::{LowerError, host_object, validate};

/// The triple of device code: SPIR-V 1.2 is the newest whose entry points do not list every variable
/// of the module.
const DEVICE_TRIPLE: &str = "spirv64v1.2-unknown-unknown";

/// The same for kernels whose sub-groups exchange values, which SPIR-V 1.2 cannot say.
const SUB_GROUPS_TRIPLE: &str = "spirv64v1.3-unknown-unknown";

/// Runs a job.
pub(crate) fn run(job: &Job) -> Result<Outcome, LowerError> {
    let llvm = Llvm::load()?;
    let dump = Dump::new(job);
    let Some(Linked { mut module, entries, missing, untold }) = link::link(&llvm, job)? else {
        return Ok(Outcome::NoKernels);
    };
    dump.write("link", None, || module.print());

    let device = TargetMachine::new(&llvm, DEVICE_TRIPLE)?;
    module.set_target(&device);
    module.run("default<O2>", Some(&device))?;
    verify(&module, "optimise")?;
    let mut ir = Ir::parse(&module.print());
    parts::run(&mut ir);
    dump.write("optimise", None, || ir.print());

    // A symbol that is still called after optimising is really wanted.
    let mut elsewhere = if assertions::any_shows_nothing(&ir) { untold } else { BTreeSet::new() };
    let wanted = check::missing_functions(&ir, &entries);
    if missing.iter().any(|symbol| wanted.contains(symbol)) {
        elsewhere.extend(wanted.into_iter().filter(|symbol| {
            // Of crates that need a host only what some crate of the program has made an instance of.
            names::crate_of(symbol).is_some()
                && (!link::needs_a_host(symbol) || names::is_instance(symbol))
        }));
    }
    elsewhere.retain(|symbol| !job.searched.contains(symbol));
    if !elsewhere.is_empty() {
        return Ok(Outcome::NeedSymbols(elsewhere.into_iter().collect()));
    }
    let problems: Vec<Diagnostic> = check::check(&ir, &entries);
    dump.write("check", None, || ir.print());
    if !problems.is_empty() {
        return Ok(Outcome::Rejected(problems));
    }

    module.strip_debug_info();
    module.run("instnamer", None)?;
    let mut ir = Ir::parse(&module.print());
    parts::run(&mut ir);
    dump.write("check", None, || ir.print());
    let globals = all_globals(&ir, &entries);
    let mut images = Vec::new();
    let mut payloads = Vec::new();
    let lowering = Lowering { llvm: &llvm, device: &device, dump: &dump, globals: &globals };
    for group in scope::groups(&ir, &entries) {
        let members: Vec<Member<'_>> = group
            .iter()
            .map(|&number| Member { entry: &entries[number], name: format!("crosscut_{number}") })
            .collect();
        let image = lowering.image(&ir, &members)?;
        let path = job.output_dir.join(format!("{}.spv", members[0].name));
        fs::write(&path, &image.payload)
            .map_err(|source| LowerError::Write { path: path.clone(), source })?;
        payloads.push(path);
        images.push(image);
    }
    refuse_equal_keys(&images)?;
    validate::validate(&payloads)?;
    let host_symbols = host_symbols(&globals, &images);
    let object = host_object::write(&llvm, job, &images, &host_symbols)?;
    Ok(Outcome::Lowered(crate::job::Lowered { object, host_symbols, images: payloads }))
}

/// Keys are 64 bits of a hash: two kernels with one key are as good as impossible, and would run one for
/// the other.
fn refuse_equal_keys(images: &[Image]) -> Result<(), LowerError> {
    let mut names: HashMap<u64, &str> = HashMap::new();
    for kernel in images.iter().flat_map(|image| &image.kernels) {
        if let Some(other) = names.insert(kernel.key, &kernel.display_name) {
            return Err(LowerError::Kernel {
                kernel: kernel.display_name.clone(),
                reason: format!(
                    "it has the key of `{other}`: move one of them to another function"
                ),
            });
        }
    }
    Ok(())
}

/// The device globals of all kernels, each once.
fn all_globals(ir: &Ir, entries: &[String]) -> Vec<UsedGlobal> {
    let mut globals = BTreeSet::new();
    for entry in entries {
        if let Some(used) =
            ir.find(&format!("@{entry}")).and_then(|function| used_globals(ir, function).ok())
        {
            globals.extend(used);
        }
    }
    globals.into_iter().collect()
}

/// The statics whose addresses the runtime must know: device globals and specialization constants.
fn host_symbols(globals: &[UsedGlobal], images: &[Image]) -> Vec<String> {
    let mut symbols: Vec<String> =
        globals.iter().map(|global| names::symbol(&global.symbol)).collect();
    let constants: BTreeSet<&String> =
        images.iter().flat_map(|image| &image.spec_constants).map(|it| &it.id).collect();
    symbols.extend(constants.into_iter().cloned());
    symbols
}

fn verify(module: &Module, pass: &'static str) -> Result<(), LowerError> {
    module.verify().map_err(|error| LowerError::Broken { pass, reason: error.to_string() })
}

/// What the lowering of each kernel needs.
struct Lowering<'a> {
    llvm: &'a Llvm,
    device: &'a TargetMachine,
    dump: &'a Dump,
    globals: &'a [UsedGlobal],
}

/// A kernel on its way into an image.
struct Member<'a> {
    /// Its entry function, without sigil.
    entry: &'a str,
    /// Its name in the image.
    name: String,
}

/// What the kernels of one image share.
struct Shared {
    /// The globals of all of them; parameters and sets count into this list.
    used: Vec<UsedGlobal>,
    panic_sites: Vec<PanicSite>,
    spec_constants: Vec<SpecConstant>,
    /// What each kernel does with addresses, by its name.
    addresses: Vec<(String, Addresses)>,
}

impl Lowering<'_> {
    /// Makes the image of some kernels.
    fn image(&self, module: &Ir, members: &[Member<'_>]) -> Result<Image, LowerError> {
        let reached: BTreeSet<UsedGlobal> = members
            .iter()
            .filter_map(|member| module.find(&format!("@{}", member.entry)))
            .filter_map(|function| used_globals(module, function).ok())
            .flatten()
            .collect();
        let used: Vec<UsedGlobal> =
            self.globals.iter().filter(|global| reached.contains(global)).cloned().collect();
        let mut shared = Shared {
            used,
            panic_sites: Vec::new(),
            spec_constants: Vec::new(),
            addresses: Vec::new(),
        };
        let (mut bodies, mut kernels, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            self.dump.begin(member.entry)?;
            let (body, kernel) = self.kernel(module, member, &mut shared)?;
            let own = [Some(&kernel.name), kernel.assumed.as_ref().map(|assumed| &assumed.name)];
            let own: Vec<String> = own.into_iter().flatten().cloned().collect();
            let symbols: Vec<String> = own.iter().map(|name| format!("@{name}")).collect();
            // Without the statics of globals that became parameters: the kernels of an image bring each only once.
            bodies.push(body.only(&symbols.iter().map(String::as_str).collect::<Vec<_>>()));
            names.extend(own);
            kernels.push(kernel);
        }
        if let Some((accessors, added)) = scope::accessors(module, &bodies[0], &shared.used) {
            bodies.push(accessors);
            names.extend(added);
        }
        let payload = self.emit(&bodies, &kernels[0].display_name, &names, &shared.used)?;
        let globals: Vec<Global> = shared.used.iter().map(describe).collect();
        let property_sets = PropertySet::device_globals(&globals)
            .into_iter()
            .chain(PropertySet::device_global_layouts(&globals))
            .chain(Addresses::property_set(
                shared.addresses.iter().map(|(name, addresses)| (name.as_str(), addresses)),
            ))
            .collect();
        let Shared { panic_sites, spec_constants, .. } = shared;
        let target = Target::Spirv64;
        Ok(Image { target, payload, kernels, globals, spec_constants, panic_sites, property_sets })
    }

    /// Lowers one kernel of an image, up to the point where LLVM writes it.
    fn kernel(
        &self,
        module: &Ir,
        member: &Member<'_>,
        shared: &mut Shared,
    ) -> Result<(Ir, Kernel), LowerError> {
        let (symbol, name) = (format!("@{}", member.entry), member.name.as_str());
        let display_name = names::kernel(member.entry);
        let announcement =
            module.find(&symbol).and_then(Announcement::of).ok_or_else(|| LowerError::Kernel {
                kernel: display_name.clone(),
                reason: "its key is not a constant".into(),
            })?;
        let mut ir = module.only(&[&symbol]);
        sites::run(&mut ir, &symbol, &mut shared.panic_sites);
        self.dump.write("sites", Some(name), || ir.print());
        memory_scopes::run(&mut ir, &symbol);
        self.dump.write("memory-scopes", Some(name), || ir.print());
        constants::run(&mut ir, &symbol, &mut shared.spec_constants);
        self.dump.write("constants", Some(name), || ir.print());
        tables::run(&mut ir, &symbol, &shared.used)
            .map_err(|reason| LowerError::Kernel { kernel: display_name.clone(), reason })?;
        self.dump.write("tables", Some(name), || ir.print());
        scope::define(&mut ir, &shared.used);
        let (own, globals) = scope::split(&shared.used);

        let make = |assume| self.device_form(&ir, &symbol, name, announcement, &globals, assume);
        let mut form = make(true)?;
        if let Some((assumed, _)) = &form.assumed
            && form.panics(&assumed.name) >= form.panics(name)
        {
            // The assumption removed no check: a second kernel is only bulk.
            form = make(false)?;
        }
        let DeviceForm { ir: mut body, mut parameters, assumed } = form;
        let mut sets = sets::find(&body, &format!("@{name}"), &parameters);
        sets.add_variables(&body, &format!("@{name}"), &own);
        drop_unused(&mut body, name, &mut parameters);
        let assumed = assumed.map(|(assumed, mut parameters)| {
            let found = sets::find(&body, &format!("@{}", assumed.name), &parameters);
            sets.extend(found);
            drop_unused(&mut body, &assumed.name, &mut parameters);
            AssumedKernel { name: assumed.name, slots: assumed.slots, parameters }
        });
        // The other one, if there is one, has no more.
        if parameters.len() > MOST_PARAMETERS {
            let is_global = |it: &&Parameter| matches!(it, Parameter::Global { .. });
            return Err(LowerError::Parameters {
                kernel: display_name,
                parameters: parameters.len(),
                captured: announcement.captures_size,
                globals: parameters.iter().filter(is_global).count(),
            });
        }

        records::run(&mut body, announcement.dimensions);
        self.dump.write("records", Some(name), || body.print());
        let waits = arrivals::split(&mut body);
        if waits {
            body = self.run(&body, "function(reg2mem),instnamer", "arrivals")?;
            arrivals::connect(&mut body);
        }
        self.dump.write("arrivals", Some(name), || body.print());
        if waits {
            body =
                self.run(&body, "function(sroa,early-cse,simplifycfg,dce),instnamer", "arrivals")?;
        }
        legalise::run(&mut body);
        self.dump.write("legalise", Some(name), || body.print());
        turns::run(&mut body);
        self.dump.write("turns", Some(name), || body.print());
        let addresses =
            Addresses { follows: sets.follows, leave: sets.leave.into_iter().collect() };
        shared.addresses.push((name.to_owned(), addresses));
        let kernel = Kernel {
            key: announcement.key,
            name: name.to_owned(),
            display_name,
            dimensions: announcement.dimensions,
            captures_size: announcement.captures_size,
            parameters,
            assumed,
            reads: sets.reads.into_iter().collect(),
            writes: sets.writes.into_iter().collect(),
        };
        Ok((body, kernel))
    }

    /// Outlines, gives address spaces, optimises.
    fn device_form(
        &self,
        ir: &Ir,
        entry: &str,
        name: &str,
        announcement: Announcement,
        globals: &[(u32, String)],
        assume: bool,
    ) -> Result<DeviceForm, LowerError> {
        let outlined = outline::outline(ir, entry, name, announcement, globals, assume)
            .ok_or_else(|| LowerError::Kernel {
                kernel: names::kernel(entry.trim_start_matches('@')),
                reason: "it cannot be outlined".into(),
            })?;
        self.dump.write("outline", Some(name), || outlined.ir.print());
        let mut ir = outlined.ir;
        spaces::run(&mut ir);
        self.dump.write("spaces", Some(name), || ir.print());
        let mut module = Module::from_text(self.llvm, &ir.print())?;
        verify(&module, "spaces")?;
        module.set_target(self.device);
        module.run(
            "function(sroa,infer-address-spaces,early-cse),default<O2>,\
             function(infer-address-spaces,early-cse,dce),globaldce,instnamer",
            Some(self.device),
        )?;
        verify(&module, "specialise")?;
        let ir = Ir::parse(&module.print());
        self.dump.write("specialise", Some(name), || ir.print());
        let assumed = outlined.assumed.map(|assumed| (assumed, outlined.parameters.clone()));
        Ok(DeviceForm { ir, parameters: outlined.parameters, assumed })
    }

    /// Runs LLVM's passes on text.
    fn run(&self, ir: &Ir, passes: &str, pass: &'static str) -> Result<Ir, LowerError> {
        let mut module = Module::from_text(self.llvm, &ir.print())?;
        verify(&module, pass)?;
        module.run(passes, Some(self.device))?;
        Ok(Ir::parse(&module.print()))
    }

    /// The SPIR-V of a module with these kernels, the first of which names it.
    fn emit(
        &self,
        bodies: &[Ir],
        display_name: &str,
        kernels: &[String],
        used: &[UsedGlobal],
    ) -> Result<Vec<u8>, LowerError> {
        let mut module = Module::from_text(self.llvm, &bodies[0].print())?;
        for other in &bodies[1..] {
            module.link(Module::from_text(self.llvm, &other.print())?)?;
        }
        verify(&module, "legalise")?;
        // No pass here may bring back what legalise removed.
        module.run(
            "always-inline,globaldce,function(sroa,infer-address-spaces,early-cse,simplifycfg,dce)",
            Some(self.device),
        )?;
        let mut ir = Ir::parse(&module.print());
        if aggregates::run(&mut ir) {
            ir = self.run(&ir, "function(instsimplify,dce)", "aggregates")?;
        }
        // Inlining leaves remarks of its own behind.
        legalise::run(&mut ir);
        masks::run(&mut ir);
        integers::run(&mut ir).map_err(|reason| LowerError::Kernel {
            kernel: display_name.to_owned(),
            reason: format!("it needs {reason}"),
        })?;
        division::run(&mut ir);
        atomic_access::run(&mut ir);
        element_addresses::run(&mut ir);
        memory_scopes::finish(&mut ir);
        long_constants::run(&mut ir);
        scope::internalise(&mut ir, used);
        let symbols: Vec<String> = kernels.iter().map(|name| format!("@{name}")).collect();
        let mut ir = ir.only(&symbols.iter().map(String::as_str).collect::<Vec<_>>());
        decorations::run(&mut ir, used);
        if let Some(symbol) = legalise::self_reference(&ir) {
            return Err(LowerError::Kernel {
                kernel: display_name.to_owned(),
                reason: format!(
                    "the constant `{}` contains its own address, which SPIR-V cannot say; \
                     refer to the element by its index",
                    names::display(symbol.trim_start_matches('@'))
                ),
            });
        }
        let module = Module::from_text(self.llvm, &ir.print())?;
        verify(&module, "emit")?;
        self.dump.write("emit", kernels.first().map(String::as_str), || module.print());
        let triple = match sub_groups::exchanges(&ir) {
            true => SUB_GROUPS_TRIPLE,
            false => DEVICE_TRIPLE,
        };
        let payload = module.emit_apart(&TargetMachine::new(self.llvm, triple)?)?;
        spirv::check(&payload).map_err(|error| LowerError::Kernel {
            kernel: display_name.to_owned(),
            reason: format!("LLVM wrote SPIR-V that is not well formed: {error}"),
        })?;
        Ok(payload)
    }
}

/// A kernel in device form.
struct DeviceForm {
    ir: Ir,
    parameters: Vec<Parameter>,
    /// The kernel with an assumption, and its parameters.
    assumed: Option<(outline::Assumed, Vec<Parameter>)>,
}

impl DeviceForm {
    /// How many panics are left in a kernel.
    fn panics(&self, kernel: &str) -> usize {
        self.ir.find(&format!("@{kernel}")).map_or(0, records::count)
    }
}

fn drop_unused(ir: &mut Ir, kernel: &str, parameters: &mut Vec<Parameter>) {
    let symbol = format!("@{kernel}");
    if let Some(function) = ir.functions_mut().find(|function| function.name == symbol) {
        outline::drop_unused(function, parameters);
    }
}

fn describe(global: &UsedGlobal) -> Global {
    let id = names::symbol(&global.symbol);
    Global {
        display_name: names::display(&id),
        id,
        size: global.size,
        align: global.align,
        properties: global.properties,
    }
}
