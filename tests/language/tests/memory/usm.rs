//! Unified shared memory.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crosscut::DeviceCopy;
use crosscut::usm::{UsmKind, UsmPtr};
use crosscut_language::agree;

#[test]
fn shared_memory_is_written_by_the_host_and_by_kernels_in_turn() {
    let seen = agree(|queue| {
        let mut x = queue.alloc_shared::<u32>(1000)?;
        for round in 1..=5 {
            for (i, x) in x.write()?.iter_mut().enumerate() {
                *x += i as u32 % 7;
            }
            queue.for_each(&mut x, (), move |i, x, ()| *x = *x * round + i as u32)?;
        }
        let sum = x.read()?.iter().copied().map(u64::from).sum::<u64>();
        Ok(vec![sum])
    });
    assert!(seen[0] > 0);
}

#[test]
fn every_kind_is_an_argument_and_is_copied() {
    let seen = agree(|queue| {
        let mut host = queue.alloc_host::<i64>(100)?;
        host.write()?.iter_mut().zip(1..).for_each(|(x, i)| *x = i);
        let (mut there, mut shared) = (queue.alloc_device::<i64>(100)?, queue.alloc_shared(100)?);
        queue.for_each(&mut there, &host, |i, there, host| *there = -host[i])?;
        queue.copy(&there.slice(10..20)?, &mut shared.slice_mut(..10)?)?;
        queue.fill(&mut shared.slice_mut(90..)?, 5)?;
        queue.parallel_for(10, (shared.slice_mut(20..30)?, &there), |i, (x, there)| {
            *x = there[i] * 2;
        })?;
        assert_eq!(
            [host.kind(), there.kind(), shared.kind()],
            [UsmKind::Host, UsmKind::Device, UsmKind::Shared]
        );
        Ok(shared.read()?.to_vec())
    });
    assert_eq!((seen[0], seen[9], seen[20], seen[29], seen[95]), (-11, -20, -2, -20, 5));
}

#[test]
fn captured_addresses_are_followed() {
    let seen = agree(|queue| {
        let mut data = queue.alloc_shared::<u32>(64)?;
        let mut result = queue.alloc_device::<u32>(64)?;
        data.write()?.iter_mut().zip(100..).for_each(|(x, i)| *x = i);
        let (from, to) = (data.device_ptr(), result.device_ptr());
        let kernel = queue.parallel_for(64, (), move |i, ()| {
            // SAFETY: both have 64 elements and live until the kernel is waited for.
            let element = unsafe { *from.get().wrapping_add(63 - i) };
            // SAFETY: as above, and each item has its own.
            unsafe { *to.get().wrapping_add(i) = element };
        })?;
        kernel.wait()?;
        queue.for_each(&mut result, (), |_, x, ()| *x += 1)?;
        queue.download(&result)
    });
    assert_eq!((seen[0], seen[63]), (164, 101));
}

/// One of a list.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Node {
    value: u64,
    next: UsmPtr<Node>,
}

#[test]
fn addresses_inside_memory_are_followed() {
    let seen = agree(|queue| {
        let mut nodes = queue.alloc_shared::<Node>(10)?;
        let first = nodes.device_ptr();
        for (i, node) in nodes.write()?.iter_mut().enumerate() {
            let next = if i == 9 { UsmPtr::null() } else { first.add(i + 1) };
            *node = Node { value: i as u64 + 1, next };
        }
        let mut sum = queue.alloc_shared::<u64>(1)?;
        queue.single_task((&nodes, &mut sum), |(nodes, sum)| {
            let mut node = nodes[0];
            loop {
                sum[0] += node.value;
                if node.next.is_null() {
                    break;
                }
                // SAFETY: the host wrote addresses of nodes, which are lent to this kernel.
                node = unsafe { *node.next.get() };
            }
        })?;
        Ok(sum.read()?.to_vec())
    });
    assert_eq!(seen, [55]);
}

#[test]
fn atomics_in_shared_memory_are_atomics_for_the_host_too() {
    let seen = agree(|queue| {
        let counts = queue.alloc_shared::<AtomicU32>(4)?;
        counts.read()?[3].store(1000, Relaxed);
        queue.parallel_for(400, &counts, |i, counts| {
            counts[i % 4].fetch_add(1, Relaxed);
        })?;
        Ok(counts.read()?.iter().map(|count| count.load(Relaxed)).collect())
    });
    assert_eq!(seen, [100, 100, 100, 1100]);
}

#[test]
fn what_the_host_adds_to_atomics_beside_a_host_task_is_not_undone() {
    let seen = agree(|queue| {
        let counts = queue.alloc_shared::<AtomicU32>(2)?;
        let host = counts.read()?;
        let task = queue.host_task_with(&counts, |counts| {
            for _ in 0..100 {
                counts[0].fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_micros(100));
            }
        })?;
        // On a device the task runs at the same time.
        for _ in 0..20_000 {
            if host[0].load(Relaxed) != 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..1000 {
            host[0].fetch_add(1, Relaxed);
        }
        host[1].fetch_add(1, Relaxed);
        task.wait()?;
        Ok(host.iter().map(|count| count.load(Relaxed)).collect())
    });
    assert_eq!(seen, [1100, 1]);
}

#[test]
fn pointers_tell_what_they_point_into() {
    agree(|queue| {
        let context = queue.context();
        let mut x = queue.alloc_shared::<u32>(10)?;
        let y = queue.alloc_device::<u8>(3)?;
        let first = x.write()?.as_ptr();
        let found = context.usm_pointer(first.wrapping_add(9)).expect("it is inside");
        assert_eq!((found.kind, found.start, found.size), (UsmKind::Shared, first.addr(), 40));
        assert_eq!(x.as_ptr(), first);
        let behind = context.usm_pointer(first.wrapping_add(10));
        assert!(behind.is_none_or(|it| it.start != first.addr()), "it is outside");
        let pointer: UsmPtr<u8> = y.device_ptr();
        assert_eq!(context.usm_pointer(pointer.get()).map(|it| it.kind), Some(UsmKind::Device));
        let local = 5;
        assert_eq!(context.usm_pointer(&raw const local), None);
        drop(x);
        assert_eq!(context.usm_pointer(first), None);
        Ok(vec![0u8])
    });
}

#[test]
fn scopes_copy_while_kernels_run() {
    let seen = agree(|queue| {
        let input: Vec<u32> = (0..100_000).collect();
        let mut output = vec![0; 100_000];
        let mut x = queue.zeroed::<u32>(100_000)?;
        queue.scope(|s| {
            let (low, high) = input.split_at(50_000);
            s.upload(&mut x.slice_mut(..50_000)?, low)?;
            s.upload(&mut x.slice_mut(50_000..)?, high)?;
            queue.for_each(&mut x, (), |_, x, ()| *x = *x * 2 + 1)?;
            s.download(&x, &mut output)?;
            // The buffer is free for the next kernel, which comes after the copy.
            queue.fill(&mut x, 0)?;
            Ok(())
        })?;
        Ok(output)
    });
    assert!(seen.iter().zip(0..).all(|(x, i)| *x == 2 * i + 1));
}

#[test]
fn memory_is_dropped_while_kernels_use_it() {
    let seen = agree(|queue| {
        let mut sum = queue.zeroed::<u64>(1)?;
        for _ in 0..50 {
            let mut x = queue.alloc_shared::<u64>(10_000)?;
            let y = queue.upload(&[3u64; 10_000])?;
            queue.for_each(&mut x, &y, |i, x, y| *x = y[i])?;
            queue.single_task((&mut sum, &x), |(sum, x)| sum[0] += x.iter().sum::<u64>())?;
            drop(y);
            drop(x);
        }
        queue.download(&sum)
    });
    assert_eq!(seen, [50 * 30_000]);
}
