//! A traced device shows every behaviour that devices show.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crosscut_adapter_api::{
    Adapter, Backend, Context, Device, DeviceInfo, DriverError, Joinable, Partition, Partitionable,
    QueueOptions, QueueOrder,
};
use crosscut_adapter_host::HostAdapter;
use crosscut_adapter_opencl::OpenCl;
use crosscut_conformance::{TestDevice, run};

use crosscut_runtime::traced_to;

struct TracedDevice {
    inner: Arc<dyn Device>,
    /// Where contexts have their files.
    folder: Arc<tempfile::TempDir>,
    opened: AtomicUsize,
}

impl Device for TracedDevice {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
        Ok(self.traced(self.inner.create_context()?))
    }

    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        self.inner.as_partitionable().is_some().then_some(self)
    }

    fn as_joinable(&self) -> Option<&dyn Joinable> {
        self.inner.as_joinable().is_some().then_some(self)
    }
}

impl TracedDevice {
    fn traced(&self, inner: Arc<dyn Context>) -> Arc<dyn Context> {
        let name = format!("{}.json", self.opened.fetch_add(1, Relaxed));
        let traced = traced_to(&self.folder.path().join(name), inner, self.info());
        traced.expect("a file in a folder of its own")
    }

    fn joinable(&self) -> &dyn Joinable {
        self.inner.as_joinable().expect("`as_joinable` gave this away only if there is one")
    }

    fn of(joinable: &dyn Joinable) -> &Self {
        joinable.as_any().downcast_ref().expect("devices of one family are all traced")
    }
}

impl Joinable for TracedDevice {
    fn can_join(&self, other: &dyn Joinable) -> bool {
        self.joinable().can_join(Self::of(other).joinable())
    }

    fn create_contexts(
        &self,
        others: &[&dyn Joinable],
    ) -> Result<Vec<Arc<dyn Context>>, DriverError> {
        let others: Vec<&Self> = others.iter().map(|other| Self::of(*other)).collect();
        let inner: Vec<&dyn Joinable> = others.iter().map(|other| other.joinable()).collect();
        let opened = self.joinable().create_contexts(&inner)?;
        let devices = std::iter::once(self).chain(others);
        Ok(devices.zip(opened).map(|(device, context)| device.traced(context)).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Partitionable for TracedDevice {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let Some(inner) = self.inner.as_partitionable() else {
            unreachable!("`as_partitionable` gave this away only if there is one")
        };
        Ok(inner.partition(way)?.into_iter().map(traced).collect())
    }
}

fn traced(inner: Arc<dyn Device>) -> Arc<dyn Device> {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    Arc::new(TracedDevice { inner, folder, opened: AtomicUsize::new(0) })
}

#[test]
fn the_host_shows_every_behaviour_while_it_is_traced() {
    for device in HostAdapter.devices().unwrap() {
        run(&TestDevice::new(Backend::Host, traced(device)), &[])
            .unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn opencl_devices_show_every_behaviour_while_they_are_traced() {
    for device in OpenCl::new().devices().unwrap_or_default() {
        run(&TestDevice::new(Backend::OpenCl, traced(device)), &[])
            .unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn times_are_told_to_those_who_asked_for_them_only() {
    let device = traced(HostAdapter.devices().unwrap().remove(0));
    let context = device.create_context().unwrap();
    for profiling in [false, true] {
        let options = QueueOptions { order: QueueOrder::InOrder, profiling };
        let queue = context.create_queue(&options).unwrap();
        let times = queue.barrier(&[]).unwrap().times().unwrap();
        assert_eq!(times.is_some(), profiling);
    }
}
