//! Times of copies that the host makes itself: no command of a driver has them.

use crate::Error;
use crate::command::{Command, Outcome};
use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    /// Does `work`, which is done when this returns. On a queue with profiling the event has its times:
    /// those from before one command that does nothing to after another.
    ///
    /// # Errors
    /// Those of `work`, or the driver's refusal of such a command.
    pub(crate) fn timed(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Event, Error> {
        if !self.options().profiling {
            return work().map(|()| Event::nothing());
        }
        let mark = || {
            let event = self.adapter.barrier(&[]);
            let event = event.map_err(|error| Error::driver("taking the time", error))?;
            Ok(Event::of(Command::new(self.origin, event, Outcome::Settled)))
        };
        let before = mark()?;
        work()?;
        Ok(Event::all([&before, &mark()?]))
    }
}
