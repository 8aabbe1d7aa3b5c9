//! Commands that run no kernel: host tasks and barriers.

use crate::host_arg::{HostArg, host_task};
use crate::kernel::{Bindings, Once, View};
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

    /// [`Queue::host_task_with`], with these options.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let mut x = queue.upload(&[3u32, 1, 2])?;
    /// let first = queue.single_task((), |()| ())?;
    /// queue.launch().after(&first).host_task_with(&mut x, |x| x.sort())?;
    /// assert_eq!(queue.download(&x)?, [1, 2, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn host_task_with<A, F>(self, arguments: A, task: F) -> Result<Event>
    where
        A: HostArg,
        F: for<'h> FnOnce(View<'h, A, Once>) + Send + 'static,
    {
        self.queue().outside_kernels()?;
        let mut bindings = Bindings::new(None, &[]);
        arguments.bind(&mut bindings)?;
        // SAFETY: the task sees the slots by the shape of these arguments, in which what is bound for
        // reading is read; `bindings` borrow what `arguments` borrowed, until this returns.
        unsafe {
            self.queue().runtime().host_task_with(
                bindings.list(),
                host_task::<A::Shape, F>(task),
                self.events(),
            )
        }
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

    /// Runs `task` on a thread of the host, with the memory of these arguments: they arrive as in a
    /// [single task](Self::single_task).
    ///
    /// It starts once whatever uses that memory has completed, on whichever queue, and as
    /// [`host_task`](Self::host_task) otherwise. The memory comes to the host before, and what is passed as
    /// `&mut` goes back afterwards, and so do atomics that are passed as `&`; commands that use it next wait
    /// for the task. Atomics in USM that the host reaches neither come nor go: the task has them themselves,
    /// beside whoever has [read](crate::Usm::read) them. The call itself does not wait, and the buffers may
    /// be dropped. On the host CPU, where commands run when they are submitted, the task does so too.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u32>(5)?;
    /// let mut largest = queue.zeroed::<u32>(1)?;
    /// queue.for_each(&mut x, (), |i, x, ()| *x = (7 * i as u32) % 5)?;
    /// queue.host_task_with((&mut x, &mut largest), |(x, largest)| {
    ///     x.sort(); // allocates: nothing for a kernel
    ///     largest[0] = x[4];
    /// })?;
    /// queue.for_each(&mut x, &largest, |_, x, largest| *x += 10 * largest[0])?;
    /// assert_eq!(queue.download(&x)?, [40, 41, 42, 43, 44]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// A panic of the task is an error of its event, or of whatever waits next, such as a download of what
    /// it wrote. As with kernels, what it wrote until then is there.
    ///
    /// # Errors
    /// A buffer is of another context, or there twice although it is written; the driver's refusal.
    pub fn host_task_with<A, F>(&self, arguments: A, task: F) -> Result<Event>
    where
        A: HostArg,
        F: for<'h> FnOnce(View<'h, A, Once>) + Send + 'static,
    {
        self.launch().host_task_with(arguments, task)
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
