//! Panics in kernels with barriers: an error that names the item, whoever panics and wherever; never a wait
//! for ever, and the other groups do their work.

use crosscut::prelude::*;
use crosscut::{Event, KernelPanic, Result};
use crosscut_language::targets;

/// Runs a kernel on every device; each must tell of the host's panic, and be usable after it.
fn panics(kernel: impl Fn(&Queue) -> Result<Event>) -> KernelPanic {
    let mut expected: Option<KernelPanic> = None;
    for target in targets() {
        let error = kernel(&target.queue).and_then(|event| event.wait()).expect_err(&target.name);
        let found =
            error.kernel_panic().unwrap_or_else(|| panic!("{}: {error}", target.name)).clone();
        target.queue.wait().unwrap_or_else(|error| panic!("{}: {error}", target.name));
        match &expected {
            None => expected = Some(found),
            Some(expected) => {
                let place = |panic: &KernelPanic| (panic.line, panic.column, panic.item.clone());
                assert_eq!(place(expected), place(&found), "{}: {}", target.name, found.message);
                assert_eq!(expected.message, found.message, "{}", target.name);
            }
        }
    }
    expected.expect("the host is always there")
}

#[test]
fn between_two_barriers() {
    for culprit in [0, 1, 40, 63, 64, 100, 127] {
        let panic = panics(|queue| {
            let mut y = queue.zeroed::<u32>(128)?;
            queue.parallel_for(
                NdRange::new(128, 64),
                (&mut y, Local::<u32>::new(64)),
                move |item, (y, mut tile)| {
                    let all = tile.share(&item, item.local() as u32);
                    let value = all[63 - item.local()];
                    assert!(item.global() != culprit, "the culprit");
                    *y = tile.share(&item, value)[63 - item.local()];
                },
            )
        });
        assert_eq!((panic.item, panic.message.as_str()), (vec![culprit], "the culprit"));
    }
}

#[test]
fn before_the_first_barrier_and_after_the_last() {
    for culprit in [0, 15, 31] {
        panics(|queue| {
            queue.parallel_for(NdRange::new(32, 16), (), move |item, ()| {
                assert!(item.global() != culprit, "before");
                item.barrier();
            })
        });
        panics(|queue| {
            queue.parallel_for(NdRange::new(32, 16), (), move |item, ()| {
                item.barrier();
                assert!(item.global() != culprit, "after");
            })
        });
    }
}

#[test]
fn in_a_loop_whose_end_the_others_decide() {
    for (culprit, round) in [(0, 0), (7, 3), (31, 9), (20, 5)] {
        let panic = panics(|queue| {
            let rounds = queue.upload(&[10u32])?;
            let mut y = queue.zeroed::<u32>(64)?;
            queue.parallel_for(
                NdRange::new(64, 32),
                (&rounds, &mut y, Local::<u32>::new(32)),
                move |item, (rounds, y, mut tile)| {
                    let mut value = 1;
                    for t in 0..rounds[0] {
                        let all = tile.share(&item, value);
                        value = all[(item.local() + 1) % 32].wrapping_mul(3);
                        if item.local() % 3 == 1 {
                            value ^= 5;
                        }
                        assert!((item.global(), t) != (culprit, round), "in the loop");
                    }
                    *y = value;
                },
            )
        });
        assert_eq!(panic.item, [culprit]);
    }
}

#[test]
fn by_an_index_in_an_inner_loop() {
    let panic = panics(|queue| {
        // One item alone may panic: of several, the one that is told of is a matter of chance.
        let culprit = |i: u32| if i == 37 { 30 } else { i % 14 };
        let x = queue.upload(&(0..64).map(culprit).collect::<Vec<u32>>())?;
        let mut y = queue.zeroed::<u32>(64)?;
        queue.parallel_for(
            NdRange::new([8, 8], [4, 4]),
            (&x, &mut y, Local::<u32>::new(16)),
            move |item, (x, y, mut tile)| {
                for t in 0..4 {
                    let all = tile.share(&item, t);
                    for k in 0..3 {
                        let index = (x[item.global_linear()] + k) as usize;
                        *y += all[index % (16 + 90 * (k as usize / 2))];
                    }
                }
            },
        )
    });
    assert_eq!(panic.item, [4, 5]);
    assert_eq!(panic.message, "index out of bounds: the len is 16 but the index is 32");
}

#[test]
fn in_every_item_at_once() {
    for target in targets() {
        let event = target.queue.parallel_for(NdRange::new(64, 16), (), |item, ()| {
            item.barrier();
            assert!(item.global_range() == 0, "all");
            item.barrier();
        });
        let error = event.and_then(|event| event.wait()).expect_err(&target.name);
        assert_eq!(error.kernel_panic().expect(&target.name).message, "all");
    }
}

#[test]
fn the_other_groups_do_their_work() {
    for target in targets().iter().filter(|target| !target.name.contains("(host)")) {
        let mut y = target.queue.zeroed::<u32>(96).unwrap();
        let event = target.queue.parallel_for(NdRange::new(96, 32), &mut y, |item, y| {
            item.barrier();
            assert!(item.global() != 40);
            item.barrier();
            *y = 1;
        });
        event.unwrap().wait().expect_err(&target.name);
        let found = target.queue.download(&y).unwrap();
        assert_eq!(found[..32], [1; 32], "{}", target.name);
        // Nobody of the group of the one that panicked went on.
        assert_eq!(found[32..64], [0; 32], "{}", target.name);
        assert_eq!(found[64..], [1; 32], "{}", target.name);
    }
}
