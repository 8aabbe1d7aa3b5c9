//! Values of specialization constants: which programs they make, and which not. The driver is the mock.

mod program;

use std::any::TypeId;
use std::sync::Arc;

use crosscut_adapter_mock::{Call, Mock};
use crosscut_image::Parameter::{Address, Global};
use crosscut_image::{Image, SpecConstant};
use crosscut_runtime::{
    __crosscut_register, Access, Bundle, Error, ErrorKind, Event, GlobalHandle, KernelLaunch,
    ProgramCache, Queue, Runtime, Specialization, Variant,
};
use program::{
    bind, constant, definition, descriptor, device, download, image, kernel, queue, read_global,
    set_word, upload, word,
};

/// A module with one specialization constant: number 3, four bytes, 16 by default.
fn module(type_width: u32) -> Vec<u8> {
    let words = [
        vec![0x0723_0203, 0x0001_0200, 0, 9, 0],
        vec![3 << 16 | 14, 2, 2],
        vec![4 << 16 | 71, 5, 1, 3],
        vec![4 << 16 | 21, 4, type_width, 0],
        vec![4 << 16 | 50, 4, 5, 16],
    ];
    words.concat().iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn constants(width: u8) -> Vec<SpecConstant> {
    let (id, display_name) = ("S".to_owned(), "test::S".to_owned());
    vec![SpecConstant { id, display_name, offset: 0, width, default: 16, number: 3 }]
}

/// Registers a kernel that counts its launches in the global and reads the constant; returns where that
/// is, and the global.
fn register(key: u64, change: impl FnOnce(&mut Image)) -> (*const u8, GlobalHandle) {
    let mut count = kernel(key, "count", vec![Address { slot: 0 }, Global { index: 0 }]);
    count.writes = vec![0];
    let mut image = image(vec![count], module(32));
    image.spec_constants = constants(4);
    change(&mut image);
    let (descriptor, global) = descriptor(image, 0);
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    (constant(descriptor), global)
}

fn mock() -> Mock {
    let mock = Mock::new();
    mock.define_kernel("count", |launch| set_word(launch, 1, 0, word(launch, 1, 0) + 1));
    mock
}

fn with(constant: *const u8, value: u32) -> Specialization {
    let mut values = Specialization::new();
    // SAFETY: the tests' constant has four bytes.
    unsafe { values.set(constant, TypeId::of::<u32>(), &value.to_le_bytes()) };
    values
}

fn run(queue: &Queue, key: fn() -> u64, variant: Variant<'_>) -> Result<Event, Error> {
    let x = upload(queue, &[0]);
    let launch = KernelLaunch {
        definition: definition(key),
        captures: std::ptr::null(),
        size: [1, 1, 1],
        group: None,
        bindings: &[bind(&x, Access::Write)],
        after: &[],
        variant,
    };
    // SAFETY: no captures; the mock's kernel takes what is bound.
    unsafe { queue.launch(&launch) }
}

fn builds(mock: &Mock) -> usize {
    mock.log().iter().filter(|call| matches!(call, Call::Build { .. })).count()
}

#[test]
fn every_value_is_built_once_and_all_share_the_global() {
    let (constant, global) = register(200, |_| ());
    let mock = mock();
    let queue = queue(&device(&mock));
    let default = Specialization::new();
    for (values, expected) in [
        (default.clone(), 1),
        (with(constant, 1), 2),
        (with(constant, 2), 3),
        (with(constant, 1), 3),
        (default, 3),
        // The default, said aloud, is the default.
        (with(constant, 16), 3),
        // A constant that the kernel does not read.
        (with(std::ptr::without_provenance(64), 5), 3),
    ] {
        run(&queue, || 200, Variant::With(&values)).unwrap();
        assert_eq!(builds(&mock), expected);
    }
    assert_eq!(read_global(&queue, global).unwrap(), 7);
}

#[test]
fn built_values_are_kept_on_disk_apart() {
    let (constant, _) = register(210, |_| ());
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    for expected in [3, 0] {
        let mock = mock();
        let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
        let queue = queue(&runtime.with_cache(cache.clone()).devices().unwrap().remove(0));
        for value in [16, 17, 18] {
            run(&queue, || 210, Variant::With(&with(constant, value))).unwrap();
        }
        assert_eq!(builds(&mock), expected);
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3);
}

#[test]
fn a_constant_that_the_code_has_not_is_a_corrupt_image() {
    for (key, change) in [
        (220, (|image| image.spec_constants[0].number = 4) as fn(&mut Image)),
        (221, |image| image.spec_constants[0].width = 8),
        (222, |image| image.payload = module(24)),
        (223, |image| image.payload.truncate(60)),
    ] {
        register(key, change);
        let mock = mock();
        let queue = queue(&device(&mock));
        let key: fn() -> u64 = match key {
            220 => || 220,
            221 => || 221,
            222 => || 222,
            _ => || 223,
        };
        let error = run(&queue, key, Variant::With(&Specialization::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Build, "{error}");
        assert!(error.to_string().contains("corrupt device image"), "{error}");
        assert_eq!(builds(&mock), 0);
    }
}

#[test]
fn a_piece_beyond_the_hosts_value_is_a_corrupt_image() {
    let (constant, _) = register(230, |image| image.spec_constants[0].offset = 2);
    let queue = queue(&device(&mock()));
    let error = run(&queue, || 230, Variant::With(&with(constant, 5))).unwrap_err();
    assert!(error.to_string().contains("smaller in the host program"), "{error}");
}

#[test]
fn a_bundle_builds_ahead_and_its_launches_build_nothing() {
    let (constant, global) = register(240, |image| {
        image.kernels[0].display_name = "test::bundled".into();
    });
    register(241, |image| image.kernels[0].display_name = "test::other".into());
    let mock = mock();
    let device = device(&mock);
    let context = &device.default_context().unwrap();
    let accept = |name: &str| name == "test::bundled";
    let one = Bundle::build(context, with(constant, 1), &accept).unwrap();
    let two = Bundle::build(context, with(constant, 2), &accept).unwrap();
    assert_eq!(builds(&mock), 2);
    let [kernel] = one.kernels() else { panic!("{one:?}") };
    assert_eq!((&*kernel.name, kernel.dimensions), ("test::bundled", 1));
    assert_eq!(
        (&kernel.globals[..], &kernel.spec_constants[..]),
        (&["test::G".to_owned()][..], &["test::S".to_owned()][..])
    );
    let queue = queue(&device);
    for bundle in [&one, &two, &one] {
        run(&queue, || 240, Variant::Of(bundle)).unwrap();
    }
    assert_eq!((builds(&mock), read_global(&queue, global).unwrap()), (2, 3));
    let error = run(&queue, || 241, Variant::Of(&one)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("is not in the bundle"), "{error}");
    // And in another context it is not there at all.
    let elsewhere = Queue::new(&device.create_context().unwrap()).unwrap();
    let error = run(&elsewhere, || 240, Variant::Of(&one)).unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");
}

#[test]
fn a_bundle_of_no_kernel_is_refused_with_the_names_there_are() {
    register(250, |_| ());
    let device = device(&mock());
    let nothing =
        Bundle::build(&device.default_context().unwrap(), Specialization::new(), &|_| false);
    let error = nothing.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.help().is_some_and(|help| help.contains("test::")), "{error}");
}

#[test]
fn the_values_of_one_kernel_may_be_many() {
    let (constant, global) = register(260, |_| ());
    let mock = mock();
    let queue = queue(&device(&mock));
    for value in 100..300 {
        run(&queue, || 260, Variant::With(&with(constant, value))).unwrap();
    }
    assert_eq!((builds(&mock), read_global(&queue, global).unwrap()), (200, 200));
    let x = upload(&queue, &[3]);
    assert_eq!(download(&queue, &x).unwrap(), [3]);
}
