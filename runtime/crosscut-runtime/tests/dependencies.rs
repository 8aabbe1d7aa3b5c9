//! What a command is told to wait for, on the mock.

mod program;

use crosscut_adapter_mock::{Call, Mock};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, ErrorKind, EventState, Queue};
use program::{bind, device, kernel, launch, launch_after, queue, register, upload};

/// The events of the launches so far, and what each waits for.
fn launches(mock: &Mock) -> Vec<(u64, Vec<u64>)> {
    let launch = |call| match call {
        Call::Launch { event, after, .. } => Some((event, after)),
        _ => None,
    };
    mock.log().into_iter().filter_map(launch).collect()
}

#[test]
fn a_launch_waits_for_the_events_it_is_given_once_each() {
    register(vec![kernel(501, "first", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("first", |_| ());
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    let a = launch(&one, || 501, 1, &[]).unwrap();
    let b = launch(&one, || 501, 1, &[]).unwrap();
    launch_after(&two, || 501, 1, &[], &[a.clone(), b.clone(), a.clone()]).unwrap();
    let seen = launches(&mock);
    assert_eq!(seen[2].1, [seen[0].0, seen[1].0]);
    // On its own queue, which is in order, there is nothing to say; nor after somebody waited.
    launch_after(&one, || 501, 1, &[], std::slice::from_ref(&a)).unwrap();
    b.wait().unwrap();
    launch_after(&two, || 501, 1, &[], &[b]).unwrap();
    let seen = launches(&mock);
    assert_eq!((&seen[3].1, &seen[4].1), (&vec![], &vec![]));
}

#[test]
fn an_event_that_orders_memory_too_is_given_once() {
    register(vec![kernel(502, "write", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("write", |_| ());
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    let x = upload(&one, &[0]);
    let a = launch(&one, || 502, 1, &[bind(&x, Access::Write)]).unwrap();
    launch_after(&two, || 502, 1, &[bind(&x, Access::Write)], &[a]).unwrap();
    let seen = launches(&mock);
    assert_eq!(seen[1].1, [seen[0].0]);
}

#[test]
fn an_event_of_another_context_is_waited_for_by_the_device_and_not_by_the_host() {
    register(vec![kernel(503, "apart", vec![])], 0);
    let (here, there) = (Mock::new(), Mock::new());
    for mock in [&here, &there] {
        mock.define_kernel("apart", |_| ());
    }
    let (one, two) = (queue(&device(&here)), queue(&device(&there)));
    here.hold();
    let event = launch(&one, || 503, 1, &[]).unwrap();
    let follow =
        |queue: &Queue| launch_after(queue, || 503, 1, &[], std::slice::from_ref(&event)).unwrap();
    let later = follow(&two);
    assert_eq!(later.state().unwrap(), EventState::Submitted);
    here.release();
    later.wait().unwrap();
    // What failed over there fails here.
    here.hold();
    let event = launch(&one, || 503, 1, &[]).unwrap();
    let later = launch_after(&two, || 503, 1, &[], &[event]).unwrap();
    here.lose_device();
    assert_eq!(later.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
    follow(&two).wait().unwrap();
}

#[test]
fn a_launch_of_no_items_still_waits() {
    register(vec![kernel(504, "none", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("none", |_| ());
    let queue = queue(&device(&mock));
    mock.hold();
    let first = launch(&queue, || 504, 1, &[]).unwrap();
    std::thread::scope(|scope| {
        let nothing =
            scope.spawn(|| launch_after(&queue, || 504, 0, &[], std::slice::from_ref(&first)));
        std::thread::sleep(std::time::Duration::from_millis(20));
        mock.release();
        nothing.join().unwrap().unwrap().wait().unwrap();
    });
    assert!(first.is_complete().unwrap());
}
