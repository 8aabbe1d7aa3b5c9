//! What an image is.

use crate::PropertySet;

/// The code form of an image's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// SPIR-V for OpenCL, 64-bit addresses.
    Spirv64,
}

/// One piece of device code with what the runtime must know to launch it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What form `payload` has.
    pub target: Target,
    /// The device code.
    pub payload: Vec<u8>,
    /// The kernels inside.
    pub kernels: Vec<Kernel>,
    /// The device globals that those kernels reach. [`Parameter::Global`] and the read and write
    /// sets count into this list.
    pub globals: Vec<Global>,
    /// The specialization constants that those kernels read, piece by piece.
    pub spec_constants: Vec<SpecConstant>,
    /// The places where kernels can panic. A panic record counts into this list.
    pub panic_sites: Vec<PanicSite>,
    /// Facts in the form that other SYCL tools know, by set and name.
    pub property_sets: Vec<PropertySet>,
}

/// One kernel of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What the host program calls it: a number made from the closure's type.
    pub key: u64,
    /// Its entry point in the payload.
    pub name: String,
    /// Its name for people: `saxpy::main::{closure#0}`.
    pub display_name: String,
    /// Dimensions of its index space; 0 for a single task.
    pub dimensions: u8,
    /// Bytes of its closure.
    pub captures_size: u32,
    /// What it is to be given, in order.
    pub parameters: Vec<Parameter>,
    /// It again, for launches that some arguments are long enough for.
    pub assumed: Option<AssumedKernel>,
    /// The globals it may read, ascending.
    pub reads: Vec<u32>,
    /// The globals it may write, ascending.
    pub writes: Vec<u32>,
}

/// A kernel compiled with the assumption that the index of every item is within some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedKernel {
    /// Its entry point in the payload.
    pub name: String,
    /// The slots of those arguments: each must have as many elements as the range has items.
    pub slots: Vec<u32>,
    /// What it is to be given, in order.
    pub parameters: Vec<Parameter>,
}

/// One parameter of a kernel. What a kernel does not use has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Eight bytes of the closure, from byte `8 * word` (filled up with zeros beyond its end).
    Captures {
        /// Which eight bytes.
        word: u32,
    },
    /// The address of the argument in this slot.
    Address {
        /// Which argument.
        slot: u32,
    },
    /// The number of elements of the argument in this slot, as 64 bits.
    Length {
        /// Which argument.
        slot: u32,
    },
    /// The storage of a device global on this device and context.
    Global {
        /// Which one in [`Image::globals`].
        index: u32,
    },
    /// Memory of the work-group, for the argument in this slot; how much is known at launch.
    Local {
        /// Which argument.
        slot: u32,
    },
    /// Memory of the work-group: so many bytes for each of its items.
    Scratch {
        /// How many.
        bytes: u32,
    },
    /// The address of a panic record (see [`registration`](crate::registration)), zeroed.
    PanicRecord,
    /// Memory for lines that the kernel prints (see [`registration`](crate::registration)), zeroed.
    Lines,
}

/// One device global that an image's kernels reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its unique id: the symbol of the static in the host program.
    pub id: String,
    /// Its name for people: `letters::COUNTS`.
    pub display_name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub align: u64,
    /// Its properties: bits of [`global_properties`](crate::global_properties).
    pub properties: u64,
}

impl Global {
    /// Whether it is a variable of the image itself rather than shared by all images of a device.
    #[must_use]
    pub fn has_image_scope(&self) -> bool {
        self.properties & crate::global_properties::IMAGE_SCOPE != 0
    }

    /// Whether every kernel bundle has one of its own.
    #[must_use]
    pub fn has_bundle_scope(&self) -> bool {
        self.properties & crate::global_properties::BUNDLE_SCOPE != 0
    }
}

/// One piece of a specialization constant: constants of more than eight bytes have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its unique id: the symbol of the static in the host program.
    pub id: String,
    /// Its name for people: `matmul::TILE`.
    pub display_name: String,
    /// Where in the value the piece begins, in bytes.
    pub offset: u32,
    /// The piece's bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// Its bits where nobody sets it.
    pub default: u64,
    /// Its number in the payload.
    pub number: u32,
}

/// A place where a kernel can panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicSite {
    /// What the panic says; `{0}` and `{1}` stand for the operands of the record, `{0:i32}` for one that is of
    /// another type than `u64`, `{0:i32?}` for one that is written as `{:?}` does, a doubled brace for itself.
    pub message: String,
    /// The file, as rustc names it.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}
