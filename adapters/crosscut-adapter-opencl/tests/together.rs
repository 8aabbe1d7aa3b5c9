//! Devices that share one `cl_context`, as the driver has them.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod device;

use std::num::NonZeroU32;
use std::sync::Arc;

use crosscut_adapter_api::{
    Argument, CodeForm, Context, Device, Extent, Joinable, MemoryKind, Partition, QueueOptions,
};

use device::{bytes, devices, kernels};

/// Each device that can be cut, with its parts.
fn families() -> Vec<Vec<Arc<dyn Device>>> {
    let family = |whole: Arc<dyn Device>| {
        let parts = whole.as_partitionable()?.partition(Partition::Equally(NonZeroU32::MIN));
        Some(std::iter::once(whole).chain(parts.unwrap()).collect())
    };
    devices().into_iter().filter_map(family).collect()
}

fn open(family: &[Arc<dyn Device>]) -> Vec<Arc<dyn Context>> {
    let joinable: Vec<&dyn Joinable> =
        family.iter().map(|device| device.as_joinable().unwrap()).collect();
    joinable[0].create_contexts(&joinable[1..]).unwrap()
}

/// Runs `store_value` of a program on a context, and tells what it stored.
fn stored(context: &dyn Context, binary: &[u8], value: u64) -> u64 {
    let program = context.as_caching().unwrap().build_binary(binary).unwrap();
    let kernel = program.kernel("store_value").unwrap();
    let memory = context.allocate(MemoryKind::Device, bytes(8), 8).unwrap();
    let queue = context.create_queue(&QueueOptions::default()).unwrap();
    let value = value.to_ne_bytes();
    let arguments = [Argument::Memory { memory: &*memory, offset: 0 }, Argument::Value(&value)];
    let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
    // SAFETY: the arguments fit `store_value`, and the memory lives until the wait below.
    unsafe { queue.launch(&*kernel, extent, &arguments, &[]) }.unwrap();
    let mut found = [0_u8; 8];
    // SAFETY: the buffer is writable for its length and lives until the wait.
    let read = unsafe { queue.read(&*memory, 0, found.as_mut_ptr(), bytes(8), &[]) };
    read.unwrap().wait().unwrap();
    u64::from_ne_bytes(found)
}

#[test]
fn bytes_of_a_program_are_those_for_one_device_and_load_alone_and_together() {
    for family in families() {
        let together = open(&family);
        let alone = family[0].create_context().unwrap();
        let bytes_of = |context: &dyn Context| {
            let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
            context.as_caching().unwrap().binary(&*program).unwrap()
        };
        let made_alone = bytes_of(&*alone);
        for (value, context) in (1..).zip(&together) {
            let made_together = bytes_of(&**context);
            assert!(!made_together.is_empty());
            assert_eq!(stored(&**context, &made_alone, value), value);
            assert_eq!(stored(&**context, &made_together, value), value);
            assert_eq!(stored(&*alone, &made_together, value), value);
        }
    }
}
