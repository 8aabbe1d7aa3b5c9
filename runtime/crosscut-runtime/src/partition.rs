//! Sub-devices: parts of a device, each with compute units of its own.

use std::num::NonZeroU32;

use crosscut_adapter_api::{Feature, Partition};

use crate::device::Device;
use crate::{Error, ErrorKind};

impl Device {
    /// Cuts it into as many devices as there can be with `units` compute units each. What is left over
    /// belongs to none; the whole stays usable beside its parts.
    ///
    /// ```
    /// use crosscut::Feature;
    /// use crosscut::prelude::*;
    ///
    /// for device in crosscut::devices()? {
    ///     let half = device.info().compute_units / 2;
    ///     if device.has(Feature::PartitionEqually) && half > 0 {
    ///         for part in device.partition_equally(half)? {
    ///             assert_eq!(Queue::on(&part)?.device().info().compute_units, half);
    ///         }
    ///     }
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device cannot be cut that way, `units` is 0 or more than half of what there is; the driver's
    /// refusal.
    pub fn partition_equally(&self, units: u32) -> Result<Vec<Self>, Error> {
        let units = NonZeroU32::new(units).ok_or_else(no_units)?;
        self.partition(Partition::Equally(units), Feature::PartitionEqually)
    }

    /// Cuts it into one device for each of `counts`, with so many compute units. What is left over
    /// belongs to none; the whole stays usable beside its parts.
    ///
    /// ```
    /// use crosscut::Feature;
    /// use crosscut::prelude::*;
    ///
    /// for device in crosscut::devices()? {
    ///     if device.has(Feature::PartitionByCounts) {
    ///         let part = device.partition_by_counts(&[1])?.remove(0);
    ///         assert_eq!(part.selector(), format!("{}.0", device.selector()));
    ///         let queue = Queue::on(&part)?; // leaves the other compute units alone
    ///         assert_eq!(queue.device().info().compute_units, 1);
    ///     }
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device cannot be cut that way, there are no counts, one is 0, or all together are more than
    /// there is; the driver's refusal.
    pub fn partition_by_counts(&self, counts: &[u32]) -> Result<Vec<Self>, Error> {
        let counts: Option<Vec<NonZeroU32>> = counts.iter().copied().map(NonZeroU32::new).collect();
        let counts = counts.filter(|counts| !counts.is_empty()).ok_or_else(no_units)?;
        self.partition(Partition::ByCounts(&counts), Feature::PartitionByCounts)
    }

    /// The parts that selectors count: as many equal ones as the device can be cut into, of one compute
    /// unit each unless its driver allows fewer parts than there are units.
    ///
    /// # Errors
    /// As [`partition_equally`](Self::partition_equally).
    pub(crate) fn smallest_parts(&self) -> Result<Vec<Self>, Error> {
        let info = self.info();
        let most = u32::try_from(info.limits.sub_devices).unwrap_or(u32::MAX);
        // The smallest number that goes into the compute units at most `most` times.
        self.partition_equally(info.compute_units / most.saturating_add(1) + 1)
    }

    fn partition(&self, way: Partition<'_>, feature: Feature) -> Result<Vec<Self>, Error> {
        let info = self.info();
        let (Some(cut), true) = (self.adapter().as_partitionable(), self.has(feature)) else {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("{self} cannot be cut: it does not have {feature}"),
            )
            .with_help(
                "use the whole device; `cargo crosscut ls --verbose` tells which can be cut",
            ));
        };
        let parts = way.units(info.compute_units);
        let total: u64 = parts.iter().map(|units| u64::from(units.get())).sum();
        // Drivers refuse to cut a device into one equal part.
        let too_few = matches!(way, Partition::Equally(_)) && parts.len() < 2;
        if too_few || total > u64::from(info.compute_units) {
            return Err(Error::invalid(
                format!(
                    "{self} has {} compute units, which are not enough for these parts",
                    info.compute_units
                ),
                "ask for fewer",
            ));
        }
        if parts.len() > info.limits.sub_devices {
            return Err(Error::invalid(
                format!(
                    "{self} can be cut into {} parts, not {}",
                    info.limits.sub_devices,
                    parts.len()
                ),
                "ask for fewer and larger ones",
            ));
        }
        let parts = cut
            .partition(way)
            .map_err(|error| Error::driver(format!("cutting {self} into parts"), error))?;
        Ok(parts.into_iter().enumerate().map(|(number, part)| self.part(number, part)).collect())
    }
}

fn no_units() -> Error {
    Error::invalid("a part of a device has at least one compute unit", "ask for one or more")
}
