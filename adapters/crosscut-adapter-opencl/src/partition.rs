//! Cutting devices into sub-devices, and letting go of these.
//!
//! Intel's CPU runtime (2026.22) crashes if the last reference to a sub-device goes while another thread cuts the
//! same device: it looks at the parts that there are without a lock. The last reference may be that of a command, on a
//! thread of the driver's, a moment after the command's event has completed. So parts that nobody uses any more
//! are kept for a while, until that has long been so, and then released by whoever cuts a device next, before he does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{Device, DriverError, Partition, Partitionable};

use crate::device::{ClDevice, Listed};
use crate::error::{check, error};
use crate::exit;
use crate::sys::{self, Api, Handle};

const CALL: &str = "clCreateSubDevices";

/// By then the driver's threads have long let go of a part whose objects are all released.
const REST: Duration = Duration::from_millis(500);

/// A part that nobody uses any more: the one reference that `clCreateSubDevices` gave.
struct Unused {
    api: &'static Api,
    id: Handle,
    since: Instant,
}

// SAFETY: the raw pointer is a `cl_device_id`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API calls
// are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for Unused {}

/// Locked by whoever cuts a device or releases a part, for as long as he does.
static UNUSED: Mutex<Vec<Unused>> = Mutex::new(Vec::new());

impl Partitionable for Listed {
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError> {
        let whole = &self.0;
        let _alive = exit::enter(CALL)?;
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        for part in unused.extract_if(.., |part| part.since.elapsed() >= REST) {
            // SAFETY: whoever put it there owned that reference, and nobody uses it again.
            unsafe { (part.api.clReleaseDevice)(part.id) };
        }
        let ids = create(whole, &properties(way));
        drop(unused);
        let ids = ids?;
        // Each is wrapped before any is asked, so that all are released whatever happens.
        let parts: Vec<Part<'_>> = ids.into_iter().map(|id| Part { whole, id }).collect();
        parts.into_iter().map(Part::into_device).collect()
    }
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
        give_up(self.whole.api, self.id);
    }
}

impl Drop for ClDevice {
    fn drop(&mut self) {
        if self.is_part {
            give_up(self.api, self.id);
        }
    }
}

/// Has a sub-device be released later. The caller has its one reference, and does not use it again.
fn give_up(api: &'static Api, id: Handle) {
    let unused = Unused { api, id, since: Instant::now() };
    UNUSED.lock().unwrap_or_else(PoisonError::into_inner).push(unused);
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
