//! What runs commands, and remembers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{DriverError, DriverErrorKind, KernelGroups};

use crate::MockMemory;
use crate::event::Completion;
use crate::log::{Call, Operation};
use crate::memory::View;
use crate::program::KernelBody;
use crate::variable::Bytes;

/// The alignment that memory objects have on many devices.
const OBJECT_ALIGNMENT: usize = 128;

/// The one state behind a mock and everything made from it.
pub(crate) struct Engine {
    pub(crate) memory: MockMemory,
    next: AtomicU64,
    clock: AtomicU64,
    /// Whether the process pretends to be ending.
    ending: AtomicBool,
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
    groups: HashMap<String, KernelGroups>,
    variables: HashMap<String, Bytes>,
    held: bool,
    /// Held commands are being released in this random order.
    shuffle: Option<u64>,
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
    /// What must have ended, well or not, before it runs: the order of its queue.
    pub(crate) order: Vec<Arc<Completion>>,
    /// What must have completed before it runs, and takes it along if it fails.
    pub(crate) after: Vec<Arc<Completion>>,
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
        let (next, clock) = (AtomicU64::new(1), AtomicU64::new(1));
        Self { memory, next, clock, ending: AtomicBool::new(false), state, running }
    }

    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Release);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
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

    pub(crate) fn limit_groups(&self, kernel: &str, groups: KernelGroups) {
        lock(&self.state).groups.insert(kernel.to_owned(), groups);
    }

    pub(crate) fn groups(&self, kernel: &str) -> KernelGroups {
        lock(&self.state).groups.get(kernel).copied().unwrap_or_default()
    }

    pub(crate) fn define_variable(&self, name: &str, bytes: Vec<u8>) {
        lock(&self.state).variables.insert(name.to_owned(), Arc::new(Mutex::new(bytes)));
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Bytes> {
        lock(&self.state).variables.get(name).cloned()
    }

    pub(crate) fn has_variables(&self) -> bool {
        !lock(&self.state).variables.is_empty()
    }

    pub(crate) fn hold(&self) {
        lock(&self.state).held = true;
    }

    /// Lets commands run again: the held ones first, in the order of their submission as far as
    /// they need not wait, or, with a `seed`, in any order that what they wait for allows.
    pub(crate) fn release(&self, seed: Option<u64>) {
        let mut state = lock(&self.state);
        state.held = false;
        state.shuffle = seed;
        drop(state);
        self.run_ready();
        lock(&self.state).shuffle = None;
    }

    /// Lets commands run again, but for the held ones, which fail.
    pub(crate) fn lose_held(&self) {
        let mut state = lock(&self.state);
        state.held = false;
        let lost = std::mem::take(&mut state.pending);
        drop(state);
        for command in lost {
            command.completion.latch.set(Err(DriverError {
                kind: DriverErrorKind::DeviceLost,
                call: "mockRun",
                code: -1,
                log: Some("the device was lost".to_owned()),
            }));
        }
        self.run_ready();
    }

    /// Takes a command on, and runs it now if nothing is in its way.
    pub(crate) fn submit(&self, command: Command) {
        command.completion.submitted.store(self.tick(), Ordering::Relaxed);
        lock(&self.state).pending.push(command);
        self.run_ready();
    }

    /// Runs what can run, one command at a time, until nothing can.
    pub(crate) fn run_ready(&self) {
        loop {
            let one_at_a_time = lock(&self.running);
            let Some((command, outcome)) = self.next_ready() else { return };
            let completion = command.completion;
            completion.started.store(self.tick(), Ordering::Relaxed);
            if outcome.is_ok() {
                (command.run)();
            }
            completion.ended.store(self.tick(), Ordering::Relaxed);
            // Before those who asked are called: they may have more commands run.
            drop(one_at_a_time);
            completion.latch.set(outcome);
        }
    }

    /// Takes out a command that need not wait any more, with the failure of what it waited for.
    fn next_ready(&self) -> Option<(Command, Result<(), DriverError>)> {
        let mut state = lock(&self.state);
        if state.held {
            return None;
        }
        let ready = |command: &Command| {
            let waited = command.order.iter().chain(&command.after);
            waited.into_iter().all(|waited| waited.latch.get().is_some())
        };
        let mut candidates = (0..state.pending.len()).filter(|at| ready(&state.pending[*at]));
        let at = match state.shuffle {
            None => candidates.next()?,
            Some(seed) => {
                let candidates: Vec<usize> = candidates.collect();
                let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.shuffle = Some(next);
                *candidates.get((next >> 33) as usize % candidates.len().max(1))?
            }
        };
        let command = state.pending.remove(at);
        let outcome = command.after.iter().try_for_each(|waited| {
            waited.latch.get().unwrap_or(Ok(())).map_err(|_| DriverError {
                kind: DriverErrorKind::DeviceLost,
                call: "mockRun",
                code: -14,
                log: Some("a command that this one waits for failed".to_owned()),
            })
        });
        Some((command, outcome))
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn allocated(&self, view: View) {
        lock(&self.state).allocations.insert(view.address(), view);
    }

    /// Records that memory is freed, and withdraws the held commands that use it.
    pub(crate) fn freed(&self, number: u64, address: u64) {
        // No command runs meanwhile: one that is running may be using this memory.
        let one_at_a_time = lock(&self.running);
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
        drop(one_at_a_time);
        for command in orphans {
            command.completion.latch.set(Err(DriverError {
                kind: DriverErrorKind::DeviceLost,
                call: "mockFree",
                code: -1,
                log: Some("memory was freed while this command used it".to_owned()),
            }));
        }
        self.run_ready();
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
