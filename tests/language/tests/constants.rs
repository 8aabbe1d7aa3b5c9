//! Specialization constants: what a launch sets, and what it does not.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Bundle, ErrorKind, Launch, Result};
use crosscut_language::{agree, targets};

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Setup {
    gain: f32,
    steps: u32,
    weights: [f64; 3],
    tags: [u16; 3],
    last: [u8; 2],
}

const SETUP: Setup =
    Setup { gain: 0.5, steps: 3, weights: [1.0, -2.0, 1e300], tags: [7, 8, 9], last: [1, 2] };

#[test]
fn numbers_of_every_type_keep_their_defaults_and_take_values() {
    static A: SpecConstant<u8> = SpecConstant::new(200);
    static B: SpecConstant<i8> = SpecConstant::new(-5);
    static C: SpecConstant<u16> = SpecConstant::new(60_000);
    static D: SpecConstant<i16> = SpecConstant::new(-300);
    static E: SpecConstant<u32> = SpecConstant::new(4_000_000_000);
    static F: SpecConstant<i32> = SpecConstant::new(-7);
    static G: SpecConstant<u64> = SpecConstant::new(u64::MAX - 1);
    static H: SpecConstant<i64> = SpecConstant::new(i64::MIN);
    static I: SpecConstant<f32> = SpecConstant::new(-0.0);
    static J: SpecConstant<f64> = SpecConstant::new(1e-310);
    static K: SpecConstant<bool> = SpecConstant::new(true);

    fn all(launch: Launch<'_>, out: &mut Buffer<u64>) -> Result<Event> {
        launch.for_each(out, (), |i, out, ()| {
            *out = match i {
                0 => A.get() as u64,
                1 => B.get() as u64,
                2 => C.get() as u64,
                3 => D.get() as u64,
                4 => E.get() as u64,
                5 => F.get() as u64,
                6 => G.get(),
                7 => H.get() as u64,
                8 => I.get().to_bits() as u64,
                9 => J.get().to_bits(),
                _ => K.get() as u64,
            }
        })
    }
    let answers = agree(|queue| {
        let mut out = queue.zeroed(11)?;
        all(queue.launch(), &mut out)?;
        let mut answers = queue.download(&out)?;
        let set = queue.launch().with(&A, 1).with(&B, -128).with(&C, 2).with(&D, -1).with(&E, 3);
        let set = set.with(&F, i32::MIN).with(&G, 4).with(&H, -1).with(&I, f32::INFINITY);
        all(set.with(&J, -1.5).with(&K, false), &mut out)?;
        answers.extend(queue.download(&out)?);
        Ok(answers)
    });
    let defaults = [
        200,
        -5i64 as u64,
        60_000,
        -300i64 as u64,
        4_000_000_000,
        -7i64 as u64,
        u64::MAX - 1,
        i64::MIN as u64,
        1 << 31,
        1e-310f64.to_bits(),
        1,
    ];
    let set = [
        1,
        -128i64 as u64,
        2,
        u64::MAX,
        3,
        i64::from(i32::MIN) as u64,
        4,
        u64::MAX,
        u64::from(f32::INFINITY.to_bits()),
        (-1.5f64).to_bits(),
        0,
    ];
    assert_eq!(answers, [defaults, set].concat());
}

#[test]
fn structs_and_arrays_are_constants_too() {
    static CONFIG: SpecConstant<Setup> = SpecConstant::new(SETUP);
    static TABLE: SpecConstant<[u32; 32]> = SpecConstant::new([5; 32]);

    fn read(launch: Launch<'_>, out: &mut Buffer<Setup>, sums: &mut Buffer<u32>) -> Result<Event> {
        launch.single_task((out, sums), |(out, sums)| {
            out[0] = CONFIG.get();
            let table = TABLE.get();
            sums[0] = table.iter().sum();
            sums[1] = table[sums[1] as usize % 32];
        })
    }
    let answers = agree(|queue| {
        let mut answers = Vec::new();
        for value in [None, Some(Setup { gain: 2.0, last: [0, 255], ..SETUP })] {
            let (mut out, mut sums) = (queue.zeroed::<Setup>(1)?, queue.upload(&[0u32, 3])?);
            let table: [u32; 32] = core::array::from_fn(|i| i as u32);
            let launch = match value {
                None => queue.launch(),
                Some(value) => queue.launch().with(&CONFIG, value).with(&TABLE, table),
            };
            read(launch, &mut out, &mut sums)?;
            assert_eq!(queue.download(&out)?, [value.unwrap_or(SETUP)]);
            answers.extend(queue.download(&sums)?);
        }
        Ok(answers)
    });
    assert_eq!(answers, [160, 5, 496, 3]);
}

#[test]
fn a_choice_between_constants_is_a_choice_between_their_values() {
    static LEFT: SpecConstant<u32> = SpecConstant::new(10);
    static RIGHT: SpecConstant<u32> = SpecConstant::new(20);
    let answers = agree(|queue| {
        let mut out = queue.zeroed::<u32>(4)?;
        queue.launch().with(&RIGHT, 21).for_each(&mut out, (), |i, out, ()| {
            *out = if i % 2 == 0 { LEFT.get() } else { RIGHT.get() };
        })?;
        queue.download(&out)
    });
    assert_eq!(answers, [10, 21, 10, 21]);
}

#[test]
fn many_values_of_one_kernel_share_its_globals() {
    static STEP: SpecConstant<u32> = SpecConstant::new(1);
    static TOTAL: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

    fn add(launch: Launch<'_>) -> Result<Event> {
        launch.parallel_for(10, (), |_, ()| {
            TOTAL.fetch_add(STEP.get(), Relaxed);
        })
    }
    let totals = agree(|queue| {
        queue.write(&TOTAL, &0)?;
        add(queue.launch())?;
        for step in [2, 3, 2, 5] {
            add(queue.launch().with(&STEP, step))?;
        }
        Ok(vec![queue.read(&TOTAL)?])
    });
    assert_eq!(totals, [10 * (1 + 2 + 3 + 2 + 5)]);
}

#[test]
fn the_length_of_a_loop_is_a_constant() {
    static TAPS: SpecConstant<usize> = SpecConstant::new(3);
    fn blur(launch: Launch<'_>, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<Event> {
        launch.for_each(y, x, |i, y, x| {
            *y = (0..TAPS.get()).map(|tap| x[(i + tap) % x.len()]).sum();
        })
    }
    agree(|queue| {
        let x = queue.upload(&[1.0f32, 2.0, 4.0, 8.0, 16.0])?;
        let mut y = queue.zeroed::<f32>(5)?;
        let mut answers = Vec::new();
        for taps in [0, 1, 3, 5] {
            blur(queue.launch().with(&TAPS, taps), &x, &mut y)?;
            answers.extend(queue.download(&y)?);
        }
        Ok(answers)
    });
}

#[test]
fn work_groups_read_constants_on_both_sides_of_a_barrier() {
    static SCALE: SpecConstant<u32> = SpecConstant::new(1);
    fn turn(launch: Launch<'_>, x: &Buffer<u32>, y: &mut Buffer<u32>) -> Result<Event> {
        launch.parallel_for(NdRange::new(8, 4), (x, y, Local::new(4)), |item, (x, y, mut tile)| {
            let tile = tile.share(&item, SCALE.get() * x[item.global()]);
            *y = tile[3 - item.local()] + SCALE.get();
        })
    }
    let answers = agree(|queue| {
        let x = queue.upload(&[1u32, 2, 3, 4, 5, 6, 7, 8])?;
        let mut y = queue.zeroed::<u32>(8)?;
        turn(queue.launch(), &x, &mut y)?;
        let mut answers = queue.download(&y)?;
        turn(queue.launch().with(&SCALE, 10), &x, &mut y)?;
        answers.extend(queue.download(&y)?);
        Ok(answers)
    });
    assert_eq!(answers[..8], [5, 4, 3, 2, 9, 8, 7, 6]);
    assert_eq!(answers[8..], [50, 40, 30, 20, 90, 80, 70, 60]);
}

#[test]
fn a_panic_with_a_constant_in_it_is_told() {
    static LIMIT: SpecConstant<usize> = SpecConstant::new(100);
    fn check(launch: Launch<'_>, x: &Buffer<u32>) -> Result<Event> {
        launch.parallel_for(4, x, |_, x| {
            std::hint::black_box(x[LIMIT.get()]);
        })
    }
    for target in targets() {
        let queue = &target.queue;
        let x = queue.upload(&[0u32; 8]).unwrap();
        check(queue.launch().with(&LIMIT, 7), &x).unwrap().wait().unwrap();
        for (limit, launch) in [(100, queue.launch()), (8, queue.launch().with(&LIMIT, 8))] {
            let error = check(launch, &x).unwrap().wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panic, "{}", target.name);
            let expected = format!("the len is 8 but the index is {limit}");
            assert!(error.to_string().contains(&expected), "{}: {error}", target.name);
        }
    }
}

static ROUNDS: SpecConstant<u32> = SpecConstant::new(1);
static BUNDLED: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

fn bundled(launch: Launch<'_>, x: &mut Buffer<u32>) -> Result<Event> {
    launch.for_each(x, (), |i, x, ()| {
        BUNDLED.fetch_add(1, Relaxed);
        *x = ROUNDS.get() * i as u32;
    })
}

#[test]
fn bundles_of_one_kernel_live_side_by_side() {
    let answers = agree(|queue| {
        queue.write(&BUNDLED, &0)?;
        let bundle = |rounds| {
            let bundle = Bundle::of(queue.context()).with(&ROUNDS, rounds);
            bundle.kernels(|name| name.contains("constants::bundled")).build()
        };
        let (two, five) = (bundle(2)?, bundle(5)?);
        let mut x = queue.zeroed::<u32>(3)?;
        let mut answers = Vec::new();
        for launch in [
            queue.launch(),
            queue.launch().use_bundle(&two),
            queue.launch().use_bundle(&five),
            queue.launch().use_bundle(&two),
        ] {
            bundled(launch, &mut x)?;
            answers.extend(queue.download(&x)?);
        }
        answers.push(queue.read(&BUNDLED)?);
        Ok(answers)
    });
    assert_eq!(answers, [0, 1, 2, 0, 2, 4, 0, 5, 10, 0, 2, 4, 12]);
}

#[test]
fn a_bundle_knows_its_kernels_globals_and_constants() {
    for target in targets() {
        let queue = &target.queue;
        let bundle = Bundle::of(queue.context()).kernels(|name| name.contains("::bundled::"));
        let bundle = bundle.build().unwrap();
        // A plain build has no images to know them from.
        if !bundle.kernels().is_empty() {
            assert_eq!(bundle.kernels().len(), 1, "{}", target.name);
            assert!(bundle.contains("constants::bundled::{closure#0}"), "{bundle:?}");
            assert_eq!(bundle.globals(), ["constants::BUNDLED"]);
            assert_eq!(bundle.spec_constants(), ["constants::ROUNDS"]);
            assert_eq!(bundle.kernels()[0].dimensions, 1);
            // What is left out is refused, on the host as well.
            let mut x = queue.zeroed::<u32>(1).unwrap();
            let other = queue.launch().use_bundle(&bundle).for_each(&mut x, (), |_, x, ()| *x = 1);
            let error = other.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{}", target.name);
            assert!(error.to_string().contains("is not in the bundle"), "{error}");
        }
        let mut x = queue.zeroed::<u32>(2).unwrap();
        bundled(queue.launch().use_bundle(&bundle), &mut x).unwrap();
        assert_eq!(queue.download(&x).unwrap(), [0, 1]);
        let both = queue.launch().use_bundle(&bundle).with(&ROUNDS, 2);
        assert_eq!(bundled(both, &mut x).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
