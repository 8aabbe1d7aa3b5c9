//! What an adapter tells about a device before it is opened.

use std::fmt;

use crate::Features;

/// The driver interfaces Crosscut knows.
///
/// ```
/// use crosscut::Backend;
///
/// assert_eq!(Backend::OpenCl.name(), "opencl"); // as in `CROSSCUT_DEVICE=opencl:gpu`
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The host CPU, native code.
    Host,
    /// OpenCL.
    OpenCl,
    /// Level Zero.
    LevelZero,
    /// CUDA.
    Cuda,
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
            Self::LevelZero => "level_zero",
            Self::Cuda => "cuda",
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
///
/// ```
/// use crosscut::DeviceKind;
///
/// assert_eq!(DeviceKind::Gpu.name(), "gpu"); // as in `CROSSCUT_DEVICE=opencl:gpu`
/// ```
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

impl CodeForm {
    /// Its name in tools.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Spirv64 => "spirv64",
            Self::Ptx => "ptx",
        }
    }
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
///
/// ```
/// use crosscut::CodeForm;
///
/// assert_eq!(CodeForm::Spirv64.name(), "spirv64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeForm {
    /// The host's own functions, by address; no image is involved.
    Native,
    /// SPIR-V for OpenCL, 64-bit addresses.
    Spirv64,
    /// PTX, 64-bit addresses.
    Ptx,
}

/// The largest launches that a device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most items of one work-group.
    pub work_group_size: usize,
    /// The most items of one work-group in each dimension, the fastest one first: dimension `d` of `D`
    /// is at `D - 1 - d`.
    pub work_item_sizes: [usize; 3],
    /// The bytes of local memory that one work-group may have.
    pub local_memory: u64,
    /// The most sub-groups of one work-group; 0 where there are none.
    pub sub_groups: usize,
    /// The bytes of all arguments of one kernel.
    pub argument_bytes: usize,
    /// The most sub-devices it can be cut into; below 2 where it cannot be cut.
    pub sub_devices: usize,
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
    /// Who made the platform.
    pub platform_vendor: String,
    /// The platform's version, as it says it.
    pub platform_version: String,
    /// The version of the driver interface that the device has, as it says it.
    pub version: String,
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
    /// How wide its addresses are.
    pub address_bits: u32,
    /// The largest launches it takes.
    pub limits: Limits,
    /// What it can do beyond what every device can.
    pub features: Features,
    /// The sizes that sub-groups may have, ascending; empty where nobody knows them.
    pub sub_group_sizes: Vec<usize>,
}

/// A CPU that tells nothing about itself and promises as little as a device can: a start for others.
impl Default for DeviceInfo {
    fn default() -> Self {
        Self {
            name: String::new(),
            vendor: String::new(),
            platform: String::new(),
            platform_vendor: String::new(),
            platform_version: String::new(),
            version: String::new(),
            driver_version: String::new(),
            kind: DeviceKind::Cpu,
            code_forms: Vec::new(),
            code_forms_note: None,
            memory_size: 0,
            largest_allocation: 0,
            compute_units: 1,
            address_bits: 64,
            limits: Limits {
                work_group_size: 1,
                work_item_sizes: [1; 3],
                local_memory: 0,
                sub_groups: 0,
                argument_bytes: 1024,
                sub_devices: 0,
            },
            features: Features::NONE,
            sub_group_sizes: Vec::new(),
        }
    }
}
