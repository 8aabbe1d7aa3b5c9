//! Work-groups and their memory.

use std::num::NonZeroUsize;

use super::where_kernels_run;
use crate::device::extent;
use crate::{Behaviour, Place, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_kernels_run("items of a group share its memory at a barrier", turn_around),
    where_kernels_run("a group may be one item, and may be the whole range", extremes),
    where_kernels_run("local memory may differ from launch to launch", other_sizes),
    where_kernels_run("launches at the same time have their own local memory", side_by_side),
    where_kernels_run("the extents of a group stand in the order of the range's", order_of_extents),
    where_kernels_run("every item runs once in groups of one to three dimensions", every_item_once),
];

/// What `turn_around` leaves.
fn turned(items: usize, group: usize) -> Vec<u8> {
    let other = |i: usize| (i / group * group + (group - 1 - i % group)) as u32;
    (0..items).flat_map(|i| other(i).to_ne_bytes()).collect()
}

fn run(device: &TestDevice, launches: &[(usize, usize)]) -> Result<(), String> {
    let bench = device.bench()?;
    let kernel = bench.kernel("turn_around")?;
    for &(items, group) in launches {
        let to = bench.holding(&vec![0; items * 4])?;
        let whole = NonZeroUsize::new(group).ok_or("a group of no items")?;
        let work = Work::TurnAround { to: Place::start(&to), group: whole };
        let mut space = extent(&[items]);
        space.group = Some([group, 1, 1]);
        bench.start_launch(&kernel, space, &work, &[])?.wait()?;
        let found = bench.read_all(&to)?;
        ensure!(found == turned(items, group), "{items} items in groups of {group} differ");
    }
    Ok(())
}

fn turn_around(device: &TestDevice) -> Result<(), String> {
    run(device, &[(64, 16), (96, 32), (1000, 100), (15, 5)])
}

fn extremes(device: &TestDevice) -> Result<(), String> {
    run(device, &[(10, 1), (1, 1), (64, 64)])
}

fn other_sizes(device: &TestDevice) -> Result<(), String> {
    run(device, &[(64, 4), (64, 64), (64, 4), (64, 2), (64, 64)])
}

fn side_by_side(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let kernel = bench.kernel("turn_around")?;
    let mut running = Vec::new();
    for group in [2, 8, 32, 4, 16] {
        let to = bench.holding(&[0; 4096])?;
        let whole = NonZeroUsize::new(group).ok_or("a group of no items")?;
        let work = Work::TurnAround { to: Place::start(&to), group: whole };
        let mut space = extent(&[1024]);
        space.group = Some([group, 1, 1]);
        running.push((bench.start_launch(&kernel, space, &work, &[])?, to, group));
    }
    for (pending, to, group) in &running {
        pending.wait()?;
        ensure!(bench.read_all(to)? == turned(1024, *group), "groups of {group} differ");
    }
    Ok(())
}

fn order_of_extents(device: &TestDevice) -> Result<(), String> {
    // Turned around, these groups would not divide the range.
    indices(device, &[4, 6], [4, 3, 1])?;
    indices(device, &[2, 9, 5], [2, 3, 5])
}

fn every_item_once(device: &TestDevice) -> Result<(), String> {
    indices(device, &[60], [12, 1, 1])?;
    indices(device, &[6, 10], [3, 2, 1])?;
    indices(device, &[4, 6, 10], [2, 3, 5])
}

/// Groups change nothing about the indices of a range.
fn indices(device: &TestDevice, size: &[usize], group: [usize; 3]) -> Result<(), String> {
    let bench = device.bench()?;
    let kernel = bench.kernel("store_indices")?;
    let items: usize = size.iter().product();
    let (plain, grouped) =
        (bench.holding(&vec![0xFF; items * 8])?, bench.holding(&vec![0xFF; items * 8])?);
    let mut space = extent(size);
    let work = Work::StoreIndices { to: Place::start(&plain) };
    bench.start_launch(&kernel, space, &work, &[])?.wait()?;
    space.group = Some(group);
    let work = Work::StoreIndices { to: Place::start(&grouped) };
    bench.start_launch(&kernel, space, &work, &[])?.wait()?;
    ensure!(bench.read_all(&plain)? == bench.read_all(&grouped)?, "{size:?} in {group:?} differs");
    Ok(())
}
