//! What an adapter tells about a device before it is opened.

use std::fmt;

/// The driver interfaces Crosscut knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The host CPU, native code.
    Host,
    /// OpenCL.
    OpenCl,
    /// The test device.
    Mock,
}

impl Backend {
    /// The name in device selectors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::OpenCl => "opencl",
            Self::Mock => "mock",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What sort of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A CPU.
    Cpu,
    /// A GPU.
    Gpu,
    /// Anything else: an FPGA, a DSP.
    Accelerator,
}

impl DeviceKind {
    /// The name in device selectors.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Accelerator => "acc",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A form of code that a device may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeForm {
    /// The host's own functions, by address; no image is involved.
    Native,
    /// SPIR-V for OpenCL, 64-bit addresses.
    Spirv64,
}

/// What the driver says about a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The device's own name.
    pub name: String,
    /// Who made it.
    pub vendor: String,
    /// The driver's platform it was found on.
    pub platform: String,
    /// The driver's version, as it says it.
    pub driver_version: String,
    /// What sort of device it is.
    pub kind: DeviceKind,
    /// The forms of code it takes, best first; empty if it takes none that Crosscut makes.
    pub code_forms: Vec<CodeForm>,
    /// Why `code_forms` is empty, for the user: `driver takes no SPIR-V`.
    pub code_forms_note: Option<String>,
    /// Bytes of memory.
    pub memory_size: u64,
    /// The largest single allocation, in bytes.
    pub largest_allocation: u64,
    /// How many compute units (cores) it has.
    pub compute_units: u32,
}
