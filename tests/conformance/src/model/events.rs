//! Events: states, times, several at once, and as futures.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crosscut_runtime::{ErrorKind, Event, EventState, Queue};

use super::program::{Run, STORE};
use super::stage::{fill, refused};
use super::tasks::held;
use super::{Failure, Outcome, Stage, everywhere, where_kernels_run};
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("an event of nothing is complete", of_nothing),
    everywhere("an event of a command ends as complete, however often it is asked", ends_complete),
    everywhere("a copy of an event is the same event", copied),
    everywhere("an event of several is complete when all are", of_several),
    everywhere("the state of several is running while they differ", mixed_state),
    everywhere("a command completes though its event was dropped at once", dropped),
    everywhere("an event of another context may be waited for by a command", other_context),
    everywhere("an event may be waited for by many threads", many_threads),
    everywhere("an event outlives its queue and its context", outlives),
    everywhere("a queue with profiling tells when a fill ran", times),
    where_kernels_run("a queue with profiling tells when a kernel ran", kernel_times),
    everywhere("times of several go from the first start to the last end", times_of_several),
    everywhere("a queue without profiling has no times, and says how to get them", no_times),
    everywhere("an event that is complete is ready at once as a future", ready),
    everywhere("an event that is not complete wakes who polled it", wakes),
    everywhere("everybody who polled an event is woken", wakes_all),
    everywhere("an event of several is ready as a future when all are", ready_all),
    everywhere("a waker that panics keeps nobody from being woken, then or later", panicking_waker),
    everywhere("a waker may wait for the queue and let go of it", waiting_waker),
];

fn of_nothing(_: &Stage) -> Outcome {
    for event in [Event::default(), Event::all([]), Event::all(&Event::default())] {
        event.wait()?;
        ensure!(event.is_complete()? && event.state()? == EventState::Complete, "it is not");
    }
    Ok(())
}

fn ends_complete(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(1 << 20)?;
        let event = fill(&queue, &buffer, &[1], &[])?;
        let mut last = EventState::Submitted;
        for _ in 0..100 {
            let state = event.state()?;
            ensure!(state >= last, "it went back from {last:?} to {state:?}");
            last = state;
        }
        event.wait()?;
        for _ in 0..3 {
            ensure!(event.state()? == EventState::Complete, "it is not complete any more");
            event.wait()?;
        }
    }
    Ok(())
}

fn copied(stage: &Stage) -> Outcome {
    let (event, sender) = held(&stage.queue)?;
    let copy = event.clone();
    ensure!(!copy.is_complete()?, "the copy is complete");
    drop((event, sender));
    copy.wait()?;
    ensure!(copy.is_complete()?, "the copy is not complete");
    Ok(())
}

fn of_several(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let buffer = stage.buffer(100)?;
    let (late, sender) = held(&queue)?;
    let early = fill(&queue, &buffer, &[1], &[])?;
    early.wait()?;
    let all = Event::all([&early, &late]);
    ensure!(!all.is_complete()?, "it is complete while one is not");
    drop(sender);
    all.wait()?;
    ensure!(late.is_complete()?, "it did not wait for the last");
    Event::wait_all([&early, &late])?;
    Ok(())
}

fn mixed_state(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (one, first) = held(&queue)?;
    let (other, second) = held(&queue)?;
    let all = Event::all([&one, &other]);
    drop(first);
    one.wait()?;
    let state = all.state()?;
    ensure!(state == EventState::Running, "{state:?}");
    drop(second);
    all.wait()?;
    ensure!(all.state()? == EventState::Complete, "it is not complete");
    Ok(())
}

fn dropped(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(1 << 20)?;
        drop(fill(&queue, &buffer, &[5], &[])?);
        queue.wait()?;
        ensure!(stage.bytes(&buffer)?.iter().all(|byte| *byte == 5), "it did not run");
    }
    Ok(())
}

fn other_context(stage: &Stage) -> Outcome {
    let other = stage.elsewhere()?;
    let (large, small) = (stage.buffer(1 << 22)?, other.buffer(10)?);
    for value in 0..5 {
        let there = fill(&stage.queue, &large, &[value], &[])?;
        fill(&other.queue, &small, &[value], std::slice::from_ref(&there))?.wait()?;
        ensure!(there.is_complete()?, "it did not wait");
    }
    Ok(())
}

fn many_threads(stage: &Stage) -> Outcome {
    let (event, sender) = held(&stage.queue)?;
    std::thread::scope(|scope| {
        let wait = || event.wait().map_err(Failure::from);
        let waiting: Vec<_> = (0..16).map(|_| scope.spawn(wait)).collect();
        std::thread::sleep(Duration::from_millis(5));
        drop(sender);
        let joined = |it: std::thread::ScopedJoinHandle<'_, _>| {
            it.join().unwrap_or_else(|_| Err(Failure::from("a thread panicked")))
        };
        waiting.into_iter().try_for_each(joined)
    })
}

fn outlives(stage: &Stage) -> Outcome {
    let event = {
        let Stage { queue, context, .. } = stage.elsewhere()?;
        let buffer = crosscut_runtime::Buffer::allocate(&context, 1 << 20, 1)?;
        fill(&queue, &buffer, &[1], &[])?
    };
    event.wait()?;
    ensure!(event.is_complete()?, "it is not complete");
    Ok(())
}

fn times(stage: &Stage) -> Outcome {
    let queue = stage.profiled()?;
    let buffer = stage.buffer(1 << 20)?;
    let mut last = Duration::ZERO;
    for value in 0..5 {
        let times = fill(&queue, &buffer, &[value], &[])?.times()?;
        let sound = times.submitted <= times.started && times.started <= times.ended;
        ensure!(sound && times.started >= last, "{times:?} after {last:?}");
        ensure!(times.duration() == times.ended - times.started, "{times:?}");
        last = times.ended;
    }
    Ok(())
}

fn kernel_times(stage: &Stage) -> Outcome {
    let queue = stage.profiled()?;
    let buffer = stage.buffer(8 << 16)?;
    let times = Run::of(&STORE, &[1 << 16]).writes(&buffer).on(&queue)?.times()?;
    let sound = times.submitted <= times.started && times.started < times.ended;
    ensure!(sound, "{times:?}");
    Ok(())
}

fn times_of_several(stage: &Stage) -> Outcome {
    let queue = stage.profiled()?;
    let buffer = stage.buffer(1 << 20)?;
    let events = [fill(&queue, &buffer, &[1], &[])?, fill(&queue, &buffer, &[2], &[])?];
    let (first, last) = (events[0].times()?, events[1].times()?);
    let all = Event::all(&events).times()?;
    let expected = (first.submitted.min(last.submitted), first.started, last.ended);
    ensure!((all.submitted, all.started, all.ended) == expected, "{first:?}, {last:?}: {all:?}");
    Ok(())
}

fn no_times(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(10)?;
    refused(fill(&stage.queue, &buffer, &[1], &[])?.times(), ErrorKind::Invalid)?;
    refused(Event::default().times(), ErrorKind::Invalid)
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn soon(&self) -> Outcome {
        let begin = Instant::now();
        while self.0.load(Ordering::SeqCst) == 0 {
            ensure!(begin.elapsed() < Duration::from_secs(120), "nobody woke it");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

fn poll(event: &mut Event, woken: &Arc<Woken>) -> Poll<Result<(), crosscut_runtime::Error>> {
    let waker = Waker::from(Arc::clone(woken));
    Pin::new(event).poll(&mut Context::from_waker(&waker))
}

fn is_ready(event: &mut Event, woken: &Arc<Woken>) -> Outcome {
    match poll(event, woken) {
        Poll::Ready(outcome) => Ok(outcome?),
        Poll::Pending => Err(Failure::from("it is not ready")),
    }
}

fn ready(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(10)?;
    let mut event = fill(&stage.queue, &buffer, &[1], &[])?;
    event.wait()?;
    is_ready(&mut event, &Arc::default())?;
    is_ready(&mut Event::default(), &Arc::default())
}

fn wakes(stage: &Stage) -> Outcome {
    let (mut event, sender) = held(&stage.queue)?;
    let woken = Arc::default();
    for _ in 0..3 {
        ensure!(poll(&mut event, &woken).is_pending(), "it is ready before its end");
    }
    drop(sender);
    woken.soon()?;
    is_ready(&mut event, &woken)
}

fn wakes_all(stage: &Stage) -> Outcome {
    let (event, sender) = held(&stage.queue)?;
    let mut waiting: Vec<(Event, Arc<Woken>)> =
        (0..8).map(|_| (event.clone(), Arc::default())).collect();
    for (event, woken) in &mut waiting {
        ensure!(poll(event, woken).is_pending(), "it is ready before its end");
    }
    drop(sender);
    for (event, woken) in &mut waiting {
        woken.soon()?;
        is_ready(event, woken)?;
    }
    Ok(())
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("a waker"));
    }
}

fn panicking_waker(stage: &Stage) -> Outcome {
    for _ in 0..3 {
        let (mut event, sender) = held(&stage.queue)?;
        let (panics, woken) = (Waker::from(Arc::new(Panics)), Arc::default());
        let first = Pin::new(&mut event).poll(&mut Context::from_waker(&panics));
        ensure!(first.is_pending(), "it is ready before its end");
        ensure!(poll(&mut event, &woken).is_pending(), "it is ready before its end");
        drop(sender);
        woken.soon()?;
        is_ready(&mut event, &woken)?;
    }
    Ok(())
}

struct Waits {
    queue: Mutex<Option<Queue>>,
    event: Event,
    woken: Woken,
}

impl Wake for Waits {
    fn wake(self: Arc<Self>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let waited = queue.as_ref().map(Queue::wait);
        drop(queue);
        if matches!(waited, Some(Ok(()))) && self.event.wait().is_ok() {
            self.woken.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn waiting_waker(stage: &Stage) -> Outcome {
    let queue = Queue::new(&stage.context)?;
    let (mut event, sender) = held(&queue)?;
    let waits =
        Waits { queue: Mutex::new(Some(queue)), event: event.clone(), woken: Woken::default() };
    let (waits, polled) = (Arc::new(waits), Pin::new(&mut event));
    let polled = polled.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&waits))));
    ensure!(polled.is_pending(), "it is ready before its end");
    drop(sender);
    waits.woken.soon()
}

fn ready_all(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (one, first) = held(&queue)?;
    let (other, second) = held(&queue)?;
    let (mut all, woken) = (Event::all([&one, &other]), Arc::default());
    ensure!(poll(&mut all, &woken).is_pending(), "it is ready before both");
    drop(first);
    woken.soon()?;
    let again = Arc::default();
    ensure!(poll(&mut all, &again).is_pending(), "it is ready before the second");
    drop(second);
    again.soon()?;
    is_ready(&mut all, &again)
}
