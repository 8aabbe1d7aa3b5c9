//! The names of files: a hash of everything that decides what a build makes.

use std::fmt;

use crosscut_adapter_api::{Backend, DeviceInfo};
use crosscut_image::Target;

use super::entry;

/// What a program was built from, for what, by what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key([u8; Key::LENGTH]);

impl Key {
    pub(super) const LENGTH: usize = blake3::OUT_LEN;

    /// The key of `code`, built for this device. Two builds with one key make the same program.
    pub(super) fn of(
        backend: Backend,
        device: &DeviceInfo,
        build_identity: &str,
        target: Target,
        code: &[u8],
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        let DeviceInfo { name, vendor, platform, driver_version, .. } = device;
        let target = format!("{target:?}");
        let texts = [
            backend.name(),
            name,
            vendor,
            platform,
            driver_version,
            build_identity,
            target.as_str(),
        ];
        hasher.update(&entry::VERSION.to_le_bytes());
        for part in texts.into_iter().map(str::as_bytes).chain([code]) {
            // With the length before it no part can take bytes from its neighbour.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    pub(super) fn bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn of_test(number: u64) -> Self {
        Self(*blake3::hash(&number.to_le_bytes()).as_bytes())
    }
}

/// The name of its file.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        let text = |text: &str| text.to_owned();
        DeviceInfo {
            name: text("name"),
            vendor: text("vendor"),
            platform: text("platform"),
            driver_version: text("1.2"),
            ..DeviceInfo::default()
        }
    }

    #[test]
    fn whatever_decides_a_build_changes_the_key() {
        let change = |change: fn(&mut DeviceInfo)| {
            let mut changed = device();
            change(&mut changed);
            changed
        };
        let key = |device, options, code| {
            Key::of(Backend::OpenCl, &device, options, Target::Spirv64, code)
        };
        let keys = [
            key(device(), "-o", b"code"),
            key(device(), "-o", b"cod"),
            key(device(), "-o", b"codf"),
            key(device(), "", b"code"),
            key(change(|info| info.name += "x"), "-o", b"code"),
            key(change(|info| info.vendor += "x"), "-o", b"code"),
            key(change(|info| info.platform += "x"), "-o", b"code"),
            key(change(|info| info.driver_version += "x"), "-o", b"code"),
            Key::of(Backend::Mock, &device(), "-o", Target::Spirv64, b"code"),
            // The same letters, cut elsewhere.
            key(
                change(|info| (info.name, info.vendor) = ("namev".into(), "endor".into())),
                "-o",
                b"code",
            ),
        ];
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(one), "key {at} comes twice");
        }
        assert!(key(device(), "-o", b"code") == keys[0]);
    }

    #[test]
    fn what_decides_nothing_leaves_the_key() {
        let other = DeviceInfo { memory_size: 2, ..device() };
        let key = |device| Key::of(Backend::OpenCl, device, "", Target::Spirv64, b"");
        assert!(key(&device()) == key(&other));
    }
}
