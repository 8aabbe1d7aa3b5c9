//! The values that bundles have of symbols: what is built, handed over, waited for and freed.

mod program;

use std::sync::mpsc;
use std::time::Duration;

use crosscut_adapter_mock::{Call, Mock};
use crosscut_image::{Parameter, global_properties};
use crosscut_runtime::{
    __crosscut_register, Bundle, ErrorKind, Event, GlobalHandle, Queue, QueueOptions, QueueOrder,
    Specialization, Variant,
};
use program::{
    descriptor_by_id, device, image, kernel, launch, launch_variant, set_word, spirv, word,
};

/// A program of one kernel, which counts in one symbol that starts as 40.
fn register_counter(key: u64) -> GlobalHandle {
    let mut count = kernel(key, &format!("count_{key}"), vec![Parameter::Global { index: 0 }]);
    (count.reads, count.writes) = (vec![0], vec![0]);
    let mut image = image(vec![count], spirv());
    image.globals[0].id = format!("counter_{key}");
    image.globals[0].properties = global_properties::DEFAULT | global_properties::BUNDLE_SCOPE;
    let (descriptor, global) = descriptor_by_id(image, 40);
    // SAFETY: everything was leaked: it is there and stays so.
    unsafe { __crosscut_register(descriptor) };
    global
}

fn mock(key: u64) -> Mock {
    let mock = Mock::new();
    let count = |launch: &crosscut_adapter_mock::Launch<'_>| {
        set_word(launch, 0, 0, word(launch, 0, 0) + 1);
    };
    mock.define_kernel(&format!("count_{key}"), count);
    mock
}

fn out_of_order(mock: &Mock) -> Queue {
    let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
    Queue::with_options(&device(mock).create_context().unwrap(), options).unwrap()
}

/// A bundle of the one kernel of this key.
fn bundle(queue: &Queue, key: u64) -> Bundle {
    let name = format!("test::count_{key}");
    Bundle::build(queue.context(), Specialization::new(), &|it| it == name).unwrap()
}

fn count(queue: &Queue, key: fn() -> u64, bundle: &Bundle) -> Event {
    launch_variant(queue, key, 1, &[], &[], Variant::Of(bundle)).unwrap()
}

fn read(queue: &Queue, global: GlobalHandle, bundle: Option<&Bundle>) -> u64 {
    let mut value = 0u64;
    let target = (&raw mut value).cast();
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { queue.copy_from_global(global.under(bundle), 0, target, 8, &[]) }.unwrap();
    value
}

/// The events of all launches, each with those it waits for.
fn launches(mock: &Mock) -> Vec<(u64, Vec<u64>)> {
    let launch = |call| match call {
        Call::Launch { event, after, .. } => Some((event, after)),
        _ => None,
    };
    mock.log().into_iter().filter_map(launch).collect()
}

#[test]
fn bundles_of_one_program_share_its_build_and_have_values_of_their_own() {
    let (mock, global) = (mock(970), register_counter(970));
    let queue = out_of_order(&mock);
    launch(&queue, || 970, 1, &[]).unwrap();
    let (first, second) = (bundle(&queue, 970), bundle(&queue, 970));
    count(&queue, || 970, &first);
    count(&queue, || 970, &first.clone());
    launch(&queue, || 970, 1, &[]).unwrap();
    let values = [Some(&first), Some(&second), None].map(|bundle| read(&queue, global, bundle));
    assert_eq!(values, [42, 40, 42]);
    let builds = mock.log().iter().filter(|call| matches!(call, Call::Build { .. })).count();
    assert_eq!(builds, 1);
}

#[test]
fn commands_on_the_values_of_different_bundles_do_not_wait_for_one_another() {
    let (mock, global) = (mock(971), register_counter(971));
    let queue = out_of_order(&mock);
    let (first, second) = (bundle(&queue, 971), bundle(&queue, 971));
    launch(&queue, || 971, 1, &[]).unwrap().wait().unwrap();
    mock.clear_log();
    mock.hold();
    count(&queue, || 971, &first);
    count(&queue, || 971, &second);
    launch(&queue, || 971, 1, &[]).unwrap();
    count(&queue, || 971, &first);
    mock.release();
    queue.wait().unwrap();
    let launches = launches(&mock);
    let among = |after: &[u64]| launches.iter().any(|(event, _)| after.contains(event));
    let waits: Vec<bool> = launches.iter().map(|(_, after)| among(after)).collect();
    assert_eq!(waits, [false, false, false, true], "{launches:?}");
    assert_eq!(launches[3].1, [launches[0].0], "the second on a value waits for the first");
    assert_eq!([read(&queue, global, Some(&first)), read(&queue, global, None)], [42, 42]);
}

#[test]
fn a_bundle_that_goes_frees_its_values_after_the_commands_that_use_them() {
    let (mock, global) = (mock(972), register_counter(972));
    let queue = out_of_order(&mock);
    launch(&queue, || 972, 1, &[]).unwrap().wait().unwrap();
    let before = mock.live_allocations();
    let bundle = bundle(&queue, 972);
    assert_eq!(mock.live_allocations(), before + 1);
    mock.hold();
    let counted = count(&queue, || 972, &bundle);
    let release = mock.clone();
    let released = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        release.release();
    });
    drop(bundle);
    released.join().unwrap();
    counted.wait().unwrap();
    assert!(!mock.log().iter().any(|call| matches!(call, Call::FreedInUse { .. })));
    assert_eq!((mock.live_allocations(), read(&queue, global, None)), (before, 41));
}

#[test]
fn a_bundle_may_go_inside_a_task_that_its_commands_wait_for() {
    let (mock, _) = (mock(974), register_counter(974));
    let queue = Queue::new(&device(&mock).create_context().unwrap()).unwrap();
    let bundle = bundle(&queue, 974);
    let (go, wait) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel();
    let inside = bundle.clone();
    let task = move || {
        wait.recv().unwrap();
        drop(inside);
        sender.send(()).unwrap();
    };
    queue.host_task(Box::new(task), &[]).unwrap();
    let counted = count(&queue, || 974, &bundle);
    drop(bundle);
    go.send(()).unwrap();
    if receiver.recv_timeout(Duration::from_secs(120)).is_err() {
        // Dropping these would wait for ever, too.
        std::mem::forget((queue, counted));
        panic!("the task waits for the kernel behind it");
    }
    counted.wait().unwrap();
    assert!(!mock.log().iter().any(|call| matches!(call, Call::FreedInUse { .. })));
}

#[test]
fn the_value_of_a_bundle_of_another_context_is_refused() {
    let (mock, global) = (mock(973), register_counter(973));
    let (queue, apart) = (out_of_order(&mock), out_of_order(&mock));
    let bundle = bundle(&queue, 973);
    let refused = apart.reset_global(global.under(Some(&bundle)), &[]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("the bundle belongs to another context"), "{refused}");
    let refused = launch_variant(&apart, || 973, 1, &[], &[], Variant::Of(&bundle)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}
