//! Copies that take their data at the call and return before it has arrived.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::Error;
use crate::command::Command;
use crate::ended::FailedCopy;
use crate::queue::Queue;

/// Copies of more bytes wait until they have been made, rather than have the bytes in the host's memory
/// twice.
const LARGEST: usize = 16 << 20;

impl Queue {
    /// Has `submit` copy from an address at which the `size` bytes at `source` are until that command has
    /// ended. The source itself may change as soon as this returns.
    ///
    /// # Errors
    /// What `submit` says, or the driver's word that a large copy failed.
    ///
    /// # Safety
    /// `size` bytes are readable at `source`.
    pub(crate) unsafe fn staged(
        &self,
        source: *const u8,
        size: NonZeroUsize,
        submit: impl FnOnce(*const u8) -> Result<Arc<Command>, Error>,
    ) -> Result<Arc<Command>, Error> {
        let failed = |failed: FailedCopy| failed.while_doing("copying to a device");
        if size.get() > LARGEST {
            let command = submit(source)?;
            self.wait_for_copy(&command).map_err(failed)?;
            return Ok(command);
        }
        // SAFETY: the caller's promise.
        let bytes: Arc<[u8]> = unsafe { std::slice::from_raw_parts(source, size.get()) }.into();
        let command = match submit(bytes.as_ptr()) {
            Ok(command) => command,
            Err(error) => {
                if error.may_run() {
                    std::mem::forget(bytes);
                }
                return Err(error);
            }
        };
        if matches!(command.event.is_complete(), Ok(true)) {
            return Ok(command);
        }
        // Whoever drops them last does so after the command has ended: the driver, when it says so, or
        // this function, after waiting where the driver will not say so.
        let kept = Arc::clone(&bytes);
        if command.event.on_complete(Box::new(move |_| drop(kept))).is_err() {
            self.wait_for_copy(&command).map_err(|failed| {
                if failed.may_run {
                    std::mem::forget(bytes);
                }
                Error::driver("copying to a device", failed.into())
            })?;
        }
        Ok(command)
    }
}
