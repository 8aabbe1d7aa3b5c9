//! What a launch hands to a kernel: not more than the device takes, and no address that is not aligned.

mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crosscut_adapter_mock::Mock;
use crosscut_image::Parameter::{self, Address, Captures};
use crosscut_runtime::{
    Access, Binding, Buffer, ErrorKind, KernelDefinition, KernelLaunch, Source, Specialization,
    Variant,
};
use program::{definition, device, image, kernel, launch, queue, register_bytes};

/// A program with one kernel that has so many words of captures.
fn register_captures(key: u64, name: &str, words: u32) {
    let parameters: Vec<Parameter> = (0..words).map(|word| Captures { word }).collect();
    let mut kernel = kernel(key, name, parameters);
    kernel.captures_size = 8 * words;
    let image = image(vec![kernel], program::spirv());
    register_bytes(crosscut_image::encode(&[image]), 0);
}

#[test]
fn more_bytes_of_arguments_than_the_device_takes_are_refused_with_both_numbers() {
    register_captures(1401, "fits", 128);
    register_captures(1402, "does_not", 200);
    let mock = Mock::new();
    for name in ["fits", "does_not"] {
        mock.define_kernel(name, |_| ());
    }
    let queue = queue(&device(&mock));
    let captured = [7u64; 200];
    let run = |key: fn() -> u64, words: usize| {
        let captures_size = 8 * words;
        let definition =
            Box::leak(Box::new(KernelDefinition { captures_size, ..*definition(key) }));
        let launch = KernelLaunch {
            definition,
            captures: captured.as_ptr().cast(),
            size: [1; 3],
            group: None,
            bindings: &[],
            after: &[],
            variant: Variant::With(&Specialization::new()),
        };
        // SAFETY: as many captures are there, plain numbers.
        unsafe { queue.launch(&launch) }
    };
    run(|| 1401, 128).unwrap();
    let refused = run(|| 1402, 200).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let message = refused.message();
    assert!(message.contains("test::does_not"), "{message}");
    assert!(message.contains("1600 bytes") && message.contains("takes 1024"), "{message}");
    assert!(refused.help().is_some_and(|help| help.contains("buffer")));
}

#[test]
fn an_empty_argument_is_aligned_for_its_elements() {
    program::register(vec![kernel(1403, "empty", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    let seen = Arc::new(AtomicU64::new(0));
    let found = Arc::clone(&seen);
    mock.define_kernel("empty", move |launch| {
        found.store(launch.memory(0).address(), Ordering::Relaxed);
    });
    let queue = queue(&device(&mock));
    for align in [1, 64, 128, 4096, 1 << 20] {
        let buffer = Buffer::allocate(queue.context(), 0, align).unwrap();
        let source = Source::Buffer((&buffer).into());
        let binding = Binding { source, access: Access::Read, length: 0, align };
        launch(&queue, || 1403, 1, &[binding]).unwrap().wait().unwrap();
        let address = seen.load(Ordering::Relaxed);
        assert!(address != 0 && address.is_multiple_of(align as u64), "{address:#x} for {align}");
    }
}
