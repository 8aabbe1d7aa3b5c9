//! Whom readers are told of when the memory that a kernel wrote has been written again since.

mod program;

use crosscut_adapter_mock::{Mock, MockMemory, MockOptions};
use crosscut_image::Parameter::{Address, Global, PanicRecord};
use crosscut_runtime::{Access, Buffer, DeviceKind, ErrorKind, Queue, Region};
use program::*;

/// A CPU, which the host copies to by itself, on which kernel `hits` panics, if `panics`.
fn mock(memory: MockMemory, panics: bool) -> Mock {
    let mut info = Mock::device_info();
    info.kind = DeviceKind::Cpu;
    let mock = Mock::with(MockOptions { devices: vec![info], memory });
    mock.define_kernel("hits", move |launch| {
        for (index, value) in [1, 5, 8, 9].into_iter().enumerate().filter(|_| panics) {
            set_word(launch, 0, index, value);
        }
    });
    mock
}

fn write(queue: &Queue, target: Region<'_>, words: &[u64]) {
    // SAFETY: the tests write as many words as the region has.
    unsafe { queue.write(target, words.as_ptr().cast(), &[]) }.unwrap();
}

fn begin(buffer: &Buffer) -> Region<'_> {
    Region::new(buffer, 0..8).unwrap()
}

#[test]
fn a_panic_is_told_to_who_reads_what_a_write_to_a_part_has_left() {
    register(vec![kernel(1201, "hits", vec![PanicRecord, Address { slot: 0 }])], 0);
    let device = device(&mock(MockMemory::Unified, true));
    for again in 0..3 {
        let (one, other) = (queue(&device), queue(&device));
        let buffer = upload(&one, &[0; 8]);
        let event = launch(&one, || 1201, 10, &[bind(&buffer, Access::Write)]).unwrap();
        match again {
            0 => write(&other, begin(&buffer), &[7]),
            // SAFETY: nobody else uses the buffer.
            1 => drop(unsafe { other.fill(begin(&buffer), &[7], &[]) }.unwrap()),
            _ => {
                let from = upload(&other, &[7]);
                // SAFETY: they do not overlap, and nobody else uses them.
                let copied = unsafe { other.copy(begin(&buffer), (&from).into(), 0, &[]) };
                copied.unwrap().wait().unwrap();
            }
        }
        let told = download(&other, &buffer).unwrap_err();
        assert_eq!(told.kind(), ErrorKind::Panic, "way {again}");
        assert_eq!(download(&other, &buffer).unwrap().len(), 8, "told once");
        assert!(event.wait().is_err(), "the event tells whatever others told");
    }
}

#[test]
fn a_panic_is_told_to_who_reads_what_a_second_kernel_made_of_it() {
    let parameters = || vec![PanicRecord, Address { slot: 0 }];
    register(vec![kernel(1202, "hits", parameters()), kernel(1203, "adds", parameters())], 0);
    let mock = mock(MockMemory::Unified, true);
    mock.define_kernel("adds", |_| ());
    let device = device(&mock);
    let (one, other) = (queue(&device), queue(&device));
    let buffer = upload(&one, &[0; 8]);
    launch(&one, || 1202, 10, &[bind(&buffer, Access::Write)]).unwrap();
    for _ in 0..200 {
        launch(&other, || 1203, 10, &[bind(&buffer, Access::Write)]).unwrap();
    }
    assert_eq!(download(&other, &buffer).unwrap_err().kind(), ErrorKind::Panic);
}

#[test]
fn who_reads_what_has_been_replaced_is_not_told() {
    register(vec![kernel(1204, "hits", vec![PanicRecord, Address { slot: 0 }])], 0);
    let device = device(&mock(MockMemory::Unified, true));
    let (one, other) = (queue(&device), queue(&device));
    let buffer = upload(&one, &[0; 8]);
    launch(&one, || 1204, 10, &[bind(&buffer, Access::Write)]).unwrap();
    write(&other, begin(&buffer), &[7]);
    write(&other, (&buffer).into(), &[8; 8]);
    assert_eq!(download(&other, &buffer).unwrap(), [8; 8]);
    assert_eq!(one.wait().unwrap_err().kind(), ErrorKind::Panic, "its queue tells");
}

#[test]
fn a_kernel_that_did_not_panic_is_nobodys_concern() {
    register(vec![kernel(1205, "hits", vec![PanicRecord, Address { slot: 0 }])], 0);
    let device = device(&mock(MockMemory::Unified, false));
    let (one, other) = (queue(&device), queue(&device));
    let buffer = upload(&one, &[0; 8]);
    for _ in 0..200 {
        launch(&one, || 1205, 10, &[bind(&buffer, Access::Write)]).unwrap();
        write(&other, begin(&buffer), &[7]);
    }
    assert_eq!(download(&other, &buffer).unwrap()[0], 7);
}

#[test]
fn a_panic_is_told_to_who_reads_what_a_write_to_a_part_of_a_global_has_left() {
    let mut hits = kernel(1206, "hits", vec![PanicRecord, Global { index: 0 }]);
    (hits.reads, hits.writes) = (vec![0], vec![0]);
    let global = register(vec![hits], 0);
    for memory in [MockMemory::Unified, MockMemory::DeviceOnly, MockMemory::Objects] {
        let device = device(&mock(memory, true));
        let (one, other) = (queue(&device), queue(&device));
        launch(&one, || 1206, 10, &[]).unwrap();
        let part = 7u32;
        let source = std::ptr::from_ref(&part).cast();
        // SAFETY: the global has 8 bytes, and the source 4.
        unsafe { other.copy_to_global(global, 0, source, 4, &[]) }.unwrap();
        assert_eq!(read_global(&other, global).unwrap_err().kind(), ErrorKind::Panic, "{memory:?}");
    }
}
