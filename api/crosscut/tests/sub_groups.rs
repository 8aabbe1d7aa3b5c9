//! Sub-groups on the host: what is said when their items part.

use crosscut::prelude::*;
use crosscut::{Backend, Bundle, ErrorKind, Feature};

fn host() -> Queue {
    let device = crosscut::devices()
        .expect("devices")
        .into_iter()
        .find(|device| device.backend() == Backend::Host)
        .expect("the host");
    Queue::on(&device).expect("a queue")
}

#[test]
fn the_host_says_how_large_its_sub_groups_are() {
    let queue = host();
    let info = queue.device().info();
    assert!(info.features.has(Feature::SubGroups) && info.features.has(Feature::SubGroupShuffle));
    let mut sizes = queue.zeroed::<usize>(20).unwrap();
    let range = NdRange::new(20, 20);
    queue.parallel_for(range, &mut sizes, |item, size| *size = item.sub_group().size()).unwrap();
    let sizes = queue.download(&sizes).unwrap();
    let most = info.sub_group_sizes[0];
    assert!(sizes[..20 / most * most].iter().all(|size| *size == most));
    assert!(sizes[20 / most * most..].iter().all(|size| *size == 20 % most));
}

#[test]
fn items_of_one_sub_group_that_part_are_told_where_they_are() {
    let queue = host();
    let event = queue.parallel_for(NdRange::new(16, 16), (), |item, ()| {
        let sub = item.sub_group();
        if item.local() == 11 {
            sub.barrier();
        }
        sub.all(true);
    });
    let error = event.unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    let text = error.to_string();
    assert!(text.contains("items of one sub-group wait at different barriers"), "{text}");
    assert!(text.contains("in item 11"), "{text}");
    assert!(text.contains("every item of a sub-group must make the same calls"), "{text}");
}

#[test]
fn a_sub_group_that_some_items_have_left_is_an_error() {
    let queue = host();
    let event = queue.parallel_for(NdRange::new(16, 16), (), |item, ()| {
        let sub = item.sub_group();
        if item.local() != 15 {
            sub.barrier();
        }
    });
    let text = event.unwrap().wait().unwrap_err().to_string();
    assert!(text.contains("the first item of a sub-group waits"), "{text}");
    assert!(text.contains("in item 8"), "{text}");
}

#[test]
fn if_one_item_of_a_work_group_asks_for_its_sub_group_all_must() {
    let queue = host();
    let event = queue.parallel_for(NdRange::new(16, 16), (), |item, ()| {
        if item.local() >= 8 {
            item.sub_group().barrier();
        }
    });
    let text = event.unwrap().wait().unwrap_err().to_string();
    assert!(text.contains("asks for its sub-group"), "{text}");
    assert!(text.contains("in item 8"), "{text}");
    // The queue stays usable, and what the first sub-group does not do others may.
    let event = queue.parallel_for(NdRange::new(16, 16), (), |item, ()| {
        let sub = item.sub_group();
        if item.local() >= 8 {
            sub.barrier();
        }
    });
    event.unwrap().wait().unwrap();
}

#[test]
fn a_panic_in_one_sub_group_ends_its_work_group() {
    let queue = host();
    let event = queue.parallel_for(NdRange::new(32, 16), (), |item, ()| {
        let sub = item.sub_group();
        let sum = sub.reduce(item.global(), |a, b| a + b);
        assert!(sum != (8..16).sum(), "the second sum");
        item.barrier();
        sub.barrier();
    });
    let text = event.unwrap().wait().unwrap_err().to_string();
    assert!(text.contains("the second sum") && text.contains("in item 8"), "{text}");
}

#[test]
fn the_size_that_the_host_has_can_be_asked_for_and_no_other() {
    let queue = host();
    let mut sizes = queue.zeroed::<usize>(16).unwrap();
    let mut ask = |items| {
        let range = NdRange::new(16, 16);
        let launch = queue.launch().sub_group_size(items);
        launch.parallel_for(range, &mut sizes, |item, size| *size = item.sub_group().size())
    };
    for items in [0, 1, 16, usize::MAX] {
        let error = ask(items).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        let asked = u32::try_from(items).unwrap_or(u32::MAX);
        let message = error.message();
        assert!(
            message.contains(&format!(" asks for sub-groups of {asked} items, and `")),
            "{message}"
        );
        assert!(message.ends_with("` (host) has those of 8"), "{message}");
        assert_eq!(error.help(), Some("pass `sub_group_size` 8, or leave it out"));
    }
    ask(8).unwrap();
    assert_eq!(queue.download(&sizes).unwrap(), [8; 16]);
}

#[test]
fn a_bundle_has_a_size_for_all_its_kernels_and_a_launch_adds_none() {
    let queue = host();
    let build = |items| Bundle::of(queue.context()).sub_group_size(items).build();
    let kernel = |launch: crosscut::Launch<'_>| launch.parallel_for(8, (), |_, ()| ());
    kernel(queue.launch().use_bundle(&build(8).unwrap())).unwrap().wait().unwrap();
    // In a plain build nobody knows the kernels before they are launched.
    let refused = build(4).and_then(|bundle| kernel(queue.launch().use_bundle(&bundle)));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::KernelNotSupported);
    let both = kernel(queue.launch().sub_group_size(8).use_bundle(&build(8).unwrap())).unwrap_err();
    assert_eq!(both.message(), "a launch with a bundle and with a size of sub-groups");
}
