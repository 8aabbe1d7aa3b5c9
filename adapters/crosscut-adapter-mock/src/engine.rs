//! What runs commands, and remembers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::MockMemory;
use crate::event::Completion;
use crate::log::{Call, Operation};
use crate::memory::View;
use crate::program::KernelBody;

/// The alignment that memory objects have on many devices.
const OBJECT_ALIGNMENT: usize = 128;

/// The one state behind a mock and everything made from it.
pub(crate) struct Engine {
    pub(crate) memory: MockMemory,
    next: AtomicU64,
    state: Mutex<State>,
    /// Held while a command runs, so that commands run one at a time. Taken before `state`, never
    /// after it: what a command runs may ask the engine questions.
    running: Mutex<()>,
}

#[derive(Default)]
struct State {
    log: Vec<Call>,
    failures: Vec<Failure>,
    kernels: HashMap<String, KernelBody>,
    held: bool,
    pending: Vec<Command>,
    /// What is allocated, by address.
    allocations: BTreeMap<u64, View>,
}

struct Failure {
    operation: Operation,
    calls_before: usize,
    error: DriverError,
}

/// A submitted command.
pub(crate) struct Command {
    /// The numbers of the memory it uses.
    pub(crate) uses: Vec<u64>,
    /// What it does.
    pub(crate) run: Box<dyn FnOnce() + Send>,
    /// To be told when it has.
    pub(crate) completion: Arc<Completion>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    pub(crate) fn new(memory: MockMemory) -> Self {
        let (state, running) = (Mutex::default(), Mutex::default());
        Self { memory, next: AtomicU64::new(1), state, running }
    }

    /// What offsets of arguments are multiples of.
    pub(crate) fn argument_alignment(&self) -> usize {
        if self.memory == MockMemory::Objects { OBJECT_ALIGNMENT } else { 1 }
    }

    /// A number that no object has had.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Records a call, or the failure that the test asked for in its place.
    pub(crate) fn record(
        &self,
        operation: Operation,
        call: impl FnOnce() -> Call,
    ) -> Result<(), DriverError> {
        let mut state = lock(&self.state);
        let mut due = None;
        for (at, failure) in state.failures.iter_mut().enumerate() {
            if failure.operation != operation {
                continue;
            }
            match failure.calls_before.checked_sub(1) {
                Some(fewer) => failure.calls_before = fewer,
                None => due = due.or(Some(at)),
            }
        }
        match due {
            Some(at) => {
                state.log.push(Call::Failed(operation));
                Err(state.failures.remove(at).error)
            }
            None => {
                state.log.push(call());
                Ok(())
            }
        }
    }

    /// Records a refusal of the mock's own and makes its error.
    pub(crate) fn refuse(
        &self,
        operation: Operation,
        kind: DriverErrorKind,
        log: &str,
    ) -> DriverError {
        lock(&self.state).log.push(Call::Failed(operation));
        DriverError { kind, call: operation.call(), code: -1, log: Some(log.to_owned()) }
    }

    pub(crate) fn log(&self) -> Vec<Call> {
        lock(&self.state).log.clone()
    }

    pub(crate) fn clear_log(&self) {
        lock(&self.state).log.clear();
    }

    pub(crate) fn fail(&self, operation: Operation, nth: usize, error: DriverError) {
        lock(&self.state).failures.push(Failure { operation, calls_before: nth, error });
    }

    pub(crate) fn define_kernel(&self, name: &str, body: KernelBody) {
        lock(&self.state).kernels.insert(name.to_owned(), body);
    }

    pub(crate) fn kernel(&self, name: &str) -> Option<KernelBody> {
        lock(&self.state).kernels.get(name).cloned()
    }

    pub(crate) fn hold(&self) {
        lock(&self.state).held = true;
    }

    pub(crate) fn release(&self) {
        let _one_at_a_time = lock(&self.running);
        lock(&self.state).held = false;
        // One by one, so that a command which another's run makes useless can still be withdrawn.
        loop {
            let mut state = lock(&self.state);
            if state.pending.is_empty() {
                return;
            }
            let command = state.pending.remove(0);
            drop(state);
            (command.run)();
            command.completion.set(Ok(()));
        }
    }

    /// Runs a command now, or keeps it if commands are held.
    pub(crate) fn submit(&self, command: Command) {
        let one_at_a_time = lock(&self.running);
        let mut state = lock(&self.state);
        if state.held {
            state.pending.push(command);
            return;
        }
        drop(state);
        (command.run)();
        drop(one_at_a_time);
        command.completion.set(Ok(()));
    }

    pub(crate) fn allocated(&self, view: View) {
        lock(&self.state).allocations.insert(view.address(), view);
    }

    /// Records that memory is freed, and withdraws the held commands that use it.
    pub(crate) fn freed(&self, number: u64, address: u64) {
        // No command runs meanwhile: one that is running may be using this memory.
        let _one_at_a_time = lock(&self.running);
        let mut state = lock(&self.state);
        state.allocations.remove(&address);
        let pending = std::mem::take(&mut state.pending);
        let (orphans, rest): (Vec<_>, Vec<_>) =
            pending.into_iter().partition(|command| command.uses.contains(&number));
        state.pending = rest;
        let in_use = !orphans.is_empty();
        state.log.push(if in_use {
            Call::FreedInUse { memory: number }
        } else {
            Call::Free { memory: number }
        });
        drop(state);
        for command in orphans {
            command.completion.set(Err(DriverError {
                kind: DriverErrorKind::DeviceLost,
                call: "mockFree",
                code: -1,
                log: Some("memory was freed while this command used it".to_owned()),
            }));
        }
    }

    /// The memory from `address` to the end of the allocation it is in.
    pub(crate) fn memory_at(&self, address: u64) -> Option<View> {
        let state = lock(&self.state);
        let (_, view) = state.allocations.range(..=address).next_back()?;
        view.from(usize::try_from(address - view.address()).ok()?)
    }

    pub(crate) fn live_allocations(&self) -> usize {
        lock(&self.state).allocations.len()
    }
}
