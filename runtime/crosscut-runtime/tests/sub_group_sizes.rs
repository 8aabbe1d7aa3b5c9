//! Launches that ask for a size of sub-groups.

mod program;

use crosscut_adapter_mock::{Call, Mock, MockOptions};
use crosscut_image::encode;
use crosscut_runtime::{Bundle, Error, ErrorKind, Event, Queue, Specialization, Variant};
use program::{device, image, kernel, launch_variant, queue, register_bytes, spirv};

fn sized(size: u32) -> Specialization {
    let mut values = Specialization::new();
    values.set_sub_group_size(size);
    values
}

fn run(queue: &Queue, key: fn() -> u64, values: &Specialization) -> Result<Event, Error> {
    launch_variant(queue, key, 8, &[], &[], Variant::With(values))
}

/// The lengths of the codes that were built.
fn builds(mock: &Mock) -> Vec<usize> {
    let length = |call: &Call| match call {
        Call::Build { length } => Some(*length),
        _ => None,
    };
    mock.log().iter().filter_map(length).collect()
}

fn register(key: u64) {
    register_bytes(encode(&[image(vec![kernel(key, "sized", vec![])], spirv())]), 0);
}

/// A mock whose sub-groups have these sizes.
fn mock(sizes: &[usize]) -> Mock {
    let mut info = Mock::device_info();
    info.sub_group_sizes = sizes.to_vec();
    let mock = Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() });
    mock.define_kernel("sized", |_| ());
    mock
}

#[test]
fn each_size_is_built_once_and_the_code_asks_for_it() {
    register(301);
    let mock = mock(&[8, 16]);
    let queue = queue(&device(&mock));
    for values in [Specialization::new(), sized(8), sized(16), sized(8), Specialization::new()] {
        run(&queue, || 301, &values).unwrap().wait().unwrap();
    }
    // The module has no entry point here, so that it grows by its capability alone.
    let plain = spirv().len();
    assert_eq!(builds(&mock), [plain, plain + 8, plain + 8]);
}

#[test]
fn a_size_that_the_device_has_not_is_refused_with_those_it_has() {
    register(302);
    for (sizes, says, way_out) in [
        (&[4, 8, 16][..], "has those of 4, 8 or 16", "one of these"),
        (&[32], "has those of 32", "pass `sub_group_size` 32"),
        (&[], "does not say which sizes it has", "leave `sub_group_size` out"),
    ] {
        let mock = mock(sizes);
        let queue = queue(&device(&mock));
        let error = run(&queue, || 302, &sized(12)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        let message = error.message();
        assert!(
            message.contains("asks for sub-groups of 12 items, and `mock` (mock) "),
            "{message}"
        );
        assert!(message.ends_with(says), "{message}");
        assert!(error.help().is_some_and(|help| help.contains(way_out)), "{error}");
        assert!(builds(&mock).is_empty());

        // The queue is as good as before.
        run(&queue, || 302, &Specialization::new()).unwrap().wait().unwrap();
    }
}

#[test]
fn a_bundle_is_built_for_its_size_or_refused() {
    register(303);
    let mock = mock(&[8, 16]);
    let queue = queue(&device(&mock));
    let build =
        |size| Bundle::build(queue.context(), sized(size), &|name: &str| name.contains("sized"));
    let bundle = build(16).unwrap();
    let built = builds(&mock).len();
    launch_variant(&queue, || 303, 8, &[], &[], Variant::Of(&bundle)).unwrap().wait().unwrap();
    assert_eq!(builds(&mock).len(), built);
    let error = build(5).unwrap_err();
    assert!(error.message().contains("asks for sub-groups of 5 items"), "{error}");
}
