//! Values that one item hands to another under an atomic flag, with the orders and scopes for it.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU32, fence};

use crosscut::prelude::*;
use crosscut::{Scope, in_scope};
use crosscut_language::agree;

const GROUP: usize = 16;
const ITEMS: usize = 64;

/// How often an item looks for what comes from an item that the device may run later.
const LOOKS: u32 = 1000;

/// The items of a group take turns: each waits for its number in the group's flag, adds to what the one before has
/// left and passes it on. A barrier lies between the turns, so no item waits for one that does not run.
#[test]
fn a_value_goes_from_item_to_item_of_a_group_through_global_memory() {
    let found = agree(|queue| {
        let turns = queue.zeroed::<AtomicU32>(ITEMS / GROUP)?;
        let values = queue.zeroed::<AtomicU32>(ITEMS / GROUP)?;
        let mut seen = queue.zeroed::<u32>(ITEMS)?;
        let range = NdRange::new(ITEMS, GROUP);
        queue.parallel_for(
            range,
            (&turns, &values, &mut seen),
            |item, (turns, values, seen)| {
                let (turn, value) = (&turns[item.group()], &values[item.group()]);
                for now in 0..GROUP {
                    if now == item.local() {
                        let ready = in_scope(Scope::WorkGroup, || turn.load(Acquire));
                        *seen = value.load(Relaxed) + 1000 * u32::from(ready as usize != now);
                        value.store(*seen * 3 + now as u32, Relaxed);
                        in_scope(Scope::WorkGroup, || turn.store(now as u32 + 1, Release));
                    }
                    item.barrier();
                }
            },
        )?;
        queue.download(&seen)
    });
    let mut expected = 0u32;
    for (at, &seen) in found[..GROUP].iter().enumerate() {
        assert_eq!(seen, expected);
        expected = expected * 3 + at as u32;
    }
    assert_eq!(found[..GROUP], found[GROUP..2 * GROUP]);
}

/// One writes plain words and then the flag; whoever has seen the flag has seen the words.
#[test]
fn who_sees_the_flag_sees_the_value_with_every_scope_and_order() {
    let found = agree(|queue| {
        let flags = queue.zeroed::<AtomicU32>(5)?;
        let narrow = queue.zeroed::<AtomicU8>(2)?;
        let values = queue.zeroed::<AtomicU32>(7)?;
        let wrong = queue.zeroed::<AtomicU32>(1)?;
        let all = (&flags, &narrow, &values, &wrong);
        queue.parallel_for(
            NdRange::new(ITEMS, GROUP),
            all,
            |item, (flags, narrow, values, wrong)| {
                if item.global() == 0 {
                    for value in values {
                        value.store(7, Relaxed);
                    }
                    in_scope(Scope::SubGroup, || flags[0].store(1, Release));
                    in_scope(Scope::WorkGroup, || flags[1].fetch_add(1, AcqRel));
                    in_scope(Scope::Device, || flags[2].store(1, SeqCst));
                    in_scope(Scope::System, || fence(Release));
                    flags[3].store(1, Relaxed);
                    item.fence();
                    flags[4].store(1, Relaxed);
                    in_scope(Scope::WorkGroup, || narrow[0].store(1, Release));
                    in_scope(Scope::System, || narrow[1].fetch_or(1, Release));
                }
                for _ in 0..LOOKS {
                    let in_group = item.group() == 0;
                    let in_sub_group = in_group && item.sub_group().group_id() == 0;
                    let seen = [
                        in_sub_group && in_scope(Scope::SubGroup, || flags[0].load(Acquire)) == 1,
                        in_group && in_scope(Scope::WorkGroup, || flags[1].load(Acquire)) == 1,
                        in_scope(Scope::Device, || flags[2].load(SeqCst)) == 1,
                        flags[3].load(Relaxed) == 1 && {
                            in_scope(Scope::System, || fence(Acquire));
                            true
                        },
                        flags[4].load(Relaxed) == 1 && {
                            item.fence();
                            true
                        },
                        in_group && in_scope(Scope::WorkGroup, || narrow[0].load(Acquire)) == 1,
                        in_scope(Scope::System, || narrow[1].load(Acquire)) == 1,
                    ];
                    for (seen, value) in seen.into_iter().zip(values) {
                        if seen && value.load(Relaxed) != 7 {
                            wrong[0].fetch_add(1, Relaxed);
                        }
                    }
                }
            },
        )?;
        let mut found = queue.download(&flags)?;
        found.extend(queue.download(&narrow)?.into_iter().map(u32::from));
        found.extend(queue.download(&wrong)?);
        Ok(found)
    });
    assert_eq!(found, [1, 1, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn atomics_in_the_memory_of_a_group_hand_over_too() {
    let found = agree(|queue| {
        let mut seen = queue.zeroed::<u32>(ITEMS)?;
        // The value, and the item whose turn it is.
        let local = Local::<AtomicU32>::new(2);
        let range = NdRange::new(ITEMS, GROUP);
        queue.parallel_for(range, (&mut seen, local), |item, (seen, mut local)| {
            let local = local.fill(&item, |_| AtomicU32::new(0));
            let (value, turn) = (&local[0], &local[1]);
            for now in 0..GROUP {
                if now == item.local() {
                    let ready = in_scope(Scope::WorkGroup, || turn.load(Acquire));
                    *seen = value.load(Relaxed) + 1000 * u32::from(ready as usize != now);
                    value.store(*seen + 5, Relaxed);
                    in_scope(Scope::WorkGroup, || turn.fetch_add(1, Release));
                }
                item.barrier();
            }
        })?;
        queue.download(&seen)
    });
    let expected: Vec<u32> = (0..ITEMS).map(|item| 5 * (item % GROUP) as u32).collect();
    assert_eq!(found, expected);
}

#[test]
fn none_of_a_group_is_what_no_item_says() {
    let found = agree(|queue| {
        let mut out = queue.zeroed::<[u32; 3]>(ITEMS)?;
        queue.parallel_for(NdRange::new(ITEMS, GROUP), &mut out, |item, out| {
            let group = item.work_group();
            let of_first_group = item.group() == 0;
            *out = [
                group.none(of_first_group && item.local() == 3).into(),
                group.none(true).into(),
                group.none(false).into(),
            ];
        })?;
        queue.download(&out)
    });
    for (item, &found) in found.iter().enumerate() {
        assert_eq!(found, [u32::from(item >= GROUP), 0, 1], "item {item}");
    }
}
