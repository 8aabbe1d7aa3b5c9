//! Times of copies that the host makes itself: no command of a driver has them.

use crosscut_adapter_api::{DriverError, QueueOptions};

use crate::Error;
use crate::command::{Command, Outcome};
use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    /// Does `work`, which is done when this returns. On a queue with profiling the event has its times:
    /// those from before one command that does nothing to after another.
    ///
    /// # Errors
    /// Those of `work`, or the driver's refusal of such a command before it.
    pub(crate) fn timed(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Event, Error> {
        if !self.options().profiling {
            return work().map(|()| Event::nothing());
        }
        let failed = |error| Error::driver("taking the time", error);
        // A queue of their own: nothing is waited for but them, and nothing waits for them.
        let options = QueueOptions { profiling: true, ..QueueOptions::default() };
        let clock = self.context().inner().adapter.create_queue(&options).map_err(failed)?;
        let mark = || -> Result<Event, DriverError> {
            let event = clock.barrier(&[])?;
            event.wait()?;
            Ok(Event::of(Command::new(self.origin, event, Outcome::Settled)))
        };
        let before = mark().map_err(failed)?;
        work()?;
        // The work is done, with or without its times.
        Ok(mark().map_or_else(|_| Event::nothing(), |after| Event::all([&before, &after])))
    }
}
