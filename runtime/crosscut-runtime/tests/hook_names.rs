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
        __crosscut_global_size __crosscut_local_id __crosscut_local_size __crosscut_group_id
        __crosscut_group_count __crosscut_local_address __crosscut_group_scratch __crosscut_global_address
        __crosscut_spec_constant __crosscut_scope_begin __crosscut_scope_end __crosscut_barrier
        __crosscut_sub_group_local_id __crosscut_sub_group_size __crosscut_sub_group_max_size
        __crosscut_sub_group_id __crosscut_sub_group_count __crosscut_sub_group_shuffle
        __crosscut_sub_group_barrier __crosscut_lines
    );
    assert_eq!(defined, names::FUNCTIONS);
    assert!(!crosscut_device::on_device());
}

#[test]
fn kernels_and_the_runtime_agree_on_how_many_words_lines_have() {
    assert_eq!(crosscut_device::print::WORDS, crosscut_image::registration::LINE_WORDS);
}

#[test]
fn properties_are_the_same_bits_in_device_code_and_in_images() {
    use crosscut_device::property::bits;
    use crosscut_image::global_properties as image;
    assert_eq!(
        [
            bits::IMAGE_SCOPE,
            bits::HOST_READS,
            bits::HOST_WRITES,
            bits::INIT_REPROGRAM,
            bits::INIT_RESET,
            bits::CSR_OFF,
            bits::CSR_ON,
            bits::LAZY,
            bits::NO_INIT,
            bits::BUNDLE_SCOPE,
        ],
        [
            image::IMAGE_SCOPE,
            image::HOST_READS,
            image::HOST_WRITES,
            image::INIT_REPROGRAM,
            image::INIT_RESET,
            image::CSR_OFF,
            image::CSR_ON,
            image::LAZY,
            image::NO_INIT,
            image::BUNDLE_SCOPE,
        ]
    );
    assert_eq!(<() as crosscut_device::property::Properties>::BITS, image::DEFAULT);
}
