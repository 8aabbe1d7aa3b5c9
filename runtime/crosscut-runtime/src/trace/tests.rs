//! A traced device shows every behaviour that devices show.

use std::sync::Arc;

use crosscut_adapter_api::{
    Adapter, Context, Device, DeviceInfo, DriverError, Feature, Partition, Partitionable,
    QueueOptions, QueueOrder,
};
use crosscut_adapter_host::HostAdapter;
use crosscut_adapter_opencl::OpenCl;
use crosscut_conformance::{TestDevice, run};

use super::context::Traced;
use super::writer::Writer;

struct TracedDevice {
    inner: Arc<dyn Device>,
    writer: &'static Writer,
}

impl Device for TracedDevice {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        let info = self.info();
        Ok(Arc::new(Traced {
            inner: self.inner.create_context()?,
            writer: self.writer,
            process: self.writer.device(&info.name),
            measures: info.features.has(Feature::QueueProfiling),
        }))
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        self.inner.as_partitionable().is_some().then_some(self)
    }
}

impl Partitionable for TracedDevice {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let Some(inner) = self.inner.as_partitionable() else {
            unreachable!("`as_partitionable` gave this away only if there is one")
        };
        let traced = |inner| Arc::new(Self { inner, writer: self.writer }) as Arc<dyn Device>;
        Ok(inner.partition(way)?.into_iter().map(traced).collect())
    }
}

fn traced(inner: Arc<dyn Device>) -> (Arc<dyn Device>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::create(folder.path().join("trace.json").as_os_str()).unwrap();
    (Arc::new(TracedDevice { inner, writer: Box::leak(Box::new(writer)) }), folder)
}

#[test]
fn the_host_shows_every_behaviour_while_it_is_traced() {
    for device in HostAdapter.devices().unwrap() {
        let (device, _folder) = traced(device);
        run(&TestDevice::new(device), &[]).unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn opencl_devices_show_every_behaviour_while_they_are_traced() {
    for device in OpenCl::new().devices().unwrap_or_default() {
        let (device, _folder) = traced(device);
        run(&TestDevice::new(device), &[]).unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn times_are_told_to_those_who_asked_for_them_only() {
    let (device, _folder) = traced(HostAdapter.devices().unwrap().remove(0));
    let context = device.create_context().unwrap();
    for profiling in [false, true] {
        let options = QueueOptions { order: QueueOrder::InOrder, profiling };
        let queue = context.create_queue(&options).unwrap();
        let times = queue.barrier(&[]).unwrap().times().unwrap();
        assert_eq!(times.is_some(), profiling);
    }
}
