//! Device globals with image scope, on a driver that copies variables by name and on one that does not.

mod program;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions, Operation};
use crosscut_image::Kernel;
use crosscut_image::Parameter::Address;
use crosscut_image::global_properties::{DEFAULT, HOST_READS, IMAGE_SCOPE};
use crosscut_image::spirv::{CAPABILITY_FPGA_VARIABLES, CAPABILITY_HOST_ACCESS};
use crosscut_runtime::{__crosscut_register, Access, Binding, GlobalHandle, Queue, Region, Source};
use program::*;

/// The empty module with both capabilities that say something about variables.
fn annotated() -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 1, 0];
    for capability in [CAPABILITY_HOST_ACCESS, CAPABILITY_FPGA_VARIABLES] {
        words.extend([2 << 16 | 17, capability]);
    }
    words.extend([3 << 16 | 14, 2, 2u32]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn name(key: u64) -> String {
    format!("G{key}")
}

/// Registers a program whose one global, initially `initial`, is a variable of its image.
fn register_scoped(key: u64, initial: u64, properties: u64) -> GlobalHandle {
    register_user(kernel(key, "user", vec![]), initial, properties)
}

/// The same with this kernel.
fn register_user(kernel: Kernel, initial: u64, properties: u64) -> GlobalHandle {
    let key = kernel.key;
    let mut image = image(vec![kernel], annotated());
    // One id has one layout in a process.
    image.globals[0].id = name(key);
    image.globals[0].properties = properties;
    let (descriptor, global) = descriptor_by_id(image, initial);
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    global
}

/// The two kernels with which images serve drivers without names, over these bytes.
fn define_accessors(mock: &Mock, variable: &Arc<Mutex<Vec<u8>>>) {
    mock.define_kernel("user", |_| ());
    for what in ["get", "set"] {
        let variable = Arc::clone(variable);
        mock.define_kernel(&format!("crosscut_{what}_0"), move |launch| {
            let offset = u64::from_ne_bytes(launch.value(1).try_into().unwrap()) as usize;
            let mut variable = variable.lock().unwrap();
            let part = &mut variable[offset..offset + launch.extent.size[0]];
            match what {
                "get" => launch.memory(0).write(offset, part),
                _ => launch.memory(0).read(offset, part),
            }
        });
    }
}

fn write(queue: &Queue, global: GlobalHandle, value: u64) {
    // SAFETY: the global has the 8 bytes of a `u64`.
    let copy = unsafe { queue.copy_to_global(global, 0, (&raw const value).cast(), 8, &[]) };
    copy.unwrap().wait().unwrap();
}

/// How often the log has a launch of an accessor, and a copy by name.
fn ways(mock: &Mock) -> (usize, usize) {
    let log = mock.log();
    let count = |is: fn(&Call) -> bool| log.iter().filter(|call| is(call)).count();
    (
        count(
            |call| matches!(call, Call::Launch { kernel, .. } if kernel.starts_with("crosscut_")),
        ),
        count(|call| matches!(call, Call::WriteVariable { .. } | Call::ReadVariable { .. })),
    )
}

fn built_length(mock: &Mock) -> Option<usize> {
    mock.log().iter().find_map(|call| match call {
        Call::Build { length } => Some(*length),
        _ => None,
    })
}

#[test]
fn a_driver_that_knows_names_is_asked_by_name_and_told_them() {
    let mock = Mock::new();
    let device_value = Arc::new(Mutex::new(vec![0; 8]));
    define_accessors(&mock, &device_value);
    mock.define_variable(&name(801), 7u64.to_ne_bytes());
    let global = register_scoped(801, 7, DEFAULT | IMAGE_SCOPE);
    let queue = queue(&device(&mock));
    assert_eq!(read_global(&queue, global).unwrap(), 7);
    write(&queue, global, 8);
    assert_eq!(mock.variable(&name(801)).unwrap(), 8u64.to_ne_bytes());
    assert_eq!(read_global(&queue, global).unwrap(), 8);
    assert_eq!(ways(&mock), (0, 3));
    // It takes the names, and not what only FPGAs take.
    assert_eq!(built_length(&mock), Some(annotated().len() - 8));
}

#[test]
fn a_driver_that_knows_none_is_asked_by_kernels_and_gets_plain_code() {
    let mock = Mock::new();
    let device_value = Arc::new(Mutex::new(9u64.to_ne_bytes().to_vec()));
    define_accessors(&mock, &device_value);
    let global = register_scoped(802, 9, DEFAULT | IMAGE_SCOPE);
    let queue = queue(&device(&mock));
    assert_eq!(read_global(&queue, global).unwrap(), 9);
    write(&queue, global, 10);
    assert_eq!(*device_value.lock().unwrap(), 10u64.to_ne_bytes());
    assert_eq!(ways(&mock), (2, 0));
    assert_eq!(built_length(&mock), Some(annotated().len() - 16));
}

#[test]
fn a_direction_that_the_properties_refuse_does_not_go_by_name() {
    let mock = Mock::new();
    let device_value = Arc::new(Mutex::new(vec![0; 8]));
    define_accessors(&mock, &device_value);
    mock.define_variable(&name(803), 3u64.to_ne_bytes());
    let global = register_scoped(803, 3, HOST_READS | IMAGE_SCOPE);
    let queue = queue(&device(&mock));
    queue.reset_global(global, &[]).unwrap().wait().unwrap();
    assert_eq!(*device_value.lock().unwrap(), 3u64.to_ne_bytes());
    assert_eq!(ways(&mock), (1, 0));
    read_global(&queue, global).unwrap();
    assert_eq!(ways(&mock), (1, 1));
}

#[test]
fn a_name_with_another_size_behind_it_is_not_used() {
    let mock = Mock::new();
    let device_value = Arc::new(Mutex::new(5u64.to_ne_bytes().to_vec()));
    define_accessors(&mock, &device_value);
    mock.define_variable(&name(804), [0; 4]);
    let global = register_scoped(804, 5, DEFAULT | IMAGE_SCOPE);
    let queue = queue(&device(&mock));
    assert_eq!(read_global(&queue, global).unwrap(), 5);
    assert_eq!(ways(&mock), (1, 0));
}

#[test]
fn copies_by_name_keep_their_order_on_a_queue_without_one() {
    use crosscut_runtime::{QueueOptions, QueueOrder};
    let mock = Mock::new();
    define_accessors(&mock, &Arc::new(Mutex::new(vec![0; 8])));
    mock.define_variable(&name(805), 1u64.to_ne_bytes());
    let global = register_scoped(805, 1, DEFAULT | IMAGE_SCOPE);
    let device = device(&mock);
    let context = &device.default_context().unwrap();
    let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
    let queue = Queue::with_options(context, options).unwrap();
    for value in 0..100 {
        write(&queue, global, value);
        assert_eq!(read_global(&queue, global).unwrap(), value);
    }
}

/// The variable as an argument that is written.
fn exclusive<'a>(global: GlobalHandle) -> Binding<'a> {
    Binding { source: Source::Global(global), access: Access::Write, length: 1, align: 8 }
}

#[test]
fn no_copy_by_name_comes_between_a_kernel_and_the_way_back_of_its_argument() {
    let mock = Mock::new();
    define_accessors(&mock, &Arc::new(Mutex::new(vec![0; 8])));
    mock.define_variable(&name(807), 0u64.to_ne_bytes());
    let user = kernel(807, "user", vec![Address { slot: 0 }]);
    let global = register_user(user, 0, DEFAULT | IMAGE_SCOPE);
    let device = device(&mock);
    let (launcher, writer) = (queue(&device), queue(&device));
    write(&writer, global, 1);
    mock.clear_log();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for value in 0..200_000 {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                write(&writer, global, value);
            }
        });
        for _ in 0..5_000 {
            launch(&launcher, || 807, 1, &[exclusive(global)]).unwrap().wait().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    // What is written in between, the kernel's argument would be written over.
    let log = mock.log();
    let is_launch =
        |call: &Call, of: &str| matches!(call, Call::Launch { kernel, .. } if kernel == of);
    let steps: Vec<&Call> = log
        .iter()
        .filter(|call| matches!(call, Call::Launch { .. } | Call::WriteVariable { .. }))
        .collect();
    let kernels = steps.windows(2).filter(|pair| is_launch(pair[0], "user"));
    let lost = kernels.filter(|pair| !is_launch(pair[1], "crosscut_set_0")).count();
    let written = steps.iter().filter(|call| matches!(call, Call::WriteVariable { .. })).count();
    assert_eq!(lost, 0, "of {written} copies");
    assert!(written > 0);
}

#[test]
fn what_a_kernel_writes_to_a_part_arrives_although_its_variable_cannot_be_written_back() {
    let mock = Mock::with(MockOptions { memory: MockMemory::Objects, ..MockOptions::default() });
    define_accessors(&mock, &Arc::new(Mutex::new(vec![0; 8])));
    mock.define_kernel("user", |launch| set_word(launch, 0, 0, 5));
    let user = kernel(808, "user", vec![Address { slot: 0 }, Address { slot: 1 }]);
    let global = register_user(user, 0, DEFAULT | IMAGE_SCOPE);
    let queue = queue(&device(&mock));
    let buffer = upload(&queue, &[1, 2]);
    // Not where the device can have an argument begin: it goes by a copy.
    let part = Region::new(&buffer, 8..16).unwrap();
    let part = Binding { source: Source::Buffer(part), access: Access::Write, length: 1, align: 8 };
    let full =
        DriverError { kind: DriverErrorKind::OutOfMemory, call: "mockLaunch", code: -5, log: None };
    // The variable's way to its argument and the kernel come first.
    mock.fail(Operation::Launch, 2, full);
    let error = launch(&queue, || 808, 1, &[part, exclusive(global)]).unwrap_err();
    assert_eq!(error.driver_code(), Some(-5), "{error}");
    assert_eq!(download(&queue, &buffer).unwrap(), [1, 5]);
}

#[test]
fn a_copy_of_two_steps_is_one_step_for_other_threads() {
    let mock = Mock::new();
    define_accessors(&mock, &Arc::new(Mutex::new(vec![0; 8])));
    let global = register_scoped(806, 0, DEFAULT | IMAGE_SCOPE);
    let device = device(&mock);
    let queues: Vec<Queue> = (0..3).map(|_| queue(&device)).collect();
    let [writer, readers @ ..] = &*queues else { unreachable!() };
    let done = AtomicBool::new(false);
    let lost = std::thread::scope(|threads| {
        for reader in readers {
            threads.spawn(|| {
                let mut buffer = upload(reader, &[0]);
                for _ in 0..100_000 {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    read_global(reader, global).unwrap();
                    reader.copy_global_to_buffer(global, 0, &mut buffer, 8, &[]).unwrap();
                }
            });
        }
        // Nobody else writes: what was written is there, by whichever way it went.
        let mut lost = 0;
        for value in 1..3000 {
            if value % 2 == 0 {
                write(writer, global, value);
            } else {
                let buffer = upload(writer, &[value]);
                // SAFETY: nobody takes the bytes for atomics.
                unsafe { writer.copy_buffer_to_global(global, 0, (&buffer, 0), 8, &[]) }.unwrap();
            }
            lost += usize::from(read_global(writer, global).unwrap() != value);
            mock.clear_log();
        }
        done.store(true, Ordering::Relaxed);
        lost
    });
    assert_eq!(lost, 0, "values were read over before they had arrived");
}
