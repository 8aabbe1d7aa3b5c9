//! Kernels that touch device globals by addresses that other kernels kept.

mod program;

use crosscut_adapter_mock::{Call, Mock};
use crosscut_image::{Addresses, Parameter};
use crosscut_runtime::{__crosscut_register, GlobalHandle, Queue};
use program::*;

/// A program with a kernel that keeps its global's address, one that follows any, and one that does
/// neither; their keys count from `key` on.
fn register_keepers(key: u64) -> GlobalHandle {
    let keep = kernel(key, "keep", vec![Parameter::Global { index: 0 }]);
    let kernels = vec![keep, kernel(key + 1, "follow", vec![]), kernel(key + 2, "plain", vec![])];
    let mut image = image(kernels, spirv());
    image.globals[0].id = format!("G{key}");
    let keeps = Addresses { follows: false, leave: vec![0, 9] };
    let follows = Addresses { follows: true, leave: vec![] };
    let set = Addresses::property_set([("keep", &keeps), ("follow", &follows)]);
    image.property_sets.extend(set);
    let (descriptor, global) = descriptor_by_id(image, 5);
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    global
}

fn mock() -> Mock {
    let mock = Mock::new();
    for name in ["keep", "follow", "plain"] {
        mock.define_kernel(name, |_| ());
    }
    mock
}

/// The events of launches of this kernel, and the events that the last read waited for.
fn launches_and_waits(mock: &Mock, name: &str) -> (Vec<u64>, Vec<u64>) {
    let (mut launches, mut waits) = (Vec::new(), Vec::new());
    for call in mock.log() {
        match call {
            Call::Launch { kernel, event, .. } if kernel == name => launches.push(event),
            Call::Read { after, .. } => waits = after,
            _ => {}
        }
    }
    (launches, waits)
}

fn out_of_order(mock: &Mock) -> Queue {
    use crosscut_runtime::{QueueOptions, QueueOrder};
    let device = device(mock);
    let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
    Queue::with_options(&device.default_context().unwrap(), options).unwrap()
}

#[test]
fn a_read_waits_for_a_kernel_that_may_have_found_the_address() {
    let (mock, global) = (mock(), register_keepers(900));
    let queue = out_of_order(&mock);
    launch(&queue, || 900, 1, &[]).unwrap().wait().unwrap();
    launch(&queue, || 901, 1, &[]).unwrap();
    assert_eq!(read_global(&queue, global).unwrap(), 5);
    let (launches, waits) = launches_and_waits(&mock, "follow");
    assert_eq!(launches, waits);
}

#[test]
fn nobody_waits_for_a_kernel_that_finds_no_addresses() {
    let (mock, global) = (mock(), register_keepers(910));
    let queue = out_of_order(&mock);
    launch(&queue, || 910, 1, &[]).unwrap().wait().unwrap();
    launch(&queue, || 912, 1, &[]).unwrap();
    read_global(&queue, global).unwrap();
    let (launches, waits) = launches_and_waits(&mock, "plain");
    assert_eq!((launches.len(), waits.contains(&launches[0])), (1, false));
}

#[test]
fn nobody_waits_where_no_address_was_kept() {
    let (mock, global) = (mock(), register_keepers(920));
    let queue = out_of_order(&mock);
    read_global(&queue, global).unwrap();
    launch(&queue, || 921, 1, &[]).unwrap();
    read_global(&queue, global).unwrap();
    let (launches, waits) = launches_and_waits(&mock, "follow");
    assert_eq!((launches.len(), waits.contains(&launches[0])), (1, false));
}

#[test]
fn contexts_do_not_wait_for_one_another() {
    let (mock, global) = (mock(), register_keepers(930));
    let device = device(&mock);
    let first = Queue::new(&device.create_context().unwrap()).unwrap();
    let second = Queue::new(&device.create_context().unwrap()).unwrap();
    launch(&first, || 930, 1, &[]).unwrap().wait().unwrap();
    read_global(&second, global).unwrap();
    launch(&second, || 931, 1, &[]).unwrap();
    read_global(&first, global).unwrap();
    let (launches, waits) = launches_and_waits(&mock, "follow");
    assert!(!waits.contains(&launches[0]));
}
