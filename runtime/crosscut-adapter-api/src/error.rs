//! What goes wrong below the runtime.

use std::fmt;

/// A driver refused a call.
///
/// `kind` is what callers act on; `call` and `code` are what a bug report needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverError {
    /// What the caller can do about it.
    pub kind: DriverErrorKind,
    /// The driver function, as the vendor spells it.
    pub call: &'static str,
    /// The value it returned, untranslated.
    pub code: i32,
    /// What the driver wrote about it, if it wrote anything (a build log).
    pub log: Option<String>,
}

/// What a caller can do about a [`DriverError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverErrorKind {
    /// Not enough memory: ask for less, or free some.
    OutOfMemory,
    /// The driver does not take this program, or has no such kernel in it.
    Build,
    /// The device is gone or a command on it failed: use another queue.
    DeviceLost,
    /// Anything else.
    Other,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} returned {}", self.call, self.code)?;
        match self.log.as_deref().map(str::trim) {
            None | Some("") => Ok(()),
            Some(log) => write!(f, "\n{log}"),
        }
    }
}

impl std::error::Error for DriverError {}

/// Why an adapter has no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// What is missing: lower case, no full stop.
    pub reason: String,
    /// What would bring a device: lower case, no full stop.
    pub help: String,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.help)
    }
}
