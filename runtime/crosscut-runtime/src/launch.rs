//! Launching kernels: native code by address, device code by key.

use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{Argument, Extent, NativeEntry};

use crate::argument_limit;
use crate::bundle::Bundle;
use crate::bytes;
use crate::command::Outcome;
use crate::detour::Place;
use crate::event::Event;
use crate::few::Few;
use crate::global::{self, GlobalHandle, Instance};
use crate::groups;
use crate::home::Home;
use crate::image_global::Direction;
use crate::panic::Space;
use crate::program::{Bound, Entry, Loaded};
use crate::queue::Queue;
use crate::record::Watch;
use crate::region::{Bytes, Region};
use crate::specialization::Specialization;
use crate::uses::Access;
use crate::{Error, ErrorKind, sub_group_size, trace};

/// No extent may be larger: device code counts on it.
const LARGEST_EXTENT: usize = i32::MAX as usize;
/// No launch may have more items, so that sums and products of linear indices cannot overflow.
const MOST_ITEMS: u64 = 1 << 40;

/// Launches with more arguments than this allocate.
pub(crate) const FEW: usize = 8;
/// An argument has up to two parameters: its address and its length.
const FEW_PARAMETERS: usize = 2 * FEW;

/// A kernel as the host program contains it.
pub struct KernelDefinition {
    /// Its key: the same number that its device entry hands to the kernel hook.
    pub key: fn() -> u64,
    /// Its name for people.
    pub name: fn() -> &'static str,
    /// The dimensions of its index space; 0 for a single task.
    pub dimensions: u8,
    /// The bytes of its closure.
    pub captures_size: usize,
    /// It as native code. Its last slot is the address of a [`NativeScope`](crate::NativeScope).
    pub native: NativeEntry,
    /// It as device code: never called here, only kept in the program for the link step to find.
    pub device_entry: fn(),
}

/// One launch of a kernel: what runs, over what, with what, and when.
pub struct KernelLaunch<'a> {
    /// The kernel.
    pub definition: &'static KernelDefinition,
    /// Its closure.
    pub captures: *const u8,
    /// The index space, of which the definition's dimensions count.
    pub size: [usize; 3],
    /// The items of a work-group per dimension, if the kernel's items are to know of groups.
    pub group: Option<[usize; 3]>,
    /// The arguments, in order.
    pub bindings: &'a [Binding<'a>],
    /// What it waits for, besides whatever uses the same memory.
    pub after: &'a [Event],
    /// Which build of it runs.
    pub variant: Variant<'a>,
}

/// Which build of a kernel a launch runs.
#[derive(Clone, Copy, Debug)]
pub enum Variant<'a> {
    /// The one with these values of specialization constants; built if there is none yet.
    With(&'a Specialization),
    /// The one in this bundle.
    Of(&'a Bundle),
}

impl<'a> Variant<'a> {
    pub(crate) fn values(self) -> &'a Specialization {
        match self {
            Self::With(values) => values,
            Self::Of(bundle) => bundle.values(),
        }
    }

    pub(crate) fn bundle(self) -> Option<&'a Bundle> {
        match self {
            Self::With(_) => None,
            Self::Of(bundle) => Some(bundle),
        }
    }
}

/// An argument of a launch.
pub struct Binding<'a> {
    /// Where it is.
    pub source: Source<'a>,
    /// What the kernel does with it.
    pub access: Access,
    /// How many elements it has.
    pub length: usize,
    /// The alignment of its elements.
    pub align: usize,
}

/// Where an argument is.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// In a buffer.
    Buffer(Region<'a>),
    /// Nowhere: the kernel is told the length and nothing else.
    Nothing,
    /// In a device global.
    Global(GlobalHandle),
    /// In the memory of each work-group, which has so many bytes for it.
    Local {
        /// Its bytes.
        size: usize,
    },
}

impl Queue {
    /// Runs a kernel once for every index of its space.
    ///
    /// # Errors
    /// The index space is too large, its groups do not fit it or the device, an argument belongs to another context or is there twice
    /// although it is written, the device has no image of this kernel, what it waits for failed, or
    /// the driver refuses.
    ///
    /// # Safety
    /// `launch.captures` points to a closure of the type that the definition was made for, which is
    /// `Copy`, and the bindings are the arguments of that type, in order. What is bound for writing
    /// is borrowed mutably by the caller, what is bound for reading is borrowed.
    pub unsafe fn launch(&self, launch: &KernelLaunch<'_>) -> Result<Event, Error> {
        let KernelLaunch { definition, size, group, .. } = *launch;
        let space = Space {
            dimensions: definition.dimensions,
            extent: Extent { dimensions: definition.dimensions.max(1), size, group },
        };
        check_size(size)?;
        groups::check(self.context().device(), &space.extent, launch.bindings)?;
        self.check_bindings(launch.bindings)?;
        if let Some(size) = launch.variant.values().sub_group_size() {
            sub_group_size::check(self.context().device(), size, (definition.name)())?;
        }
        if size.contains(&0) {
            return self.nothing_after(launch.after);
        }
        let _name = trace::name(|| (launch.definition.name)().to_owned());
        log::trace!("launching `{}` over {size:?}", (launch.definition.name)());
        match self.adapter.as_native() {
            // SAFETY: the caller's promise is passed on.
            Some(native) => unsafe { self.launch_native(native, launch, space) },
            // SAFETY: as above.
            None => unsafe { self.launch_image(launch, space) },
        }
    }

    /// Every buffer is of this context, and what is written is there once.
    pub(crate) fn check_bindings(&self, bindings: &[Binding<'_>]) -> Result<(), Error> {
        for (index, binding) in bindings.iter().enumerate() {
            if let Source::Buffer(region) = binding.source {
                self.context().owns(region.buffer().context(), "a buffer among the arguments")?;
            }
            for other in &bindings[..index] {
                let written = binding.access == Access::Write || other.access == Access::Write;
                if written && same(binding.source, other.source) {
                    let help = match binding.source {
                        Source::Global(_) => {
                            "pass it once, by `exclusive()` where the kernel writes it"
                        }
                        _ => {
                            "pass it once; where rows of two parts lie between one another, pass the whole buffer"
                        }
                    };
                    return Err(Error::invalid(
                        "two arguments reach over the same memory, which is written",
                        help,
                    ));
                }
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`launch`](Self::launch).
    unsafe fn launch_image(&self, launch: &KernelLaunch<'_>, space: Space) -> Result<Event, Error> {
        let KernelLaunch { definition, captures, bindings, .. } = *launch;
        let context = self.context();
        let kernel = self.variant(launch)?;
        // The sizes have been checked: their product fits.
        let items = space.extent.size.iter().product();
        let entry = kernel.entry(items, |slot| bindings.get(slot).map(|binding| binding.length));
        if space.extent.group.is_some() {
            groups::check_kernel(&*entry.kernel, kernel.display_name(), &space.extent)?;
        }
        let scoped = |binding: &Binding<'_>| matches!(binding.source, Source::Global(global) if global.has_image_scope());
        let is_scoped = kernel.has_image_scope || bindings.iter().any(scoped);
        // Before the lock: these may wait, for what waits for somebody who wants the lock.
        let after = self.dependencies(launch.after)?;
        let mut places = self.places(bindings, launch.variant, &kernel)?;
        let detours = self.make_detours(bindings, &mut places)?;
        // From here on the watch gives back what it took, whatever happens.
        let watch = Watch::begin(context, &kernel, entry, space)?;
        // Nobody comes between a variable's way to its argument, the kernel, and the way back.
        let together = is_scoped.then(|| self.together());
        self.move_variables(bindings, Direction::Get)?;
        let record = watch.as_ref().and_then(Watch::record);
        let lines = watch.as_ref().and_then(Watch::lines);

        // SAFETY: the caller promises a closure of that size there.
        let values = unsafe { values(definition, captures, &kernel, entry, bindings) }?;
        let mut arguments = Few::<_, FEW_PARAMETERS>::new();
        for (parameter, value) in entry.parameters.iter().zip(&*values) {
            arguments.push(match parameter {
                Bound::Captures { .. } | Bound::Length { .. } => Argument::Value(value),
                Bound::Address { slot } => {
                    match places.get(*slot).ok_or_else(|| unknown_slot(&kernel))? {
                        Some(Place { allocation, offset }) => {
                            Argument::Memory { memory: allocation.memory(), offset: *offset }
                        }
                        None => {
                            let align = bindings.get(*slot).map_or(1, |binding| binding.align);
                            Argument::Memory { memory: context.spare(align)?.memory(), offset: 0 }
                        }
                    }
                }
                Bound::Global(allocation) => {
                    Argument::Memory { memory: allocation.memory(), offset: 0 }
                }
                Bound::Local { slot } => {
                    let binding = bindings.get(*slot).ok_or_else(|| unknown_slot(&kernel))?;
                    Argument::Local(groups::local_size(binding))
                }
                Bound::Scratch { bytes } => Argument::Local(groups::scratch_size(
                    context.device().info(),
                    &space.extent,
                    *bytes,
                    bindings,
                )?),
                Bound::Nothing { align } => {
                    Argument::Memory { memory: context.spare(*align)?.memory(), offset: 0 }
                }
                Bound::Record => match &record {
                    Some(record) => {
                        Argument::Memory { memory: record.block.memory(), offset: record.offset }
                    }
                    None => return Err(unknown_slot(&kernel)),
                },
                Bound::Lines => match &lines {
                    Some(area) => Argument::Memory { memory: area.memory(), offset: 0 },
                    None => return Err(unknown_slot(&kernel)),
                },
            });
        }

        argument_limit::check(context.device(), kernel.display_name(), &arguments)?;
        let bound = places.iter().zip(bindings);
        let bound = bound.filter_map(|(place, it)| Some((&place.as_ref()?.allocation, it.access)));
        let hidden = kernel.globals.iter().map(|(allocation, access)| (allocation, *access));
        // One that follows addresses looks for them in its turn: a kernel before it may leave one until then.
        let order = kernel.follows.then(|| self.take_order());
        let escaped = context.space().escaped.reached_by(&kernel);
        let found = escaped.iter().map(|allocation| (allocation, Access::Write));
        let uses: Few<_, FEW_PARAMETERS> = bound.chain(hidden).chain(found).collect();
        let outcome = watch.map_or(Outcome::Settled, Outcome::Watched);
        let command = self.submit_in(order, &uses, after, outcome, |after| {
            // SAFETY: the arguments were made from the kernel's own parameter list. Dropping an
            // allocation waits for the commands in its uses, where this one is noted; a record is
            // kept by the command's outcome, which waits for the event too.
            unsafe { self.adapter.launch(&*entry.kernel, space.extent, &arguments, after) }
        });
        let command = command.map_err(|error| {
            Error::driver(format!("launching kernel `{}`", kernel.display_name()), error)
        })?;
        let moved = self.move_variables(bindings, Direction::Set);
        drop(together);
        // Whatever came of that: the kernel runs, and what it writes is not lost.
        self.return_from_detours(detours, &command)?;
        moved?;
        Ok(Event::of(command))
    }

    /// The kernel of a launch, built.
    fn variant(&self, launch: &KernelLaunch<'_>) -> Result<Arc<Loaded>, Error> {
        let KernelDefinition { key, name, captures_size, .. } = *launch.definition;
        let context = self.context();
        let values = match launch.variant {
            Variant::With(values) => values,
            Variant::Of(bundle) => match bundle.get(context, key(), name)? {
                Some(kernel) => {
                    kernel.check_captures(captures_size)?;
                    return Ok(Arc::clone(kernel));
                }
                None => bundle.values(),
            },
        };
        context.inner().kernels.get(context, key(), values, captures_size, name)
    }

    /// The memory behind each binding; `None` where it is empty.
    fn places(
        &self,
        bindings: &[Binding<'_>],
        variant: Variant<'_>,
        kernel: &Loaded,
    ) -> Result<Few<Option<Place>, FEW>, Error> {
        let home = Home::under(self.context(), variant.bundle())?;
        let place = |binding: &Binding<'_>| match binding.source {
            Source::Buffer(region) => {
                Ok(region.bytes().map(|Bytes { allocation, offset, .. }| Place {
                    allocation: Arc::clone(allocation),
                    offset,
                }))
            }
            Source::Nothing | Source::Local { .. } => Ok(None),
            Source::Global(global) => {
                let by_name = kernel.statics.contains(&global.address().addr());
                if by_name && binding.access == Access::Write {
                    return Err(Error::invalid(
                        format!(
                            "kernel `{}` uses a device global by name that it has by exclusive()",
                            kernel.display_name()
                        ),
                        "use the argument instead of the name",
                    ));
                }
                if global.has_image_scope() && global.size() > 0 {
                    let allocation = Arc::clone(&self.image_global(global)?.staging);
                    return Ok(Some(Place { allocation, offset: 0 }));
                }
                match global::instance(home, global)? {
                    Instance::Allocated(allocation) => Ok(Some(Place { allocation, offset: 0 })),
                    Instance::Static | Instance::Empty => Ok(None),
                }
            }
        };
        bindings.iter().map(place).collect()
    }

    /// Brings variables of images to the arguments that stand for them, or what a kernel wrote into
    /// those back.
    fn move_variables(&self, bindings: &[Binding<'_>], direction: Direction) -> Result<(), Error> {
        for binding in bindings {
            if let Source::Global(global) = binding.source
                && global.has_image_scope()
                && (direction == Direction::Get || binding.access == Access::Write)
                && let Some(size) = NonZeroUsize::new(global.size())
            {
                let variable = self.image_global(global)?;
                self.move_staged(&variable, direction, 0, size, &[])?;
            }
        }
        Ok(())
    }
}

/// The bytes of every parameter that is a value; zeros for the others.
///
/// # Safety
/// A closure of the definition's size is at `captures`.
unsafe fn values(
    definition: &KernelDefinition,
    captures: *const u8,
    kernel: &Loaded,
    entry: &Entry,
    bindings: &[Binding<'_>],
) -> Result<Few<[u8; 8], FEW_PARAMETERS>, Error> {
    let mut values = Few::new();
    for parameter in &entry.parameters {
        values.push(match *parameter {
            Bound::Captures { word } => {
                let mut bytes = [MaybeUninit::new(0u8); 8];
                let start = word.saturating_mul(8);
                let count = definition.captures_size.saturating_sub(start).min(8);
                let target = bytes.as_mut_ptr().cast::<u8>();
                // SAFETY: `start + count` is at most the closure's size, and `count` at most 8.
                unsafe { target.copy_from(captures.wrapping_add(start), count) };
                bytes::settle(bytes)
            }
            Bound::Length { slot } => {
                let binding = bindings.get(slot).ok_or_else(|| unknown_slot(kernel))?;
                (binding.length as u64).to_ne_bytes()
            }
            _ => [0; 8],
        });
    }
    Ok(values)
}

fn unknown_slot(kernel: &Loaded) -> Error {
    Error::new(
        ErrorKind::Build,
        format!("the image of kernel `{}` asks for an argument it has not", kernel.display_name()),
    )
    .with_help("rebuild with `cargo crosscut build`")
}

fn same(one: Source<'_>, other: Source<'_>) -> bool {
    match (one, other) {
        (Source::Buffer(one), Source::Buffer(other)) => one.overlaps(&other),
        // Statics without bytes may share their address with others, and there is nothing to share.
        (Source::Global(one), Source::Global(other)) => {
            one.address() == other.address() && one.size() > 0 && other.size() > 0
        }
        _ => false,
    }
}

#[inline]
pub(crate) fn check_size(size: [usize; 3]) -> Result<(), Error> {
    let items = size.iter().try_fold(1u64, |items, &size| items.checked_mul(size as u64));
    let refused = |why: String| Err(Error::invalid(why, "split it over several launches"));
    if let Some(extent) = size.iter().find(|&&extent| extent > LARGEST_EXTENT) {
        return refused(format!(
            "a range of {extent} items in one dimension; at most {LARGEST_EXTENT} are possible"
        ));
    }
    match items {
        Some(items) if items <= MOST_ITEMS => Ok(()),
        _ => refused(format!("a range of more than {MOST_ITEMS} items")),
    }
}

impl std::fmt::Debug for KernelDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelDefinition").field("name", &(self.name)()).finish_non_exhaustive()
    }
}
