//! The one device: the CPU this process runs on.

use std::any::Any;
use std::fs;
use std::num::NonZeroU32;
use std::sync::Arc;

use crosscut_adapter_api::{
    CodeForm, Context, Device, DeviceInfo, DeviceKind, DriverError, Feature, Features, Joinable,
    Limits, Partition, Partitionable,
};

use crate::context::HostContext;
use crate::workers::Workers;

pub(crate) struct HostDevice {
    info: DeviceInfo,
    workers: Arc<Workers>,
}

impl HostDevice {
    /// Describes this machine. What it does not tell is left at zero or at a plain name.
    pub(crate) fn detect() -> Self {
        let workers = Workers::of_machine();
        let threads = workers.threads();
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = memory_size(&fs::read_to_string("/proc/meminfo").unwrap_or_default());
        Self {
            info: with_parts(
                DeviceInfo {
                    name: field(&cpu, "model name").unwrap_or("host CPU").to_owned(),
                    vendor: field(&cpu, "vendor_id").unwrap_or("unknown").to_owned(),
                    platform: "host".to_owned(),
                    platform_vendor: "crosscut".to_owned(),
                    platform_version: env!("CARGO_PKG_VERSION").to_owned(),
                    version: std::env::consts::ARCH.to_owned(),
                    driver_version: env!("CARGO_PKG_VERSION").to_owned(),
                    kind: DeviceKind::Cpu,
                    code_forms: vec![CodeForm::Native],
                    code_forms_note: None,
                    memory_size: memory,
                    // The allocator is the judge: no object may be larger than this.
                    largest_allocation: isize::MAX as u64,
                    compute_units: u32::try_from(threads).unwrap_or(u32::MAX),
                    address_bits: usize::BITS,
                    limits: LIMITS,
                    features: features(),
                    sub_group_sizes: vec![SUB_GROUP],
                },
                threads,
            ),
            workers,
        }
    }

    /// A device of so many threads of its own.
    fn part(&self, units: NonZeroU32) -> Self {
        let threads = units.get() as usize;
        let info = DeviceInfo { compute_units: units.get(), ..self.info.clone() };
        Self { info: with_parts(info, threads), workers: Workers::new(threads) }
    }
}

/// The items of a sub-group: those whose stacks native code goes through in step.
const SUB_GROUP: usize = 8;

/// Nothing here is bounded by hardware: these are what one may ask for without a stall.
const LIMITS: Limits = Limits {
    work_group_size: 1024,
    work_item_sizes: [1024; 3],
    local_memory: 1 << 20,
    sub_groups: 1024 / SUB_GROUP,
    argument_bytes: isize::MAX as usize,
    sub_devices: 0,
};

/// Native code has what Rust has: doubles, atomics as wide as a pointer and of every order, and every address of
/// the process. Commands complete as they are submitted, which is one way to run out of order.
fn features() -> Features {
    [
        Feature::Fp64,
        Feature::SubGroups,
        Feature::SubGroupShuffle,
        Feature::UsmDevice,
        Feature::UsmHost,
        Feature::UsmShared,
        Feature::UsmSystem,
        Feature::OutOfOrderQueue,
        Feature::QueueProfiling,
    ]
    .into_iter()
    .collect::<Features>()
    .and(Features::WHOLE_MEMORY_MODEL)
    .with_if(cfg!(target_has_atomic = "64"), Feature::Atomic64)
}

/// The same, as one that has so many threads: it can be cut if there are several.
fn with_parts(info: DeviceInfo, threads: usize) -> DeviceInfo {
    let ways = [Feature::PartitionEqually, Feature::PartitionByCounts];
    let features = ways
        .into_iter()
        .fold(info.features, |features, way| features.without(way).with_if(threads > 1, way));
    let sub_devices = if threads > 1 { threads } else { 0 };
    DeviceInfo { features, limits: Limits { sub_devices, ..info.limits }, ..info }
}

/// The value of the first line `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

/// The bytes of memory, from a line `MemTotal: 123 kB`.
fn memory_size(text: &str) -> u64 {
    field(text, "MemTotal")
        .and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes.saturating_mul(1024))
}

impl Device for HostDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(Arc::new(HostContext { workers: Arc::clone(&self.workers) }))
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        (self.info.limits.sub_devices > 1).then_some(self)
    }

    fn as_joinable(&self) -> Option<&dyn Joinable> {
        Some(self)
    }
}

/// All threads are of one process: contexts of the host share its memory without being told to.
impl Joinable for HostDevice {
    fn can_join(&self, other: &dyn Joinable) -> bool {
        other.as_any().is::<Self>()
    }

    fn create_contexts(
        &self,
        others: &[&dyn Joinable],
    ) -> Result<Vec<Arc<dyn Context>>, DriverError> {
        let others = others.iter().map(|other| match other.as_any().downcast_ref::<Self>() {
            Some(other) => other,
            None => panic!("the runtime joins only devices that can be joined"),
        });
        std::iter::once(self).chain(others).map(Device::create_context).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Partitionable for HostDevice {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let units = way.units(self.info.compute_units);
        Ok(units.into_iter().map(|units| Arc::new(self.part(units)) as Arc<dyn Device>).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{field, memory_size};

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "model\t\t: 1\nmodel name\t: Some CPU\nflags :\n";
        assert_eq!(field(text, "model name"), Some("Some CPU"));
        assert_eq!(field(text, "flags"), None);
    }

    #[test]
    fn memory_is_given_in_bytes() {
        assert_eq!(memory_size("MemFree: 1 kB\nMemTotal:       2048 kB\n"), 2048 * 1024);
        assert_eq!(memory_size("nothing"), 0);
    }
}
