//! Launches of native code, on the host CPU.

use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{NativeLaunch, NativePanic, NativeQueue, Slot};

use crate::Error;
use crate::command::{Command, Outcome};
use crate::event::Event;
use crate::few::Few;
use crate::global::{self, Instance, NativeScope};
use crate::groups;
use crate::home::Home;
use crate::launch::{Binding, FEW, KernelDefinition, KernelLaunch, Source, Variant};
use crate::panic::{KernelPanic, Space};
use crate::queue::Queue;
use crate::uses::Access;

impl Queue {
    /// Runs a kernel before it returns.
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    pub(crate) unsafe fn launch_native(
        &self,
        native: &dyn NativeQueue,
        launch: &KernelLaunch<'_>,
        space: Space,
    ) -> Result<Event, Error> {
        let KernelLaunch { definition, captures, bindings, after, .. } = *launch;
        let home = Home::under(self.context(), launch.variant.bundle())?;
        if let Variant::Of(bundle) = launch.variant {
            bundle.get(self.context(), (definition.key)(), definition.name)?;
        }
        self.take_turn(after)?;
        let mut exclusives = Few::<_, FEW>::new();
        let mut local = groups::Layout::default();
        let mut slots = Few::<Slot, { FEW + 1 }>::new();
        for binding in bindings {
            if let (Source::Global(global), Access::Write) = (binding.source, binding.access)
                && global.size() > 0
            {
                exclusives.push(global.address());
            }
            let address = match binding.source {
                Source::Local { size } => local.reserve(size),
                _ => native_address(home, binding)?,
            };
            slots.push(Slot { address, length: binding.length });
        }
        let settings = launch.variant.values().settings();
        let scope = NativeScope { home, exclusives: &exclusives, settings: &settings };
        slots.push(Slot { address: (&raw const scope).cast_mut().cast(), length: 0 });
        let launch = NativeLaunch {
            captures,
            slots: &slots,
            extent: space.extent,
            local_memory: local.size(),
        };
        // SAFETY: the caller promises that captures and bindings fit the definition. Buffers are
        // borrowed, and globals are kept from being written by the lock, both until it returns.
        let run = || unsafe { native.launch_native(definition.native, &launch, &[]) };
        let lock = self.context().native_lock();
        let outcome = if exclusives.is_empty() {
            let _kernels = lock.read().unwrap_or_else(PoisonError::into_inner);
            run()
        } else {
            let _alone = lock.write().unwrap_or_else(PoisonError::into_inner);
            run()
        };
        let (event, panic) = outcome.map_err(|error| Error::driver("launching a kernel", error))?;
        let Err(panic) = panic else {
            // Complete, with nothing to tell: nothing to remember either, unless it is when it ran.
            return Ok(match self.options().profiling {
                true => Event::of(Command::new(self.origin, event, Outcome::Settled)),
                false => Event::nothing(),
            });
        };
        let error = native_panic(definition, space, panic);
        let command = Command::new(self.origin, event, Outcome::Failed(error));
        self.remember_panic(&command, bindings);
        Ok(Event::of(command))
    }

    /// Remembers a command that has panicked. Whoever reads what it wrote is told, on whichever queue.
    pub(crate) fn remember_panic(&self, command: &Arc<Command>, bindings: &[Binding<'_>]) {
        self.pending.remember(command);
        for binding in bindings {
            if let (Source::Buffer(region), Access::Write) = (binding.source, binding.access)
                && let Some(bytes) = region.bytes()
            {
                bytes.allocation.uses().note(Access::Write, command);
            }
        }
    }
}

/// Where native code finds an argument; never null, aligned even if it is empty.
pub(crate) fn native_address(home: Home<'_>, binding: &Binding<'_>) -> Result<*mut u8, Error> {
    let address = match binding.source {
        Source::Buffer(region) => region.bytes().and_then(|bytes| bytes.host_address()),
        Source::Nothing => None,
        Source::Global(global) => match global::instance(home, global)? {
            Instance::Static => return Ok(global.address().cast_mut()),
            Instance::Allocated(allocation) => {
                allocation.memory().host_address().map(|address| address.as_ptr())
            }
            Instance::Empty => None,
        },
        Source::Local { .. } => None,
    };
    Ok(address.unwrap_or(std::ptr::without_provenance_mut(binding.align)))
}

fn native_panic(definition: &KernelDefinition, space: Space, panic: NativePanic) -> Error {
    Error::panic(KernelPanic::from_native((definition.name)(), space, panic))
}
