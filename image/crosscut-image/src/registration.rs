//! What a linked program hands to its runtime, and what a device hands back.
//!
//! The link step adds one object with a constructor to the program. Before `main` it calls
//! [`REGISTER`] with a [`Descriptor`], and [`UNREGISTER`] with the same one at unload.

/// `void (const Descriptor *)`, defined by the runtime: takes a program's images and device globals.
pub const REGISTER: &str = "__crosscut_register";

/// `void (const Descriptor *)`, defined by the runtime: forgets them.
pub const UNREGISTER: &str = "__crosscut_unregister";

/// The symbol of the array of [`HostObject`]s: the link step finds it in the finished program and
/// fills in the offsets.
pub const HOST_OBJECTS: &str = "__crosscut_host_objects";

/// The symbol of the number that [`Extent::layout`] points at: the link step fills it in.
pub const LAYOUT: &str = "__crosscut_layout";

/// The version of [`Descriptor`]; another one is refused.
pub const DESCRIPTOR_VERSION: u64 = 2;

/// A program's images and host objects.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Descriptor {
    /// [`DESCRIPTOR_VERSION`].
    pub version: u64,
    /// What [`encode`](crate::encode) wrote.
    pub images: *const u8,
    /// Its length in bytes.
    pub images_length: u64,
    /// The array of host objects.
    pub objects: *const HostObject,
    /// Its length in elements.
    pub objects_length: u64,
    /// Where the program lies.
    pub extent: Extent,
}

/// The memory that a program is mapped in: which statics go with it when it is unloaded, those that are not
/// among its host objects included.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extent {
    /// Its first byte; null if that is not known.
    pub start: *const u8,
    /// Behind its last byte.
    pub end: *const u8,
    /// The number of how its statics lie to one another and to the array of host objects. Two programs have
    /// the same one if the same statics are at the same distances from that array; 0, or null in its place,
    /// says nothing.
    pub layout: *const u64,
}

impl Extent {
    /// That of a program of which only the host objects are known.
    pub const UNKNOWN: Self =
        Self { start: std::ptr::null(), end: std::ptr::null(), layout: std::ptr::null() };
}

/// A static of the host program and its unique id.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostObject {
    /// The static's address minus the address of the array of host objects; 0 if the host program
    /// does not contain it.
    pub offset: i64,
    /// Its unique id in UTF-8, not terminated.
    pub id: *const u8,
    /// The id's length in bytes.
    pub id_length: u64,
}

/// The bytes of a panic record: four 64-bit words. The first is the panic site plus one, and zero while
/// nothing has panicked (only its low half is ever exchanged, so that devices without 64-bit atomics
/// do); then the linear index of the item, and the site's two operands.
pub const PANIC_RECORD_SIZE: usize = 32;

/// The 32-bit words that a launch has for lines that its kernel prints, behind two more. Those count the
/// words that items have asked for, which may be more than there are, and the lines that had no room.
///
/// A line is: how many words it has, written last; the bytes of its text; the number of its values; the
/// text, in whole words; and of each value its kind and two words of it, the lower one first. The text
/// is that of Rust's `format!` with `{}` or `{:..}` for each value. A kind has the bits of the type in its low byte,
/// and above it 0 for unsigned integers, 1 for signed, 2 for floating point, 3 for `bool`, 4 for `char`.
pub const LINE_WORDS: u32 = (1 << 16) - 2;
