//! Sub-groups on the host: what is said when their items part.

use crosscut::prelude::*;
use crosscut::{Backend, ErrorKind, Feature};

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
