//! What only native code on the host CPU can do, or do wrong. No device could run these kernels.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Backend, Result};

fn host() -> Queue {
    let devices = crosscut::devices().unwrap();
    let host = devices.iter().find(|device| device.backend() == Backend::Host).unwrap();
    Queue::on(host).unwrap()
}

#[test]
fn a_queue_refuses_to_be_used_inside_a_kernel() -> Result<()> {
    static QUEUE: std::sync::OnceLock<Queue> = std::sync::OnceLock::new();
    static REFUSED: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let queue = QUEUE.get_or_init(host);
    queue.single_task((), |()| {
        let error = QUEUE.get().unwrap().read(&REFUSED).unwrap_err();
        assert!(error.message().contains("inside a kernel"));
        REFUSED.fetch_add(1, Relaxed);
    })?;
    queue.wait()?;
    assert_eq!(queue.read(&REFUSED)?, 1);
    Ok(())
}

#[test]
fn panics_with_formatted_text_and_with_other_values_are_told() -> Result<()> {
    let queue = host();
    let mut zero = queue.zeroed::<i32>(1)?;
    let mut message = |kernel: fn(&mut i32)| {
        let event = queue.for_each(&mut zero, (), move |_, zero, ()| kernel(zero)).unwrap();
        event.wait().unwrap_err().kernel_panic().unwrap().message.clone()
    };
    assert_eq!(message(|zero| panic!("{zero} is not enough")), "0 is not enough");
    assert_eq!(message(|_| std::panic::panic_any(3)), "a panic with a value that is no text");
    Ok(())
}

#[test]
fn threads_may_share_everything() {
    fn shared<T: Send + Sync>() {}
    shared::<Queue>();
    shared::<Device>();
    shared::<Event>();
    shared::<Buffer<f32>>();
    shared::<crosscut::Context>();
    shared::<crosscut::Error>();
    shared::<DeviceGlobal<[AtomicU32; 3]>>();
}
