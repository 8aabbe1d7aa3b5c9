//! Queues, events and command groups: the same on every device.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use crosscut::prelude::*;
use crosscut::{Device, ErrorKind, EventState, Result};
use crosscut_language::targets;

/// A number of rounds: `CROSSCUT_ROUNDS` times as many as usual, for long runs.
fn rounds(usual: u32) -> u32 {
    let factor = std::env::var("CROSSCUT_ROUNDS").ok().and_then(|it| it.parse().ok());
    usual.saturating_mul(factor.unwrap_or(1))
}

fn devices() -> Vec<Device> {
    targets().iter().map(|target| target.queue.device().clone()).collect()
}

/// Polls on this thread, and sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    #[derive(Default)]
    struct Signal(Mutex<bool>, Condvar);
    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            *self.0.lock().unwrap() = true;
            self.1.notify_all();
        }
    }
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut future = pin!(future);
    // A future that is not ready wakes the task once: it does not have to be asked again and again.
    for _ in 0..100 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let patience = Duration::from_secs(120);
        let woken = signal.0.lock().unwrap();
        let (mut woken, waited) =
            signal.1.wait_timeout_while(woken, patience, |woken| !*woken).unwrap();
        assert!(!waited.timed_out(), "nobody woke the task for 20 s");
        *woken = false;
    }
    panic!("a busy loop")
}

#[test]
fn write_kernel_and_read_keep_their_order_on_a_queue_out_of_order() -> Result<()> {
    for device in devices() {
        let queue = Queue::builder().out_of_order().on(&device).build()?;
        let mut x = queue.zeroed::<u32>(64)?;
        let mut y = queue.zeroed::<u32>(64)?;
        for round in 0..rounds(2000) {
            queue.for_each(&mut x, (), move |i, x, ()| *x = round + i as u32)?;
            queue.for_each(&mut y, &x, |i, y, x| *y = 2 * x[63 - i])?;
            queue.for_each(&mut x, &y, |i, x, y| *x += y[i])?;
            if round % 8 == 0 {
                let sum = queue.download(&x)?;
                let expected = |i: u32| round + i + 2 * (round + 63 - i);
                assert!((0..64).all(|i| sum[i as usize] == expected(i)), "{device}: {sum:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn queues_of_a_context_that_share_a_buffer_keep_the_order_of_submission() -> Result<()> {
    for device in devices() {
        let queues: Vec<Queue> = (0..4)
            .map(|i| match i % 2 {
                0 => Queue::on(&device),
                _ => Queue::builder().out_of_order().on(&device).build(),
            })
            .collect::<Result<_>>()?;
        let mut x = queues[0].zeroed::<u64>(16)?;
        let mut expected = 0u64;
        for round in 0..rounds(1000) {
            let queue = &queues[(round.wrapping_mul(2_654_435_761) >> 20) as usize % 4];
            let add = u64::from(round);
            queue.for_each(&mut x, (), move |_, x, ()| *x = x.wrapping_mul(3).wrapping_add(add))?;
            expected = expected.wrapping_mul(3).wrapping_add(add);
        }
        assert_eq!(queues[1].download(&x)?, [expected; 16], "{device}");
    }
    Ok(())
}

#[test]
fn an_event_has_a_state_and_completes() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let event = queue.parallel_for(1000, (), |_, ()| ())?;
        let mut last = EventState::Submitted;
        while last != EventState::Complete {
            let state = event.state()?;
            assert!(state >= last, "{device}: {last:?} and then {state:?}");
            last = state;
        }
        assert!(event.is_complete()?);
        event.wait()?;
        Event::wait_all([&event, &event])?;
        Event::wait_all(&event)?;
    }
    Ok(())
}

#[test]
fn one_event_may_stand_for_many() -> Result<()> {
    for device in devices() {
        let queue = Queue::builder().out_of_order().on(&device).build()?;
        let events: Vec<Event> =
            (0..10).map(|_| queue.single_task((), |()| ())).collect::<Result<_>>()?;
        let all = Event::all(&events);
        all.wait()?;
        assert_eq!(all.state()?, EventState::Complete);
        assert!(events.iter().all(|event| event.is_complete().unwrap_or(false)));
        Event::all([]).wait()?;
    }
    Ok(())
}

#[test]
fn times_are_in_order_and_need_a_queue_with_profiling() -> Result<()> {
    for device in devices() {
        let queue = Queue::builder().profiling().on(&device).build()?;
        let mut x = queue.zeroed::<f32>(1 << 16)?;
        let work = |queue: &Queue, x: &mut Buffer<f32>| {
            queue.for_each(x, (), |i, x, ()| *x = (i as f32).sqrt())
        };
        let (first, second) = (work(&queue, &mut x)?, work(&queue, &mut x)?);
        let (one, two) = (first.times()?, second.times()?);
        for times in [one, two] {
            assert!(times.submitted <= times.started, "{device}: {times:?}");
            assert!(times.duration() > Duration::ZERO, "{device}: {times:?}");
        }
        assert!(one.ended <= two.started, "{device}: {one:?} {two:?}");
        let plain = work(&Queue::on(&device)?, &mut x)?.times().unwrap_err();
        assert!(plain.help().is_some_and(|help| help.contains("profiling")), "{plain}");
    }
    Ok(())
}

#[test]
fn events_can_be_awaited() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let mut x = queue.zeroed::<u32>(1 << 16)?;
        for round in 0..rounds(100) {
            block_on(async {
                queue.for_each(&mut x, (), move |_, x, ()| *x = round)?.await?;
                let event = queue.for_each(&mut x, (), |_, x, ()| *x += 1)?;
                event.clone().await?;
                event.await
            })?;
        }
        assert_eq!(queue.download(&x)?[77], rounds(100));
    }
    Ok(())
}

#[test]
fn awaiting_tells_of_a_panic() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let x = queue.upload(&[1u32, 2])?;
        let beyond = x.len() + 1;
        let event = queue.parallel_for(beyond, &x, |i, x| {
            std::hint::black_box(x[i]);
        })?;
        assert_eq!(block_on(event).unwrap_err().kind(), ErrorKind::Panic, "{device}");
        queue.wait()?;
    }
    Ok(())
}

#[test]
fn a_task_that_waits_for_a_host_task_sleeps_until_it_has_run() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let (go, wait) = mpsc::channel::<()>();
        let event = queue.host_task(move || wait.recv().unwrap())?;
        assert!(!event.is_complete()?);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let event = event.clone();
                thread::spawn(move || block_on(event))
            })
            .collect();
        thread::sleep(Duration::from_millis(10));
        go.send(()).unwrap();
        for thread in threads {
            thread.join().unwrap()?;
        }
        queue.wait()?;
    }
    Ok(())
}

#[test]
fn a_host_task_runs_between_the_commands_around_it() -> Result<()> {
    for device in devices() {
        for builder in [Queue::builder(), Queue::builder().out_of_order()] {
            let queue = builder.on(&device).build()?;
            let other = Queue::on(&device)?;
            let mut x = queue.zeroed::<u32>(256)?;
            for round in 1..=rounds(50) {
                let ran = Arc::new(AtomicBool::new(false));
                let seen = Arc::clone(&ran);
                let kernel = queue.for_each(&mut x, (), move |_, x, ()| *x = round)?;
                let before = kernel.clone();
                let task = queue.launch().after(&kernel).host_task(move || {
                    seen.store(before.is_complete().unwrap(), Relaxed);
                })?;
                let last = other.launch().after(&task).for_each(&mut x, (), |_, x, ()| *x += 1)?;
                last.wait()?;
                assert!(ran.load(Relaxed), "{device}: the task ran too early or not at all");
                assert!(task.is_complete()?, "{device}");
            }
            queue.wait()?;
            assert_eq!(queue.download(&x)?, [rounds(50) + 1; 256], "{device}");
        }
    }
    Ok(())
}

#[test]
fn later_commands_of_a_queue_in_order_wait_for_a_host_task() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let mut x = queue.zeroed::<u32>(4)?;
        let ran = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ran);
        queue.host_task(move || {
            thread::sleep(Duration::from_millis(20));
            seen.store(true, Relaxed);
        })?;
        queue.for_each(&mut x, (), |_, x, ()| *x = 1)?.wait()?;
        assert!(ran.load(Relaxed), "{device}");
    }
    Ok(())
}

#[test]
fn waiting_for_a_queue_waits_for_its_host_tasks_and_tells_of_their_panics() -> Result<()> {
    for device in devices() {
        for builder in [Queue::builder(), Queue::builder().out_of_order()] {
            let queue = builder.on(&device).build()?;
            let count = Arc::new(AtomicU32::new(0));
            for _ in 0..8 {
                let count = Arc::clone(&count);
                queue.host_task(move || {
                    thread::sleep(Duration::from_millis(1));
                    count.fetch_add(1, Relaxed);
                })?;
            }
            queue.wait()?;
            assert_eq!(count.load(Relaxed), 8, "{device}");
            queue.host_task(|| std::panic::resume_unwind(Box::new("not today")))?;
            let error = queue.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panic);
            assert!(error.message().contains("not today"), "{error}");
            queue.wait()?;
        }
    }
    Ok(())
}

#[test]
fn a_barrier_orders_host_tasks_and_kernels_out_of_order() -> Result<()> {
    for device in devices() {
        let queue = Queue::builder().out_of_order().on(&device).build()?;
        let mut x = queue.zeroed::<u32>(4)?;
        for _ in 0..rounds(20) {
            let ran = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&ran);
            queue.host_task(move || {
                thread::sleep(Duration::from_millis(2));
                seen.store(true, Relaxed);
            })?;
            queue.barrier()?;
            queue.for_each(&mut x, (), |_, x, ()| *x += 1)?.wait()?;
            assert!(ran.load(Relaxed), "{device}: the kernel passed the barrier");
        }
        assert_eq!(queue.download(&x)?, [rounds(20); 4]);
    }
    Ok(())
}

#[test]
fn a_queue_refuses_to_be_used_inside_its_own_host_task() -> Result<()> {
    for device in devices() {
        let queue = Arc::new(Queue::on(&device)?);
        let other = Queue::on(&device)?;
        let (sender, receiver) = mpsc::channel();
        let inside = Arc::clone(&queue);
        queue.host_task(move || {
            sender.send(inside.wait()).unwrap();
            sender.send(other.single_task((), |()| ()).and_then(|event| event.wait())).unwrap();
        })?;
        let error = receiver.recv().unwrap().unwrap_err();
        assert!(error.message().contains("host task of its own"), "{error}");
        receiver.recv().unwrap()?;
        queue.wait()?;
    }
    Ok(())
}

#[test]
fn a_group_is_one_event_for_several_commands() -> Result<()> {
    for device in devices() {
        for builder in [Queue::builder(), Queue::builder().out_of_order()] {
            let queue = builder.on(&device).build()?;
            let mut x = queue.zeroed::<u32>(100)?;
            let mut y = queue.zeroed::<u32>(100)?;
            let mut z = queue.zeroed::<u32>(100)?;
            let sum = Arc::new(AtomicU64::new(0));
            let seen = Arc::clone(&sum);
            let before = queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
            let group = queue.submit(|group| {
                group.depends_on(&before);
                group.for_each(&mut y, &x, |i, y, x| *y = x[i] + 1)?;
                group.parallel_for(100, &mut x, |_, x| *x += 1)?;
                group.barrier();
                group.host_task(move || {
                    seen.fetch_add(1, Relaxed);
                })?;
                group.barrier();
                group.single_task((&mut x, &y), |(x, y)| x[0] = y[99])?;
                group.copy(&x, &mut z)?;
                group.fill(&mut y, 7)?;
                Ok(())
            })?;
            group.wait()?;
            assert_eq!(sum.load(Relaxed), 1);
            assert_eq!((queue.download(&z)?[0], queue.download(&y)?), (100, vec![7; 100]));
            let x = queue.download(&x)?;
            assert_eq!((x[0], x[1], x[99]), (100, 2, 100), "{device}");
        }
    }
    Ok(())
}

#[test]
fn a_group_tells_of_the_panic_of_any_command_after_all_have_ended() -> Result<()> {
    for device in devices() {
        let queue = Queue::builder().out_of_order().on(&device).build()?;
        let x = queue.upload(&[1u32])?;
        let mut y = queue.zeroed::<u32>(8)?;
        let beyond = x.len() + 1;
        let group = queue.submit(|group| {
            group.parallel_for(beyond, &x, |i, x| {
                std::hint::black_box(x[i]);
            })?;
            group.for_each(&mut y, (), |_, y, ()| *y = 3)?;
            Ok(())
        })?;
        assert_eq!(group.wait().unwrap_err().kind(), ErrorKind::Panic, "{device}");
        assert!(group.is_complete()?);
        group.wait()?;
        assert_eq!(queue.download(&y)?, [3; 8]);
    }
    Ok(())
}

#[test]
fn a_group_that_ends_with_an_error_has_submitted_what_came_before() -> Result<()> {
    for device in devices() {
        let queue = Queue::on(&device)?;
        let mut x = queue.zeroed::<u32>(4)?;
        let mut short = queue.zeroed::<u32>(3)?;
        let error = queue
            .submit(|group| {
                group.for_each(&mut x, (), |_, x, ()| *x = 1)?;
                group.parallel_for(4, &mut short, |_, x| *x = 1)?;
                Ok(())
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(queue.download(&x)?, [1; 4], "{device}");
    }
    Ok(())
}

#[test]
fn contexts_and_devices_wait_for_one_another() -> Result<()> {
    for here in devices() {
        for there in devices() {
            let one = Queue::in_context(&here.create_context()?)?;
            let two = Queue::in_context(&there.create_context()?)?;
            let mut x = one.zeroed::<u32>(1 << 12)?;
            for round in 0..rounds(20) {
                let (go, wait) = mpsc::channel::<()>();
                let (sender, receiver) = mpsc::channel();
                let first = one.host_task(move || wait.recv().unwrap())?;
                let first = one.launch().after(&first).host_task(|| ())?;
                let sent = sender.clone();
                let second = two.launch().after(&first).host_task(move || sent.send(2).unwrap())?;
                assert!(!second.is_complete()?);
                go.send(()).unwrap();
                second.wait()?;
                sender.send(3).unwrap();
                assert_eq!(receiver.iter().take(2).collect::<Vec<_>>(), [2, 3]);
                let last = two.launch().after(&first).single_task((), |()| ())?;
                one.launch().after(&last).for_each(&mut x, (), move |_, x, ()| *x = round)?;
            }
            assert_eq!(one.download(&x)?[5], rounds(20) - 1);
        }
    }
    Ok(())
}

#[test]
fn sixteen_threads_may_share_one_queue() -> Result<()> {
    static TOTAL: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    for device in devices() {
        for builder in [Queue::builder(), Queue::builder().out_of_order()] {
            let context = device.create_context()?;
            let queue = builder.in_context(&context).build()?;
            let each = rounds(60);
            thread::scope(|scope| {
                let work = |number: u32| {
                    let mut x = queue.zeroed::<u32>(64)?;
                    let mut expected = 0u32;
                    for round in 0..each {
                        queue.for_each(&mut x, (), move |i, x, ()| {
                            *x = x.wrapping_add(round * number + i as u32);
                        })?;
                        expected = expected.wrapping_add(round * number);
                        let event = queue.parallel_for(8, (), |_, ()| {
                            TOTAL.fetch_add(1, Relaxed);
                        })?;
                        match round % 16 {
                            3 => event.wait()?,
                            7 => block_on(event)?,
                            11 => queue.wait()?,
                            15 => assert_eq!(
                                queue.download(&x)?[3],
                                expected.wrapping_add(3 * (round + 1))
                            ),
                            _ => (),
                        }
                    }
                    assert_eq!(queue.download(&x)?[3], expected.wrapping_add(3 * each));
                    Result::Ok(())
                };
                let threads: Vec<_> =
                    (0..16).map(|number| scope.spawn(move || work(number))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
            assert_eq!(queue.read(&TOTAL)?, 16 * 8 * u64::from(each), "{device}");
        }
    }
    Ok(())
}

#[test]
fn things_may_be_dropped_in_any_order_with_work_in_flight() -> Result<()> {
    for device in devices() {
        for round in 0..rounds(24) {
            let context = device.create_context()?;
            let queue = Queue::in_context(&context)?;
            let mut x = queue.zeroed::<u32>(1 << 14)?;
            let slow = queue.host_task(|| thread::sleep(Duration::from_millis(1)))?;
            let kernel = queue.launch().after(&slow).for_each(&mut x, (), |i, x, ()| {
                *x = i as u32;
            })?;
            let task = queue.launch().after(&kernel).host_task(|| ())?;
            let mut things: Vec<Box<dyn std::any::Any>> = vec![
                Box::new(context),
                Box::new(queue),
                Box::new(x),
                Box::new(slow),
                Box::new(kernel),
                Box::new(task),
            ];
            let mut number = round as usize;
            while !things.is_empty() {
                drop(things.swap_remove(number % things.len()));
                number = number.wrapping_mul(7).wrapping_add(3);
            }
        }
    }
    Ok(())
}
