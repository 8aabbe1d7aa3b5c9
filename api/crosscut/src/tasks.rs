//! Commands that run no kernel: host tasks and barriers.

use crate::{Event, Launch, Queue, Result};

/// Host tasks and barriers, with options.
///
/// ```
/// use crosscut::prelude::*;
///
/// let (one, other) = (Queue::new()?, Queue::builder().out_of_order().build()?);
/// let first = one.single_task((), |()| ())?;
/// let barrier = other.launch().after(&first).barrier()?;
/// other.launch().after(&barrier).host_task(|| println!("the other queue's kernel has ended"))?;
/// other.wait()?;
/// assert!(first.is_complete()?);
/// # Ok::<(), crosscut::Error>(())
/// ```
impl Launch<'_> {
    /// [`Queue::host_task`], with these options.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn host_task<F: FnOnce() + Send + 'static>(self, task: F) -> Result<Event> {
        self.queue().outside_kernels()?;
        self.queue().runtime().host_task(Box::new(task), self.events())
    }

    /// A [`Queue::barrier`] that waits for the events it is [after](Self::after) and for nothing
    /// else; without any, for every command so far.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn barrier(self) -> Result<Event> {
        self.queue().outside_kernels()?;
        self.queue().runtime().barrier(self.events())
    }
}

impl Queue {
    /// Runs `task` on a thread of the host, once every command so far has completed; on a queue out
    /// of order, once what it is [after](Launch::after) has. Later commands of a queue in order wait
    /// for it. The call itself does not wait.
    ///
    /// A panic of the task is an error of its event, or of whatever waits next. Inside the task, use
    /// other queues: this one waits for it. On the host CPU, where commands run when they are
    /// submitted, a command that waits for a task holds up whoever submits it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use std::sync::mpsc;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u32>(8)?;
    /// let filled = queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    /// let (sender, receiver) = mpsc::channel();
    /// queue.launch().after(&filled).host_task(move || sender.send("filled").unwrap())?;
    /// assert_eq!(receiver.recv().unwrap(), "filled");
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn host_task<F: FnOnce() + Send + 'static>(&self, task: F) -> Result<Event> {
        self.launch().host_task(task)
    }

    /// A command that does nothing but wait for every command so far; later commands of this queue
    /// wait for it. Only a queue [out of order](crate::QueueBuilder::out_of_order) needs one.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let mut x = queue.zeroed::<u32>(8)?;
    /// queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    /// queue.barrier()?.wait()?;
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn barrier(&self) -> Result<Event> {
        self.launch().barrier()
    }
}
