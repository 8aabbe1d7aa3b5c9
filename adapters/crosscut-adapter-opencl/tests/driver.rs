//! What only a driver can answer. Behaviours that every adapter shares are in `tests/conformance`.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod device;

use crosscut_adapter_api::{
    Adapter, Argument, CodeForm, DriverErrorKind, Extent, Feature, Features, MemoryKind,
    QueueOptions, QueueOrder,
};
use crosscut_adapter_opencl::OpenCl;
use device::{bytes, devices, kernels};

#[test]
fn a_listed_device_says_what_it_is() {
    for device in devices() {
        let info = device.info();
        assert!(!info.name.is_empty() && !info.platform.is_empty(), "{info:?}");
        assert!(!info.driver_version.is_empty(), "{info:?}");
        assert!(info.memory_size >= info.largest_allocation, "{info:?}");
        assert!(info.largest_allocation > 0 && info.compute_units > 0, "{info:?}");
        assert_eq!(info.code_forms_note, None);
    }
}

#[test]
fn the_same_devices_are_listed_again() {
    let infos = |adapter: OpenCl| {
        adapter.devices().map(|list| list.iter().map(|d| d.info().clone()).collect::<Vec<_>>())
    };
    assert_eq!(infos(OpenCl::new()), infos(OpenCl::new()));
    let without_usm = infos(OpenCl::new()).map(|mut list| {
        let usm = [Feature::UsmDevice, Feature::UsmHost, Feature::UsmShared, Feature::UsmSystem];
        for info in &mut list {
            info.features = usm.into_iter().fold(info.features, Features::without);
        }
        list
    });
    assert_eq!(without_usm, infos(OpenCl::without_usm()));
}

#[test]
fn without_usm_memory_has_no_address_and_parts_are_aligned() {
    let Ok(list) = OpenCl::without_usm().devices() else { return };
    for device in list {
        let context = device.create_context().unwrap();
        let memory = context.allocate(MemoryKind::HostVisible, bytes(64), 8).unwrap();
        assert_eq!(memory.host_address(), None);
        assert_eq!(memory.device_address(), None);
        assert!(context.argument_alignment() > 1);
    }
}

#[test]
fn a_module_with_a_wrong_first_word_is_refused_as_a_build_error() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let mut broken = kernels().to_vec();
        broken[..4].fill(0);
        let Err(refusal) = context.build(CodeForm::Spirv64, &broken) else {
            panic!("a module that is none was built");
        };
        assert_eq!(refusal.kind, DriverErrorKind::Build, "{refusal}");
        assert!(refusal.call.starts_with("cl"), "{refusal}");
        assert_ne!(refusal.code, 0);
    }
}

#[test]
fn a_kernel_that_needs_an_undefined_function_is_a_build_error_with_a_log() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let refusal = context.build(CodeForm::Spirv64, &with_an_import()).err();
        let Some(refusal) = refusal else { panic!("a module with a missing function was built") };
        assert_eq!(refusal.kind, DriverErrorKind::Build, "{refusal}");
        let log = refusal.log.unwrap_or_default();
        assert!(log.contains("not_there"), "the log does not name the function: {log:?}");
    }
}

/// `kernels.spvasm` with one more kernel, which calls a function that nobody defines.
fn with_an_import() -> Vec<u8> {
    const TEXT: &str = r#"
        OpCapability Kernel
        OpCapability Addresses
        OpCapability Linkage
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %kernel "kernel"
        OpDecorate %callee LinkageAttributes "not_there" Import
        %void = OpTypeVoid
        %type = OpTypeFunction %void
        %callee = OpFunction %void None %type
        OpFunctionEnd
        %kernel = OpFunction %void None %type
        %entry = OpLabel
        %call = OpFunctionCall %void %callee
        OpReturn
        OpFunctionEnd
    "#;
    device::assemble(TEXT.as_bytes())
}

#[test]
fn a_missing_kernel_is_a_build_error_and_the_program_stays_usable() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
        for name in ["no such kernel", "", "copy\0"] {
            let refusal = program.kernel(name).err().unwrap();
            assert_eq!(refusal.kind, DriverErrorKind::Build, "{name:?}: {refusal}");
            assert_eq!(refusal.call, "clCreateKernel");
        }
        program.kernel("copy").unwrap();
    }
}

#[test]
fn more_memory_than_the_device_has_is_out_of_memory() {
    for device in devices() {
        let context = device.create_context().unwrap();
        for kind in [MemoryKind::Device, MemoryKind::HostVisible] {
            for size in [usize::MAX, usize::MAX / 2, device.info().memory_size as usize * 16] {
                let refusal = context.allocate(kind, bytes(size), 8).err();
                let Some(refusal) = refusal else { panic!("{size} bytes were granted") };
                assert_eq!(refusal.kind, DriverErrorKind::OutOfMemory, "{kind:?} {refusal}");
            }
            context.allocate(kind, bytes(64), 8).unwrap();
        }
    }
}

#[test]
fn a_launch_with_a_misplaced_offset_into_a_memory_object_is_refused() {
    let Ok(list) = OpenCl::without_usm().devices() else { return };
    for device in list.iter().filter(|d| d.info().code_forms.contains(&CodeForm::Spirv64)) {
        let context = device.create_context().unwrap();
        let memory = context.allocate(MemoryKind::Device, bytes(1024), 8).unwrap();
        let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
        let kernel = program.kernel("store_value").unwrap();
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
        let value = 7_u64.to_ne_bytes();
        let arguments =
            |offset| [Argument::Memory { memory: &*memory, offset }, Argument::Value(&value)];
        // SAFETY: the arguments fit `store_value`, and the memory lives until the wait below.
        let misplaced = unsafe { queue.launch(&*kernel, extent, &arguments(24), &[]) };
        assert_eq!(misplaced.err().unwrap().call, "clCreateSubBuffer");
        let offset = context.argument_alignment();
        // SAFETY: as above.
        let placed = unsafe { queue.launch(&*kernel, extent, &arguments(offset), &[]) };
        placed.unwrap().wait().unwrap();
        let mut found = [0_u8; 8];
        // SAFETY: the buffer is writable for its length and lives until the wait.
        let read = unsafe { queue.read(&*memory, offset, found.as_mut_ptr(), bytes(8), &[]) };
        read.unwrap().wait().unwrap();
        assert_eq!(found, value);
    }
}

#[test]
fn division_is_rounded_as_rust_rounds_it() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
        let kernel = program.kernel("divide").unwrap();
        let divisors: Vec<f32> = (1..=1 << 16).map(|i| i as f32 * 1.000_3).collect();
        let size = bytes(divisors.len() * 4);
        let from = context.allocate(MemoryKind::Device, size, 4).unwrap();
        let to = context.allocate(MemoryKind::Device, size, 4).unwrap();
        let mut quotients = vec![0_f32; divisors.len()];
        // SAFETY: `divisors` is readable for `size` bytes and outlives the last wait.
        let written = unsafe { queue.write(&*from, 0, divisors.as_ptr().cast(), size, &[]) };
        written.unwrap();
        for dividend in [0.1_f32, 1.0, 3.0, 16_777_215.0, 1.0e-30] {
            let arguments = [
                Argument::Memory { memory: &*to, offset: 0 },
                Argument::Memory { memory: &*from, offset: 0 },
                Argument::Value(&dividend.to_ne_bytes()),
            ];
            let extent = Extent { dimensions: 1, size: [divisors.len(), 1, 1], group: None };
            // SAFETY: the arguments fit `divide`, and the memory outlives the last wait.
            unsafe { queue.launch(&*kernel, extent, &arguments, &[]) }.unwrap();
            // SAFETY: `quotients` is writable for `size` bytes and untouched until the wait.
            unsafe { queue.read(&*to, 0, quotients.as_mut_ptr().cast(), size, &[]) }
                .unwrap()
                .wait()
                .unwrap();
            for (divisor, quotient) in divisors.iter().zip(&quotients) {
                assert_eq!(*quotient, dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }
}

#[test]
fn a_program_made_from_the_bytes_of_another_does_the_same() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let binary = {
            let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
            context.as_caching().unwrap().binary(&*program).unwrap()
        };
        assert!(!binary.is_empty());
        // Another context, as in another process.
        let context = device.create_context().unwrap();
        let program = context.as_caching().unwrap().build_binary(&binary).unwrap();
        assert_eq!(program.kernel("no such kernel").err().unwrap().kind, DriverErrorKind::Build);
        let kernel = program.kernel("store_value").unwrap();
        let memory = context.allocate(MemoryKind::Device, bytes(8), 8).unwrap();
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let value = 7_u64.to_ne_bytes();
        let arguments = [Argument::Memory { memory: &*memory, offset: 0 }, Argument::Value(&value)];
        let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
        // SAFETY: the arguments fit `store_value`, and the memory lives until the wait below.
        unsafe { queue.launch(&*kernel, extent, &arguments, &[]) }.unwrap();
        let mut found = [0_u8; 8];
        // SAFETY: the buffer is writable for its length and lives until the wait.
        let read = unsafe { queue.read(&*memory, 0, found.as_mut_ptr(), bytes(8), &[]) };
        read.unwrap().wait().unwrap();
        assert_eq!(found, value);
    }
}

#[test]
fn bytes_that_are_no_program_are_refused_and_the_context_stays_usable() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let caching = context.as_caching().unwrap();
        for nonsense in [&b"no program"[..], &[0; 4096]] {
            let refusal = caching.build_binary(nonsense).err();
            let Some(refusal) = refusal else { panic!("nonsense became a program") };
            assert!(refusal.call.starts_with("cl") && refusal.code != 0, "{refusal}");
        }
        context.build(CodeForm::Spirv64, kernels()).unwrap();
    }
}

#[test]
fn queues_out_of_order_may_be_dropped_as_soon_as_their_commands_complete() {
    for device in devices() {
        for round in 0..200 {
            let context = device.create_context().unwrap();
            let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
            let queue = context.create_queue(&options).unwrap();
            let memory = context.allocate(MemoryKind::Device, bytes(1 << 19), 64).unwrap();
            let fill = |value: u8| {
                // SAFETY: the memory lives until the wait below.
                unsafe { queue.fill(&*memory, 0, &[value], bytes(1 << 19), &[]) }.unwrap()
            };
            let events: Vec<_> = (0..8).map(|_| fill(round as u8)).collect();
            // Seen by nobody: what completes last may still be on its way out when the queue goes.
            queue.barrier(&[]).unwrap().wait().unwrap();
            drop(events);
        }
    }
}
