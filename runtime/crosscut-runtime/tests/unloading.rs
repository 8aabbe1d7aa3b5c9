//! Programs that are unloaded, and others loaded where they were.

mod program;

use crosscut_adapter_mock::{Call, Mock};
use crosscut_image::Parameter::Global;
use crosscut_image::global_properties;
use crosscut_image::registration::{Descriptor, Extent, HostObject};
use crosscut_runtime::{__crosscut_register, __crosscut_unregister, GlobalHandle, Queue};
use program::{descriptor, device, image, kernel, launch, queue, read_global, set_word, word};

#[test]
fn a_program_that_is_loaded_again_has_new_code_and_finds_its_globals() {
    let counting = |key, name| {
        let mut kernel = kernel(key, name, vec![Global { index: 0 }]);
        (kernel.reads, kernel.writes) = (vec![0], vec![0]);
        image(vec![kernel], program::spirv())
    };
    let mock = Mock::new();
    for name in ["old", "new"] {
        mock.define_kernel(name, |launch| set_word(launch, 0, 0, word(launch, 0, 0) + 1));
    }
    let queue = queue(&device(&mock));

    let (place, global) = descriptor(counting(70, "old"), 10);
    // SAFETY: a descriptor of leaked data.
    unsafe { __crosscut_register(place) };
    launch(&queue, || 70, 1, &[]).unwrap();
    assert_eq!(read_global(&queue, global).unwrap(), 11);

    // The same descriptor, table and static addresses, as when a plug-in is built anew and loaded
    // again; nothing is launched in between.
    __crosscut_unregister(place);
    let (other, _) = descriptor(counting(71, "new"), 10);
    // SAFETY: leaked, and nobody writes it.
    let (old, new) = (unsafe { *place }, unsafe { *other });
    let reloaded = Descriptor { images: new.images, images_length: new.images_length, ..old };
    // SAFETY: leaked, and after unregistering nobody reads it.
    unsafe { place.write(reloaded) };
    // SAFETY: as above.
    unsafe { __crosscut_register(place) };
    launch(&queue, || 71, 1, &[]).unwrap();
    assert_eq!(read_global(&queue, global).unwrap(), 12, "it was 11 before");
    let builds = mock.log().iter().filter(|call| matches!(call, Call::Build { .. })).count();
    assert_eq!(builds, 2, "the new program is built");
    assert!(launch(&queue, || 70, 1, &[]).is_err(), "the old kernel is gone");
}

#[test]
fn a_program_loaded_where_another_was_has_globals_of_its_own() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let (place, global) = descriptor(image(vec![], program::spirv()), 10);
    // SAFETY: a descriptor of leaked data.
    unsafe { __crosscut_register(place) };
    let value = 55u64;
    let source = std::ptr::from_ref(&value).cast();
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { queue.copy_to_global(global, 0, source, 8, &[]) }.unwrap();
    __crosscut_unregister(place);
    // Nobody is registered there: whatever it is, it is not what was there before.
    assert_eq!(read_global(&queue, global).unwrap(), 10);
    // SAFETY: as above. The same id and layout: what was put aside at the unloading is found.
    unsafe { __crosscut_register(place) };
    __crosscut_unregister(place);
    // SAFETY: as above.
    unsafe { __crosscut_register(place) };
    assert_eq!(read_global(&queue, global).unwrap(), 10, "the last value of that address");
    __crosscut_unregister(place);
}

/// A program with a global that its table does not have.
struct Unlisted {
    place: *mut Descriptor,
    global: GlobalHandle,
    /// Where it is.
    start: *const u8,
}

impl Unlisted {
    fn new() -> Self {
        let (place, _) = descriptor(image(vec![], program::spirv()), 10);
        let statics = &*Box::leak(Box::new([20u64; 2]));
        let address = statics.as_ptr().cast::<u8>();
        address.expose_provenance();
        // SAFETY: storage and initial bytes lie there, leaked, aligned to 8.
        let global = unsafe { GlobalHandle::new(address, 8, 8, 0, global_properties::DEFAULT) };
        Self { place, global, start: address }
    }

    /// Runs `with` while the program is loaded, with this number as its layout's.
    fn loaded(&self, layout: u64, with: impl FnOnce()) {
        let start = self.start;
        let layout = Box::leak(Box::new(layout));
        // SAFETY: leaked, and nobody reads it while no program is registered with it.
        let descriptor = unsafe { &mut *self.place };
        descriptor.extent = Extent { start, end: start.wrapping_add(16), layout };
        // SAFETY: a descriptor of leaked data.
        unsafe { __crosscut_register(self.place) };
        with();
        __crosscut_unregister(self.place);
    }
}

fn write(queue: &Queue, global: GlobalHandle, value: u64) {
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { queue.copy_to_global(global, 0, (&raw const value).cast(), 8, &[]) }.unwrap();
}

#[test]
fn a_global_that_no_kernel_names_goes_with_its_program_and_comes_back_with_the_same_layout() {
    let queue = queue(&device(&Mock::new()));
    let other_context = program::queue(&device(&Mock::new()));
    let program = Unlisted::new();
    let read = || read_global(&queue, program.global).unwrap();
    program.loaded(7, || {
        assert_eq!(read(), 20);
        write(&queue, program.global, 55);
        write(&other_context, program.global, 66);
    });
    program.loaded(8, || assert_eq!(read(), 20, "another program is there now"));
    program.loaded(7, || assert_eq!(read(), 55, "it is the same static again"));
    program.loaded(8, || {
        assert_eq!(read(), 20);
        write(&queue, program.global, 77);
    });
    program.loaded(7, || assert_eq!(read(), 55));
    program.loaded(8, || assert_eq!(read(), 77));
    // Who comes late to see that programs went finds what belonged to the first of them.
    program.loaded(7, || assert_eq!(read_global(&other_context, program.global).unwrap(), 66));
}

#[test]
fn a_global_of_an_unknown_layout_is_forgotten_with_its_program() {
    let queue = queue(&device(&Mock::new()));
    let program = Unlisted::new();
    let read = || read_global(&queue, program.global).unwrap();
    for _ in 0..2 {
        program.loaded(0, || {
            assert_eq!(read(), 20, "nobody can tell that it is the same");
            write(&queue, program.global, 55);
        });
    }
}

#[test]
fn who_looks_late_finds_what_belonged_to_the_first_program_at_an_address() {
    let queue = queue(&device(&Mock::new()));
    let Unlisted { place, global, start } = Unlisted::new();
    // SAFETY: leaked, and nobody reads it while no program is registered with it.
    let original = unsafe { *place };
    // The same static under another id, as in another program that is loaded at the same place.
    let with_id = |id: &'static str| {
        let table = Box::leak(Box::new(HostObject { offset: 0, id: id.as_ptr(), id_length: 1 }));
        let distance = start.addr().wrapping_sub((&raw const *table).addr());
        table.offset = distance.cast_signed() as i64;
        Descriptor { objects: &raw const *table, objects_length: 1, ..original }
    };
    let loaded = |id, with: &mut dyn FnMut()| {
        // SAFETY: as above.
        unsafe { place.write(with_id(id)) };
        // SAFETY: a descriptor of leaked data.
        unsafe { __crosscut_register(place) };
        with();
        __crosscut_unregister(place);
    };
    loaded("P", &mut || write(&queue, global, 55));
    // This context does not see the second program at all.
    loaded("Q", &mut || ());
    loaded("Q", &mut || assert_eq!(read_global(&queue, global).unwrap(), 20, "it is not P's"));
    loaded("P", &mut || assert_eq!(read_global(&queue, global).unwrap(), 55));
}

#[test]
fn one_id_with_two_layouts_is_refused_and_both_are_named() {
    let mock = Mock::new();
    mock.define_kernel("first", |_| ());
    mock.define_kernel("second", |_| ());
    let queue = queue(&device(&mock));
    let using = |key, name, size| {
        let mut image = image(vec![kernel(key, name, vec![Global { index: 0 }])], program::spirv());
        image.globals[0].id = "contradiction".into();
        image.globals[0].size = size;
        descriptor(image, 10).0
    };
    let (first, second) = (using(80, "first", 8), using(81, "second", 4));
    // SAFETY: descriptors of leaked data.
    unsafe { __crosscut_register(first) };
    // The table has no such id, which is told only where nothing contradicts.
    let error = launch(&queue, || 80, 1, &[]).unwrap_err();
    assert!(error.message().contains("is not in the host program"), "{error}");
    // SAFETY: as above.
    unsafe { __crosscut_register(second) };
    let error = launch(&queue, || 81, 1, &[]).unwrap_err();
    assert_eq!(
        error.message(),
        "`test::G` has 4 bytes aligned to 8 (properties 0x6) in one loaded program, and `test::G` \
         8 bytes aligned to 8 (properties 0x6) in another"
    );
    __crosscut_unregister(first);
    __crosscut_unregister(second);
}
