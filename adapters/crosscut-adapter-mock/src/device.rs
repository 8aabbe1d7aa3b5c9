//! The device as listed.

use std::sync::Arc;

use crosscut_adapter_api::{Context, Device, DeviceInfo, DriverError};

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
}
