//! Blocks of memory are copied row by row, and not all rows at once.

mod program;

use std::time::{Duration, Instant};

use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions};
use crosscut_runtime::{Block, Buffer, Region};
use program::{device, download, queue};

const ROWS: usize = 1000;

/// So many rows are on their way at once.
const MOST: usize = 256;

/// How many copies the driver was asked for while it did none of them; they are done then.
fn started(mock: &Mock, copy: impl FnOnce() + Send) -> usize {
    let count = || {
        let is_row = |call: &&Call| {
            use Call::{Copy, Fill, Read, Write};
            matches!(call, Write { .. } | Read { .. } | Fill { .. } | Copy { .. })
        };
        mock.log().iter().filter(is_row).count()
    };
    mock.clear_log();
    mock.hold();
    std::thread::scope(|threads| {
        let copying = threads.spawn(copy);
        let start = Instant::now();
        while count() < MOST && start.elapsed() < Duration::from_secs(120) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(100));
        let started = count();
        mock.release();
        copying.join().unwrap();
        started
    })
}

#[test]
fn rows_on_their_way_are_a_bounded_number() {
    let mock = Mock::with(MockOptions { memory: MockMemory::DeviceOnly, ..MockOptions::default() });
    let queue = queue(&device(&mock));
    let buffer = Buffer::allocate(queue.context(), ROWS * 16, 8).unwrap();
    // Every other word.
    let block = Block::new((&buffer).into(), 8, [ROWS, 1], [16, ROWS * 16]).unwrap();
    let mut words: Vec<u64> = (1..=ROWS as u64).collect();
    let writing = started(&mock, || {
        // SAFETY: the vector has as many bytes as the block.
        unsafe { queue.write_block(block, words.as_ptr().cast(), &[]) }.unwrap();
    });
    let all = download(&queue, &buffer).unwrap();
    assert!(all.iter().step_by(2).eq(&words), "{all:?}");
    words.fill(0);
    let reading = started(&mock, || {
        // SAFETY: as above.
        unsafe { queue.read_block(block, words.as_mut_ptr().cast(), 0, &[]) }.unwrap();
    });
    assert!(words.iter().copied().eq(1..=ROWS as u64), "{words:?}");
    assert_eq!((writing, reading), (MOST, MOST));
}

#[test]
fn rows_that_are_filled_and_copied_on_the_device_are_a_bounded_number() {
    let mock = Mock::with(MockOptions { memory: MockMemory::DeviceOnly, ..MockOptions::default() });
    let queue = queue(&device(&mock));
    let one = Buffer::allocate(queue.context(), ROWS * 16, 8).unwrap();
    let other = Buffer::allocate(queue.context(), ROWS * 16, 8).unwrap();
    let block = |buffer| Block::new(Region::whole(buffer), 8, [ROWS, 1], [16, ROWS * 16]).unwrap();
    for buffer in [&one, &other] {
        // SAFETY: nobody else uses the buffer.
        unsafe { queue.fill(buffer.into(), &[0], &[]) }.unwrap();
    }
    queue.wait().unwrap();
    let filling = started(&mock, || {
        // SAFETY: nobody else uses the buffer.
        unsafe { queue.fill_block(block(&one), &7u64.to_ne_bytes(), &[]) }.unwrap().wait().unwrap();
    });
    let copying = started(&mock, || {
        // SAFETY: as above, and these are two.
        let copied = unsafe { queue.copy_block(block(&other), block(&one), 0, &[]) };
        copied.unwrap().wait().unwrap();
    });
    assert_eq!((filling, copying), (MOST, MOST));
    let all = download(&queue, &other).unwrap();
    assert!(all.chunks(2).all(|words| words == [7, 0]), "{all:?}");
}
