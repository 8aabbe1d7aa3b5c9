//! Device globals.

use crosscut_runtime::{ErrorKind, GlobalHandle, Queue};

use super::program::{COUNT, ROW, Run, WORD, initial_row, row, word};
use super::stage::refused;
use super::{Failure, Outcome, Stage, everywhere, where_kernels_run};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a global begins with its initial value, before any kernel ran", begins),
    everywhere("a global holds what was copied to it", round_trip),
    everywhere("a part of a global is copied without its neighbours", part),
    everywhere("a copy beyond the end of a global is refused, and nothing is copied", beyond),
    everywhere("a copy of no bytes of a global is nothing, also at its end", no_bytes),
    everywhere("a global is filled with patterns of any length", filled),
    everywhere("a fill beyond the end of a global is refused, and nothing is filled", fill_beyond),
    everywhere("a global is reset to its initial value", reset),
    everywhere("each context has its own instance of a global", own_instances),
    everywhere("queues of a context share the instance of a global", shared_instance),
    everywhere("a buffer is copied to a global, and a global to a buffer", buffers),
    everywhere("a buffer shorter than what is copied to a global is refused", short_buffer),
    everywhere("a buffer of another context is not copied to a global", foreign_buffer),
    everywhere("threads that come first to a global see its initial value", first_threads),
    everywhere("a global has one address for as long as its context lives", address),
    where_kernels_run("a kernel changes the global that it is given", kernel),
    where_kernels_run("copies and kernels on a global keep their order on every queue", ordered),
    where_kernels_run("kernels of several queues change one global one after the other", serial),
];

fn read(queue: &Queue, global: GlobalHandle) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; global.size()];
    // SAFETY: as many bytes are writable as the global has.
    unsafe { queue.copy_from_global(global, 0, bytes.as_mut_ptr(), bytes.len(), &[]) }?;
    Ok(bytes)
}

fn write(
    queue: &Queue,
    global: GlobalHandle,
    offset: usize,
    bytes: &[u8],
) -> Result<(), crosscut_runtime::Error> {
    // SAFETY: as many bytes are readable, and any are valid in these globals.
    unsafe { queue.copy_to_global(global, offset, bytes.as_ptr(), bytes.len(), &[]) }?.wait()
}

fn begins(stage: &Stage) -> Outcome {
    ensure!(read(&stage.queue, word()?)? == WORD.to_ne_bytes(), "the word is another");
    ensure!(read(&stage.queue, row()?)? == initial_row(), "the row is another");
    Ok(())
}

fn round_trip(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        write(&queue, row()?, 0, &pattern(ROW))?;
        ensure!(read(&queue, row()?)? == pattern(ROW), "it holds something else");
        write(&queue, row()?, 0, &[3; ROW])?;
        ensure!(read(&queue, row()?)? == [3; ROW], "it holds something else");
    }
    Ok(())
}

fn part(stage: &Stage) -> Outcome {
    write(&stage.queue, row()?, 8, &[1; 16])?;
    let mut expected = initial_row();
    expected[8..24].fill(1);
    ensure!(read(&stage.queue, row()?)? == expected, "it holds something else");
    let mut bytes = [0; 10];
    // SAFETY: as many bytes are writable.
    unsafe { stage.queue.copy_from_global(row()?, 20, bytes.as_mut_ptr(), 10, &[]) }?;
    ensure!(bytes == expected[20..30], "the part is {bytes:?}");
    Ok(())
}

fn beyond(stage: &Stage) -> Outcome {
    for (offset, size) in [(0, ROW + 1), (1, ROW), (ROW, 1), (usize::MAX, 2), (ROW + 1, 1)] {
        let bytes = vec![9; size];
        refused(write(&stage.queue, row()?, offset, &bytes), ErrorKind::Invalid)?;
        let mut target = vec![0; size];
        // SAFETY: as many bytes are writable.
        let outcome =
            unsafe { stage.queue.copy_from_global(row()?, offset, target.as_mut_ptr(), size, &[]) };
        refused(outcome, ErrorKind::Invalid)?;
        ensure!(target.iter().all(|byte| *byte == 0), "something was read");
    }
    ensure!(read(&stage.queue, row()?)? == initial_row(), "something was written");
    Ok(())
}

fn no_bytes(stage: &Stage) -> Outcome {
    for offset in [0, 7, ROW] {
        write(&stage.queue, row()?, offset, &[])?;
    }
    refused(write(&stage.queue, row()?, ROW + 1, &[]), ErrorKind::Invalid)?;
    ensure!(read(&stage.queue, row()?)? == initial_row(), "something was written");
    Ok(())
}

fn filled(stage: &Stage) -> Outcome {
    for length in [1, 2, 3, 4, 5, 8, 16, 21, 32, 64] {
        let count = ROW / length;
        stage.queue.reset_global(row()?, &[])?.wait()?;
        stage.queue.fill_global(row()?, 0, &pattern(length), count, &[])?.wait()?;
        let mut expected = initial_row();
        expected[..length * count].copy_from_slice(&pattern(length).repeat(count));
        ensure!(read(&stage.queue, row()?)? == expected, "{count} times {length} bytes");
    }
    stage.queue.fill_global(row()?, 3, &[8], 5, &[])?.wait()?;
    ensure!(read(&stage.queue, row()?)?[3..8] == [8; 5], "a fill of a part is lost");
    Ok(())
}

fn fill_beyond(stage: &Stage) -> Outcome {
    for (offset, length, count) in [(0, 1, ROW + 1), (8, 8, 8), (0, 2, usize::MAX), (ROW, 1, 1)] {
        let outcome = stage.queue.fill_global(row()?, offset, &pattern(length), count, &[]);
        refused(outcome, ErrorKind::Invalid)?;
    }
    ensure!(read(&stage.queue, row()?)? == initial_row(), "something was filled");
    Ok(())
}

fn reset(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        write(&queue, row()?, 0, &[1; ROW])?;
        queue.reset_global(row()?, &[])?;
        ensure!(read(&queue, row()?)? == initial_row(), "it holds something else");
    }
    Ok(())
}

fn own_instances(stage: &Stage) -> Outcome {
    let stages = [stage.elsewhere()?, stage.elsewhere()?, stage.elsewhere()?];
    for (value, stage) in (1..).zip(&stages) {
        write(&stage.queue, row()?, 0, &[value; ROW])?;
    }
    for (value, stage) in (1..).zip(&stages) {
        ensure!(read(&stage.queue, row()?)? == [value; ROW], "another context wrote it");
    }
    ensure!(read(&stage.queue, row()?)? == initial_row(), "another context wrote it");
    Ok(())
}

fn shared_instance(stage: &Stage) -> Outcome {
    let queues = [stage.another()?, stage.out_of_order()?, stage.another()?];
    for value in 0..9 {
        write(&queues[usize::from(value) % 3], row()?, 0, &[value; ROW])?;
        let found = read(&queues[usize::from(value + 1) % 3], row()?)?;
        ensure!(found == [value; ROW], "the other queue sees {found:?}");
    }
    Ok(())
}

fn buffers(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let (from, mut to) = (stage.holding(&pattern(100))?, stage.holding(&[0; 100])?);
        queue.reset_global(row()?, &[])?;
        // SAFETY: nobody takes the bytes for atomics.
        unsafe { queue.copy_buffer_to_global(row()?, 4, (&from, 0), 40, &[]) }?;
        let mut expected = initial_row();
        expected[4..44].copy_from_slice(&pattern(100)[..40]);
        ensure!(read(&queue, row()?)? == expected, "the global holds something else");
        queue.copy_global_to_buffer(row()?, 2, &mut to, 50, &[])?.wait()?;
        let found = stage.bytes(&to)?;
        ensure!(found[..50] == expected[2..52] && found[50..] == [0; 50], "{found:?}");
    }
    Ok(())
}

fn short_buffer(stage: &Stage) -> Outcome {
    let mut short = stage.holding(&[5; 10])?;
    // SAFETY: nobody takes the bytes for atomics.
    let outcome = unsafe { stage.queue.copy_buffer_to_global(row()?, 0, (&short, 0), 11, &[]) };
    refused(outcome, ErrorKind::Invalid)?;
    let outcome = stage.queue.copy_global_to_buffer(row()?, 0, &mut short, 11, &[]);
    refused(outcome, ErrorKind::Invalid)?;
    ensure!(stage.bytes(&short)? == [5; 10], "the buffer was written");
    ensure!(read(&stage.queue, row()?)? == initial_row(), "the global was written");
    Ok(())
}

fn foreign_buffer(stage: &Stage) -> Outcome {
    let mut foreign = stage.elsewhere()?.holding(&[5; 10])?;
    // SAFETY: nobody takes the bytes for atomics.
    let outcome = unsafe { stage.queue.copy_buffer_to_global(row()?, 0, (&foreign, 0), 10, &[]) };
    refused(outcome, ErrorKind::Invalid)?;
    let outcome = stage.queue.copy_global_to_buffer(row()?, 0, &mut foreign, 10, &[]);
    refused(outcome, ErrorKind::Invalid)
}

fn first_threads(stage: &Stage) -> Outcome {
    for _ in 0..5 {
        let fresh = stage.elsewhere()?;
        let global = row()?;
        let queues: Result<Vec<_>, _> = (0..8).map(|_| fresh.another()).collect();
        let queues = queues?;
        let start = std::sync::Barrier::new(queues.len());
        let seen: Vec<_> = std::thread::scope(|scope| {
            let look = |queue| {
                start.wait();
                read(queue, global)
            };
            let threads: Vec<_> =
                queues.iter().map(|queue| scope.spawn(move || look(queue))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        for found in seen {
            let found = found.map_err(|_| "a thread panicked")??;
            ensure!(found == initial_row(), "a thread saw {found:?}");
        }
    }
    Ok(())
}

fn address(stage: &Stage) -> Outcome {
    let Ok(first) = stage.queue.global_address(row()?) else {
        // A driver without addresses tells none, each time.
        return refused(stage.queue.global_address(row()?), ErrorKind::FeatureNotSupported);
    };
    write(&stage.queue, row()?, 0, &[1; ROW])?;
    let again = stage.another()?.global_address(row()?)?;
    ensure!(first == again && first != 0, "{first:x} became {again:x}");
    let other = stage.elsewhere()?.queue.global_address(row()?)?;
    ensure!(first != other, "two contexts have it at one address");
    Ok(())
}

fn counted(stage: &Stage) -> Result<u64, Failure> {
    let bytes = read(&stage.queue, word()?)?;
    let mut value = [0; 8];
    value.copy_from_slice(&bytes);
    Ok(u64::from_ne_bytes(value))
}

fn kernel(stage: &Stage) -> Outcome {
    for round in 1..=3 {
        Run::of(&COUNT[0], &[100]).changes(word()?).on(&stage.queue)?;
        let found = counted(stage)?;
        ensure!(found == WORD + 100 * round, "{found} in round {round}");
    }
    Ok(())
}

fn ordered(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        for round in 0..100_u64 {
            write(&queue, word()?, 0, &round.to_ne_bytes())?;
            Run::of(&COUNT[0], &[7]).changes(word()?).on(&queue)?;
            let found = counted(stage)?;
            ensure!(found == round + 7, "{found} in round {round}");
        }
    }
    Ok(())
}

fn serial(stage: &Stage) -> Outcome {
    let queues = [stage.another()?, stage.out_of_order()?, stage.out_of_order()?];
    let mut expected = WORD;
    for round in 0..150 {
        Run::of(&COUNT[0], &[round]).changes(word()?).on(&queues[round % 3])?;
        expected += round as u64;
    }
    let found = counted(stage)?;
    ensure!(found == expected, "{found} instead of {expected}");
    Ok(())
}
