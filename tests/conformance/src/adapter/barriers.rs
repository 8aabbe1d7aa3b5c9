//! Barriers, and events that complete when the runtime says so.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crosscut_adapter_api::QueueOrder::{InOrder, OutOfOrder};
use crosscut_adapter_api::{DriverError, DriverErrorKind, Event, EventState, QueueOptions};

use super::everywhere;
use crate::device::text;
use crate::{Behaviour, Bench, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a barrier completes after every command before it", barrier_follows),
    everywhere("commands behind a barrier start after it", barrier_precedes),
    everywhere("a barrier on an empty queue completes", barrier_alone),
    everywhere("a barrier may wait for events of other queues", barrier_of_events),
    everywhere("a promise that was kept completes its event", promise_kept),
    everywhere("a promise may be kept by another thread", promise_kept_elsewhere),
    everywhere("an event whose promise is not kept is not complete", promise_not_kept),
    everywhere("a promise kept with a failure has its event fail", promise_failed),
    everywhere("a promise that is dropped has its event fail", promise_dropped),
    everywhere("a command waits for the event of a promise", command_waits_for_promise),
    everywhere("a queue in order waits behind a barrier for a promise", barrier_for_promise),
    everywhere(
        "thousands of barriers behind a promise complete when it is kept",
        barriers_in_a_row,
    ),
    everywhere(
        "thousands of promises, each kept by the event of the one before, are kept",
        promises_in_a_row,
    ),
    everywhere("a barrier that failed is told by its queue once at most", barrier_failed),
    everywhere("an event may outlive its promise and its context", promise_outlived),
    everywhere("an event calls back once its command has completed", calls_back),
    everywhere("an event that is complete calls back at once or soon", calls_back_late),
    everywhere("an event calls back though it was dropped", calls_back_dropped),
    everywhere("an event calls back everybody who asked", calls_back_all),
    everywhere("the event of a failed promise calls back with the failure", calls_back_failure),
    everywhere("a queue with profiling tells when a command ran", profiled),
    everywhere("commands in order have times in order", profiled_in_order),
    everywhere("a queue without profiling tells no times", not_profiled),
    everywhere("a queue may be out of order and have profiling", profiled_out_of_order),
];

const LARGE: usize = 4 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

fn event(made: Result<Box<dyn Event>, DriverError>) -> Result<Box<dyn Event>, String> {
    made.map_err(text)
}

fn barrier_follows(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.memory(LARGE)?;
        let mut pending = Vec::new();
        for part in 0..8 {
            pending.push(bench.start_fill(&memory, part << 19, 7, 1 << 19, &[])?);
        }
        event(bench.queue.barrier(&[]))?.wait().map_err(text)?;
        for command in &pending {
            ensure!(command.event().is_complete().map_err(text)?, "{order:?}: one is not");
        }
    }
    Ok(())
}

fn barrier_precedes(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.memory(LARGE)?;
        for value in 1..=20 {
            let filled = bench.start_fill(&memory, 0, value, LARGE, &[])?;
            event(bench.queue.barrier(&[]))?;
            let found = bench.start_read(&memory, 0, LARGE, &[])?.bytes()?;
            ensure!(found.iter().all(|byte| *byte == value), "{order:?}: it came too early");
            filled.wait()?;
        }
    }
    Ok(())
}

fn barrier_alone(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        event(bench.queue.barrier(&[]))?.wait().map_err(text)?;
        let _ = event(bench.queue.barrier(&[]))?;
        bench.queue.wait().map_err(text)?;
    }
    Ok(())
}

fn barrier_of_events(device: &TestDevice) -> Result<(), String> {
    let one = device.bench()?;
    let two = one.another(OutOfOrder)?;
    let memory = one.memory(LARGE)?;
    for value in 1..=10 {
        let filled = one.start_fill(&memory, 0, value, LARGE, &[])?;
        let barrier = event(two.queue.barrier(&[filled.event()]))?;
        let found = two.start_read(&memory, 0, LARGE, &[])?.bytes()?;
        ensure!(found.iter().all(|byte| *byte == value), "the read passed the barrier");
        ensure!(barrier.is_complete().map_err(text)?, "the barrier is not complete");
    }
    Ok(())
}

fn promise_kept(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    promise.keep(Ok(()));
    event.wait().map_err(text)?;
    ensure!(event.is_complete().map_err(text)?, "it is not");
    Ok(())
}

fn promise_kept_elsewhere(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            promise.keep(Ok(()));
        });
        event.wait().map_err(text)
    })
}

fn promise_not_kept(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    let state = event.state().map_err(text)?;
    ensure!(state != EventState::Complete, "it is {state:?}");
    promise.keep(Ok(()));
    event.wait().map_err(text)
}

fn failure() -> DriverError {
    DriverError { kind: DriverErrorKind::DeviceLost, call: "test", code: -77, log: None }
}

fn promise_failed(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    promise.keep(Err(failure()));
    let Err(told) = event.wait() else { return Err("the wait succeeds".to_owned()) };
    ensure!(told.code == -77, "it fails with {told}");
    ensure!(event.is_complete().is_err(), "asking does not tell");
    Ok(())
}

fn promise_dropped(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    drop(promise);
    ensure!(event.wait().is_err(), "the wait succeeds");
    Ok(())
}

fn barrier_failed(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let (promised, promise) = bench.context.promise().map_err(text)?;
    let barrier = event(bench.queue.barrier(&[&*promised]))?;
    promise.keep(Err(failure()));
    ensure!(barrier.wait().is_err(), "the barrier completes");
    // Some drivers say it here, some only by the event.
    let _ = bench.queue.wait();
    bench.queue.wait().map_err(text)
}

/// Keeps a promise a little later, on another thread, and runs `submit` meanwhile.
fn while_promised(
    bench: &Bench,
    submit: impl FnOnce(&dyn Event) -> Result<(), String>,
) -> Result<(), String> {
    let (event, promise) = bench.context.promise().map_err(text)?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            promise.keep(Ok(()));
        });
        submit(&*event)
    })
}

fn command_waits_for_promise(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.holding(&[1; 64])?;
        let started = Instant::now();
        while_promised(&bench, |promised| {
            let barrier = event(bench.queue.barrier(&[promised]))?;
            barrier.wait().map_err(text)
        })?;
        ensure!(started.elapsed() >= Duration::from_millis(20), "{order:?}: it did not wait");
        ensure!(bench.read_all(&memory)? == [1; 64], "{order:?}: memory has changed");
    }
    Ok(())
}

fn barrier_for_promise(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.holding(&[1; 64])?;
        let started = Instant::now();
        while_promised(&bench, |promised| {
            event(bench.queue.barrier(&[promised]))?;
            bench.start_fill(&memory, 0, 2, 64, &[])?.wait()
        })?;
        ensure!(started.elapsed() >= Duration::from_millis(20), "{order:?}: the fill was early");
        ensure!(bench.read_all(&memory)? == [2; 64], "{order:?}: the fill did not run");
    }
    Ok(())
}

/// More than fit on a stack as calls inside of calls.
const MANY: usize = 5_000;

fn barriers_in_a_row(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let (promised, promise) = bench.context.promise().map_err(text)?;
        let mut last = event(bench.queue.barrier(&[&*promised]))?;
        for count in 0..MANY {
            // Behind everything, and behind the one before it.
            let after = [&*last];
            last = event(bench.queue.barrier(if count % 2 == 0 { &[] } else { &after }))?;
        }
        let early = last.is_complete().map_err(text)?;
        promise.keep(Ok(()));
        last.wait().map_err(text)?;
        ensure!(!early, "{order:?}: the last came before the promise was kept");
    }
    Ok(())
}

fn promises_in_a_row(device: &TestDevice) -> Result<(), String> {
    let context = device.context()?;
    let (mut last, first) = context.promise().map_err(text)?;
    for _ in 0..MANY {
        let (event, promise) = context.promise().map_err(text)?;
        last.on_complete(Box::new(|outcome| promise.keep(outcome))).map_err(text)?;
        last = event;
    }
    first.keep(Ok(()));
    last.wait().map_err(text)
}

fn promise_outlived(device: &TestDevice) -> Result<(), String> {
    let context = device.context()?;
    let (event, promise) = context.promise().map_err(text)?;
    drop(context);
    promise.keep(Ok(()));
    event.wait().map_err(text)
}

/// Asks an event to call back, and gives what it will have said.
fn called(event: &dyn Event) -> Result<mpsc::Receiver<Result<(), DriverError>>, String> {
    let (sender, receiver) = mpsc::channel();
    let call = Box::new(move |outcome| {
        let _ = sender.send(outcome);
    });
    event.on_complete(call).map_err(text)?;
    Ok(receiver)
}

fn expect(receiver: &mpsc::Receiver<Result<(), DriverError>>) -> Result<(), String> {
    let outcome = receiver.recv_timeout(PATIENCE).map_err(|_| "nobody called".to_owned())?;
    outcome.map_err(text)?;
    let again = receiver.recv_timeout(Duration::from_millis(1));
    ensure!(again != Ok(Ok(())), "it was called twice");
    Ok(())
}

fn calls_back(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(LARGE)?;
    for _ in 0..20 {
        let filled = bench.start_fill(&memory, 0, 1, LARGE, &[])?;
        expect(&called(filled.event())?)?;
        ensure!(filled.event().is_complete().map_err(text)?, "it was called too early");
    }
    Ok(())
}

fn calls_back_late(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 1, 64, &[])?;
    filled.wait()?;
    expect(&called(filled.event())?)
}

fn calls_back_dropped(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let receiver = while_dropping(&bench)?;
    expect(&receiver)
}

fn while_dropping(bench: &Bench) -> Result<mpsc::Receiver<Result<(), DriverError>>, String> {
    let (promised, promise) = bench.context.promise().map_err(text)?;
    let barrier = event(bench.queue.barrier(&[&*promised]))?;
    let receiver = called(&*barrier)?;
    drop(barrier);
    drop(promised);
    promise.keep(Ok(()));
    Ok(receiver)
}

fn calls_back_all(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    let receivers: Vec<_> = (0..10).map(|_| called(&*event)).collect::<Result<_, _>>()?;
    promise.keep(Ok(()));
    receivers.iter().try_for_each(expect)
}

fn calls_back_failure(device: &TestDevice) -> Result<(), String> {
    let (event, promise) = device.context()?.promise().map_err(text)?;
    let receiver = called(&*event)?;
    promise.keep(Err(failure()));
    let outcome = receiver.recv_timeout(PATIENCE).map_err(|_| "nobody called".to_owned())?;
    ensure!(outcome.as_ref().is_err_and(|error| error.code == -77), "{outcome:?}");
    Ok(())
}

fn profiled(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?.with(QueueOptions { order: InOrder, profiling: true })?;
    let memory = bench.memory(LARGE)?;
    let filled = bench.start_fill(&memory, 0, 1, LARGE, &[])?;
    filled.wait()?;
    let Some(times) = filled.event().times().map_err(text)? else {
        return Err("there are none".to_owned());
    };
    let order = times.submitted <= times.started && times.started <= times.ended;
    ensure!(order && times.ended > 0, "{times:?}");
    Ok(())
}

fn profiled_in_order(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?.with(QueueOptions { order: InOrder, profiling: true })?;
    let memory = bench.memory(LARGE)?;
    let mut last = 0;
    let pending: Vec<_> =
        (0..5).map(|_| bench.start_fill(&memory, 0, 1, LARGE, &[])).collect::<Result<_, _>>()?;
    bench.queue.wait().map_err(text)?;
    for command in pending {
        let Some(times) = command.event().times().map_err(text)? else {
            return Err("there are none".to_owned());
        };
        ensure!(times.started >= last, "one started at {} before {last}", times.started);
        last = times.ended;
    }
    Ok(())
}

fn not_profiled(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 1, 64, &[])?;
    filled.wait()?;
    let times = filled.event().times().map_err(text)?;
    ensure!(times.is_none(), "{times:?}");
    Ok(())
}

fn profiled_out_of_order(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?.with(QueueOptions { order: OutOfOrder, profiling: true })?;
    let memory = bench.memory(LARGE)?;
    let first = bench.start_fill(&memory, 0, 1, LARGE, &[])?;
    let second = bench.start_fill(&memory, 0, 2, LARGE, &[&first])?;
    second.wait()?;
    let times = |event: &dyn Event| event.times().map_err(text);
    let (Some(first), Some(second)) = (times(first.event())?, times(second.event())?) else {
        return Err("there are none".to_owned());
    };
    ensure!(first.ended <= second.started, "{first:?} is before {second:?}");
    Ok(())
}
