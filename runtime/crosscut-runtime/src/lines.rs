//! Lines that kernels print: where a device writes them, and how they come to standard output.
//!
//! A launch whose kernel prints has an area of its own, which the kernel's items fill side by side. What
//! is in it is printed once the launch is known to have completed, at the latest when it is waited for.
//! The area is bounded: lines without room are counted, and said to be missing.
//!
//! Who learns that a launch has completed often holds a lock, and who holds the lock of standard output may
//! want that very lock next. So lines first go to the [`outbox`], which is emptied where no lock is held.

mod outbox;
mod text;

#[cfg(unix)]
use std::fs::File;
use std::io::{self, StdoutLock, Write as _};
#[cfg(unix)]
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
#[cfg(unix)]
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{DriverError, MemoryKind};
use crosscut_image::registration::LINE_WORDS;

use crate::Error;
use crate::context::Context;
use crate::memory::{Allocation, allocate};
use crate::record::{fetch, zero};

pub(crate) use outbox::{Delivery, Postponed};
pub use text::LineValue;

/// The words before the first line.
const HEADER: usize = 2;
const AREA_WORDS: usize = HEADER + LINE_WORDS as usize;
const AREA_SIZE: NonZeroUsize = NonZeroUsize::new(4 * AREA_WORDS).unwrap();

/// The areas of a context that no launch has: all zero.
#[derive(Default)]
pub(crate) struct Areas(Mutex<Vec<Arc<Allocation>>>);

/// One launch's area. What is in it goes to the [`outbox`] when this is dropped, which is after the launch.
pub(crate) struct Lines {
    area: Arc<Allocation>,
    context: Context,
}

impl Lines {
    /// A zeroed area.
    pub(crate) fn take(context: &Context) -> Result<Self, Error> {
        let free = free(context).pop();
        let area = match free {
            Some(area) => area,
            None => {
                let area = allocate(context, MemoryKind::HostVisible, AREA_SIZE, 64)?;
                zero(&area, 0, AREA_SIZE, context).map_err(|error| {
                    Error::driver("preparing room for lines that kernels print", error)
                })?;
                area
            }
        };
        Ok(Self { area, context: context.clone() })
    }

    /// The area, as the kernel is given it.
    pub(crate) fn area(&self) -> Arc<Allocation> {
        Arc::clone(&self.area)
    }

    /// The first `count` words.
    fn words(&self, count: usize) -> Result<Vec<u32>, DriverError> {
        let mut words = vec![0u32; count];
        let Some(size) = NonZeroUsize::new(4 * count) else { return Ok(words) };
        let read = self.area.visit_on_host(&mut |address| {
            let source = address.as_ptr().cast::<u32>();
            for (at, word) in words.iter_mut().enumerate() {
                // SAFETY: inside the area, which is aligned; the device, done by now, wrote it behind
                // the compiler's back, hence volatile.
                *word = unsafe { source.wrapping_add(at).read_volatile() };
            }
        })?;
        if !read {
            let bytes = fetch(&self.area, 0, size, &self.context)?;
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_ne_bytes(*bytes);
            }
        }
        Ok(words)
    }

    /// Posts what there is, and leaves zeros.
    fn deliver(&self) -> Result<(), DriverError> {
        let header = self.words(HEADER)?;
        if header == [0, 0] {
            return Ok(());
        }
        let used = HEADER + (header[0] as usize).min(LINE_WORDS as usize);
        let words = self.words(used)?;
        let size = NonZeroUsize::MIN.saturating_add(4 * used - 1);
        zero(&self.area, 0, size, &self.context)?;
        outbox::post(&text::lines(&words[HEADER..], header[1]));
        Ok(())
    }
}

fn free(context: &Context) -> std::sync::MutexGuard<'_, Vec<Arc<Allocation>>> {
    context.inner().areas.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Lines {
    fn drop(&mut self) {
        match self.deliver() {
            Ok(()) => free(&self.context).push(Arc::clone(&self.area)),
            // An area that cannot be zeroed is not used again.
            Err(error) => log::warn!("lines that a kernel printed are lost: {error:?}"),
        }
    }
}

/// Prints a line for native code: the same text as for a device.
///
/// Past the lock of standard output, as the launch that prints holds locks of ours, and whoever has that one may be waiting
/// for them, or for the launch itself. What the program has printed before is there already, up to its last end of line.
pub fn print_line(text: &str, values: &[LineValue]) {
    static WHOLE: Mutex<()> = Mutex::new(());
    let mut line = text::format(text, values);
    line.push('\n');
    let _whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    // Who has closed standard output wants no lines.
    let _ = write_at_once(line.as_bytes());
}

#[cfg(unix)]
fn write_at_once(line: &[u8]) -> io::Result<()> {
    // SAFETY: standard output's number belongs to nobody who would close it; should the process have done so, writing
    // fails or goes where the process has put in its place. This does not close it.
    let output = unsafe { File::from_raw_fd(io::stdout().as_raw_fd()) };
    ManuallyDrop::new(output).write_all(line)
}

/// Nothing cheap is known to go past the lock.
#[cfg(not(unix))]
fn write_at_once(line: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(line)
}

/// All at once: other threads print, too.
fn write(output: &mut StdoutLock<'_>, lines: &str) {
    // Who has closed standard output wants no lines, and a panic here would come from a drop.
    let _ = output.write_all(lines.as_bytes());
}
