//! Built programs: from a kernel's key to something a queue can launch.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crosscut_adapter_api::{self as adapter, CodeForm};
use crosscut_image::{Global, Image, Kernel, PanicSite, Parameter, Target, spirv};

use crate::context::Context;
use crate::declared::global_handle;
use crate::global::{self, Instance};
use crate::home::Home;
use crate::image_global::{ImageGlobal, Variable};
use crate::memory::Allocation;
use crate::registry::{self, Found};
use crate::specialization::{Difference, Specialised, Specialization};
use crate::uses::Access;
use crate::{Error, ErrorKind, requirement};

/// The kernels of a context that have been launched, and the programs they came from.
#[derive(Default)]
pub(crate) struct Kernels {
    cache: RwLock<Cache>,
    /// Held while building, so that two threads do not build the same program.
    building: Mutex<HashMap<(u64, usize), Box<dyn adapter::Program>>>,
    /// The variables of those programs that somebody has used.
    variables: Mutex<HashMap<Variable, Arc<ImageGlobal>>>,
    /// What images with such variables were built with.
    scoped: Mutex<HashMap<(u64, usize), Difference>>,
    /// Held while commands are submitted that belong together because they touch such variables.
    pub(crate) together: Mutex<()>,
}

#[derive(Default)]
struct Cache {
    /// The registry's generation that it was filled under.
    generation: u64,
    kernels: HashMap<u64, Arc<Loaded>, BuildHasherDefault<KeyHasher>>,
    /// Those with values for specialization constants.
    specialised: Specialised<Loaded>,
}

impl Cache {
    fn get(&self, key: u64, values: &Specialization) -> Option<&Arc<Loaded>> {
        if values.is_empty() { self.kernels.get(&key) } else { self.specialised.get(key, values) }
    }

    fn insert(&mut self, key: u64, values: &Specialization, kernel: Arc<Loaded>) -> Arc<Loaded> {
        if values.is_empty() {
            Arc::clone(self.kernels.entry(key).or_insert(kernel))
        } else {
            self.specialised.insert(key, values, kernel)
        }
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A kernel ready to be launched.
pub(crate) struct Loaded {
    entry: Entry,
    /// For launches of which every item is within the arguments of some slots.
    assumed: Option<(Vec<usize>, Entry)>,
    image: Arc<Image>,
    index: usize,
    /// The globals it uses behind the program's back, and how.
    pub(crate) globals: Vec<(Arc<Allocation>, Access)>,
    /// The statics of those globals.
    pub(crate) statics: Vec<usize>,
    /// Whether there are globals with image scope among them.
    pub(crate) has_image_scope: bool,
    program: u64,
    /// Whether it follows addresses that it finds.
    pub(crate) follows: bool,
}

/// One of the forms in which a kernel can be launched.
pub(crate) struct Entry {
    pub(crate) kernel: Box<dyn adapter::Kernel>,
    pub(crate) parameters: Vec<Bound>,
    pub(crate) has_record: bool,
    pub(crate) has_lines: bool,
}

/// A kernel, and the form of it that counts on long arguments.
type Forms = (Box<dyn adapter::Kernel>, Option<Box<dyn adapter::Kernel>>);

/// One parameter, bound as far as it can be before a launch.
pub(crate) enum Bound {
    Captures {
        word: usize,
    },
    Address {
        slot: usize,
    },
    Length {
        slot: usize,
    },
    Local {
        slot: usize,
    },
    Scratch {
        bytes: usize,
    },
    Global(Arc<Allocation>),
    /// A global without bytes.
    Nothing {
        align: usize,
    },
    Record,
    Lines,
}

impl Loaded {
    /// The best form for a launch of this many items whose argument in each slot has this length.
    pub(crate) fn entry(&self, items: usize, length: impl Fn(usize) -> Option<usize>) -> &Entry {
        match &self.assumed {
            Some((slots, entry))
                if slots.iter().all(|&slot| length(slot).is_some_and(|length| items <= length)) =>
            {
                entry
            }
            _ => &self.entry,
        }
    }

    /// Refuses a closure of another size than the kernel was compiled for.
    pub(crate) fn check_captures(&self, size: usize) -> Result<(), Error> {
        check_captures(&self.image.kernels[self.index], size)
    }

    /// The kernel's name for people.
    pub(crate) fn display_name(&self) -> &str {
        &self.image.kernels[self.index].display_name
    }

    pub(crate) fn panic_site(&self, site: usize) -> Option<&PanicSite> {
        self.image.panic_sites.get(site)
    }
}

impl Kernels {
    /// The kernel of this key with these values of specialization constants; built at the first call.
    /// `name` is for messages.
    pub(crate) fn get(
        &self,
        context: &Context,
        key: u64,
        values: &Specialization,
        captures_size: usize,
        name: fn() -> &'static str,
    ) -> Result<Arc<Loaded>, Error> {
        let generation = registry::generation();
        {
            let cache = self.cache.read().unwrap_or_else(PoisonError::into_inner);
            if cache.generation == generation
                && let Some(known) = cache.get(key, values)
            {
                return Ok(Arc::clone(known));
            }
        }
        self.forget_unloaded(context, generation);
        let found = registry::find(key, &targets(context))?.ok_or_else(|| missing(name()))?;
        check_captures(&found.image.kernels[found.kernel], captures_size)?;
        self.get_found(Home::of(context), &found, values, generation)
    }

    /// The same for a kernel that was found in the registry of this generation.
    pub(crate) fn get_found(
        &self,
        home: Home<'_>,
        found: &Found,
        values: &Specialization,
        generation: u64,
    ) -> Result<Arc<Loaded>, Error> {
        let loaded = Arc::new(self.load(home, found, values)?);
        if home.has_symbols() && uses_symbols(found) {
            // Bound to the bundle's values of them, it is of use to nobody else.
            return Ok(loaded);
        }
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        if cache.generation != generation {
            // Programs came or went meanwhile, perhaps this one: it is looked for again next time.
            return Ok(loaded);
        }
        Ok(cache.insert(found.key(), values, loaded))
    }

    /// Forgets kernels, programs and globals of binaries that have been unloaded since.
    fn forget_unloaded(&self, context: &Context, generation: u64) {
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        if cache.generation == generation {
            return;
        }
        let there: Vec<u64> = registry::programs().iter().map(|program| program.id()).collect();
        let is_gone = |program: u64| !there.contains(&program);
        let kernels = cache.kernels.extract_if(|_, kernel| is_gone(kernel.program));
        let kernels: Vec<_> = kernels.map(|(_, kernel)| kernel).collect();
        let specialised = cache.specialised.take_out(|kernel| is_gone(kernel.program));
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let programs: Vec<_> = building.extract_if(|(program, _), _| is_gone(*program)).collect();
        // Whoever makes a variable holds these locks the other way round.
        drop(building);
        let mut variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        let scoped: Vec<_> = variables.extract_if(|(program, ..), _| is_gone(*program)).collect();
        drop(variables);
        let globals = context.inner().globals.refresh();
        cache.generation = generation;
        // The last of an allocation waits for whoever uses it, who may be waiting for these locks.
        drop(cache);
        drop((kernels, specialised, scoped, globals, programs));
    }

    fn load(
        &self,
        home: Home<'_>,
        found: &Found,
        values: &Specialization,
    ) -> Result<Loaded, Error> {
        let context = home.context();
        let kernel = &found.image.kernels[found.kernel];
        let assumed = kernel.assumed.as_ref();
        let mut statics = Vec::new();
        let mut instances = HashMap::new();
        let mut aligns = HashMap::new();
        let forms = self.build(context, found, values)?;
        let own = kernel.reads.iter().chain(&kernel.writes).copied();
        let scoped = |index: &u32| {
            found.image.globals.get(*index as usize).is_some_and(Global::has_image_scope)
        };
        for index in own.filter(scoped).collect::<BTreeSet<u32>>() {
            let handle = global_handle(found, index)?;
            statics.push(handle.address().addr());
            if handle.size() > 0 {
                let variable = self.image_global(context, found, index)?;
                instances.insert(index, Instance::Allocated(Arc::clone(&variable.staging)));
            }
        }
        let has_image_scope = !instances.is_empty();
        let second = assumed.iter().flat_map(|assumed| &assumed.parameters);
        for parameter in kernel.parameters.iter().chain(second) {
            if let Parameter::Global { index } = *parameter
                && !instances.contains_key(&index)
            {
                let handle = global_handle(found, index)?;
                statics.push(handle.address().addr());
                aligns.insert(index, handle.align());
                instances.insert(index, global::instance(home, handle)?);
            }
        }
        let allocation = |index: &u32| match instances.get(index) {
            Some(Instance::Allocated(allocation)) => Some(Arc::clone(allocation)),
            _ => None,
        };
        let bound = |parameter: &Parameter| match *parameter {
            Parameter::Captures { word } => Bound::Captures { word: word as usize },
            Parameter::Address { slot } => Bound::Address { slot: slot as usize },
            Parameter::Length { slot } => Bound::Length { slot: slot as usize },
            Parameter::Local { slot } => Bound::Local { slot: slot as usize },
            Parameter::Scratch { bytes } => Bound::Scratch { bytes: bytes as usize },
            Parameter::Global { index } => match (allocation(&index), aligns.get(&index)) {
                (Some(allocation), _) => Bound::Global(allocation),
                (None, align) => Bound::Nothing { align: align.copied().unwrap_or(1) },
            },
            Parameter::PanicRecord => Bound::Record,
            Parameter::Lines => Bound::Lines,
        };
        let entry = |kernel, parameters: &[Parameter]| Entry {
            kernel,
            parameters: parameters.iter().map(bound).collect(),
            has_record: parameters.contains(&Parameter::PanicRecord),
            has_lines: parameters.contains(&Parameter::Lines),
        };
        let accessed = |indices: &[u32], access| -> Vec<(Arc<Allocation>, Access)> {
            indices.iter().filter_map(allocation).map(|global| (global, access)).collect()
        };
        // Writes last, so that a global in both sets ends up noted as written.
        let mut globals = accessed(&kernel.reads, Access::Read);
        globals.extend(accessed(&kernel.writes, Access::Write));
        let follows = context.space().escaped.load(&found.image, &kernel.name, allocation);
        let (checked, second) = forms;
        Ok(Loaded {
            entry: entry(checked, &kernel.parameters),
            assumed: assumed.zip(second).map(|(assumed, second)| {
                let slots = assumed.slots.iter().map(|&slot| slot as usize).collect();
                (slots, entry(second, &assumed.parameters))
            }),
            image: Arc::clone(&found.image),
            index: found.kernel,
            globals,
            statics,
            has_image_scope,
            program: found.program.id(),
            follows,
        })
    }

    /// The variable that is global `index` of an image; its program is built if it is not.
    pub(crate) fn image_global(
        &self,
        context: &Context,
        found: &Found,
        index: u32,
    ) -> Result<Arc<ImageGlobal>, Error> {
        let place = (found.program.id(), found.image_index);
        let mut variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = variables.get(&(place.0, place.1, index)) {
            return Ok(Arc::clone(known));
        }
        let is_built =
            self.building.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&place);
        if !is_built {
            drop(self.build(context, found, &Specialization::default())?);
        }
        let handle = global_handle(found, index)?;
        let id = &found.image.globals[index as usize].id;
        let building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(program), Some(size)) = (building.get(&place), NonZeroUsize::new(handle.size()))
        else {
            return Err(Error::invalid(
                "a program is gone that was just built",
                "report this as a bug of Crosscut",
            ));
        };
        let made = ImageGlobal::new(context, &**program, (index, id), handle, size)?;
        let made = variables.entry((place.0, place.1, index)).or_insert(Arc::new(made));
        Ok(Arc::clone(made))
    }

    /// Both forms of a kernel, from its program.
    fn build(
        &self,
        context: &Context,
        found: &Found,
        values: &Specialization,
    ) -> Result<Forms, Error> {
        let kernel = &found.image.kernels[found.kernel];
        let assumed = |program: &dyn adapter::Program| {
            kernel.assumed.as_ref().map(|assumed| program.kernel(&assumed.name)).transpose()
        };
        let failed = |error| {
            let device = &context.device().info().name;
            Error::driver(
                format!("building kernel `{}` for `{device}`", kernel.display_name),
                error,
            )
        };
        let difference = values.difference(found)?;
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (found.program.id(), found.image_index);
        let scoped = found.image.globals.iter().find(|global| global.has_image_scope());
        if let Some(global) = scoped {
            // A program of other values would have a second variable of its own.
            let scoped = self.scoped.lock().unwrap_or_else(PoisonError::into_inner);
            if scoped.get(&place).is_some_and(|built| *built != difference) {
                return Err(Error::invalid(
                    format!(
                        "`{}` has image scope, and kernel `{}` would be in a second image, for other \
                         values of its specialization constants or another size of its sub-groups",
                        global.display_name, kernel.display_name
                    ),
                    "leave `DeviceImageScope` out, or use the same values throughout the context",
                ));
            }
        }
        if (difference.is_none() || scoped.is_some())
            && let Some(program) = building.get(&place)
        {
            let first = program.kernel(&kernel.name).map_err(failed)?;
            return Ok((first, assumed(&**program).map_err(failed)?));
        }
        let form = match found.image.target {
            Target::Spirv64 => {
                // Drivers crash on malformed modules.
                let module = spirv::check(&found.image.payload).map_err(|error| {
                    Error::new(ErrorKind::Build, format!("corrupt device image: {error}"))
                        .with_help("rebuild with `cargo crosscut build`")
                })?;
                let needs = requirement::of_module(&module, &found.image.payload);
                requirement::check(&kernel.display_name, needs, context.device())?;
                CodeForm::Spirv64
            }
            other => {
                return Err(Error::new(
                    ErrorKind::KernelNotSupported,
                    format!("kernel `{}` has an image for {other:?} only", kernel.display_name),
                ));
            }
        };
        let (device, adapter) = (context.device(), &*context.inner().adapter);
        let form = (found.image.target, form);
        let code = difference.code(&found.image, adapter.reorders_loops())?;
        let code = spirv::keep_annotations(&code, |number| adapter.takes_annotation(number))
            .map_err(|error| {
                Error::new(ErrorKind::Build, format!("corrupt device image: {error}"))
            })?;
        let built = device.cache().build(device, adapter, form, &code, &kernel.name);
        let (program, first) = built.map_err(failed)?;
        let forms = (first, assumed(&*program).map_err(failed)?);
        if difference.is_none() || scoped.is_some() {
            building.insert(place, program);
        }
        if scoped.is_some() {
            let mut scoped = self.scoped.lock().unwrap_or_else(PoisonError::into_inner);
            scoped.insert(place, difference);
        }
        Ok(forms)
    }
}

/// Whether a kernel is handed values of symbols.
fn uses_symbols(found: &Found) -> bool {
    let kernel = &found.image.kernels[found.kernel];
    let second = kernel.assumed.iter().flat_map(|assumed| &assumed.parameters);
    kernel.parameters.iter().chain(second).any(|parameter| match parameter {
        Parameter::Global { index } => {
            found.image.globals.get(*index as usize).is_some_and(Global::has_bundle_scope)
        }
        _ => false,
    })
}

fn check_captures(kernel: &Kernel, size: usize) -> Result<(), Error> {
    if kernel.captures_size as usize == size {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Build,
        format!(
            "kernel `{}` captures {size} bytes in the host program and {} in its image",
            kernel.display_name, kernel.captures_size
        ),
    )
    .with_help("rebuild with `cargo crosscut build`"))
}

/// The image targets that the context's device takes, best first.
pub(crate) fn targets(context: &Context) -> Vec<Target> {
    let forms = &context.device().info().code_forms;
    forms
        .iter()
        .filter_map(|form| (*form == CodeForm::Spirv64).then_some(Target::Spirv64))
        .collect()
}

fn missing(name: &str) -> Error {
    // With other images there, it is not a plain build. What the linker leaves alone is a program
    // whose runtime is in another file.
    let help = if registry::has_images() {
        "rebuild with `cargo crosscut build`; a program that has Crosscut from a Rust `dylib` gets no \
         images yet: make that an `rlib`"
    } else {
        "build with `cargo crosscut build`; plain cargo builds run on `host`"
    };
    Error::new(ErrorKind::KernelNotSupported, format!("kernel `{name}` has no device image"))
        .with_help(help)
}
