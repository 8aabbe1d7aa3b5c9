//! What a command waits for.

use crosscut_adapter_api::{DriverError, Event};

use crate::callback;
use crate::context::ContextHandle;
use crate::event::ClEvent;
use crate::sys::Handle;

/// The events a command waits for, in the form the driver takes.
///
/// Most commands wait for few or none: those need no allocation.
pub(crate) struct WaitList {
    /// Those that do not fail because of others, and then what stands for the promised ones.
    few: [Handle; Self::FEW],
    many: Vec<Handle>,
    count: u32,
    /// Those that are promises or wait for some, and the longest [row](ClEvent::row) of them.
    promised: Vec<Handle>,
    row: u32,
    /// What ends with those, and does not fail.
    settled: Vec<Handle>,
    /// Of one of those nobody can tell when it ends.
    unknown: Option<DriverError>,
}

/// What a wait for promises needs for as long as the driver is told of it.
pub(crate) struct Promises {
    /// What a command that waits for them must be behind, also if one of them fails and the command ends at once.
    pub(crate) settled: WaitList,
    /// The [row](ClEvent::row) of the command.
    pub(crate) row: u32,
    _all: Option<ClEvent>,
}

/// Intel's CPU runtime ends what waits for a command that failed inside of the call that ends the command: some thousands
/// overflow the stack. Behind so many comes an event of our own, which is set once that call is over.
const LONGEST_ROW: u32 = 64;

impl WaitList {
    const FEW: usize = 8;

    /// A list of nothing.
    pub(crate) fn nothing() -> Self {
        let few = [std::ptr::null_mut(); Self::FEW];
        Self {
            few,
            many: Vec::new(),
            count: 0,
            promised: Vec::new(),
            row: 0,
            settled: Vec::new(),
            unknown: None,
        }
    }

    /// The list for a command on a queue that is in order under this number, if it is in order.
    pub(crate) fn new(after: &[&dyn Event], in_order_queue: Option<u64>) -> Self {
        let mut list = Self::nothing();
        for event in after {
            let Some(event) = event.as_any().downcast_ref::<ClEvent>() else {
                panic!("the runtime hands over only events of the same context");
            };
            if !event.is_on(in_order_queue) {
                list.add(event);
            }
        }
        list
    }

    /// One more, which stays for as long as the list does.
    pub(crate) fn add(&mut self, event: &ClEvent) {
        if event.row() == 0 {
            self.push(event.raw());
            return;
        }
        self.promised.push(event.raw());
        self.row = self.row.max(event.row());
        match event.settled().map(ClEvent::raw) {
            Ok(settled) if settled != event.raw() => self.settled.push(settled),
            Ok(_) => {}
            Err(refusal) => self.unknown = Some(refusal.clone()),
        }
    }

    /// One more, which this does not fail with.
    pub(crate) fn add_end_of(&mut self, event: &ClEvent) {
        match event.settled() {
            Ok(settled) => self.add(settled),
            Err(refusal) => self.unknown = Some(refusal.clone()),
        }
    }

    fn push(&mut self, event: Handle) {
        let at = self.count as usize;
        if at < Self::FEW {
            self.few[at] = event;
        } else {
            if at == Self::FEW {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(event);
        }
        self.count += 1;
    }

    /// Makes the list what the driver is told. Of the promised ones it is told once: a command that waits for several
    /// that fail is let go of by Intel's CPU runtime once for each.
    ///
    /// # Errors
    /// The driver's refusal; or an earlier one, because of which nobody can tell when what is waited for has ended.
    pub(crate) fn complete(
        &mut self,
        context: &std::sync::Arc<ContextHandle>,
    ) -> Result<Option<Promises>, DriverError> {
        if let Some(refusal) = self.unknown.take() {
            return Err(refusal);
        }
        if self.promised.is_empty() {
            return Ok(None);
        }
        let mut settled = Self::nothing();
        self.handles().iter().chain(&self.settled).for_each(|&event| settled.push(event));
        let (row, all) = match self.promised[..] {
            [one] if self.row < LONGEST_ROW => {
                self.push(one);
                (self.row, None)
            }
            _ => {
                let all = callback::all(context, &self.promised)?;
                self.push(all.raw());
                (all.row(), Some(all))
            }
        };
        Ok(Some(Promises { settled, row: row + 1, _all: all }))
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    fn handles(&self) -> &[Handle] {
        let count = self.count as usize;
        if count <= Self::FEW { &self.few[..count] } else { &self.many }
    }

    /// The list; null where it is empty, as the driver wants it.
    pub(crate) fn as_ptr(&self) -> *const Handle {
        match self.handles() {
            [] => std::ptr::null(),
            handles => handles.as_ptr(),
        }
    }
}
