//! Queues out of order: memory orders commands where nothing else does.
//!
//! The mock runs held commands in any order that the events which they wait for allow, so that a
//! wait which was forgotten shows as a wrong number.

mod program;

use crosscut_adapter_mock::{Launch, Mock};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, Buffer, Event, Queue, QueueOptions, QueueOrder};
use program::{
    bind, device, download, kernel, launch, launch_after, register, set_word, upload, word,
};

fn out_of_order() -> QueueOptions {
    QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() }
}

/// `0` is written with a number made of both, `1` is read.
fn mix(launch: &Launch<'_>) {
    let (target, source) = (word(launch, 0, 0), word(launch, 1, 0));
    set_word(launch, 0, 0, target.wrapping_mul(31).wrapping_add(source).wrapping_add(1));
}

/// The mock's queues, some in order and some not, of one context.
fn queues(mock: &Mock, count: usize) -> Vec<Queue> {
    let device = device(mock);
    let context = &device.default_context().unwrap();
    let made = |index| match index % 3 {
        0 => Queue::new(context).unwrap(),
        _ => Queue::with_options(context, out_of_order()).unwrap(),
    };
    (0..count).map(made).collect()
}

/// Small numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn commands_on_the_same_memory_keep_their_order_however_the_device_chooses() {
    register(vec![kernel(601, "mix", vec![Address { slot: 0 }, Address { slot: 1 }])], 0);
    for seed in 0..300 {
        let mock = Mock::new();
        mock.define_kernel("mix", mix);
        let queues = queues(&mock, 4);
        let mut numbers = Numbers(seed);
        let buffers: Vec<Buffer> = (0..4).map(|i| upload(&queues[0], &[i])).collect();
        let mut model = [0u64, 1, 2, 3];
        mock.hold();
        for _ in 0..40 {
            let queue = &queues[numbers.below(queues.len())];
            let (to, step) = (numbers.below(4), 1 + numbers.below(3));
            let from = (to + step) % 4;
            let bindings = [bind(&buffers[to], Access::Write), bind(&buffers[from], Access::Read)];
            launch(queue, || 601, 1, &bindings).unwrap();
            model[to] = model[to].wrapping_mul(31).wrapping_add(model[from]).wrapping_add(1);
        }
        mock.release_shuffled(seed);
        for (buffer, expected) in buffers.iter().zip(model) {
            assert_eq!(download(&queues[1], buffer).unwrap(), [expected], "seed {seed}");
        }
        queues.iter().for_each(|queue| queue.wait().unwrap());
    }
}

#[test]
fn without_memory_in_common_the_mock_does_run_commands_in_another_order() {
    register(vec![kernel(602, "log", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&order);
    mock.define_kernel("log", move |launch| seen.lock().unwrap().push(word(launch, 0, 0)));
    let device = device(&mock);
    let queue = Queue::with_options(&device.default_context().unwrap(), out_of_order()).unwrap();
    let buffers: Vec<Buffer> = (0..20).map(|i| upload(&queue, &[i])).collect();
    mock.hold();
    for buffer in &buffers {
        launch(&queue, || 602, 1, &[bind(buffer, Access::Read)]).unwrap();
    }
    mock.release_shuffled(7);
    let order = order.lock().unwrap().clone();
    assert!(!order.is_sorted(), "the test above would prove nothing: {order:?}");
}

#[test]
fn events_and_barriers_order_what_shares_no_memory() {
    register(vec![kernel(603, "step", vec![Address { slot: 0 }])], 0);
    for seed in 0..100 {
        let mock = Mock::new();
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&order);
        mock.define_kernel("step", move |launch| seen.lock().unwrap().push(word(launch, 0, 0)));
        let device = device(&mock);
        let queue =
            Queue::with_options(&device.default_context().unwrap(), out_of_order()).unwrap();
        let buffers: Vec<Buffer> = (0..6).map(|i| upload(&queue, &[i])).collect();
        let run = |index: usize, after: &[Event]| {
            launch_after(&queue, || 603, 1, &[bind(&buffers[index], Access::Read)], after).unwrap()
        };
        mock.hold();
        let first = run(0, &[]);
        run(1, &[first]);
        queue.barrier(&[]).unwrap();
        run(2, &[]);
        let third = run(3, &[]);
        let both = queue.barrier(&[third]).unwrap();
        run(4, &[]);
        run(5, &[both]);
        mock.release_shuffled(seed);
        let order = order.lock().unwrap().clone();
        let at = |number| order.iter().position(|seen| *seen == number).unwrap();
        assert_eq!((at(0), at(1)), (0, 1), "seed {seed}: {order:?}");
        assert!(at(3) < at(4) && at(3) < at(5), "seed {seed}: {order:?}");
    }
}

#[test]
fn thousands_of_reads_out_of_order_are_not_all_remembered() {
    register(vec![kernel(604, "look", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("look", |_| ());
    let device = device(&mock);
    let queue = Queue::with_options(&device.default_context().unwrap(), out_of_order()).unwrap();
    let x = upload(&queue, &[0]);
    for _ in 0..3000 {
        launch(&queue, || 604, 1, &[bind(&x, Access::Read)]).unwrap();
    }
    mock.clear_log();
    drop(x);
    let waits = mock.log().len();
    assert!(waits < 200, "dropping the buffer asked about {waits} commands");
}
