//! The end of the process: memory that the host shares with a device may be gone by then.

mod program;

use crosscut_adapter_mock::Mock;
use crosscut_image::Parameter::{Lines, PanicRecord};
use crosscut_runtime::ErrorKind;
use program::{device, kernel, launch, queue, register, set_word};

#[test]
fn the_record_of_a_kernel_is_not_looked_into_once_the_process_is_ending() {
    register(vec![kernel(1301, "hits", vec![PanicRecord])], 0);
    let mock = Mock::new();
    mock.define_kernel("hits", |launch| set_word(launch, 0, 0, 1));
    let queue = queue(&device(&mock));
    let event = launch(&queue, || 1301, 10, &[]).unwrap();
    mock.begin_exit();
    let told = event.wait().unwrap_err();
    assert_eq!(told.kind(), ErrorKind::DeviceLost, "{told}");
}

#[test]
fn the_lines_of_a_kernel_are_left_where_they_are_once_the_process_is_ending() {
    register(vec![kernel(1302, "prints", vec![Lines])], 0);
    let mock = Mock::new();
    // Far more lines than there are: who reads this looks at all of the memory for lines.
    mock.define_kernel("prints", |launch| set_word(launch, 0, 0, u64::MAX));
    let queue = queue(&device(&mock));
    let event = launch(&queue, || 1302, 10, &[]).unwrap();
    mock.begin_exit();
    event.wait().unwrap();
    // Their memory has not been zeroed, and is not used again: the next launch wants other memory.
    let refused = launch(&queue, || 1302, 10, &[]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DeviceLost, "{refused}");
}
