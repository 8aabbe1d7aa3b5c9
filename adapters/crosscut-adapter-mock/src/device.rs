//! The device as listed.

use std::sync::Arc;

use crosscut_adapter_api::{
    Context, Device, DeviceInfo, DriverError, Feature, Limits, Partition, Partitionable,
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
        let largest_allocation = self.info.largest_allocation;
        Ok(Arc::new(MockContext { engine: Arc::clone(&self.engine), largest_allocation }))
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        (self.info.limits.sub_devices > 1).then_some(self)
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
