//! Fills of device globals whose memory is aligned less than the pattern is long.

mod program;

use crosscut_adapter_mock::Mock;
use crosscut_image::global_properties;
use crosscut_runtime::{GlobalHandle, Queue};
use program::device;

/// Storage, and behind it the initial bytes.
#[repr(C, align(8))]
struct Large([u8; 256], [u8; 256]);

static LARGE: Large = Large([0; 256], [0; 256]);

#[test]
fn no_driver_is_given_a_pattern_longer_than_its_memory_is_aligned() {
    // SAFETY: storage and initial bytes, 256 each, aligned to 8.
    let global = unsafe {
        GlobalHandle::new((&raw const LARGE).cast(), 256, 8, 0, global_properties::DEFAULT)
    };
    let pattern: Vec<u8> = (0..128).collect();
    // Some of their instances are aligned to 128, most are not: the mock minds.
    let device = device(&Mock::new());
    let contexts: Vec<_> = (0..32).map(|_| device.create_context().unwrap()).collect();
    for context in &contexts {
        let queue = Queue::new(context).unwrap();
        queue.fill_global(global, 0, &pattern, 2, &[]).unwrap().wait().unwrap();
        let mut found = [0u8; 256];
        // SAFETY: there is room for the bytes.
        unsafe { queue.copy_from_global(global, 0, found.as_mut_ptr(), 256, &[]) }.unwrap();
        assert_eq!(found.as_slice(), [pattern.as_slice(); 2].concat());
    }
}
