//! Threads that wait at the same time, each for commands of its own.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod device;

use std::sync::mpsc;
use std::time::Duration;

use crosscut_adapter_api::{
    Argument, CodeForm, Context, Event, Extent, Kernel, Memory, MemoryKind, Queue, QueueOptions,
    QueueOrder,
};

use device::{bytes, devices, kernels};

/// So many hung Intel's CPU runtime in every run where all of them waited inside of it.
const THREADS: usize = 4;
const ROUNDS: u64 = 2_000;
const SIZE: usize = 1 << 16;
/// A hundred times what all rounds take.
const PATIENCE: Duration = Duration::from_secs(120);

/// One thread's things: a queue in order and one that is not, and memory that both use.
struct Own {
    in_order: Box<dyn Queue>,
    out_of_order: Box<dyn Queue>,
    memory: Box<dyn Memory>,
}

impl Own {
    fn new(context: &dyn Context) -> Self {
        let queue = |order| {
            context.create_queue(&QueueOptions { order, ..QueueOptions::default() }).unwrap()
        };
        Self {
            in_order: queue(QueueOrder::InOrder),
            out_of_order: queue(QueueOrder::OutOfOrder),
            memory: context.allocate(MemoryKind::Device, bytes(SIZE), 8).unwrap(),
        }
    }

    fn fill(&self, queue: &dyn Queue, after: &[&dyn Event]) -> Box<dyn Event> {
        // SAFETY: the memory is as long as this says, and whoever calls waits before it goes.
        unsafe { queue.fill(&*self.memory, 0, &[0xA5], bytes(SIZE), after) }.unwrap()
    }

    fn store(&self, kernel: &dyn Kernel, value: u64, after: &[&dyn Event]) -> Box<dyn Event> {
        let value = value.to_ne_bytes();
        let memory = Argument::Memory { memory: &*self.memory, offset: 0 };
        let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
        let arguments = [memory, Argument::Value(&value)];
        // SAFETY: the arguments fit `store_value`, and whoever calls waits before the memory goes.
        unsafe { self.out_of_order.launch(kernel, extent, &arguments, after) }.unwrap()
    }

    /// What `store` stored last.
    fn stored(&self, queue: &dyn Queue, after: &[&dyn Event]) -> u64 {
        let mut found = [0_u8; 8];
        // SAFETY: the buffer is writable for its length and lives until the wait.
        let read = unsafe { queue.read(&*self.memory, 0, found.as_mut_ptr(), bytes(8), after) };
        read.unwrap().wait().unwrap();
        u64::from_ne_bytes(found)
    }
}

/// Commands that wait for each other across both queues, and all the ways to wait for them.
fn submit_and_wait(context: &dyn Context) {
    let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
    let kernel = program.kernel("store_value").unwrap();
    let mut own = Own::new(context);
    for round in 0..ROUNDS {
        // Queues that come and go have tasks of their own.
        if round % 100 == 99 {
            own = Own::new(context);
        }
        let first = own.fill(&*own.out_of_order, &[]);
        let second = own.fill(&*own.in_order, &[&*first]);
        let third = own.store(&*kernel, round, &[&*second]);
        match round % 4 {
            0 => third.wait().unwrap(),
            1 => own.out_of_order.wait().unwrap(),
            2 => own.out_of_order.barrier(&[]).unwrap().wait().unwrap(),
            _ => own.fill(&*own.in_order, &[&*third]).wait().unwrap(),
        }
        assert!([&first, &second, &third].iter().all(|event| event.is_complete().unwrap()));
        if round % 4 < 3 {
            let queue = [&own.in_order, &own.out_of_order][(round / 4 % 2) as usize];
            assert_eq!(own.stored(&**queue, &[&*third]), round);
        }
        own.in_order.wait().unwrap();
        own.out_of_order.wait().unwrap();
    }
}

#[test]
fn threads_wait_at_the_same_time_for_queues_out_of_order() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let (done, ended) = mpsc::channel();
        // Not scoped threads: those that hang cannot be joined.
        let threads: Vec<_> = std::iter::repeat_n((context, done), THREADS)
            .map(|(context, done)| {
                std::thread::spawn(move || {
                    submit_and_wait(&*context);
                    let _ = done.send(());
                })
            })
            .collect();
        for _ in 0..THREADS {
            let end = ended.recv_timeout(PATIENCE);
            assert_ne!(end, Err(mpsc::RecvTimeoutError::Timeout), "threads that wait hang");
        }
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// On a queue out of order, of which there are lanes enough.
#[test]
fn commands_go_past_those_that_wait_for_promises_though_a_thread_waits_for_the_queue() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let own = Own::new(&*context);
        let (promised, promises): (Vec<_>, Vec<_>) =
            (0..20).map(|_| context.promise().unwrap()).unzip();
        let behind: Vec<_> =
            promised.iter().map(|promised| own.fill(&*own.out_of_order, &[&**promised])).collect();
        let other = Own::new(&*context);
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel();
            let queue = &*own.out_of_order;
            scope.spawn(move || done.send(queue.wait().is_ok()));
            assert!(ended.recv_timeout(Duration::from_millis(50)).is_err(), "it did not wait");
            for _ in 0..100 {
                let (done, ended) = mpsc::channel();
                // The memory of somebody else, as nothing orders these.
                let past = other.fill(queue, &[]);
                past.on_complete(Box::new(move |outcome| {
                    let _ = done.send(outcome.is_ok());
                }))
                .unwrap();
                assert_eq!(ended.recv_timeout(PATIENCE), Ok(true));
            }
            assert!(behind.iter().all(|event| !event.is_complete().unwrap()));
            promises.into_iter().for_each(|promise| promise.keep(Ok(())));
            assert_eq!(ended.recv_timeout(PATIENCE), Ok(true));
        });
        assert!(behind.iter().all(|event| event.is_complete().unwrap()));
    }
}
