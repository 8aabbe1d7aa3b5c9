//! Sub-devices, of devices that can be cut.

use std::num::NonZeroU32;

use crosscut_adapter_api::{Feature, Partition};

use super::{only_where, pattern};
use crate::condition::CAN_BE_CUT;
use crate::{Behaviour, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    only_where(&CAN_BE_CUT, "equal parts have the compute units that were asked for", equal_parts),
    only_where(
        &CAN_BE_CUT,
        "counted parts have the compute units that were asked for",
        counted_parts,
    ),
    only_where(
        &CAN_BE_CUT,
        "a part has the features of the whole, but for cutting it",
        same_features,
    ),
    only_where(&CAN_BE_CUT, "a part of one compute unit cannot be cut", smallest_part),
    only_where(&CAN_BE_CUT, "parts copy and fill, side by side with the whole", parts_work),
    only_where(&CAN_BE_CUT, "a part outlives the others", parts_live_alone),
    only_where(&CAN_BE_CUT, "a device can be cut again and again", cut_again),
    only_where(&CAN_BE_CUT, "kernels run on parts as on the whole", kernels_run),
];

const ONE: NonZeroU32 = NonZeroU32::MIN;

/// Parts of one compute unit; none if the device cannot be cut.
pub(super) fn singles(device: &TestDevice) -> Result<Vec<TestDevice>, String> {
    Ok(device.partition(Partition::Equally(ONE))?.unwrap_or_default())
}

fn equal_parts(device: &TestDevice) -> Result<(), String> {
    let whole = device.info().compute_units;
    for units in 1..=whole / 2 {
        let units = NonZeroU32::new(units).unwrap_or(ONE);
        if (whole / units) as usize > device.info().limits.sub_devices {
            continue;
        }
        let Some(parts) = device.partition(Partition::Equally(units))? else { return Ok(()) };
        ensure!(parts.len() == (whole / units) as usize, "{} parts of {units}", parts.len());
        for part in parts {
            ensure!(part.info().compute_units == units.get(), "{:?}", part.info());
        }
    }
    Ok(())
}

fn counted_parts(device: &TestDevice) -> Result<(), String> {
    let rest = NonZeroU32::new(device.info().compute_units - 1).unwrap_or(ONE);
    for counts in [&[ONE, rest][..], &[rest]] {
        let Some(parts) = device.partition(Partition::ByCounts(counts))? else { return Ok(()) };
        let found: Vec<u32> = parts.iter().map(|part| part.info().compute_units).collect();
        let wanted: Vec<u32> = counts.iter().map(|count| count.get()).collect();
        ensure!(found == wanted, "{wanted:?} became {found:?}");
    }
    Ok(())
}

fn same_features(device: &TestDevice) -> Result<(), String> {
    let cuts = [Feature::PartitionEqually, Feature::PartitionByCounts];
    let without = |device: &TestDevice| {
        cuts.iter().fold(device.info().features, |features, &cut| features.without(cut))
    };
    for part in singles(device)? {
        ensure!(without(&part) == without(device), "{:?}", without(&part));
        ensure!(part.info().code_forms == device.info().code_forms, "it takes other code");
    }
    Ok(())
}

fn smallest_part(device: &TestDevice) -> Result<(), String> {
    for part in singles(device)? {
        let features = part.info().features;
        ensure!(!features.has(Feature::PartitionEqually), "it says that it can be cut equally");
        ensure!(!features.has(Feature::PartitionByCounts), "it says that it can be cut by counts");
    }
    Ok(())
}

pub(super) fn parts_work(device: &TestDevice) -> Result<(), String> {
    let whole = device.bench()?;
    let beside = whole.holding(&[9; 1000])?;
    let parts = singles(device)?;
    let benches: Result<Vec<_>, _> = parts.iter().map(TestDevice::bench).collect();
    for bench in benches? {
        let memory = bench.holding(&pattern(1000))?;
        ensure!(bench.read_all(&memory)? == pattern(1000), "a copy went wrong");
        bench.start_fill(&memory, 0, 5, 1000, &[])?.wait()?;
        ensure!(bench.read_all(&memory)? == [5; 1000], "a fill went wrong");
    }
    ensure!(whole.read_all(&beside)? == [9; 1000], "the whole lost what it had");
    Ok(())
}

fn parts_live_alone(device: &TestDevice) -> Result<(), String> {
    let Some(last) = singles(device)?.pop() else { return Ok(()) };
    let bench = last.bench()?;
    drop(last);
    let memory = bench.holding(&pattern(64))?;
    ensure!(bench.read_all(&memory)? == pattern(64), "a copy went wrong");
    Ok(())
}

fn cut_again(device: &TestDevice) -> Result<(), String> {
    let first = singles(device)?.len();
    for _ in 0..10 {
        ensure!(singles(device)?.len() == first, "it was cut into another number of parts");
    }
    Ok(())
}

fn kernels_run(device: &TestDevice) -> Result<(), String> {
    for part in singles(device)? {
        part.bench()?.launch(&[64], &Work::Nothing)?;
    }
    Ok(())
}
