//! Kernels that do not run in every work-group their device takes.

mod program;

use std::num::NonZeroUsize;

use crosscut_adapter_api::KernelGroups;
use crosscut_adapter_mock::{Call, Mock};
use crosscut_runtime::{Error, Event, KernelLaunch, Queue, Specialization, Variant};
use program::{device, kernel, queue, register};

fn launch(queue: &Queue, group: [usize; 3]) -> Result<Event, Error> {
    let launch = KernelLaunch {
        definition: program::definition(|| 71),
        captures: std::ptr::null(),
        size: [64, 1, 1],
        group: Some(group),
        bindings: &[],
        after: &[],
        variant: Variant::With(&Specialization::new()),
    };
    // SAFETY: the kernel has neither captures nor arguments.
    unsafe { queue.launch(&launch) }
}

#[test]
fn groups_are_no_larger_than_the_kernel_takes_and_the_error_says_how_large() {
    register(vec![kernel(71, "heavy", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("heavy", |_| ());
    let groups = KernelGroups { largest: NonZeroUsize::new(16), required: None };
    mock.limit_groups("heavy", groups);
    let queue = queue(&device(&mock));
    launch(&queue, [16, 1, 1]).unwrap().wait().unwrap();
    let refused = launch(&queue, [32, 1, 1]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "work-groups of 32 items for kernel `test::heavy`, which runs in groups of 16\n  help: make groups of at most 16 items"
    );
    queue.wait().unwrap();
    let launches = mock.log().iter().filter(|call| matches!(call, Call::Launch { .. })).count();
    assert_eq!(launches, 1, "what is refused never reaches the driver");
}
