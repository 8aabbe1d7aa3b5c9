//! A program as the link step would have made it: kernels of `kernels/kernels.spvasm` in an image, the
//! same kernels as native code, and two device globals.

use std::sync::OnceLock;

use crosscut_image::registration::{DESCRIPTOR_VERSION, Descriptor, Extent, HostObject};
use crosscut_image::{Global, Image, Kernel, Parameter, Target, encode, global_properties};
use crosscut_runtime::{
    __crosscut_register, Access, Binding, Bundle, Error, Event, GlobalHandle, KernelDefinition,
    KernelLaunch, Queue, Region, Source, Specialization, Variant,
};

use super::Failure;
use crate::{kernels, native};

/// A kernel of the program.
pub(super) struct Code {
    definition: KernelDefinition,
    /// Its entry point in the SPIR-V.
    entry: &'static str,
    /// The bytes that each item has of every argument; 0 where all items have the first word.
    item: usize,
    /// The parameters of its device code.
    parameters: &'static [Parameter],
}

const fn code(
    key: fn() -> u64,
    entry: &'static str,
    native: crosscut_runtime::NativeEntry,
    (dimensions, captures_size, item): (u8, usize, usize),
    parameters: &'static [Parameter],
) -> Code {
    let definition = KernelDefinition {
        key,
        name: || "conformance::kernel",
        dimensions,
        captures_size,
        native,
        device_entry: || (),
    };
    Code { definition, entry, item, parameters }
}

const FIRST: Parameter = Parameter::Address { slot: 0 };
const SECOND: Parameter = Parameter::Address { slot: 1 };
const VALUE: Parameter = Parameter::Captures { word: 0 };
const LOCAL: Parameter = Parameter::Local { slot: 1 };

/// Copies a 32-bit word per item from the second argument to the first.
pub(super) static COPY: Code = code(|| 71_001, "copy", native::copy, (1, 0, 4), &[FIRST, SECOND]);
/// Stores a value in the 64-bit word of each item.
pub(super) static STORE: Code =
    code(|| 71_002, "store_value", native::store_value, (1, 8, 8), &[FIRST, VALUE]);
/// Stores the index of each item in its 64-bit word, in 1, 2 and 3 dimensions.
pub(super) static INDICES: [Code; 3] = [
    code(|| 71_011, "store_indices", native::store_indices, (1, 0, 8), &[FIRST]),
    code(|| 71_012, "store_indices", native::store_indices, (2, 0, 8), &[FIRST]),
    code(|| 71_013, "store_indices", native::store_indices, (3, 0, 8), &[FIRST]),
];
/// Adds one to the first 32-bit word, in 1, 2 and 3 dimensions.
pub(super) static COUNT: [Code; 3] = [
    code(|| 71_021, "count", native::count, (1, 0, 0), &[FIRST]),
    code(|| 71_022, "count", native::count, (2, 0, 0), &[FIRST]),
    code(|| 71_023, "count", native::count, (3, 0, 0), &[FIRST]),
];
/// Stores the indices of each group in reverse, by way of its local memory.
pub(super) static TURN_AROUND: Code =
    code(|| 71_031, "turn_around", native::turn_around, (1, 0, 4), &[FIRST, LOCAL]);
/// Adds one to the first 32-bit word, so many times.
pub(super) static SPIN: Code = code(|| 71_041, "spin", native::spin, (1, 8, 0), &[FIRST, VALUE]);
/// A single task that does nothing.
pub(super) static NOTHING: Code = code(|| 71_051, "nothing", native::nothing, (0, 0, 0), &[]);
/// A kernel that is in no image.
pub(super) static UNKNOWN: Code = code(|| 71_999, "unknown", native::nothing, (1, 0, 0), &[]);

fn all() -> impl Iterator<Item = &'static Code> {
    [&COPY, &STORE, &TURN_AROUND, &SPIN, &NOTHING].into_iter().chain(&INDICES).chain(&COUNT)
}

/// The 8 bytes that [`word`] starts with.
pub(super) const WORD: u64 = 41;
/// The bytes of [`row`].
pub(super) const ROW: usize = 64;

/// The table of host objects and the statics it points at: storage, and behind it the initial bytes.
#[repr(C, align(8))]
struct Statics {
    objects: [HostObject; 2],
    word: [u64; 2],
    row: [u8; 2 * ROW],
}

struct Program {
    word: GlobalHandle,
    row: GlobalHandle,
}

/// The initial bytes of [`row`].
pub(super) fn initial_row() -> [u8; ROW] {
    std::array::from_fn(|at| 3 * at as u8)
}

/// A global of 8 bytes.
pub(super) fn word() -> Result<GlobalHandle, Failure> {
    Ok(program()?.word)
}

/// A global of [`ROW`] bytes.
pub(super) fn row() -> Result<GlobalHandle, Failure> {
    Ok(program()?.row)
}

fn program() -> Result<&'static Program, Failure> {
    static PROGRAM: OnceLock<Result<Program, String>> = OnceLock::new();
    PROGRAM.get_or_init(register).as_ref().map_err(Failure::from)
}

fn register() -> Result<Program, String> {
    let listed = |id: &str, size: usize| Global {
        id: id.to_owned(),
        display_name: format!("conformance::{id}"),
        size: size as u64,
        align: 8,
        properties: global_properties::DEFAULT,
    };
    let image = Image {
        target: Target::Spirv64,
        payload: kernels()?.to_vec(),
        kernels: all().map(Code::listed).collect(),
        globals: vec![listed("word", 8), listed("row", ROW)],
        spec_constants: vec![],
        panic_sites: vec![],
        property_sets: vec![],
    };
    let object = |id: &'static str, offset: usize| HostObject {
        offset: offset as i64,
        id: id.as_ptr(),
        id_length: id.len() as u64,
    };
    let objects = [
        object("word", std::mem::offset_of!(Statics, word)),
        object("row", std::mem::offset_of!(Statics, row)),
    ];
    let mut row = [0; 2 * ROW];
    row[..ROW].copy_from_slice(&initial_row());
    row[ROW..].copy_from_slice(&initial_row());
    let statics = &*Box::leak(Box::new(Statics { objects, word: [WORD; 2], row }));
    let start = (&raw const *statics).cast::<u8>();
    // The registry computes addresses of statics from that of the table.
    start.expose_provenance();
    let images = encode(&[image]).leak();
    let descriptor = Box::leak(Box::new(Descriptor {
        version: DESCRIPTOR_VERSION,
        images: images.as_ptr(),
        images_length: images.len() as u64,
        objects: start.cast(),
        objects_length: 2,
        extent: Extent::UNKNOWN,
    }));
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    let handle = |offset: usize, size: usize| {
        // SAFETY: storage and initial bytes lie there, leaked, aligned to 8.
        unsafe {
            GlobalHandle::new(start.wrapping_add(offset), size, 8, 0, global_properties::DEFAULT)
        }
    };
    Ok(Program {
        word: handle(std::mem::offset_of!(Statics, word), 8),
        row: handle(std::mem::offset_of!(Statics, row), ROW),
    })
}

impl Code {
    fn listed(&self) -> Kernel {
        Kernel {
            key: (self.definition.key)(),
            name: self.entry.to_owned(),
            display_name: format!("conformance::{}_{}", self.entry, self.definition.dimensions),
            dimensions: self.definition.dimensions,
            captures_size: self.definition.captures_size as u32,
            parameters: self.parameters.to_vec(),
            assumed: None,
            reads: vec![],
            writes: vec![],
        }
    }
}

/// A launch in the making.
pub(super) struct Run<'a> {
    code: &'static Code,
    size: [usize; 3],
    group: Option<[usize; 3]>,
    value: u64,
    bindings: Vec<Binding<'a>>,
    after: &'a [Event],
    bundle: Option<&'a Bundle>,
}

impl<'a> Run<'a> {
    /// Of this kernel, over 1 to 3 extents.
    pub(super) fn of(code: &'static Code, size: &[usize]) -> Self {
        let (bindings, after) = (Vec::new(), &[][..]);
        Self { code, size: three(size), group: None, value: 0, bindings, after, bundle: None }
    }

    fn bind(mut self, source: Source<'a>, access: Access, length: usize) -> Self {
        self.bindings.push(Binding { source, access, length, align: 4 });
        self
    }

    /// The next argument is written.
    pub(super) fn writes(self, region: impl Into<Region<'a>>) -> Self {
        let region = region.into();
        self.bind(Source::Buffer(region), Access::Write, region.size())
    }

    /// The next argument is read.
    pub(super) fn reads(self, region: impl Into<Region<'a>>) -> Self {
        let region = region.into();
        self.bind(Source::Buffer(region), Access::Read, region.size())
    }

    /// The next argument is a global, which is written.
    pub(super) fn changes(self, global: GlobalHandle) -> Self {
        self.bind(Source::Global(global), Access::Write, 1)
    }

    /// The next argument is local memory.
    pub(super) fn local(self, size: usize) -> Self {
        self.bind(Source::Local { size }, Access::Write, size)
    }

    /// In groups of this size.
    pub(super) fn in_groups(mut self, group: &[usize]) -> Self {
        self.group = Some(three(group));
        self
    }

    /// With this value.
    pub(super) fn with(mut self, value: u64) -> Self {
        self.value = value;
        self
    }

    /// After these events.
    pub(super) fn after(mut self, after: &'a [Event]) -> Self {
        self.after = after;
        self
    }

    /// As it is in this bundle.
    pub(super) fn out_of(mut self, bundle: &'a Bundle) -> Self {
        self.bundle = Some(bundle);
        self
    }

    /// Launches it.
    pub(super) fn on(&self, queue: &Queue) -> Result<Event, Error> {
        // Registered, or the launch says that there is no image.
        let _ = program();
        let items: usize = self.size.iter().fold(1, |items, size| items.saturating_mul(*size));
        for binding in &self.bindings {
            if let Source::Buffer(region) = binding.source
                && self.code.item > 0
            {
                let needed = items * self.code.item;
                assert!(region.size() >= needed, "a behaviour launches too many items");
            }
        }
        let values = Specialization::new();
        let launch = KernelLaunch {
            definition: &self.code.definition,
            captures: (&raw const self.value).cast(),
            size: self.size,
            group: self.group,
            bindings: &self.bindings,
            after: self.after,
            variant: self.bundle.map_or(Variant::With(&values), Variant::Of),
        };
        // SAFETY: the value is what kernels with captures take; the bindings are those of the kernel,
        // and its items stay inside them.
        unsafe { queue.launch(&launch) }
    }
}

fn three(size: &[usize]) -> [usize; 3] {
    let mut all = [1; 3];
    all[..size.len()].copy_from_slice(size);
    all
}
