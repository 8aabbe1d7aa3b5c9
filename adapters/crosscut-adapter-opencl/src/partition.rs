//! Cutting devices into sub-devices.

use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{Device, DeviceKind, DriverError, Partition, Partitionable};

use crate::context::ClContext;
use crate::device::{ClDevice, Listed};
use crate::error::{check, error};
use crate::exit;
use crate::sys::{self, Handle};

const CALL: &str = "clCreateSubDevices";

impl Partitionable for Listed {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let whole = &self.0;
        let _alive = exit::enter(CALL)?;
        keep_open(whole)?;
        let ids = create(whole, &properties(way))?;
        // Each is wrapped before any is asked, so that all are released whatever happens.
        let parts: Vec<Part<'_>> = ids.into_iter().map(|id| Part { whole, id }).collect();
        parts.into_iter().map(Part::into_device).collect()
    }
}

/// Opens a device that is about to be cut, for ever.
///
/// Intel's CPU runtime (2026.22) cuts a device by way of an object that goes with the device's last context or part, and
/// does not look whether it still has it: cutting crashes where they go meanwhile, on other threads of the program or
/// on the driver's own. So one context stays. What is a part itself keeps its whole.
fn keep_open(device: &Arc<ClDevice>) -> Result<(), DriverError> {
    /// By their handles, which stay those of the same devices.
    static OPEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_kept = device.is_part || open.contains(&device.id.addr());
    if !is_kept && device.info.kind == DeviceKind::Cpu {
        std::mem::forget(ClContext::create(device)?);
        open.push(device.id.addr());
    }
    Ok(())
}

/// The list of numbers that tells the driver how to cut.
fn properties(way: Partition<'_>) -> Vec<isize> {
    let number = |units: std::num::NonZeroU32| units.get() as isize;
    match way {
        Partition::Equally(units) => {
            vec![sys::CL_DEVICE_PARTITION_EQUALLY as isize, number(units), sys::LIST_END]
        }
        Partition::ByCounts(counts) => {
            let begin = sys::CL_DEVICE_PARTITION_BY_COUNTS as isize;
            let counts = counts.iter().map(|&units| number(units));
            // One end for the counts, one for the properties.
            let ends = [sys::LIST_END, sys::LIST_END];
            std::iter::once(begin).chain(counts).chain(ends).collect()
        }
    }
}

fn create(whole: &ClDevice, properties: &[isize]) -> Result<Vec<Handle>, DriverError> {
    let create = whole.api.clCreateSubDevices;
    let mut count = 0;
    // SAFETY: the device is alive and the properties are terminated; asking for the count alone.
    let status =
        unsafe { create(whole.id, properties.as_ptr(), 0, std::ptr::null_mut(), &raw mut count) };
    check(CALL, status)?;
    let mut ids: Vec<Handle> = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: as above, and `ids` has room for `count` handles.
    let status = unsafe {
        create(whole.id, properties.as_ptr(), count, ids.as_mut_ptr(), std::ptr::null_mut())
    };
    check(CALL, status)?;
    Ok(ids)
}

/// A sub-device that nobody has yet.
struct Part<'a> {
    whole: &'a ClDevice,
    id: Handle,
}

impl Part<'_> {
    fn into_device(self) -> Result<Arc<dyn Device>, DriverError> {
        let ClDevice { api, platform, memory, .. } = *self.whole;
        let Some(mut device) = ClDevice::ask(api, platform, self.id, memory) else {
            return Err(error(CALL, sys::CL_DEVICE_NOT_AVAILABLE));
        };
        // From here on the device releases it.
        std::mem::forget(self);
        device.is_part = true;
        Ok(Arc::new(Listed(Arc::new(device))))
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        release(self.whole, self.id);
    }
}

impl Drop for ClDevice {
    fn drop(&mut self) {
        if self.is_part {
            release(self, self.id);
        }
    }
}

/// Gives a sub-device back: the one reference that `clCreateSubDevices` gave.
fn release(device: &ClDevice, id: Handle) {
    if let Some(_alive) = exit::driver() {
        // SAFETY: callers own that reference and do not use it again.
        unsafe { (device.api.clReleaseDevice)(id) };
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn lists_of_properties_end_where_the_driver_looks_for_it() {
        let one = NonZeroU32::MIN;
        assert_eq!(properties(Partition::Equally(one)), [0x1086, 1, 0]);
        assert_eq!(properties(Partition::ByCounts(&[one, one])), [0x1087, 1, 1, 0, 0]);
    }
}
