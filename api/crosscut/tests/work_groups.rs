//! Work-groups: ids, local memory, barriers, and what goes wrong with them.

use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, NdItem, Result, Tile};

fn queue() -> Queue {
    Queue::new().unwrap()
}

#[test]
fn an_item_knows_its_place_in_two_dimensions() -> Result<()> {
    let queue = queue();
    let mut out = queue.zeroed::<[usize; 12]>(4 * 6)?;
    queue.parallel_for(NdRange::new([4, 6], [2, 3]), &mut out, |item, out| {
        let ([gy, gx], [ly, lx], [y, x]) = (item.global(), item.local(), item.group());
        let ([rows, columns], [height, width]) = (item.group_range(), item.local_range());
        *out = [gy, gx, ly, lx, y, x, rows, columns, height, width, 0, 0];
        out[10] = item.local_linear() * 100 + item.group_linear();
        out[11] = item.global_linear() * 100 + item.local_len();
        assert_eq!(item.global_range(), [4, 6]);
    })?;
    let found = queue.download(&out)?;
    for (i, found) in found.iter().enumerate() {
        let (gy, gx) = (i / 6, i % 6);
        let (ly, lx, y, x) = (gy % 2, gx % 3, gy / 2, gx / 3);
        let expected =
            [gy, gx, ly, lx, y, x, 2, 2, 2, 3, (ly * 3 + lx) * 100 + y * 2 + x, i * 100 + 6];
        assert_eq!(*found, expected, "item {i}");
    }
    Ok(())
}

#[test]
fn every_item_runs_once_in_one_to_three_dimensions() -> Result<()> {
    let queue = queue();
    let mut out = queue.zeroed::<usize>(4096)?;
    queue.parallel_for(NdRange::new([16, 16, 16], [4, 2, 8]), &mut out, |item, out| {
        *out += item.global_linear() + 1;
    })?;
    assert!(queue.download(&out)?.into_iter().eq(1..=4096));
    queue.parallel_for(NdRange::new(4096, 1), &mut out, |item, out| {
        item.barrier();
        *out -= item.global();
    })?;
    assert_eq!(queue.download(&out)?, [1; 4096]);
    queue.parallel_for(NdRange::new([4096], [1024]), &mut out, |item, out| {
        item.barrier();
        *out += item.group()[0];
    })?;
    assert!(queue.download(&out)?.iter().enumerate().all(|(i, &value)| value == i / 1024 + 1));
    Ok(())
}

#[test]
fn a_group_shares_what_its_items_write_round_after_round() -> Result<()> {
    let queue = queue();
    let x = queue.upload(&(0..1024u32).collect::<Vec<_>>())?;
    let mut y = queue.zeroed::<u32>(1024)?;
    // Each round every item takes over its right neighbour's value: a rotation within the group.
    queue.parallel_for(
        NdRange::new(1024, 64),
        (&x, &mut y, Local::new(64)),
        |item, (x, y, mut tile)| {
            let mut value = x[item.global()];
            for _ in 0..5 {
                let all = tile.share(&item, value);
                value = all[(item.local() + 1) % all.len()];
            }
            *y = value;
        },
    )?;
    let found = queue.download(&y)?;
    assert!((0..1024).all(|i| found[i] as usize == i / 64 * 64 + (i % 64 + 5) % 64));
    Ok(())
}

#[test]
fn local_memory_may_be_smaller_or_larger_than_the_group() -> Result<()> {
    let queue = queue();
    let mut y = queue.zeroed::<[usize; 3]>(16)?;
    queue.parallel_for(
        NdRange::new(16, 8),
        (&mut y, Local::<usize>::new(3), Local::<usize>::new(20), Local::<u64>::new(0)),
        |item, (y, mut few, mut many, mut none)| {
            let few = few.share(&item, item.local()).iter().sum();
            let shared = many.share(&item, 1).len();
            let filled = many.fill(&item, |at| at).iter().sum();
            assert!(none.is_empty() && none.share(&item, 1).is_empty());
            *y = [few, shared, filled];
        },
    )?;
    assert_eq!(queue.download(&y)?, [[3, 8, 190]; 16]);
    Ok(())
}

#[test]
fn local_memory_of_atomics_is_written_by_all() -> Result<()> {
    let queue = queue();
    let x = queue.upload(&(0..256u32).map(|i| i * i % 7).collect::<Vec<_>>())?;
    let mut y = queue.zeroed::<usize>(256)?;
    queue.parallel_for(
        NdRange::new(256, 32),
        (&x, &mut y, Local::<AtomicUsize>::new(7)),
        |item, (x, y, mut counts)| {
            let counts = counts.fill(&item, |_| AtomicUsize::new(0));
            counts[x[item.global()] as usize].fetch_add(1, Relaxed);
            item.barrier();
            *y = counts.iter().map(|count| count.load(Relaxed)).sum();
        },
    )?;
    assert_eq!(queue.download(&y)?, [32; 256]);
    Ok(())
}

#[test]
fn an_item_that_panics_ends_its_group_and_what_the_others_hold_is_dropped() -> Result<()> {
    static HELD: AtomicUsize = AtomicUsize::new(0);
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            HELD.fetch_sub(1, Relaxed);
        }
    }
    let queue = queue();
    for culprit in [0, 1, 15] {
        let mut y = queue.zeroed::<u32>(16)?;
        let event = queue.parallel_for(NdRange::new(16, 16), &mut y, move |item, y| {
            HELD.fetch_add(1, Relaxed);
            let _held = Held;
            item.barrier();
            assert!(item.local() != culprit, "item {culprit}");
            item.barrier();
            *y = 1;
        })?;
        let error = event.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        let panic = error.kernel_panic().unwrap();
        assert_eq!((panic.message.as_str(), panic.item[0]), (&*format!("item {culprit}"), culprit));
        assert_eq!(HELD.load(Relaxed), 0);
        // The next group on the same thread gets the same stacks.
        queue.parallel_for(NdRange::new(16, 16), &mut y, |item, y| {
            item.barrier();
            *y = 2;
        })?;
        assert_eq!(queue.download(&y)?, [2; 16]);
    }
    Ok(())
}

fn message_of(kernel: impl Fn(NdItem<'_, usize>) + Copy + Send + 'static) -> (String, usize) {
    let queue = queue();
    let event = queue.parallel_for(NdRange::new(8, 4), (), move |item, ()| kernel(item)).unwrap();
    let error = event.wait().unwrap_err();
    let panic = error.kernel_panic().unwrap();
    assert!(panic.file.ends_with("work_groups.rs") && panic.line > 0, "{panic}");
    (panic.message.clone(), panic.item[0])
}

#[test]
fn a_barrier_that_some_items_do_not_reach_is_an_error_and_not_a_wait_for_ever() {
    // On the host every item is seen: what a device cannot be asked is told here.
    let others_end = |item: NdItem<'_, usize>| {
        if item.local() == 0 {
            item.barrier();
        }
    };
    let (message, item) = message_of(others_end);
    assert!(message.contains("others have ended without") && item % 4 == 0, "{message}");
    let leader_ends = |item: NdItem<'_, usize>| {
        if item.local() == 2 {
            item.barrier();
        }
    };
    let (message, item) = message_of(leader_ends);
    assert!(message.contains("the first item of its work-group has ended"), "{message}");
    assert_eq!(item % 4, 2);
    let later = |item: NdItem<'_, usize>| {
        item.barrier();
        if item.local() == 3 {
            item.barrier();
        }
    };
    let (message, item) = message_of(later);
    assert!(message.contains("the first item of its work-group has ended"), "{message}");
    assert_eq!(item % 4, 3);
    let apart = |item: NdItem<'_, usize>| {
        if item.local() < 2 {
            item.barrier();
        } else {
            item.barrier();
            item.fence();
        }
    };
    let (message, item) = message_of(apart);
    assert!(message.contains("wait at different barriers"), "{message}");
    assert_eq!(item % 4, 2);
}

#[test]
fn items_may_not_share_different_memory_at_one_place() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for(
        NdRange::new(4, 4),
        (Local::<usize>::new(4), Local::<usize>::new(4)),
        |item, (mut one, mut other)| {
            let tile = if item.local() == 1 { &mut one } else { &mut other };
            tile.share(&item, 1);
        },
    )?;
    assert!(event.wait().unwrap_err().message().contains("wait at different barriers"));
    Ok(())
}

#[test]
fn a_kernel_that_catches_its_end_still_ends() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for(NdRange::new(8, 8), (), |item, ()| {
        let item = std::panic::AssertUnwindSafe(item);
        for _ in 0..3 {
            let _ = catch_unwind(|| item.barrier());
        }
        assert!(item.local() != 5, "five");
        let _ = catch_unwind(|| item.barrier());
        item.barrier();
    })?;
    assert_eq!(event.wait().unwrap_err().kernel_panic().unwrap().message, "five");
    Ok(())
}

#[test]
fn an_item_that_unwinds_waits_for_nobody() -> Result<()> {
    struct Waits<'a, 'k>(&'a NdItem<'k, usize>);
    impl Drop for Waits<'_, '_> {
        fn drop(&mut self) {
            self.0.barrier();
        }
    }
    thread_local!(static SEEN: Cell<bool> = const { Cell::new(false) });
    let queue = queue();
    let event = queue.parallel_for(NdRange::new(2, 2), Local::new(2), |item, mut tile| {
        let _waits = Waits(&item);
        SEEN.set(tile.share(&item, 1).len() == 2);
        assert!(item.local() != 1, "one");
        item.barrier();
    })?;
    assert_eq!(event.wait().unwrap_err().kernel_panic().unwrap().message, "one");
    Ok(())
}

#[test]
fn ranges_and_groups_that_do_not_fit_are_refused_with_their_numbers() -> Result<()> {
    let queue = queue();
    let refused = |error: crosscut::Error, parts: &[&str]| {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    let error = queue.parallel_for(NdRange::new(10, 4), (), |_, ()| ()).unwrap_err();
    refused(error, &["10 items", "groups of 4", "12", "2"]);
    let error = queue.parallel_for(NdRange::new([4, 6], [2, 0]), (), |_, ()| ()).unwrap_err();
    refused(error, &["[2, 0]", "at least one"]);
    let error = queue.parallel_for(8, Local::<u32>::new(8), |_, _| ()).unwrap_err();
    refused(error, &["no work-groups", "NdRange"]);
    let error = queue.parallel_for(NdRange::new(4096, 2048), (), |_, ()| ()).unwrap_err();
    refused(error, &["groups of 2048", "takes 1024", "at most 1024"]);
    let error =
        queue.parallel_for(NdRange::new([1 << 20; 2], [1 << 19; 2]), (), |_, ()| ()).unwrap_err();
    refused(error, &["[524288, 524288]"]);
    let error =
        queue.parallel_for(NdRange::new(8, 8), Local::<f64>::new(1 << 20), |_, _| ()).unwrap_err();
    refused(error, &["8388608 bytes", "1048576"]);
    let two = (Local::<u8>::new(usize::MAX), Local::<u64>::new(usize::MAX));
    let error = queue.parallel_for(NdRange::new(8, 8), two, |_, _| ()).unwrap_err();
    refused(error, &["bytes of local memory"]);
    queue.parallel_for(NdRange::new(0, 4), (), |_, ()| ())?.wait()
}

#[test]
fn a_group_computes_together_in_groups_of_any_size() -> Result<()> {
    let queue = queue();
    for group in [1, 2, 3, 15, 16, 17, 31, 33, 100, 256, 1000] {
        let values: Vec<u64> = (0..3 * group as u64).map(|i| i * i % 101 + 1).collect();
        let x = queue.upload(&values)?;
        let mut y = queue.zeroed::<[u64; 5]>(values.len())?;
        queue.parallel_for(NdRange::new(values.len(), group), (&x, &mut y), |item, (x, y)| {
            let (together, value) = (item.work_group(), x[item.global()]);
            let last = together.broadcast(value, item.local_len() - 1);
            let sum = together.reduce(value, |a, b| a + b);
            let upto = together.inclusive_scan(value, u64::max);
            let before = together.exclusive_scan(value, 1000, |a, b| a.wrapping_mul(3) ^ b);
            let flags =
                [together.any(value > 100), together.all(value > 1), together.none(value > 9)];
            let flags = flags.iter().fold(0, |all, &flag| all * 2 + u64::from(flag));
            *y = [last, sum, upto, before, flags];
        })?;
        for (group, found) in values.chunks(group).zip(queue.download(&y)?.chunks(group)) {
            let sum = group.iter().sum::<u64>();
            let flags = u64::from(group.iter().any(|&v| v > 100)) * 4
                + u64::from(group.iter().all(|&v| v > 1)) * 2
                + u64::from(!group.iter().any(|&v| v > 9));
            for (at, found) in found.iter().enumerate() {
                let largest = *group[..=at].iter().max().unwrap();
                assert_eq!(found[..3], [*group.last().unwrap(), sum, largest]);
                assert_eq!(found[4], flags);
            }
            assert_eq!(found[0][3], 1000);
        }
    }
    Ok(())
}

#[test]
fn a_scan_keeps_the_order_of_the_items() -> Result<()> {
    let queue = queue();
    let mut y = queue.zeroed::<[u32; 4]>(40)?;
    // Affine maps x -> a * x + b, composed: associative, and not commutative.
    queue.parallel_for(NdRange::new(40, 40), &mut y, |item, y| {
        let own = [3, item.local() as u32];
        let then = |f: [u32; 2], g: [u32; 2]| {
            [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
        };
        let [a, b] = item.work_group().inclusive_scan(own, then);
        let [c, d] = item.work_group().exclusive_scan(own, [1, 0], then);
        *y = [a, b, c, d];
    })?;
    let (mut a, mut b) = (1u32, 0u32);
    for (i, found) in queue.download(&y)?.into_iter().enumerate() {
        assert_eq!(found[2..], [a, b], "item {i}");
        (a, b) = (a.wrapping_mul(3), b.wrapping_mul(3).wrapping_add(i as u32));
        assert_eq!(found[..2], [a, b], "item {i}");
    }
    Ok(())
}

#[test]
fn a_panic_in_what_a_group_computes_is_told() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for(NdRange::new(64, 32), (), |item, ()| {
        item.work_group().reduce(item.global() as u8, |a, b| a.checked_add(b).expect("too many"));
    })?;
    assert_eq!(event.wait().unwrap_err().kernel_panic().unwrap().message, "too many");
    let event = queue.parallel_for(NdRange::new(64, 32), (), |item, ()| {
        item.work_group().broadcast(1u8, 32);
    })?;
    assert!(event.wait().unwrap_err().message().contains("no item with this index"));
    Ok(())
}

#[test]
fn an_operation_that_combines_makes_no_calls_of_groups_itself() -> Result<()> {
    let queue = queue();
    let mut y = queue.zeroed::<u32>(48)?;
    // What an item has put is on its stack: after the inner call it would be another's.
    let of_sub_group = queue.parallel_for(NdRange::new(16, 16), (), |item, ()| {
        let (group, first) = (item.sub_group(), Cell::new(item.local() >= 8));
        item.work_group().reduce(item.local() as u32, |a, b| {
            if first.replace(false) {
                group.shuffle(1u32, 0);
            }
            a + b
        });
    })?;
    let of_group = queue.parallel_for(NdRange::new(48, 48), &mut y, |item, y| {
        let group = item.work_group();
        *y = group.reduce(1u32, |a, b| group.broadcast(a + b, 0));
    })?;
    for event in [of_sub_group, of_group] {
        let error = event.wait().unwrap_err();
        assert!(error.message().contains("makes calls of groups itself"), "{error}");
    }
    // The group's memory is as good as before.
    queue.parallel_for(NdRange::new(48, 48), &mut y, |item, y| {
        *y = item.work_group().reduce(1, |a, b| a + b);
    })?;
    assert_eq!(queue.download(&y)?, [48; 48]);
    Ok(())
}

/// One place in the program for two operations.
#[track_caller]
fn one_or_other(item: NdItem<'_, usize>, value: u64) -> u64 {
    match item.local() {
        0 => item.work_group().reduce(value, |a, b| a + b),
        _ => item.work_group().broadcast(value, 0),
    }
}

#[test]
fn different_operations_at_one_place_do_not_meet() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for(NdRange::new(2, 2), (), |item, ()| {
        one_or_other(item, 7);
    })?;
    assert!(event.wait().unwrap_err().message().contains("wait at different barriers"));
    Ok(())
}

/// One place in the program for whichever memory.
#[track_caller]
fn share(tile: &mut Tile<'_, u32>, item: NdItem<'_, usize>, value: u32) -> u32 {
    tile.share(&item, value).iter().sum()
}

#[test]
fn no_memory_at_all_is_not_the_memory_behind_it() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for(
        NdRange::new(2, 2),
        (Local::<u32>::new(0), Local::<u32>::new(2)),
        |item, (mut none, mut some)| {
            let tile = if item.local() == 0 { &mut none } else { &mut some };
            share(tile, item, 1);
        },
    )?;
    assert!(event.wait().unwrap_err().message().contains("wait at different barriers"));
    Ok(())
}

#[test]
fn a_launch_in_a_drop_while_the_thread_unwinds_has_barriers_like_any_other() {
    struct AtTheEnd<'a>(&'a Cell<Vec<u32>>);
    impl Drop for AtTheEnd<'_> {
        fn drop(&mut self) {
            let queue = queue();
            let mut y = queue.zeroed::<u32>(4).unwrap();
            queue
                .parallel_for(NdRange::new(4, 4), &mut y, |item, y| {
                    *y = item.work_group().reduce(1, |a, b| a + b);
                })
                .unwrap();
            self.0.set(queue.download(&y).unwrap());
        }
    }
    let sums = Cell::new(Vec::new());
    let unwound = catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _at_the_end = AtTheEnd(&sums);
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(unwound.is_err());
    assert_eq!(sums.take(), [4; 4]);
}
