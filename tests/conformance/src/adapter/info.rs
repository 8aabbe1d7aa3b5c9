//! What devices say about themselves, and whether it is true.

use crosscut_adapter_api::{CodeForm, Feature, MemoryKind, QueueOrder};

use super::{everywhere, only_where};
use crate::condition::TAKES_SPIRV;
use crate::{Behaviour, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a device has a name, a vendor, a platform and a driver version", is_named),
    everywhere("a device says the same about itself every time", says_the_same),
    everywhere("the largest allocation is not zero, and there are compute units", is_not_empty),
    everywhere("a work-group may have an item in every dimension", groups_have_items),
    everywhere("a group of the largest size fits one dimension or several", groups_fit),
    everywhere("a device that takes no code says why", says_why),
    everywhere("device memory has an address where the device says so", device_addresses),
    everywhere("host memory has an address on both sides where the device says so", host_addresses),
    everywhere("a queue out of order is made where the device says so", out_of_order),
    everywhere("sub-group sizes are ascending, and belong to devices with sub-groups", sub_groups),
    everywhere("what reaches all devices reaches the device, atomics and fences alike", scopes),
    everywhere("atomics that can be sequentially consistent can acquire and release", orders),
    everywhere("sub-devices are counted where the device can be cut", partitions),
    only_where(&TAKES_SPIRV, "a device that takes SPIR-V has 64-bit addresses", wide),
];

fn is_named(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    let texts = [
        ("name", &info.name),
        ("vendor", &info.vendor),
        ("platform", &info.platform),
        ("platform's vendor", &info.platform_vendor),
        ("platform's version", &info.platform_version),
        ("version", &info.version),
        ("driver version", &info.driver_version),
    ];
    for (what, text) in texts {
        ensure!(!text.trim().is_empty(), "its {what} is empty");
        ensure!(!text.contains('\0'), "its {what} has a zero byte: {text:?}");
    }
    Ok(())
}

fn says_the_same(device: &TestDevice) -> Result<(), String> {
    let before = device.info().clone();
    device.bench()?;
    ensure!(*device.info() == before, "{before:?} became {:?}", device.info());
    Ok(())
}

fn is_not_empty(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    ensure!(info.largest_allocation > 0, "it gives no memory");
    ensure!(info.compute_units > 0, "it has no compute unit");
    Ok(())
}

fn groups_have_items(device: &TestDevice) -> Result<(), String> {
    let limits = device.info().limits;
    ensure!(limits.work_group_size > 0, "groups are empty");
    ensure!(!limits.work_item_sizes.contains(&0), "{:?}", limits.work_item_sizes);
    ensure!(limits.argument_bytes >= 1024, "{} bytes of arguments", limits.argument_bytes);
    Ok(())
}

fn groups_fit(device: &TestDevice) -> Result<(), String> {
    let limits = device.info().limits;
    let most = limits.work_item_sizes.iter().fold(1_usize, |all, &size| all.saturating_mul(size));
    ensure!(most >= limits.work_group_size, "{limits:?}");
    Ok(())
}

fn says_why(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    let silent = info.code_forms_note.as_ref().is_none_or(|note| note.trim().is_empty());
    ensure!(
        info.code_forms.is_empty() != silent,
        "{:?}",
        (&info.code_forms, &info.code_forms_note)
    );
    Ok(())
}

fn device_addresses(device: &TestDevice) -> Result<(), String> {
    let memory = device.bench()?.memory(64)?;
    let says = device.info().features.has(Feature::UsmDevice);
    ensure!(memory.device_address().is_some() == says, "it says {says}");
    Ok(())
}

fn host_addresses(device: &TestDevice) -> Result<(), String> {
    let memory = device.bench()?.memory_of(MemoryKind::HostVisible, 64)?;
    let both = memory.device_address().is_some() && memory.host_address().is_some();
    let says = device.info().features.has(Feature::UsmHost);
    ensure!(both == says, "it says {says}");
    Ok(())
}

fn out_of_order(device: &TestDevice) -> Result<(), String> {
    if device.info().features.has(Feature::OutOfOrderQueue) {
        device.bench_on(device.context()?, QueueOrder::OutOfOrder)?;
    }
    Ok(())
}

fn sub_groups(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    let sizes = &info.sub_group_sizes;
    ensure!(!sizes.contains(&0) && sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    let has = info.features.has(Feature::SubGroups);
    ensure!(has || sizes.is_empty(), "no sub-groups, and sizes {sizes:?}");
    ensure!(has || !info.features.has(Feature::SubGroupShuffle), "it shuffles what it has not");
    Ok(())
}

/// Whether it has `less` if it has `more`.
fn includes(device: &TestDevice, more: Feature, less: Feature) -> Result<(), String> {
    let features = device.info().features;
    ensure!(!features.has(more) || features.has(less), "it has {more} and no {less}");
    Ok(())
}

fn scopes(device: &TestDevice) -> Result<(), String> {
    includes(device, Feature::AtomicScopeSystem, Feature::AtomicScopeDevice)?;
    includes(device, Feature::FenceScopeSystem, Feature::FenceScopeDevice)
}

fn orders(device: &TestDevice) -> Result<(), String> {
    includes(device, Feature::AtomicSeqCst, Feature::AtomicAcqRel)
}

fn partitions(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    let ways = [Feature::PartitionEqually, Feature::PartitionByCounts];
    let can = ways.iter().any(|&way| info.features.has(way));
    let most = info.limits.sub_devices;
    ensure!(!can || most >= 2, "it can be cut into {most} parts");
    ensure!(most <= info.compute_units as usize, "more parts than the {}", info.compute_units);
    Ok(())
}

fn wide(device: &TestDevice) -> Result<(), String> {
    let info = device.info();
    ensure!(info.code_forms.contains(&CodeForm::Spirv64), "{:?}", info.code_forms);
    ensure!(info.address_bits == 64, "{} bits", info.address_bits);
    Ok(())
}
