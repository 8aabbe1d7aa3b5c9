//! Sub-groups: whatever sizes a device chooses, their items find one another.

use crosscut::prelude::*;
use crosscut::{DeviceCopy, Result};
use crosscut_language::targets;

/// Where an item is: work-group, sub-group, index in that, items of that.
type Place = [usize; 4];

/// What every item found on every device, with its place.
fn everywhere<T: DeviceCopy + Default>(
    kernels: impl Fn(&Queue, &mut Buffer<Place>, &mut Buffer<T>) -> Result<Event>,
    check: impl Fn(&[(Place, T)]),
) {
    for target in targets() {
        let run = || {
            let mut places = target.queue.zeroed::<Place>(192)?;
            let mut found = target.queue.zeroed::<T>(192)?;
            kernels(&target.queue, &mut places, &mut found)?;
            Ok(target.queue.download(&places)?.into_iter().zip(target.queue.download(&found)?))
        };
        let found =
            run().unwrap_or_else(|error: crosscut::Error| panic!("{}: {error}", target.name));
        check(&found.collect::<Vec<_>>());
    }
}

/// The items of the sub-group that an item at `place` is in, in order.
fn members<T: Copy>(all: &[(Place, T)], place: Place) -> Vec<(usize, T)> {
    let mut members: Vec<(usize, T)> = all
        .iter()
        .enumerate()
        .filter(|(_, (other, _))| other[..2] == place[..2])
        .map(|(at, (_, found))| (at, *found))
        .collect();
    members.sort_by_key(|(at, _)| all[*at].0[2]);
    members
}

macro_rules! place {
    ($item:expr, $sub:expr) => {
        [$item.group_linear(), $sub.group_id(), $sub.local_id(), $sub.size()]
    };
}

#[test]
fn sub_groups_divide_a_work_group() {
    for group in [1, 3, 24, 64] {
        everywhere::<[usize; 2]>(
            |queue, places, found| {
                let range = NdRange::new(192, group);
                queue.parallel_for(range, (places, found), |item, (place, found)| {
                    let sub = item.sub_group();
                    *place = place!(item, sub);
                    *found = [sub.max_size(), sub.group_count()];
                })
            },
            |all| {
                for &(place, [most, count]) in all {
                    let [_, sub_group, local, size] = place;
                    let members = members(all, place);
                    assert_eq!(members.len(), size);
                    assert!(size <= most && local < size && sub_group < count);
                    let locals: Vec<usize> = members.iter().map(|(at, _)| all[*at].0[2]).collect();
                    assert_eq!(locals, (0..size).collect::<Vec<_>>());
                }
            },
        );
    }
}

#[test]
fn shuffles_bring_the_values_of_others_and_ones_own_beyond_the_ends() {
    everywhere::<[u32; 5]>(
        |queue, places, found| {
            queue.parallel_for(NdRange::new(192, 48), (places, found), |item, (place, found)| {
                let sub = item.sub_group();
                *place = place!(item, sub);
                let own = item.global() as u32;
                let reversed = sub.size() - 1 - sub.local_id();
                *found = [
                    sub.shuffle(own, reversed),
                    sub.shuffle(own, 1000),
                    sub.shuffle_up(own, 2),
                    sub.shuffle_down(own, 3),
                    sub.shuffle_xor(own, 1),
                ];
            })
        },
        |all| {
            for (at, &(place, found)) in all.iter().enumerate() {
                let [_, _, local, size] = place;
                let members = members(all, place);
                let of = |index: usize| members.get(index).map_or(at, |member| member.0) as u32;
                let up = local.checked_sub(2).unwrap_or(local);
                let expected =
                    [of(size - 1 - local), at as u32, of(up), of(local + 3), of(local ^ 1)];
                assert_eq!(found, expected, "{place:?}");
            }
        },
    );
}

#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
struct Mixed {
    wide: f64,
    long: [u16; 3],
    byte: u8,
    sign: i8,
}

#[test]
fn values_of_any_size_are_handed_over_whole() {
    everywhere::<Mixed>(
        |queue, places, found| {
            queue.parallel_for(NdRange::new(192, 64), (places, found), |item, (place, found)| {
                let sub = item.sub_group();
                *place = place!(item, sub);
                let at = item.global();
                let byte = at as u8;
                let own = Mixed {
                    wide: at as f64 / 3.0,
                    long: [at as u16 * 300, 7, !(at as u16)],
                    byte: sub.shuffle_xor(byte, 1),
                    sign: -(at as i8 / 2),
                };
                *found = sub.broadcast(own, sub.size() - 1);
            })
        },
        |all| {
            for &(place, found) in all {
                let members = members(all, place);
                let last = members[members.len() - 1].0;
                let beside = members.get((members.len() - 1) ^ 1).map_or(last, |member| member.0);
                let expected = Mixed {
                    wide: last as f64 / 3.0,
                    long: [last as u16 * 300, 7, !(last as u16)],
                    byte: beside as u8,
                    sign: -(last as i8 / 2),
                };
                assert_eq!(found, expected);
            }
        },
    );
}

#[test]
fn reductions_and_scans_combine_in_order() {
    /// Associative, and not the same the other way round: maps `x -> a * x + b`, one after the other.
    fn then([a, b]: [u32; 2], [c, d]: [u32; 2]) -> [u32; 2] {
        [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)]
    }
    everywhere::<[[u32; 2]; 3]>(
        |queue, places, found| {
            queue.parallel_for(NdRange::new(192, 96), (places, found), |item, (place, found)| {
                let sub = item.sub_group();
                *place = place!(item, sub);
                let own = [item.global() as u32 + 2, item.local() as u32];
                *found = [
                    sub.reduce(own, then),
                    sub.inclusive_scan(own, then),
                    sub.exclusive_scan(own, [5, 1], then),
                ];
            })
        },
        |all| {
            for &(place, found) in all {
                let members = members(all, place);
                let values: Vec<[u32; 2]> =
                    members.iter().map(|(at, _)| [*at as u32 + 2, *at as u32 % 96]).collect();
                let fold = |values: &[[u32; 2]]| values.iter().copied().reduce(then);
                let before = values[..place[2]].iter().copied().fold([5, 1], then);
                let expected =
                    [fold(&values).unwrap(), fold(&values[..=place[2]]).unwrap(), before];
                assert_eq!(found, expected, "{place:?}");
            }
        },
    );
}

#[test]
fn votes_are_of_the_sub_group() {
    everywhere::<[u32; 3]>(
        |queue, places, found| {
            queue.parallel_for(NdRange::new(192, 64), (places, found), |item, (place, found)| {
                let sub = item.sub_group();
                *place = place!(item, sub);
                let early = item.global() < 70;
                *found = [sub.any(early), sub.all(early), sub.none(early)].map(u32::from);
            })
        },
        |all| {
            for &(place, found) in all {
                let members = members(all, place);
                let early = members.iter().filter(|(at, _)| *at < 70).count();
                let expected = [early > 0, early == members.len(), early == 0].map(u32::from);
                assert_eq!(found, expected);
            }
        },
    );
}

#[test]
fn each_sub_group_may_take_its_own_way_between_barriers() {
    everywhere::<u32>(
        |queue, places, found| {
            let tile = Local::<u32>::new(64);
            queue.parallel_for(
                NdRange::new(192, 64),
                (places, found, tile),
                |item, (place, found, mut tile)| {
                    let sub = item.sub_group();
                    *place = place!(item, sub);
                    let mut value = 0;
                    // As many rounds as the sub-group's number says.
                    for _ in 0..sub.group_id() {
                        value += sub.reduce(1, |a, b| a + b);
                        sub.barrier();
                    }
                    let all = tile.share(&item, value);
                    *found = all[63 - item.local()];
                },
            )
        },
        |all| {
            for (at, &(_, found)) in all.iter().enumerate() {
                let [_, sub_group, _, size] = all[at / 64 * 64 + 63 - at % 64].0;
                assert_eq!(found as usize, sub_group * size);
            }
        },
    );
}

#[test]
fn sub_groups_have_the_size_that_a_launch_asks_for() {
    let mut asked = 0;
    for target in targets() {
        let queue = &target.queue;
        for &size in &queue.device().info().sub_group_sizes {
            let mut found = queue.zeroed::<[usize; 2]>(256).expect("memory");
            let launch = queue.launch().sub_group_size(size);
            let range = NdRange::new(256, 128);
            let event = launch.parallel_for(range, &mut found, |item, found| {
                let sub = item.sub_group();
                *found = [sub.max_size(), sub.reduce(1, |a, b| a + b)];
            });
            event.unwrap_or_else(|error| panic!("{} of {size}: {error}", target.name));
            let found = queue.download(&found).expect("what was found");
            assert!(found.iter().all(|found| *found == [size; 2]), "{} of {size}", target.name);
            asked += 1;
        }
        let refused = queue.launch().sub_group_size(3).parallel_for(8, (), |_, ()| ());
        let error = refused.expect_err("nobody has such sub-groups");
        assert!(error.message().contains("asks for sub-groups of 3 items"), "{error}");
    }
    assert!(asked > 0);
}
