//! Lists of commands, as queues would submit and note them.

use std::cell::Cell;

use crosscut_adapter_api::promise_dropped;

use super::*;
use crate::command::Outcome;
use crate::happening::{Happening, Telling};

thread_local! {
    /// How commands of this test tell that they failed.
    static TELLING: Cell<Telling> = const { Cell::new(Telling::Failure) };
}

fn however_told(test: impl Fn()) {
    for telling in Telling::ALL {
        TELLING.set(telling);
        test();
    }
}

/// The queue in order of this number.
fn line(number: u64) -> Origin {
    Origin { context: 0, line: Some(number) }
}

/// A new command of a queue with this access, as a queue would submit and note it; and what it waits for.
fn submit(
    uses: &mut Uses,
    access: Access,
    origin: Origin,
    told_to_wait: bool,
) -> (Arc<Command>, Happening, Vec<Arc<Command>>) {
    let mut after = Vec::new();
    uses.collect(access, origin, &mut after);
    let happening = Happening::new(TELLING.get());
    let event = Box::new(happening.clone());
    let command = match told_to_wait || !after.is_empty() {
        true => Command::behind_others(origin, event, Outcome::Settled),
        false => Command::new(origin, event, Outcome::Settled),
    };
    uses.note(access, &command);
    (command, happening, after)
}

fn is(list: &[Arc<Command>], commands: &[&Arc<Command>]) -> bool {
    list.len() == commands.len()
        && commands.iter().all(|it| list.iter().any(|listed| Arc::ptr_eq(listed, it)))
}

#[test]
fn what_still_runs_is_waited_for_although_a_write_behind_it_has_failed() {
    however_told(|| {
        for first in [Access::Write, Access::Read] {
            let uses = &mut Uses::default();
            let (slow, slow_ends, _) = submit(uses, first, line(1), false);
            // Behind it, and behind something else that fails.
            let (lost, lost_ends, after) = submit(uses, Access::Write, line(2), true);
            assert!(is(&after, &[&slow]));
            lost_ends.end(Err(promise_dropped()));
            // The next one of its queue need not wait for it, and must not run beside the first.
            let (next, next_ends, after) = submit(uses, Access::Write, line(2), false);
            assert!(is(&after, &[&slow]));
            let (_, last_ends, after) = submit(uses, Access::Write, line(3), false);
            assert!(is(&after, &[&next]), "it fails with that, or comes after all");
            for ends in [&slow_ends, &next_ends, &last_ends] {
                ends.end(Ok(()));
            }
            assert!(lost.wait().is_err());
        }
    });
}

#[test]
fn a_read_that_failed_does_not_stand_for_the_one_before_it_on_its_queue() {
    however_told(|| {
        let uses = &mut Uses::default();
        let (slow, _, _) = submit(uses, Access::Read, line(1), false);
        let (lost, lost_ends, _) = submit(uses, Access::Read, line(1), true);
        lost_ends.end(Err(promise_dropped()));
        let (_, _, after) = submit(uses, Access::Write, line(2), false);
        assert!(is(&after, &[&slow, &lost]));
    });
}

#[test]
fn a_task_that_reads_does_not_stand_for_the_read_before_it_on_its_queue() {
    let uses = &mut Uses::default();
    let (slow, _, _) = submit(uses, Access::Read, line(1), false);
    let ends = Happening::default();
    let task = Command::task(line(1), Box::new(ends.clone()));
    uses.note(Access::Read, &task);
    task.fail_with(promise_dropped());
    ends.end(Err(promise_dropped()));
    assert!(task.wait().is_err());
    let (_, _, after) = submit(uses, Access::Write, line(2), false);
    assert!(is(&after, &[&slow]));
}

#[test]
fn whoever_comes_after_a_failure_fails_until_somebody_was_told_of_it() {
    however_told(|| {
        let uses = &mut Uses::default();
        let out_of_order = Origin { context: 0, line: None };
        let (lost, lost_ends, _) = submit(uses, Access::Write, out_of_order, false);
        lost_ends.end(Err(promise_dropped()));
        let (next, next_ends, after) = submit(uses, Access::Write, out_of_order, false);
        assert!(is(&after, &[&lost]));
        next_ends.end(Err(promise_dropped()));
        assert!(lost.wait().is_err() && next.wait().is_err());
        let (_, ends, after) = submit(uses, Access::Write, out_of_order, false);
        assert!(is(&after, &[]));
        ends.end(Ok(()));
        assert!(!uses.wait(), "memory that somebody may touch is not freed");
    });
}

#[test]
fn memory_whose_last_users_failure_was_told_is_not_freed() {
    however_told(|| {
        let uses = &mut Uses::default();
        let (lost, lost_ends, _) = submit(uses, Access::Write, line(1), false);
        lost_ends.end(Err(promise_dropped()));
        assert!(lost.wait().is_err());
        let (_, ends, _) = submit(uses, Access::Write, line(2), false);
        ends.end(Ok(()));
        assert!(!uses.wait());
        drop(uses.written_over(true));
        assert!(!uses.wait());
    });
}

#[test]
fn a_failed_copy_that_has_ended_does_not_make_forget_what_it_was_to_wait_for() {
    however_told(|| {
        for between in [false, true] {
            let uses = &mut Uses::default();
            let (slow, slow_ends, _) = submit(uses, Access::Write, line(1), false);
            let (copy, copy_ends, _) = submit(uses, Access::Write, line(2), true);
            copy_ends.end(Err(promise_dropped()));
            // As whoever waits for a copy does that has failed and ended.
            copy.note_told();
            if !between {
                copy.settle();
            }
            let (_, ends, after) = submit(uses, Access::Write, line(2), false);
            assert!(is(&after, &[&slow]));
            copy.settle();
            ends.end(Ok(()));
            slow_ends.end(Ok(()));
            assert_eq!(uses.wait(), !between, "all have ended, and one may have been lost");
        }
    });
}

#[test]
fn who_reads_on_the_host_waits_for_what_a_failed_copy_has_left_behind() {
    however_told(|| {
        for slow_fails in [false, true] {
            let uses = &mut Uses::default();
            let (slow, slow_ends, _) = submit(uses, Access::Write, line(1), false);
            let (copy, copy_ends, _) = submit(uses, Access::Write, line(2), true);
            copy_ends.end(Err(promise_dropped()));
            copy.note_told();
            copy.settle();
            let writers = uses.writers();
            let reader = std::thread::spawn(move || writers.tell().is_ok());
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(!reader.is_finished(), "it reads beside the first write");
            slow_ends.end(if slow_fails { Err(promise_dropped()) } else { Ok(()) });
            assert_eq!(reader.join().unwrap(), !slow_fails);
            assert_eq!(slow.is_told(), slow_fails);
            assert!(uses.writers().tell().is_ok(), "somebody has been told");
        }
    });
}

#[test]
fn who_reads_behind_a_long_row_of_host_tasks_keeps_no_copy_of_it() {
    let uses = &mut Uses::default();
    let out_of_order = Origin { context: 0, line: None };
    let (mut readers, mut tasks) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        let task = Command::task(out_of_order, Box::new(Happening::default()));
        uses.note(Access::Write, &task);
        tasks.push(task);
        submit(uses, Access::Read, out_of_order, true);
        readers.push(uses.writers());
    }
    let counts = tasks.iter().map(Arc::strong_count);
    // Theirs, ours, and those of a list that was looked through.
    assert!(counts.clone().all(|count| count < 20), "{:?}", counts.max());
}

#[test]
fn what_is_known_to_have_done_its_work_is_not_named_to_a_driver() {
    let uses = &mut Uses::default();
    for access in [Access::Write, Access::Read] {
        let (done, ends, after) = submit(uses, access, line(1), false);
        assert!(is(&after, &[]));
        ends.end(Ok(()));
        done.wait().unwrap();
        // Some drivers cannot tell when a command has ended that waited, and take none behind it.
        let mut after = Vec::new();
        uses.collect(Access::Write, line(2), &mut after);
        assert!(is(&after, &[]));
    }
}

#[test]
fn a_long_row_on_a_queue_out_of_order_waits_for_one_command_each() {
    let (uses, out_of_order) = (&mut Uses::default(), Origin { context: 0, line: None });
    for _ in 0..1000 {
        let (_, _, after) = submit(uses, Access::Write, out_of_order, false);
        assert!(after.len() <= 1, "{}", after.len());
    }
}

#[test]
fn a_long_row_on_two_queues_in_order_waits_for_few_commands_each() {
    // Several in a row on each, and a read now and then.
    for several in [1, 2, 5] {
        let uses = &mut Uses::default();
        for turn in 0..1000 {
            let access = if turn % 7 == 0 { Access::Read } else { Access::Write };
            let (_, _, after) = submit(uses, access, line(turn / several % 2), false);
            assert!(after.len() <= 3, "{}", after.len());
        }
    }
}

#[test]
fn the_newest_write_of_another_queue_stands_for_what_was_before_it() {
    however_told(|| {
        let uses = &mut Uses::default();
        let (slow, slow_ends, _) = submit(uses, Access::Write, line(1), false);
        let (second, second_ends, after) = submit(uses, Access::Write, line(2), true);
        assert!(is(&after, &[&slow]));
        let (_, _, after) = submit(uses, Access::Write, line(3), false);
        assert!(is(&after, &[&second]));
        let (_, _, after) = submit(uses, Access::Write, line(3), false);
        assert!(is(&after, &[&second]), "that fails, or comes after the first");
        second_ends.end(Err(promise_dropped()));
        assert!(second.wait().is_err());
        let (_, _, after) = submit(uses, Access::Write, line(3), false);
        assert!(is(&after, &[&slow]), "somebody was told of the second one, and the first runs");
        slow_ends.end(Ok(()));
    });
}

#[test]
fn the_host_reads_nothing_that_a_lost_command_may_still_write() {
    however_told(|| {
        for access in [Access::Write, Access::Read] {
            let uses = &mut Uses::default();
            let (lost, lost_ends, _) = submit(uses, access, line(1), false);
            lost_ends.end(Err(promise_dropped()));
            assert!(lost.wait().is_err());
            let (_, ends, _) = submit(uses, Access::Write, line(2), false);
            ends.end(Ok(()));
            assert!(uses.writers().tell().is_ok());
            assert_eq!(uses.writers().may_still_write(), access == Access::Write);
            assert!(!uses.users().wait().unwrap());
        }
    });
}

#[test]
fn what_is_known_to_have_ended_holds_up_nobody_although_it_failed() {
    however_told(|| {
        let uses = &mut Uses::default();
        let ended = Happening::new(TELLING.get());
        // A copy whose end somebody saw, and a host task, whose event is our own.
        let (copy, copy_ends, _) = submit(uses, Access::Write, line(1), false);
        copy_ends.end(Err(promise_dropped()));
        copy.note_told();
        copy.settle();
        assert!(uses.users().wait().unwrap() && uses.wait());
        let task = Command::task(line(1), Box::new(ended.clone()));
        uses.note(Access::Write, &task);
        task.fail_with(promise_dropped());
        ended.end(Err(promise_dropped()));
        assert!(uses.users().wait().unwrap() && uses.wait());
        assert!(task.wait().is_err());
        let (_, ends, after) = submit(uses, Access::Write, line(2), false);
        assert!(is(&after, &[]));
        ends.end(Ok(()));
        assert!(!uses.writers().may_still_write());
        assert!(uses.users().wait().unwrap() && uses.wait());
        assert!(task.wait().is_err(), "its event tells it each time");
        // One with a copy that may still run.
        let ended = Happening::new(TELLING.get());
        let task = Command::task(line(1), Box::new(ended.clone()));
        uses.note(Access::Write, &task);
        task.fail_with(promise_dropped());
        task.note_may_run();
        ended.end(Err(promise_dropped()));
        assert!(!uses.users().wait().unwrap() && !uses.wait());
    });
}

#[test]
fn commands_of_two_queues_in_turns_are_forgotten_once_they_have_completed() {
    let uses = &mut Uses::default();
    for turn in 0..10_000 {
        let (_, ends, _) = submit(uses, Access::Write, line(turn % 2), false);
        ends.end(Ok(()));
    }
    assert!(uses.before.len() <= FIRST_SWEEP + 1, "{}", uses.before.len());
}
