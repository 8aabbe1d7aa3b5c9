//! Comparing panics with the host's.

use crosscut::{DeviceCopy, ErrorKind, KernelPanic};

use crate::targets;

/// What devices owe of a panic's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The host's, word for word.
    Equal,
    /// One that contains this: values inside a message are not carried to the host.
    Contains(&'static str),
}

/// Applies `kernel` to each input on every device. Exactly one input must make it panic, and every
/// device must tell the host's file, line, column and item.
///
/// # Panics
/// A device does not panic, or differs from the host.
pub fn panics<I, F>(message: Message, inputs: &[I], kernel: F) -> KernelPanic
where
    I: DeviceCopy,
    F: Fn(I) -> u64 + Copy + Send + 'static,
{
    let mut expected: Option<KernelPanic> = None;
    for target in targets() {
        let run = || {
            let inputs = target.queue.upload(inputs)?;
            let mut outputs = target.queue.zeroed::<u64>(inputs.len())?;
            target
                .queue
                .for_each(&mut outputs, &inputs, move |i, output, inputs| {
                    *output = kernel(inputs[i]);
                })?
                .wait()
        };
        let error = run().expect_err(&target.name);
        assert_eq!(error.kind(), ErrorKind::Panic, "{}: {error}", target.name);
        let found = error.kernel_panic().expect("a panic has its description").clone();
        // The queue must be usable after it.
        target.queue.wait().unwrap_or_else(|error| panic!("{}: {error}", target.name));
        let Some(expected) = &expected else {
            expected = Some(found);
            continue;
        };
        let place = |panic: &KernelPanic| {
            (panic.file.clone(), panic.line, panic.column, panic.item.clone(), panic.linear_item)
        };
        assert_eq!(place(expected), place(&found), "{}: {}", target.name, found.message);
        match message {
            Message::Equal => assert_eq!(expected.message, found.message, "{}", target.name),
            Message::Contains(part) => {
                assert!(expected.message.contains(part), "the host says: {}", expected.message);
                assert!(found.message.contains(part), "{}: {}", target.name, found.message);
            }
        }
    }
    expected.expect("the host is always there")
}
