//! Kernel arguments that begin where a device without addresses cannot have them begin.
//!
//! Memory objects can be handed to a kernel in parts only at multiples of the device's alignment.
//! Any other part takes a detour: it is copied to memory of its own before the launch and, if it is
//! written, back afterwards.

use std::sync::Arc;

use crosscut_adapter_api::{Location, MemoryKind};

use crate::Error;
use crate::command::{Command, Outcome};
use crate::ended::FailedCopy;
use crate::launch::{Binding, Source};
use crate::memory::{Allocation, allocate};
use crate::queue::Queue;
use crate::region::{Bytes, Region};
use crate::uses::Access;

/// Where an argument begins.
pub(crate) struct Place {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) offset: usize,
}

/// A part of a buffer and the copy that a kernel gets in its stead.
pub(crate) struct Detour<'a> {
    part: Region<'a>,
    copy: Arc<Allocation>,
    access: Access,
}

impl Queue {
    /// Replaces places that the device cannot take.
    pub(crate) fn make_detours<'a>(
        &self,
        bindings: &[Binding<'a>],
        places: &mut [Option<Place>],
    ) -> Result<Vec<Detour<'a>>, Error> {
        let alignment = self.context().inner().adapter.argument_alignment();
        let mut detours = Vec::new();
        for (binding, place) in bindings.iter().zip(places) {
            let Source::Buffer(part) = binding.source else { continue };
            let Some(Bytes { offset, size, .. }) = part.bytes() else { continue };
            if offset.is_multiple_of(alignment) {
                continue;
            }
            if part.is_shared() && binding.access == Access::Write {
                // Two launches side by side would each write back its own sums.
                return Err(Error::invalid(
                    format!(
                        "atomics from byte {offset} of a buffer on, and the device has no addresses"
                    ),
                    format!(
                        "begin the part at a multiple of {alignment} bytes, or use a device with unified shared memory"
                    ),
                ));
            }
            let copy = allocate(self.context(), MemoryKind::Device, size, binding.align)?;
            let detour = Detour { part, copy: Arc::clone(&copy), access: binding.access };
            self.carry(&detour, true)?;
            *place = Some(Place { allocation: copy, offset: 0 });
            detours.push(detour);
        }
        Ok(detours)
    }

    /// Copies back what the kernel may have written: every part, also where one is refused.
    pub(crate) fn return_from_detours(
        &self,
        detours: Vec<Detour<'_>>,
        launched: &Arc<Command>,
    ) -> Result<(), Error> {
        let mut outcome = Ok(());
        for detour in detours.iter().filter(|detour| detour.access == Access::Write) {
            let carried = self.carry(detour, false);
            // Whoever reads the part is told of a panic of the kernel, not of the copy.
            if let Some(bytes) = detour.part.bytes() {
                bytes.allocation.uses().keep(Arc::clone(launched));
            }
            outcome = outcome.and(carried);
        }
        outcome
    }

    /// Copies the part to the copy, or back, and waits for it.
    fn carry(&self, detour: &Detour<'_>, there: bool) -> Result<(), Error> {
        let Some(Bytes { allocation, offset, size }) = detour.part.bytes() else { return Ok(()) };
        let part = Location { memory: allocation.memory(), offset };
        let copy = Location { memory: detour.copy.memory(), offset: 0 };
        let (to, from, uses) = if there {
            (copy, part, [(allocation, Access::Read), (&detour.copy, Access::Write)])
        } else {
            (part, copy, [(&detour.copy, Access::Read), (allocation, Access::Write)])
        };
        let carried = self.submit(&uses, Vec::new(), Outcome::Settled, |after| {
            // SAFETY: dropping either allocation waits for this command, which is noted in its uses.
            unsafe { self.adapter.copy(to, from, size, after) }
        });
        let carried = carried.map_err(FailedCopy::from).and_then(|it| self.wait_for_copy(&it));
        carried.map_err(|failed| failed.while_doing("copying a part of a buffer for a kernel"))
    }
}
