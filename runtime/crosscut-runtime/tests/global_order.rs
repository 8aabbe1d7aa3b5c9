//! Writes, kernels and reads of a device global on a queue out of order: the read and write sets of the
//! kernel's image are what keeps them in order.
//!
//! The mock holds the commands of a round and runs them in any order that the events which they wait for
//! allow. With the sets every round is exact; the same kernel without them is not, so it is the sets
//! that this test looks at, and no other order that happens to be there.

mod program;

use crosscut_adapter_mock::{Launch, Mock};
use crosscut_image::Parameter;
use crosscut_runtime::{Event, GlobalHandle, Queue, QueueOptions, QueueOrder};
use program::{device, download, kernel, launch, launch_after, register, set_word, upload, word};

const ROUNDS: u64 = 10_000;

fn out_of_order(mock: &Mock) -> Queue {
    let order = QueueOrder::OutOfOrder;
    let options = QueueOptions { order, ..QueueOptions::default() };
    Queue::with_options(&device(mock).default_context().unwrap(), options).unwrap()
}

fn change(launch: &Launch<'_>) {
    set_word(launch, 0, 0, word(launch, 0, 0).wrapping_mul(31).wrapping_add(7));
}

/// One image with a global and one kernel that changes it, with these sets.
fn program(key: u64, reads: &[u32], writes: &[u32]) -> GlobalHandle {
    let mut changes = kernel(key, "change", vec![Parameter::Global { index: 0 }]);
    (changes.reads, changes.writes) = (reads.to_vec(), writes.to_vec());
    register(vec![changes], 0)
}

/// Runs rounds of write, kernel, read, each in an order of the mock's choice, and counts the wrong ones.
fn wrong_rounds(
    global: GlobalHandle,
    rounds: u64,
    run: impl Fn(&Queue, &[Event]) -> Event,
    in_line: bool,
) -> usize {
    let mock = Mock::new();
    mock.define_kernel("change", change);
    let queue = out_of_order(&mock);
    // The first launch builds the program, which takes commands of its own.
    run(&queue, &[]).wait().unwrap();
    let mut found = upload(&queue, &[0]);
    let mut wrong = 0;
    for round in 0..rounds {
        mock.hold();
        let line = |event: &Event| if in_line { vec![event.clone()] } else { Vec::new() };
        let written = queue.fill_global(global, 0, &round.to_ne_bytes(), 1, &[]).unwrap();
        let changed = run(&queue, &line(&written));
        queue.copy_global_to_buffer(global, 0, &mut found, 8, &line(&changed)).unwrap();
        mock.release_shuffled(round);
        wrong += usize::from(download(&queue, &found).unwrap() != [31 * round + 7]);
        queue.wait().unwrap();
        mock.clear_log();
    }
    wrong
}

#[test]
fn ten_thousand_rounds_of_write_kernel_and_read_are_exact() {
    let global = program(8100, &[0], &[0]);
    let run = |queue: &Queue, _: &[Event]| launch(queue, || 8100, 1, &[]).unwrap();
    assert_eq!(wrong_rounds(global, ROUNDS, run, false), 0);
}

#[test]
fn without_the_sets_of_the_kernel_rounds_go_wrong() {
    let global = program(8101, &[], &[]);
    let run = |queue: &Queue, _: &[Event]| launch(queue, || 8101, 1, &[]).unwrap();
    let wrong = wrong_rounds(global, 200, run, false);
    assert!(wrong > 20, "only {wrong} of 200: then the sets are not what keeps the order");
}

#[test]
fn a_kernel_said_to_only_read_does_not_keep_readers_from_it() {
    let global = program(8102, &[0], &[]);
    let run = |queue: &Queue, _: &[Event]| launch(queue, || 8102, 1, &[]).unwrap();
    let wrong = wrong_rounds(global, 200, run, false);
    assert!(wrong > 20, "only {wrong} of 200: reads do not run side by side");
}

#[test]
fn without_the_sets_events_still_keep_the_order() {
    let global = program(8103, &[], &[]);
    let run = |queue: &Queue, after: &[Event]| launch_after(queue, || 8103, 1, &[], after).unwrap();
    assert_eq!(wrong_rounds(global, 200, run, true), 0);
}
