//! A program as the link step would have made it: images, registered before the test uses them.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::Range;
use std::sync::Arc;

use crosscut_adapter_mock::{Launch, Mock};
use crosscut_image::registration::{DESCRIPTOR_VERSION, Descriptor, Extent, HostObject};
use crosscut_image::{
    Global, Image, Kernel, PanicSite, Parameter, Target, encode, global_properties,
};
use crosscut_runtime::{
    __crosscut_register, Access, Binding, Buffer, Device, Error, Event, GlobalHandle,
    KernelDefinition, KernelLaunch, NativeLaunch, NativePanic, Queue, Runtime, Source,
    Specialization, Variant,
};

/// A module with nothing in it: enough for the checks, and the mock looks no further.
pub(crate) fn spirv() -> Vec<u8> {
    let words = [0x0723_0203, 0x0001_0200, 0, 1, 0, 3 << 16 | 14, 2, 2u32];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A device global: storage, and behind it the initial bytes.
#[repr(C, align(8))]
pub(crate) struct Static(pub(crate) [u64; 2]);

/// The table of host objects and what it points at, at fixed addresses.
#[repr(C)]
struct Table {
    objects: [HostObject; 2],
    global: Static,
    /// A specialization constant.
    constant: u64,
}

/// One kernel's line in an image.
pub(crate) fn kernel(key: u64, name: &str, parameters: Vec<Parameter>) -> Kernel {
    Kernel {
        key,
        name: name.to_owned(),
        display_name: format!("test::{name}"),
        dimensions: 1,
        captures_size: 0,
        parameters,
        assumed: None,
        reads: vec![],
        writes: vec![],
    }
}

/// Registers an image of these kernels, which reach one global of 8 bytes with this initial value.
pub(crate) fn register(kernels: Vec<Kernel>, initial: u64) -> GlobalHandle {
    register_payload(kernels, initial, spirv())
}

pub(crate) fn register_payload(
    kernels: Vec<Kernel>,
    initial: u64,
    payload: Vec<u8>,
) -> GlobalHandle {
    register_bytes(encode(&[image(kernels, payload)]), initial)
}

/// An image of these kernels, with one global of 8 bytes and one panic site.
pub(crate) fn image(kernels: Vec<Kernel>, payload: Vec<u8>) -> Image {
    Image {
        target: Target::Spirv64,
        payload,
        kernels,
        globals: vec![Global {
            id: "G".into(),
            display_name: "test::G".into(),
            size: 8,
            align: 8,
            properties: global_properties::DEFAULT,
        }],
        spec_constants: vec![],
        panic_sites: vec![PanicSite {
            message: "the len is {0} but the index is {1}".into(),
            file: "src/main.rs".into(),
            line: 3,
            column: 7,
        }],
        property_sets: vec![],
    }
}

pub(crate) fn register_bytes(images: Vec<u8>, initial: u64) -> GlobalHandle {
    let (descriptor, global) = leak(images, initial, ("G", global_properties::DEFAULT));
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    global
}

/// The descriptor of a program with this image, not registered yet, and its global.
pub(crate) fn descriptor(image: Image, initial: u64) -> (*mut Descriptor, GlobalHandle) {
    let properties = image.globals[0].properties;
    leak(encode(&[image]), initial, ("G", properties))
}

/// The same with the global under the id that the image gives it: one id has one layout in a process.
pub(crate) fn descriptor_by_id(image: Image, initial: u64) -> (*mut Descriptor, GlobalHandle) {
    let Global { id, properties, .. } = image.globals[0].clone();
    leak(encode(&[image]), initial, (id.leak(), properties))
}

fn leak(
    images: Vec<u8>,
    initial: u64,
    (id, properties): (&'static str, u64),
) -> (*mut Descriptor, GlobalHandle) {
    let offset = i64::try_from(std::mem::offset_of!(Table, global)).unwrap();
    let constant = i64::try_from(std::mem::offset_of!(Table, constant)).unwrap();
    let objects = [
        HostObject { offset, id: id.as_ptr(), id_length: id.len() as u64 },
        HostObject { offset: constant, id: "S".as_ptr(), id_length: 1 },
    ];
    let global = Static([initial; 2]);
    let table = &*Box::leak(Box::new(Table { objects, global, constant: 16 }));
    // The registry computes the address of the static from that of the table.
    let address = (&raw const table.global).cast::<u8>();
    address.expose_provenance();
    let images = images.leak();
    let descriptor = Box::leak(Box::new(Descriptor {
        version: DESCRIPTOR_VERSION,
        images: images.as_ptr(),
        images_length: images.len() as u64,
        objects: (&raw const *table).cast(),
        objects_length: 2,
        extent: Extent::UNKNOWN,
    }));
    // SAFETY: storage and initial bytes, 8 each, aligned to 8.
    (descriptor, unsafe { GlobalHandle::new(address, 8, 8, 0, properties) })
}

/// Where the specialization constant `S` of the program with this descriptor is.
pub(crate) fn constant(descriptor: *const Descriptor) -> *const u8 {
    // SAFETY: descriptors are made by `leak`, and so are the tables they name.
    let descriptor = unsafe { &*descriptor };
    descriptor.objects.cast::<u8>().wrapping_add(std::mem::offset_of!(Table, constant))
}

unsafe fn not_here(_: &NativeLaunch<'_>, _: Range<u64>) -> Result<(), NativePanic> {
    unreachable!("the mock runs no native code")
}

/// A kernel of the host program with this key and no captures.
pub(crate) fn definition(key: fn() -> u64) -> &'static KernelDefinition {
    Box::leak(Box::new(KernelDefinition {
        key,
        name: || "test::host_name",
        dimensions: 1,
        captures_size: 0,
        native: not_here,
        device_entry: || (),
    }))
}

/// Launches without captures over one dimension.
pub(crate) fn launch(
    queue: &Queue,
    key: fn() -> u64,
    items: usize,
    bindings: &[Binding<'_>],
) -> Result<Event, Error> {
    launch_after(queue, key, items, bindings, &[])
}

/// Launches without captures over one dimension, after other commands.
pub(crate) fn launch_after(
    queue: &Queue,
    key: fn() -> u64,
    items: usize,
    bindings: &[Binding<'_>],
    after: &[Event],
) -> Result<Event, Error> {
    launch_variant(queue, key, items, bindings, after, Variant::With(&Specialization::new()))
}

/// Launches this build of a kernel.
pub(crate) fn launch_variant(
    queue: &Queue,
    key: fn() -> u64,
    items: usize,
    bindings: &[Binding<'_>],
    after: &[Event],
    variant: Variant<'_>,
) -> Result<Event, Error> {
    let launch = KernelLaunch {
        definition: definition(key),
        captures: std::ptr::null(),
        size: [items, 1, 1],
        group: None,
        bindings,
        after,
        variant,
    };
    // SAFETY: no captures; the mock's kernels take what the tests bind.
    unsafe { queue.launch(&launch) }
}

/// A buffer as an argument of 8-byte elements.
pub(crate) fn bind(buffer: &Buffer, access: Access) -> Binding<'_> {
    Binding { source: Source::Buffer(buffer.into()), access, length: buffer.size() / 8, align: 8 }
}

pub(crate) fn device(mock: &Mock) -> Device {
    let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
    runtime.devices().unwrap().remove(0)
}

pub(crate) fn queue(device: &Device) -> Queue {
    Queue::new(&device.default_context().unwrap()).unwrap()
}

/// A buffer of these words.
pub(crate) fn upload(queue: &Queue, words: &[u64]) -> Buffer {
    let buffer = Buffer::allocate(queue.context(), size_of_val(words), 8).unwrap();
    // SAFETY: a slice has its bytes.
    unsafe { queue.write((&buffer).into(), words.as_ptr().cast(), &[]) }.unwrap();
    buffer
}

pub(crate) fn download(queue: &Queue, buffer: &Buffer) -> Result<Vec<u64>, Error> {
    let mut words = vec![0; buffer.size() / 8];
    // SAFETY: the vector has as many bytes as the buffer.
    unsafe { queue.read(buffer.into(), words.as_mut_ptr().cast(), 0, &[]) }?;
    Ok(words)
}

pub(crate) fn read_global(queue: &Queue, global: GlobalHandle) -> Result<u64, Error> {
    let mut value = 0u64;
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { queue.copy_from_global(global, 0, (&raw mut value).cast(), global.size(), &[]) }?;
    Ok(value)
}

/// The word at `index` of a launch's memory argument.
pub(crate) fn word(launch: &Launch<'_>, argument: usize, index: usize) -> u64 {
    let mut bytes = [0; 8];
    launch.memory(argument).read(8 * index, &mut bytes);
    u64::from_ne_bytes(bytes)
}

pub(crate) fn set_word(launch: &Launch<'_>, argument: usize, index: usize, value: u64) {
    launch.memory(argument).write(8 * index, &value.to_ne_bytes());
}
