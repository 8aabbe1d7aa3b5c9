//! The device as listed.

use std::any::Any;
use std::sync::Arc;

use crosscut_adapter_api::{
    Context, Device, DeviceInfo, DriverError, Feature, Joinable, Limits, Partition, Partitionable,
};

use crate::context::MockContext;
use crate::engine::Engine;
use crate::log::{Call, Operation};

pub(crate) struct MockDevice {
    pub(crate) engine: Arc<Engine>,
    pub(crate) info: DeviceInfo,
}

impl Device for MockDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        self.engine.record(Operation::CreateContext, || Call::CreateContext)?;
        Ok(self.open(self.info.largest_allocation))
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        (self.info.limits.sub_devices > 1).then_some(self)
    }

    fn as_joinable(&self) -> Option<&dyn Joinable> {
        Some(self)
    }
}

/// All devices of one mock share its memory.
impl Joinable for MockDevice {
    fn can_join(&self, other: &dyn Joinable) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| Arc::ptr_eq(&self.engine, &other.engine))
    }

    fn create_contexts(
        &self,
        others: &[&dyn Joinable],
    ) -> Result<Vec<Arc<dyn Context>>, DriverError> {
        let others = others.iter().map(|other| match other.as_any().downcast_ref::<Self>() {
            Some(other) => other,
            None => panic!("the runtime joins only devices that can be joined"),
        });
        let devices: Vec<&Self> = std::iter::once(self).chain(others).collect();
        let count = devices.len();
        self.engine.record(Operation::CreateContext, || Call::CreateContexts { count })?;
        // What one device gives all must reach.
        let largest = devices.iter().map(|device| device.info.largest_allocation).min();
        let largest = largest.unwrap_or(self.info.largest_allocation);
        Ok(devices.into_iter().map(|device| device.open(largest)).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Partitionable for MockDevice {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let counts: Vec<u32> =
            way.units(self.info.compute_units).into_iter().map(u32::from).collect();
        let units = counts.clone();
        self.engine.record(Operation::Partition, || Call::Partition { units })?;
        let part = |units| Arc::new(self.part(units)) as Arc<dyn Device>;
        Ok(counts.into_iter().map(part).collect())
    }
}

impl MockDevice {
    fn open(&self, largest_allocation: u64) -> Arc<dyn Context> {
        Arc::new(MockContext { engine: Arc::clone(&self.engine), largest_allocation })
    }

    fn part(&self, units: u32) -> Self {
        let mut features = self.info.features;
        if units < 2 {
            features = features.without(Feature::PartitionEqually);
            features = features.without(Feature::PartitionByCounts);
        }
        let limits = Limits { sub_devices: units as usize, ..self.info.limits };
        let info = DeviceInfo { compute_units: units, features, limits, ..self.info.clone() };
        Self { engine: Arc::clone(&self.engine), info }
    }
}
