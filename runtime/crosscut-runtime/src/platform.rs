//! Platforms: the drivers that devices come from.

use crosscut_adapter_api::Backend;

use crate::Error;
use crate::device::{Device, Runtime};

/// One driver and its devices.
///
/// ```
/// for platform in crosscut::platforms()? {
///     println!("{}, version {}, by {}", platform.name(), platform.version(), platform.vendor());
///     let backend = platform.backend();
///     assert!(platform.devices().iter().all(|device| device.backend() == backend));
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    backend: Backend,
    devices: Vec<Device>,
    name: String,
    vendor: String,
    version: String,
}

impl Platform {
    /// Its own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who made it.
    #[must_use]
    pub fn vendor(&self) -> &str {
        &self.vendor
    }

    /// Its version, as it says it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Which driver interface it was found through.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Its devices, in its order; at least one.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}

/// Whether one driver has both devices.
pub(crate) fn of_one_platform(one: &Device, other: &Device) -> bool {
    let (ours, theirs) = (one.info(), other.info());
    one.backend() == other.backend()
        && ours.platform == theirs.platform
        && ours.platform_vendor == theirs.platform_vendor
        && ours.platform_version == theirs.platform_version
}

impl Runtime {
    /// The platforms of the devices that the selector in the environment accepts; all without one.
    ///
    /// # Errors
    /// The selector cannot be read or accepts no device.
    pub fn platforms(&self) -> Result<Vec<Platform>, Error> {
        let mut platforms: Vec<Platform> = Vec::new();
        for device in self.devices()? {
            let (backend, info) = (device.backend(), device.info());
            let known = platforms.iter_mut().find(|known| {
                known.backend == backend
                    && known.name == info.platform
                    && known.vendor == info.platform_vendor
                    && known.version == info.platform_version
            });
            if let Some(known) = known {
                known.devices.push(device);
                continue;
            }
            platforms.push(Platform {
                backend,
                name: info.platform.clone(),
                vendor: info.platform_vendor.clone(),
                version: info.platform_version.clone(),
                devices: vec![device],
            });
        }
        Ok(platforms)
    }
}
