//! Cutting devices into sub-devices.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::{Device, DriverError};

/// The ability to be cut, reached by [`Device::as_partitionable`].
pub trait Partitionable {
    /// Cuts the device. Each part is a device with the features of the whole, fewer compute units and
    /// work of its own; parts may be cut again, and the whole stays usable.
    ///
    /// The runtime asks only in ways that are among the [features](crate::DeviceInfo::features), for
    /// no more compute units than there are, no more parts than
    /// [`Limits::sub_devices`](crate::Limits::sub_devices), and at least two equal ones.
    ///
    /// # Errors
    /// The driver's refusal.
    fn partition(&self, way: Partition<'_>) -> Result<Vec<Arc<dyn Device>>, DriverError>;
}

/// How to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition<'a> {
    /// As many parts as there can be with so many compute units each.
    Equally(NonZeroU32),
    /// One part for each, with so many compute units.
    ByCounts(&'a [NonZeroU32]),
}

impl Partition<'_> {
    /// The compute units of each part, of a device that has this many.
    #[must_use]
    pub fn units(&self, of: u32) -> Vec<NonZeroU32> {
        match *self {
            Self::Equally(units) => vec![units; (of / units) as usize],
            Self::ByCounts(counts) => counts.to_vec(),
        }
    }
}
