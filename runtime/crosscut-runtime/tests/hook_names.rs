//! The device crate defines what the image crate names.

use crosscut_device::hooks;
use crosscut_image::hooks as names;

#[test]
fn every_hook_is_defined_under_its_name() {
    macro_rules! defined {
        ($($hook:ident)*) => { [$({ let _ = hooks::$hook as *const (); stringify!($hook) }),*] };
    }
    let defined = defined!(
        __crosscut_kernel __crosscut_captures __crosscut_argument_address
        __crosscut_read_argument_address __crosscut_argument_length __crosscut_global_id
        __crosscut_global_size __crosscut_global_address __crosscut_barrier
    );
    assert_eq!(defined, names::FUNCTIONS);
    assert!(!crosscut_device::on_device());
}
