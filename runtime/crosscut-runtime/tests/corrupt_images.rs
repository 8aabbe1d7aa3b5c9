//! Damaged registrations: errors at the first launch, never before, never a crash.

mod program;

use crosscut_adapter_mock::Mock;
use crosscut_image::registration::{Descriptor, Extent};
use crosscut_runtime::{__crosscut_register, __crosscut_unregister, ErrorKind};
use program::{device, kernel, launch, queue, register, register_bytes, register_payload};

#[test]
fn damaged_bytes_are_told_at_the_first_launch_and_hurt_no_other_program() {
    // SAFETY: null is allowed.
    unsafe { __crosscut_register(std::ptr::null()) };
    __crosscut_unregister(std::ptr::null());
    let mock = Mock::new();
    mock.define_kernel("good", |_| ());
    let queue = queue(&device(&mock));

    register_bytes(b"not an image".to_vec(), 0);
    let error = launch(&queue, || 1, 1, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    assert!(error.to_string().contains("corrupt device image"), "{error}");
    assert!(error.to_string().contains("cargo crosscut build"), "{error}");

    register_payload(vec![kernel(2, "good", vec![])], 0, b"not SPIR-V!!".to_vec());
    let error = launch(&queue, || 2, 1, &[]).unwrap_err();
    assert!(error.to_string().contains("corrupt device image: SPIR-V"), "{error}");

    register(vec![kernel(3, "good", vec![])], 0);
    launch(&queue, || 3, 1, &[]).unwrap().wait().unwrap();

    let later = Box::leak(Box::new(Descriptor {
        version: 77,
        images: std::ptr::null(),
        images_length: 5,
        objects: std::ptr::null(),
        objects_length: 0,
        extent: Extent::UNKNOWN,
    }));
    // SAFETY: the arrays are null, which is looked at before they are.
    unsafe { __crosscut_register(later) };
    launch(&queue, || 3, 1, &[]).unwrap().wait().unwrap();
    assert!(launch(&queue, || 4, 1, &[]).unwrap_err().to_string().contains("version 77"));
    __crosscut_unregister(later);
    assert!(!launch(&queue, || 4, 1, &[]).unwrap_err().to_string().contains("version 77"));
}
