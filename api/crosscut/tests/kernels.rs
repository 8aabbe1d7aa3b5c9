//! Kernels, arguments and ranges, on the default device: the host CPU in a plain build, whatever
//! `CROSSCUT_DEVICE` says where the program has images.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

fn queue() -> Queue {
    Queue::new().unwrap()
}

#[test]
fn items_of_two_and_three_dimensions_have_their_own_indices() -> Result<()> {
    let queue = queue();
    let mut plane = queue.zeroed::<u64>(300 * 700)?;
    queue.parallel_for([300, 700], &mut plane, |[y, x], cell| *cell = (y * 1000 + x) as u64)?;
    let plane = queue.download(&plane)?;
    assert!(plane.iter().enumerate().all(|(i, &v)| v == (i / 700 * 1000 + i % 700) as u64));

    let mut cube = queue.zeroed::<[u32; 3]>(40 * 50 * 60)?;
    queue.parallel_for([40, 50, 60], &mut cube, |item, cell| *cell = item.map(|i| i as u32))?;
    let cube = queue.download(&cube)?;
    let expected = |i: usize| [i / 3000, i / 60 % 50, i % 60].map(|i| i as u32);
    assert!(cube.iter().enumerate().all(|(i, &v)| v == expected(i)));

    let mut line = queue.zeroed::<usize>(10)?;
    queue.parallel_for([10], &mut line, |[i], cell| *cell = i)?;
    assert_eq!(queue.download(&line)?, (0..10).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn captures_and_every_kind_of_argument_arrive() -> Result<()> {
    static SCALE: DeviceGlobal<f64> = DeviceGlobal::new(10.0);
    let queue = queue();
    let (a, b) = (queue.upload(&[1.0, 2.0, 3.0])?, queue.upload(&[0.5; 3])?);
    let (mut c, mut d) = (queue.zeroed::<f64>(3)?, queue.zeroed::<i8>(3)?);
    let offset = [100.0, 200.0];
    queue.parallel_for(
        3,
        (&a, &b, &mut c, (&mut d, &SCALE)),
        move |i, (a, b, c, (d, scale))| {
            *c = a[i] * b[i] * scale + offset[1];
            *d = -(i as i8);
        },
    )?;
    assert_eq!(queue.download(&c)?, [205.0, 210.0, 215.0]);
    assert_eq!(queue.download(&d)?, [0, -1, -2]);
    Ok(())
}

#[test]
fn a_single_task_gets_whole_buffers() -> Result<()> {
    let queue = queue();
    let mut y = queue.upload(&[3u8, 2, 1])?;
    queue.single_task(&mut y, |y| y.reverse())?;
    assert_eq!(queue.download(&y)?, [1, 2, 3]);
    queue.single_task((), |()| ())?.wait()
}

#[test]
fn buffers_of_atomics_are_shared_by_all_items() -> Result<()> {
    let queue = queue();
    let bins = queue.zeroed::<AtomicU32>(7)?;
    queue.parallel_for(700_000, &bins, |i, bins| {
        bins[i % 7].fetch_add(1, Relaxed);
    })?;
    assert_eq!(queue.download(&bins)?, [100_000; 7]);
    let twice = queue.parallel_for(1, (&bins, &bins), |_, _| ());
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::Invalid);
    Ok(())
}

#[test]
fn plain_buffers_may_be_read_twice() -> Result<()> {
    let queue = queue();
    let x = queue.upload(&[1u32, 2])?;
    let mut y = queue.zeroed::<u32>(2)?;
    queue.for_each(&mut y, (&x, &x), |i, y, (a, b)| *y = a[i] + b[1 - i])?;
    assert_eq!(queue.download(&y)?, [3, 3]);
    Ok(())
}

#[test]
fn a_range_that_differs_from_a_written_buffer_is_refused_naming_both() -> Result<()> {
    let queue = queue();
    let mut y = queue.zeroed::<u32>(8)?;
    for range in [7, 9, 0] {
        let error = queue.parallel_for(range, &mut y, |_, _| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains(&format!("{range} items")), "{error}");
        assert!(error.message().contains("8 elements"), "{error}");
    }
    queue.parallel_for([2, 4], &mut y, |_, _| ())?;
    assert!(queue.parallel_for([4, 4], &mut y, |_, _| ()).is_err());
    Ok(())
}

#[test]
fn empty_ranges_and_buffers_work() -> Result<()> {
    let queue = queue();
    let empty = queue.upload::<f32>(&[])?;
    assert!(empty.is_empty());
    assert_eq!(queue.download(&empty)?, []);
    let mut none = queue.zeroed::<[u64; 2]>(0)?;
    queue.for_each(&mut none, &empty, |_, _, _| panic!("there is no item"))?.wait()?;
    queue.parallel_for([3, 0], (), |_, ()| panic!("there is no item"))?.wait()?;
    let mut seen = queue.zeroed::<usize>(1)?;
    queue.for_each(&mut seen, &empty, |_, seen, empty| *seen = empty.len() + 1)?;
    assert_eq!(queue.download(&seen)?, [1]);
    let nothings = queue.zeroed::<[u32; 0]>(5)?;
    queue.single_task((&mut seen, &nothings), |(seen, nothings)| seen[0] = nothings.len())?;
    assert_eq!(queue.download(&seen)?, [5]);
    Ok(())
}

#[test]
fn ranges_no_device_could_count_are_refused() {
    let queue = queue();
    let launch = |range: [usize; 3]| queue.parallel_for(range, (), |_, ()| ()).unwrap_err();
    assert!(launch([1 << 31, 1, 1]).message().contains("2147483648 items"));
    assert!(launch([1 << 20, 1 << 20, 2]).message().contains("more than"));
    assert!(launch([usize::MAX, usize::MAX, usize::MAX]).kind() == ErrorKind::Invalid);
}

#[test]
fn impossible_allocations_are_errors() {
    let queue = queue();
    assert_eq!(queue.zeroed::<u64>(usize::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    let error = queue.zeroed::<u8>(isize::MAX as usize).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.to_string().contains("help: "), "{error}");
    let error = queue.zeroed::<u8>(usize::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

#[test]
fn threads_may_share_a_queue() -> Result<()> {
    static SUM: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    let queue = queue();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let x = queue.upload(&[1u64; 1000]).unwrap();
                    let add = |i: usize, x: &[u64]| {
                        SUM.fetch_add(x[i], Relaxed);
                    };
                    queue.parallel_for(1000, &x, add).unwrap();
                }
            });
        }
    });
    assert_eq!(queue.read(&SUM)?, 200_000);
    Ok(())
}

#[test]
fn kernels_with_equal_bodies_stay_apart() -> Result<()> {
    fn add<T: DeviceCopy + std::ops::AddAssign>(
        queue: &Queue,
        y: &mut Buffer<T>,
        x: T,
    ) -> Result<()> {
        queue.for_each(y, (), move |_, y, ()| *y += x)?.wait()
    }
    let queue = queue();
    let (mut a, mut b) = (queue.upload(&[1u32])?, queue.upload(&[1i32])?);
    add(&queue, &mut a, 1)?;
    add(&queue, &mut b, -3)?;
    assert_eq!((queue.download(&a)?, queue.download(&b)?), (vec![2], vec![-2]));
    Ok(())
}

#[test]
fn captures_are_aligned_as_their_types_ask() -> Result<()> {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Table([u32; 16]);
    let (queue, table) = (queue(), Table(std::array::from_fn(|i| 3 * i as u32)));
    let mut y = queue.zeroed::<[u32; 2]>(64)?;
    queue.parallel_for(64, &mut y, move |i, y| {
        // By an index that nobody knows before: the captures stay in memory.
        let moved = [table, Table([i as u32; 16])][i / 32];
        *y = [moved.0[i % 16], (&raw const table).addr() as u32 % 64];
    })?;
    for (i, found) in queue.download(&y)?.into_iter().enumerate() {
        assert_eq!(found, [if i < 32 { 3 * (i % 16) } else { i } as u32, 0], "item {i}");
    }
    Ok(())
}
