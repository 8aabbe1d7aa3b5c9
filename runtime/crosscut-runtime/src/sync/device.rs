//! A device for schedules: every command is a thread, which waits for what it was told to wait for and
//! nothing else, and complains if somebody is there whom it should have waited for.

use std::any::Any;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{
    Absence, Adapter, Argument, Backend, CodeForm, Completed, Context, Device, DeviceInfo,
    DriverError, Event, EventState, EventTimes, Extent, Kernel, Location, Memory, MemoryKind,
    Program, Promise, Promised, Queue, QueueOptions, QueueOrder, promise_dropped,
};
use shuttle::sync::{Condvar, Mutex, MutexGuard};
use shuttle::thread;

use crate::uses::Access;

type Outcome = Result<(), DriverError>;

/// Whether something has ended, with those who want to know.
#[derive(Default)]
pub(super) struct Fate {
    state: Mutex<(Option<Outcome>, Vec<Completed>)>,
    changed: Condvar,
}

impl Fate {
    fn state(&self) -> MutexGuard<'_, (Option<Outcome>, Vec<Completed>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, outcome: Outcome) {
        let mut state = self.state();
        state.0 = Some(outcome.clone());
        let calls = std::mem::take(&mut state.1);
        drop(state);
        self.changed.notify_all();
        calls.into_iter().for_each(|call| call(outcome.clone()));
    }

    fn wait(&self) -> Outcome {
        let mut state = self.state();
        loop {
            if let Some(outcome) = &state.0 {
                return outcome.clone();
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Happening(pub(super) Arc<Fate>);

impl Event for Happening {
    fn state(&self) -> Result<EventState, DriverError> {
        match &self.0.state().0 {
            None => Ok(EventState::Submitted),
            Some(outcome) => outcome.clone().map(|()| EventState::Complete),
        }
    }

    fn wait(&self) -> Outcome {
        self.0.wait()
    }

    fn on_complete(&self, call: Completed) -> Outcome {
        let mut state = self.0.state();
        let Some(outcome) = state.0.clone() else {
            state.1.push(call);
            return Ok(());
        };
        drop(state);
        call(outcome);
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Word(Option<Arc<Fate>>);

impl Promise for Word {
    fn keep(mut self: Box<Self>, outcome: Outcome) {
        if let Some(fate) = self.0.take() {
            fate.set(outcome);
        }
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if let Some(fate) = self.0.take() {
            fate.set(Err(promise_dropped()));
        }
    }
}

/// Who is using some memory: how many readers, and whether a writer.
#[derive(Default)]
struct Users(Mutex<(usize, bool)>);

impl Users {
    fn users(&self) -> MutexGuard<'_, (usize, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, access: Access) {
        let mut users = self.users();
        assert!(!users.1, "a command is there together with one that writes");
        match access {
            Access::Read => users.0 += 1,
            Access::Write => {
                assert!(users.0 == 0, "a command writes together with one that reads");
                users.1 = true;
            }
        }
    }

    fn end(&self, access: Access) {
        let mut users = self.users();
        match access {
            Access::Read => users.0 -= 1,
            Access::Write => users.1 = false,
        }
    }
}

struct Place {
    size: NonZeroUsize,
    users: Arc<Users>,
}

impl Memory for Place {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        None
    }

    fn device_address(&self) -> Option<u64> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A test that has failed already is not to hide why.
        if !std::thread::panicking() {
            let users = *self.users.users();
            assert!(users == (0, false), "memory was freed that a command uses");
        }
    }
}

fn users(memory: &dyn Memory) -> Arc<Users> {
    let Some(place) = memory.as_any().downcast_ref::<Place>() else {
        unreachable!("memory of another device")
    };
    Arc::clone(&place.users)
}

pub(super) struct Sequence {
    in_order: bool,
    /// Of all commands.
    submitted: Mutex<Vec<Arc<Fate>>>,
    barrier: Mutex<Option<Arc<Fate>>>,
}

impl Sequence {
    fn submitted(&self) -> MutexGuard<'_, Vec<Arc<Fate>>> {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(
        &self,
        after: &[&dyn Event],
        uses: Vec<(Arc<Users>, Access)>,
        everything: bool,
    ) -> Happening {
        let mut submitted = self.submitted();
        let told = |event: &&dyn Event| {
            event.as_any().downcast_ref::<Happening>().map(|event| Arc::clone(&event.0))
        };
        let mut awaited: Vec<Arc<Fate>> = after.iter().filter_map(told).collect();
        if everything {
            awaited.extend(submitted.iter().cloned());
        } else if self.in_order {
            awaited.extend(submitted.last().cloned());
        }
        awaited.extend(self.barrier.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let happening = Happening::default();
        submitted.push(Arc::clone(&happening.0));
        drop(submitted);
        let fate = Arc::clone(&happening.0);
        thread::spawn(move || {
            let outcome = awaited.iter().try_for_each(|event| event.wait());
            if outcome.is_ok() {
                uses.iter().for_each(|(users, access)| users.begin(*access));
                thread::yield_now();
                uses.iter().for_each(|(users, access)| users.end(*access));
            }
            fate.set(outcome);
        });
        happening
    }
}

type Submitted = Result<Box<dyn Event>, DriverError>;

impl Queue for Sequence {
    unsafe fn launch(
        &self,
        _: &dyn Kernel,
        _: Extent,
        _: &[Argument<'_>],
        _: &[&dyn Event],
    ) -> Submitted {
        unreachable!("schedules launch no kernels")
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        _: usize,
        _: *const u8,
        _: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Submitted {
        Ok(Box::new(self.start(after, vec![(users(target), Access::Write)], false)))
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        _: usize,
        _: *mut u8,
        _: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Submitted {
        Ok(Box::new(self.start(after, vec![(users(source), Access::Read)], false)))
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        _: usize,
        _: &[u8],
        _: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Submitted {
        Ok(Box::new(self.start(after, vec![(users(target), Access::Write)], false)))
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        _: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Submitted {
        let uses =
            vec![(users(source.memory), Access::Read), (users(target.memory), Access::Write)];
        Ok(Box::new(self.start(after, uses, false)))
    }

    fn barrier(&self, after: &[&dyn Event]) -> Submitted {
        let happening = self.start(after, Vec::new(), after.is_empty());
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        *barrier = Some(Arc::clone(&happening.0));
        Ok(Box::new(happening))
    }

    fn wait(&self) -> Outcome {
        let submitted = self.submitted().clone();
        submitted.iter().try_for_each(|event| event.wait())
    }
}

/// The device, its context and its adapter in one.
#[derive(Default)]
pub(super) struct Threads(DeviceInfo);

impl Threads {
    pub(super) fn new() -> Self {
        Self(DeviceInfo { largest_allocation: 1 << 20, ..DeviceInfo::default() })
    }
}

impl Adapter for Threads {
    fn backend(&self) -> Backend {
        Backend::Mock
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        Ok(vec![Arc::new(Self::new())])
    }
}

impl Device for Threads {
    fn info(&self) -> &DeviceInfo {
        &self.0
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(Arc::new(Self::new()))
    }
}

impl Context for Threads {
    fn allocate(
        &self,
        _: MemoryKind,
        size: NonZeroUsize,
        _: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        Ok(Box::new(Place { size, users: Arc::default() }))
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        let in_order = options.order == QueueOrder::InOrder;
        Ok(Box::new(Sequence { in_order, submitted: Mutex::default(), barrier: Mutex::default() }))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        let happening = Happening::default();
        let word = Word(Some(Arc::clone(&happening.0)));
        Ok((Box::new(happening), Box::new(word)))
    }

    fn build(&self, _: CodeForm, _: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        unreachable!("schedules build no programs")
    }
}
