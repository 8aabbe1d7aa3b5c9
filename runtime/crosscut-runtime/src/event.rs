//! Events: what a user waits for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task;
use std::time::Duration;

use crosscut_adapter_api as adapter;
pub use crosscut_adapter_api::EventState;

use crate::Error;
use crate::command::Command;
use crate::host_task;
use crate::lines::Delivery;
use crate::pending;

/// The completion of a command, or of several. Dropping it does not cancel anything. The default one
/// is that of a command that had nothing to do.
///
/// It is a [`Future`]: `.await` it in any executor instead of [waiting](Self::wait) for it.
///
/// ```
/// use crosscut::EventState;
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let (mut x, mut y) = (queue.zeroed::<u32>(100)?, queue.zeroed::<u32>(100)?);
/// let first = queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
/// let second = queue.for_each(&mut y, (), |i, y, ()| *y = i as u32)?;
/// first.wait()?;
/// Event::wait_all([&first, &second])?;
/// assert!(first.is_complete()? && second.state()? == EventState::Complete);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Event(Commands);

#[derive(Clone, Default)]
enum Commands {
    /// It had nothing to do, or was done before its event was made.
    #[default]
    None,
    One(Asked),
    Many(Arc<[Asked]>),
}

/// A command that somebody can ask about. The command knows how many there are.
struct Asked {
    command: Arc<Command>,
    // After the command: the last one to know of a launch lets its lines go.
    _delivery: Delivery,
}

impl Asked {
    fn new(command: Arc<Command>) -> Self {
        command.add_event();
        Self { command, _delivery: Delivery }
    }
}

impl Clone for Asked {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.command))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.command.remove_event() {
            pending::print_untold(&self.command);
        }
    }
}

/// When a command was submitted, started and ended, by a clock of its device.
///
/// Only times of one device can be compared.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::builder().profiling().build()?;
/// let times = queue.parallel_for(1000, (), |_, ()| ())?.times()?;
/// assert!(times.submitted <= times.started && times.started <= times.ended);
/// assert_eq!(times.duration(), times.ended - times.started);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventTimes {
    /// When it was handed to the device.
    pub submitted: Duration,
    /// When it began to run.
    pub started: Duration,
    /// When it had ended.
    pub ended: Duration,
}

impl EventTimes {
    fn of(times: adapter::EventTimes) -> Self {
        let adapter::EventTimes { submitted, started, ended } = times;
        let [submitted, started, ended] = [submitted, started, ended].map(Duration::from_nanos);
        Self { submitted, started, ended }
    }

    /// How long it ran.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.ended.saturating_sub(self.started)
    }
}

impl Event {
    pub(crate) fn of(command: Arc<Command>) -> Self {
        Self(Commands::One(Asked::new(command)))
    }

    pub(crate) fn nothing() -> Self {
        Self(Commands::None)
    }

    /// One event for all of them: complete when they are.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let mut x = queue.zeroed::<u32>(4)?;
    /// let (low, high) = x.split_at_mut(2)?;
    /// let one = queue.parallel_for(2, low, |_, x| *x = 1)?;
    /// let other = queue.parallel_for(2, high, |_, x| *x = 2)?;
    /// let both = Event::all([&one, &other]);
    /// queue.launch().after(&both).host_task(|| println!("both halves are there"))?.wait()?;
    /// assert!(both.is_complete()?);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut commands: Vec<Asked> = Vec::new();
        for event in events {
            commands.extend(event.asked().iter().cloned());
        }
        Self(match commands.len() {
            0 => Commands::None,
            1 => commands.pop().map_or(Commands::None, Commands::One),
            _ => Commands::Many(commands.into()),
        })
    }

    fn asked(&self) -> &[Asked] {
        match &self.0 {
            Commands::None => &[],
            Commands::One(command) => std::slice::from_ref(command),
            Commands::Many(commands) => commands,
        }
    }

    fn commands(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.asked().iter().map(|asked| &asked.command)
    }

    /// The commands, but for those known to have completed.
    pub(crate) fn unsettled(&self) -> impl Iterator<Item = &Arc<Command>> {
        self.commands().filter(|command| !command.is_settled())
    }

    /// Blocks until the command has completed.
    ///
    /// # Errors
    /// The command failed, or the kernel panicked; the event tells of a panic once, also if a queue
    /// has told of it before. Inside a host task: the command is behind that task, on its queue.
    #[inline]
    pub fn wait(&self) -> Result<(), Error> {
        match &self.0 {
            Commands::None => Ok(()),
            Commands::One(asked) => asked.command.wait(),
            Commands::Many(_) => self.wait_for_many(),
        }
    }

    fn wait_for_many(&self) -> Result<(), Error> {
        self.unsettled().try_for_each(|command| host_task::may_wait_for(command))?;
        // All of them first: an error must not hide that others still run.
        for command in self.unsettled() {
            // It is told below.
            let _ = command.event.wait();
        }
        self.commands().try_for_each(|command| command.wait())
    }

    /// Blocks until all of them have completed.
    ///
    /// # Errors
    /// The first error that one of them tells; the others stay for who asks those.
    pub fn wait_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<(), Error> {
        Self::all(events).wait()
    }

    /// Whether the command has completed. A kernel that panicked has: waiting tells of it.
    ///
    /// # Errors
    /// The driver's refusal to answer.
    pub fn is_complete(&self) -> Result<bool, Error> {
        for command in self.commands() {
            if !command.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How far the command has come. Of several it is running as soon as one is.
    ///
    /// # Errors
    /// The command failed, or the driver refuses to answer.
    pub fn state(&self) -> Result<EventState, Error> {
        let mut seen = None;
        for command in self.commands() {
            let state = command.state()?;
            match seen {
                Some(before) if before != state => return Ok(EventState::Running),
                _ => seen = Some(state),
            }
        }
        Ok(seen.unwrap_or(EventState::Complete))
    }

    /// Whether the command is known to have panicked, as native code is as soon as it is launched. Asks no
    /// driver, and leaves the telling to who waits.
    #[doc(hidden)]
    #[must_use]
    pub fn has_panicked(&self) -> bool {
        self.commands().any(|command| command.has_failed())
    }

    /// When the command was submitted, started and ended; of several commands, from the first
    /// submission and the first start to the last end. Waits for it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().profiling().build()?;
    /// let mut x = queue.zeroed::<u32>(1000)?;
    /// let kernel = queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    /// let copy = queue.fill(&mut x, 7)?;
    /// let (both, kernel) = (Event::all([&kernel, &copy]).times()?, kernel.times()?);
    /// assert!(both.started <= kernel.started && both.ended >= kernel.ended);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The queue was not made with profiling, the command is a host task on a device whose clock is not the
    /// host's, or it failed. Inside a host task: as for [`wait`](Self::wait).
    pub fn times(&self) -> Result<EventTimes, Error> {
        let mut all: Option<EventTimes> = None;
        for command in self.commands() {
            let Some(times) = command.times()?.map(EventTimes::of) else { return Err(no_times()) };
            all = Some(all.map_or(times, |all| EventTimes {
                submitted: all.submitted.min(times.submitted),
                started: all.started.min(times.started),
                ended: all.ended.max(times.ended),
            }));
        }
        all.ok_or_else(no_times)
    }
}

fn no_times() -> Error {
    Error::invalid(
        "nobody took the times of this command",
        "make its queue with profiling; host tasks of devices, and commands without anything to run, have no times",
    )
}

impl Future for Event {
    type Output = Result<(), Error>;

    /// As [`wait`](Self::wait), without blocking.
    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        for command in self.unsettled() {
            if command.poll_ended(context).is_pending() {
                return task::Poll::Pending;
            }
        }
        task::Poll::Ready(self.wait())
    }
}

/// One event, where any number of them is asked for.
impl<'a> IntoIterator for &'a Event {
    type Item = &'a Event;
    type IntoIter = std::iter::Once<&'a Event>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}
