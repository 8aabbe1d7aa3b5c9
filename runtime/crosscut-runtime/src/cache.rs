//! Built programs on disk: what a driver made of an image once is loaded ever after.
//!
//! One file per program, in one folder for all programs of the user:
//! - `settings` says where the folder is and how large it may grow;
//! - `key` names a file after everything that decides its content;
//! - `entry` is the file's bytes: enough to know, on reading, that they are all there and right;
//! - `folder` reads, writes and removes files so that any number of processes may do so at once and
//!   be killed at any moment.
//!
//! Invariants:
//! - The cache is never the reason for an error, nor for a wrong result: whatever is amiss on disk,
//!   or in what the driver thinks of a binary, the program is built from its image.
//! - Only bytes that were checked in full reach a driver.
//! - Files that are not the cache's own are neither read nor removed.

mod entry;
mod file_limit;
mod folder;
mod key;
mod settings;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fmt, io};

use crosscut_adapter_api::{self as adapter, CodeForm, DriverError};
use crosscut_image::Target;

use crate::device::Device;
use folder::Folder;
use key::Key;
use settings::Settings;

/// Where built programs are kept between runs.
#[derive(Clone)]
pub struct ProgramCache(Option<Folder>);

/// A program, and a kernel of it.
pub(crate) type Built = (Box<dyn adapter::Program>, Box<dyn adapter::Kernel>);

impl ProgramCache {
    /// As the environment says: in `CROSSCUT_CACHE_DIR`, else in `crosscut` in the user's folder for
    /// caches; nowhere with `CROSSCUT_CACHE=0`. `CROSSCUT_CACHE_SIZE` limits its size.
    #[must_use]
    pub fn from_environment() -> Self {
        let settings = Settings::read(|name| std::env::var_os(name));
        Self(settings.map(|Settings { folder, size }| Folder::new(folder, size)))
    }

    /// In this folder, in as many bytes at the most.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>, size: u64) -> Self {
        Self(Some(Folder::new(folder.into(), size)))
    }

    /// Nowhere: every run builds its programs.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// The folder, if there is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.0.as_ref().map(Folder::path)
    }

    /// Whether programs can be kept there, by making the folder and a file in it.
    ///
    /// # Errors
    /// What the file system says against it, or that everybody may write there.
    pub fn check(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), Folder::check)
    }

    /// A program of `code` and its kernel of this name, built or loaded.
    pub(crate) fn build(
        &self,
        device: &Device,
        context: &dyn adapter::Context,
        (target, form): (Target, CodeForm),
        code: &[u8],
        kernel: &str,
    ) -> Result<Built, DriverError> {
        let began = Instant::now();
        let build = || {
            let program = context.build(form, code)?;
            let (bytes, device, took) = (code.len(), device.selector(), began.elapsed());
            log::debug!("built `{kernel}` from {bytes} bytes for {device} in {took:?}");
            let kernel = program.kernel(kernel)?;
            Ok((program, kernel))
        };
        let (Some(folder), Some(caching)) = (&self.0, context.as_caching()) else {
            return build();
        };
        let key = Key::of(device.backend(), device.info(), &caching.build_identity(), target, code);
        if let Some(binary) = folder.load(&key) {
            // A binary without the kernel is not what the image would give.
            let loaded = caching.build_binary(&binary).and_then(|program| {
                let kernel = program.kernel(kernel)?;
                Ok((program, kernel))
            });
            match loaded {
                Ok(loaded) => {
                    log::debug!("loaded `{kernel}`, built before, in {:?}", began.elapsed());
                    return Ok(loaded);
                }
                Err(error) => {
                    log::debug!("`{kernel}`, built before, is refused: {error}");
                    folder.remove(&key);
                }
            }
        }
        let built = build()?;
        if let Ok(binary) = caching.binary(&*built.0)
            && !binary.is_empty()
        {
            folder.store(&key, &binary);
        }
        Ok(built)
    }
}

impl fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgramCache").field(&self.0.as_ref().map(Folder::path)).finish()
    }
}
