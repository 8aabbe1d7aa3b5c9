//! Programs from SPIR-V that the program brings itself: from a file, or made by another compiler.
//!
//! The bytes are untrusted: their shape, the types of their kernels and the features they need are
//! checked before a driver sees them, and every launch is checked against the kernel's own parameters.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{self as adapter, Argument, CodeForm, Extent};
use crosscut_image::Target;
use crosscut_image::spirv::{self, KernelInterface};

pub use crosscut_image::spirv::{KernelParameter, ValueKind};

use crate::argument_limit;
use crate::command::Outcome;
use crate::context::Context;
use crate::detour::Place;
use crate::device::Device;
use crate::event::Event;
use crate::groups;
use crate::launch::{Binding, Source, check_size};
use crate::memory::Allocation;
use crate::queue::Queue;
use crate::region::Region;
use crate::uses::Access;
use crate::{Error, ErrorKind, requirement};

/// A program built from SPIR-V, for the devices of one context. Copies are the same program.
#[derive(Clone)]
pub struct SpirvProgram(Arc<Inner>);

struct Inner {
    context: Context,
    /// One for each device of the context.
    programs: Vec<Box<dyn adapter::Program>>,
    kernels: Vec<KernelInterface>,
    loaded: Mutex<HashMap<String, SpirvKernel>>,
}

/// A kernel of a [`SpirvProgram`]. Copies are the same kernel.
#[derive(Clone)]
pub struct SpirvKernel(Arc<Loaded>);

struct Loaded {
    context: Context,
    interface: KernelInterface,
    /// One for each device of the context.
    kernels: Vec<Box<dyn adapter::Kernel>>,
}

/// The value of a specialization constant of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpirvConstant {
    /// Its bits in the low bits.
    pub bits: u64,
    /// Its bytes, 0 for a truth value.
    pub size: u8,
}

/// An argument of a kernel.
pub enum SpirvArgument<'a> {
    /// Memory.
    Buffer {
        /// Where it is.
        region: Region<'a>,
        /// What the kernel does with it.
        access: Access,
        /// The bytes of one element.
        element: usize,
    },
    /// Memory of each work-group.
    Local {
        /// Its bytes.
        size: usize,
        /// The bytes of one element.
        element: usize,
        /// The alignment of its elements.
        align: usize,
    },
    /// A value.
    Value {
        /// Its bytes.
        bytes: Box<[u8]>,
        /// What it is.
        kind: ValueKind,
    },
}

impl SpirvProgram {
    /// Builds a module in which the specialization constants with these numbers have these values.
    ///
    /// # Errors
    /// The bytes are no well-formed module for OpenCL, it has no kernel, no such constant, or needs what
    /// the device lacks; the device runs native code; the driver's refusal, with its log.
    pub fn build(
        context: &Context,
        bytes: &[u8],
        values: &BTreeMap<u32, SpirvConstant>,
    ) -> Result<Self, Error> {
        context.devices().iter().try_for_each(takes_spirv)?;
        let refused = |error: spirv::SpirvError| {
            Error::invalid(
                error.to_string(),
                "pass a module that `spirv-val --target-env opencl2.2` accepts",
            )
        };
        let module = spirv::check(bytes).map_err(refused)?;
        spirv::validate(bytes).map_err(refused)?;
        let kernels = spirv::interfaces(bytes).map_err(refused)?;
        let Some(first) = kernels.first() else {
            return Err(Error::invalid(
                "SPIR-V without a kernel",
                "compile a module with at least one kernel",
            ));
        };
        let numbers = values.iter().map(|(number, value)| (*number, value.bits)).collect();
        let specialised = spirv::specialise(bytes, &numbers).map_err(refused)?;
        check_values(values, &specialised.constants)?;
        // With its values: scopes and orders may be specialization constants.
        let needs = requirement::of_module(&module, &specialised.bytes);
        for device in context.devices() {
            requirement::check(&first.name, needs, device)?;
        }
        let form = (Target::Spirv64, CodeForm::Spirv64);
        let build = |context: Context| {
            let (device, adapter) = (context.device(), &*context.inner().adapter);
            let cache = device.cache();
            let built = cache.build(device, adapter, form, &specialised.bytes, &first.name);
            let (program, _) = built.map_err(|error| {
                Error::driver(format!("building SPIR-V for `{}`", device.name()), error)
            })?;
            Ok(program)
        };
        let programs = context.on_each().map(build).collect::<Result<_, Error>>()?;
        let (context, loaded) = (context.clone(), Mutex::default());
        Ok(Self(Arc::new(Inner { context, programs, kernels, loaded })))
    }

    /// The names of its kernels, in its order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.kernels.iter().map(|kernel| &*kernel.name)
    }

    /// The context it was built in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// A kernel by its name.
    ///
    /// # Errors
    /// There is none of that name, or the driver refuses it.
    pub fn kernel(&self, name: &str) -> Result<SpirvKernel, Error> {
        let mut loaded = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = loaded.get(name) {
            return Ok(known.clone());
        }
        let Some(interface) = self.0.kernels.iter().find(|kernel| kernel.name == name) else {
            let names: Vec<&str> = self.kernels().take(8).collect();
            return Err(Error::invalid(
                format!("the program has no kernel `{name}`"),
                format!("it has `{}`", names.join("`, `")),
            ));
        };
        let kernels: Result<Vec<_>, _> =
            self.0.programs.iter().map(|program| program.kernel(name)).collect();
        let kernels =
            kernels.map_err(|error| Error::driver(format!("finding kernel `{name}`"), error))?;
        let (context, interface) = (self.0.context.clone(), interface.clone());
        let kernel = SpirvKernel(Arc::new(Loaded { context, interface, kernels }));
        loaded.insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }
}

fn takes_spirv(device: &Device) -> Result<(), Error> {
    if device.info().code_forms.contains(&CodeForm::Spirv64) {
        return Ok(());
    }
    let why = match device.is_native() {
        true => "it runs native code".to_owned(),
        false => device.info().code_forms_note.clone().unwrap_or_default(),
    };
    Err(Error::new(
        ErrorKind::KernelNotSupported,
        format!("`{}` ({}) takes no SPIR-V: {why}", device.name(), device.backend()),
    )
    .with_help("choose a device that does by CROSSCUT_DEVICE, for example `opencl:*`"))
}

fn check_values(
    values: &BTreeMap<u32, SpirvConstant>,
    constants: &BTreeMap<u32, u8>,
) -> Result<(), Error> {
    for (number, value) in values {
        match constants.get(number) {
            Some(size) if *size == value.size => {}
            Some(size) => {
                let bytes = |size: u8| match size {
                    0 => "a truth value".to_owned(),
                    size => format!("a number of {size} bytes"),
                };
                return Err(Error::invalid(
                    format!(
                        "specialization constant {number} is {}, not {}",
                        bytes(*size),
                        bytes(value.size)
                    ),
                    "pass a value of the type that it has in the module",
                ));
            }
            None => {
                let there: Vec<String> = constants.keys().map(u32::to_string).collect();
                return Err(Error::invalid(
                    format!("the module has no specialization constant {number}"),
                    match there.is_empty() {
                        true => "it has none at all".to_owned(),
                        false => format!("it has {}", there.join(", ")),
                    },
                ));
            }
        }
    }
    Ok(())
}

impl SpirvKernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.interface.name
    }

    /// How many arguments it takes.
    #[must_use]
    pub fn arguments(&self) -> usize {
        self.0.interface.parameters.len()
    }

    /// What it takes, in order.
    #[must_use]
    pub fn parameters(&self) -> &[KernelParameter] {
        &self.0.interface.parameters
    }

    fn check(&self, arguments: &[SpirvArgument<'_>]) -> Result<(), Error> {
        let (name, parameters) = (self.name(), &self.0.interface.parameters);
        let takes = || {
            let list: Vec<String> = parameters.iter().map(describe).collect();
            format!("it takes ({})", list.join(", "))
        };
        if arguments.len() != parameters.len() {
            return Err(Error::invalid(
                format!(
                    "kernel `{name}` takes {} arguments, and {} are passed",
                    parameters.len(),
                    arguments.len()
                ),
                takes(),
            ));
        }
        for (at, (parameter, argument)) in parameters.iter().zip(arguments).enumerate() {
            if let KernelParameter::Other(what) = parameter {
                return Err(Error::new(
                    ErrorKind::KernelNotSupported,
                    format!("kernel `{name}` takes {what} as argument {at}"),
                )
                .with_help("launch kernels that take buffers and values"));
            }
            if !fits(parameter, argument) {
                return Err(Error::invalid(
                    format!(
                        "kernel `{name}` takes {} as argument {at}, not {}",
                        describe(parameter),
                        given(argument)
                    ),
                    takes(),
                ));
            }
        }
        Ok(())
    }
}

fn fits(parameter: &KernelParameter, argument: &SpirvArgument<'_>) -> bool {
    match (parameter, argument) {
        (&KernelParameter::Value { size, kind }, SpirvArgument::Value { bytes, kind: given }) => {
            size == bytes.len() as u64 && kind == *given
        }
        // Bytes and what is not known are anything's.
        (&KernelParameter::Global { element: 0 | 1, .. }, SpirvArgument::Buffer { .. })
        | (&KernelParameter::Local { element: 0 | 1 }, SpirvArgument::Local { .. }) => true,
        (&KernelParameter::Local { element }, SpirvArgument::Local { element: given, .. }) => {
            *given > 0 && (*given as u64).is_multiple_of(element)
        }
        (
            &KernelParameter::Global { element, .. },
            SpirvArgument::Buffer { element: given, .. },
        ) => *given > 0 && (*given as u64).is_multiple_of(element),
        _ => false,
    }
}

fn describe(parameter: &KernelParameter) -> String {
    match *parameter {
        KernelParameter::Value { size, kind: ValueKind::Integer } => {
            format!("an integer of {size} bytes")
        }
        KernelParameter::Value { size, kind: ValueKind::Float } => {
            format!("a floating-point number of {size} bytes")
        }
        KernelParameter::Value { size, kind: ValueKind::Composite } => {
            format!("a value of {size} bytes")
        }
        KernelParameter::Global { element: 0, .. } => "a buffer".to_owned(),
        KernelParameter::Global { element, .. } => format!("a buffer of {element}-byte elements"),
        KernelParameter::Local { element: 0 } => "work-group memory".to_owned(),
        KernelParameter::Local { element } => {
            format!("work-group memory of {element}-byte elements")
        }
        KernelParameter::Other(what) => what.to_owned(),
    }
}

fn given(argument: &SpirvArgument<'_>) -> String {
    match argument {
        SpirvArgument::Buffer { element, .. } => format!("a buffer of {element}-byte elements"),
        SpirvArgument::Local { element, .. } => {
            format!("work-group memory of {element}-byte elements")
        }
        SpirvArgument::Value { bytes, kind } => {
            describe(&KernelParameter::Value { size: bytes.len() as u64, kind: *kind })
        }
    }
}

/// The largest type of a kernel is aligned to this: nobody says what the kernel's own are.
const ALIGN: usize = 128;

/// The arguments, as launches of this program's kernels describe them.
fn bindings<'a>(arguments: &[SpirvArgument<'a>]) -> Vec<Binding<'a>> {
    let binding = |argument: &SpirvArgument<'a>| match *argument {
        SpirvArgument::Local { size, element, align } => {
            let length = size.checked_div(element).unwrap_or(0);
            Binding { source: Source::Local { size }, access: Access::Write, length, align }
        }
        SpirvArgument::Buffer { region, access, element } => {
            let length = region.size().checked_div(element).unwrap_or(0);
            Binding { source: Source::Buffer(region), access, length, align: ALIGN }
        }
        SpirvArgument::Value { .. } => {
            Binding { source: Source::Nothing, access: Access::Read, length: 0, align: 1 }
        }
    };
    arguments.iter().map(binding).collect()
}

/// Whether both have bytes in common, of which one writes some.
fn conflict(one: &Binding<'_>, other: &Binding<'_>) -> bool {
    match (&one.source, &other.source) {
        (Source::Buffer(this), Source::Buffer(that)) => {
            [one.access, other.access].contains(&Access::Write) && this.overlaps(that)
        }
        _ => false,
    }
}

impl Queue {
    /// Runs a kernel of a SPIR-V program once for every index of `extent`.
    ///
    /// # Errors
    /// The kernel or a buffer is of another context, the arguments are not those it takes, the same
    /// buffer is there twice although it is written, the index space is too large, what it waits for
    /// failed, or the driver refuses.
    ///
    /// # Safety
    /// With these arguments the kernel stays inside them, and writes only those bound for writing, which
    /// the caller has borrowed mutably.
    pub unsafe fn launch_spirv(
        &self,
        kernel: &SpirvKernel,
        extent: Extent,
        arguments: &[SpirvArgument<'_>],
        after: &[Event],
    ) -> Result<Event, Error> {
        let context = self.context();
        context.owns(&kernel.0.context, "the kernel")?;
        check_size(extent.size)?;
        kernel.check(arguments)?;
        let bindings = bindings(arguments);
        groups::check(context.device(), &extent, &bindings)?;
        let built = &*kernel.0.kernels[context.index()];
        groups::check_kernel(built, kernel.name(), &extent)?;
        let mut places = Vec::with_capacity(bindings.len());
        for (at, binding) in bindings.iter().enumerate() {
            let Source::Buffer(region) = &binding.source else {
                places.push(None);
                continue;
            };
            context.owns(region.buffer().context(), "a buffer among the arguments")?;
            if bindings[..at].iter().any(|before| conflict(before, binding)) {
                return Err(Error::invalid(
                    "the same memory is there twice among the arguments, and is written",
                    "pass it once",
                ));
            }
            places.push(region.bytes().map(|bytes| Place {
                allocation: Arc::clone(bytes.allocation),
                offset: bytes.offset,
            }));
        }
        if extent.size.contains(&0) {
            return self.nothing_after(after);
        }
        let detours = self.make_detours(&bindings, &mut places)?;
        let mut uses: Vec<(&Arc<Allocation>, Access)> = Vec::new();
        let mut passed = Vec::with_capacity(arguments.len());
        for ((argument, binding), place) in arguments.iter().zip(&bindings).zip(&places) {
            passed.push(match (argument, place) {
                (SpirvArgument::Value { bytes, .. }, _) => Argument::Value(bytes),
                (_, Some(Place { allocation, offset })) => {
                    uses.push((allocation, binding.access));
                    Argument::Memory { memory: allocation.memory(), offset: *offset }
                }
                (SpirvArgument::Local { size, .. }, None) => {
                    // There is always an address, so at least one byte.
                    Argument::Local(NonZeroUsize::new(*size).unwrap_or(NonZeroUsize::MIN))
                }
                (SpirvArgument::Buffer { .. }, None) => {
                    Argument::Memory { memory: context.spare(binding.align)?.memory(), offset: 0 }
                }
            });
        }
        argument_limit::check(context.device(), kernel.name(), &passed)?;
        // What is written comes last, so that an allocation with several parts is noted as written.
        uses.sort_by_key(|(_, access)| *access == Access::Write);
        let after = self.dependencies(after)?;
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            // SAFETY: number and sizes of the arguments were checked against the kernel's parameters.
            // Dropping an allocation waits for the commands in its uses, where this one is noted. What
            // the kernel does with them is the caller's promise.
            unsafe { self.adapter.launch(built, extent, &passed, after) }
        });
        let failed = |error| Error::driver(format!("launching kernel `{}`", kernel.name()), error);
        let command = command.map_err(failed)?;
        self.return_from_detours(detours, &command)?;
        Ok(Event::of(command))
    }
}

impl fmt::Debug for SpirvProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernels().collect();
        f.debug_struct("SpirvProgram").field("kernels", &names).finish_non_exhaustive()
    }
}

impl fmt::Debug for SpirvKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpirvKernel").field("name", &self.name()).finish_non_exhaustive()
    }
}
