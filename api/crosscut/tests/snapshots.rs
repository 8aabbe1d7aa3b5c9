//! Snapshots of device globals, and globals of several devices.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Named, Result, Snapshot};

fn two() -> Result<[Queue; 2]> {
    let first = Queue::new()?;
    let second = Queue::in_context(&first.device().create_context()?)?;
    Ok([first, second])
}

#[test]
fn a_snapshot_goes_to_another_device_and_through_a_file() -> Result<()> {
    static COUNTS: DeviceGlobal<[AtomicU32; 3]> = DeviceGlobal::zeroed();
    static GAIN: DeviceGlobal<f64> = DeviceGlobal::new(0.5);
    const STATE: &[Named] = &[("counts", &COUNTS), ("gain", &GAIN)];
    let [first, second] = two()?;
    first.parallel_for(9, (), |i, ()| {
        COUNTS[i % 3].fetch_add(i as u32, Relaxed);
    })?;
    first.write(&GAIN, &2.5)?;
    let saved = first.snapshot(STATE)?;
    assert_eq!(saved.names().collect::<Vec<_>>(), ["counts", "gain"]);
    second.restore(STATE, &saved)?;
    assert_eq!((second.read(&COUNTS)?, second.read(&GAIN)?), ([9, 12, 15], 2.5));

    let file = std::env::temp_dir().join(format!("crosscut-snapshot-{}", std::process::id()));
    saved.save(&file)?;
    first.reset(&COUNTS)?;
    let loaded = Snapshot::load(&file);
    std::fs::remove_file(&file).unwrap();
    first.restore(&STATE[..1], &loaded?)?;
    assert_eq!(first.read(&COUNTS)?, [9, 12, 15]);
    assert_eq!(Snapshot::load(&file).unwrap_err().kind(), ErrorKind::Invalid);
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() -> Result<()> {
    static ONE: DeviceGlobal<u32> = DeviceGlobal::new(1);
    static OTHER: DeviceGlobal<[u16; 2]> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    let saved = queue.snapshot(&[("one", &ONE), ("other", &OTHER)])?;
    queue.write(&ONE, &5)?;
    let error = queue.restore(&[("one", &ONE), ("other", &ONE)], &saved).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (
            ErrorKind::Invalid,
            "`other` was saved as 4 bytes in elements of 2, aligned to 2 and is 4 bytes in \
             elements of 4, aligned to 4 now"
        )
    );
    let error = queue.restore(&[("one", &ONE), ("two", &ONE)], &saved).unwrap_err();
    assert_eq!(error.message(), "the snapshot has no device global called `two`");
    let error = queue.snapshot(&[("a", &ONE), ("a", &OTHER)]).unwrap_err();
    assert_eq!(error.message(), "two device globals of a snapshot are called `a`");
    assert_eq!(queue.read(&ONE)?, 5);
    Ok(())
}

#[test]
fn values_of_several_devices_are_set_taken_and_combined() -> Result<()> {
    static CELLS: DeviceGlobal<[[u32; 2]; 2]> = DeviceGlobal::zeroed();
    let queues = two()?;
    crosscut::broadcast(&queues, &CELLS, &[[1, 2], [3, 4]])?;
    queues[1].copy_to(&CELLS, &[7], 0)?;
    assert_eq!(crosscut::gather(&queues, &CELLS)?, [[[1, 2], [3, 4]], [[7, 2], [3, 4]]]);
    assert_eq!(crosscut::reduce(&queues, &CELLS, u32::max)?, [[7, 2], [3, 4]]);
    assert_eq!(crosscut::reduce(&queues, &CELLS, |a, b| a + b)?, [[8, 4], [6, 8]]);
    assert!(crosscut::reduce(&[], &CELLS, u32::max).is_err());
    Ok(())
}
