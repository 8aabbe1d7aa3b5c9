//! Every item of a native launch runs once, on however many threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut_adapter_api::{Adapter, Extent, NativeLaunch, NativePanic, QueueOptions, Slot};
use crosscut_adapter_host::HostAdapter;

unsafe fn count(launch: &NativeLaunch<'_>, range: Range<u64>) -> Result<(), NativePanic> {
    // SAFETY: the tests below pass one slot of `AtomicU32`s, as many as there are items.
    let counts = unsafe {
        std::slice::from_raw_parts(
            launch.slots[0].address.cast::<AtomicU32>().cast_const(),
            launch.slots[0].length,
        )
    };
    for item in range {
        if launch.slots.len() > 1 && item % 1000 == 999 {
            return Err(NativePanic {
                item,
                message: "every thousandth".into(),
                file: "here".into(),
                line: 1,
                column: 1,
            });
        }
        counts[usize::try_from(item).unwrap()].fetch_add(1, Relaxed);
    }
    Ok(())
}

fn launch(size: [usize; 3], dimensions: u8, panics: bool) -> (Vec<u32>, Result<(), NativePanic>) {
    let counts: Vec<AtomicU32> = (0..size.iter().product()).map(|_| AtomicU32::new(0)).collect();
    let slot = Slot { address: counts.as_ptr().cast_mut().cast(), length: counts.len() };
    let slots = if panics { vec![slot, slot] } else { vec![slot] };
    let device = HostAdapter.devices().unwrap().remove(0);
    let context = device.create_context().unwrap();
    let queue = context.create_queue(&QueueOptions::default()).unwrap();
    let launch = NativeLaunch {
        captures: std::ptr::null(),
        slots: &slots,
        extent: Extent { dimensions, size, group: None },
        local_memory: 0,
    };
    // SAFETY: `count` takes these slots and shares them as atomics.
    let (event, outcome) =
        unsafe { queue.as_native().unwrap().launch_native(count, &launch, &[]) }.unwrap();
    assert_eq!(event.is_complete(), Ok(true));
    (counts.into_iter().map(AtomicU32::into_inner).collect(), outcome)
}

#[test]
fn every_item_runs_once_in_small_and_large_launches() {
    for size in [[1, 1, 1], [7, 1, 1], [1_000_003, 1, 1], [100, 200, 30]] {
        let (counts, outcome) = launch(size, 3, false);
        assert_eq!(outcome, Ok(()));
        assert!(counts.iter().all(|&count| count == 1), "{size:?}");
    }
}

#[test]
fn the_lowest_item_that_panicked_is_told() {
    let (counts, outcome) = launch([1 << 20, 1, 1], 1, true);
    let panic = outcome.unwrap_err();
    assert_eq!(panic.item, 999, "whatever others have met, everything before it is run");
    assert!(counts[..999].iter().all(|&count| count == 1));
}

#[test]
fn launches_side_by_side_share_the_threads_and_run_every_item_once() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for size in [300_000, 20_000, 1] {
                    let (counts, outcome) = launch([size, 1, 1], 1, false);
                    assert_eq!(outcome, Ok(()));
                    assert!(counts.iter().all(|&count| count == 1), "{size}");
                }
            });
        }
    });
}
