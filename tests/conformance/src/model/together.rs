//! Contexts of several devices: a whole and its parts.

use std::collections::BTreeMap;
use std::panic::resume_unwind;

use crosscut_runtime::{
    Access, Buffer, Bundle, Context, Device, ErrorKind, Extent, Queue, QueueOptions, QueueOrder,
    Specialization, SpirvArgument, SpirvProgram, UsmKind, ValueKind,
};

use super::program::{COPY, COUNT, Run, SPIN, STORE, WORD, word};
use super::stage::{copy, fill, get, put, refused};
use super::{Outcome, Stage, everywhere, only_where};
use crate::adapter::pattern;
use crate::condition::{CAN_BE_OPENED_TOGETHER, PROGRAMS_OF_SEVERAL};
use crate::{Behaviour, ensure, kernels};

const fn together(name: &'static str, run: fn(&Stage) -> Outcome) -> Behaviour {
    only_where(&CAN_BE_OPENED_TOGETHER, name, run)
}

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a context without a device is refused", no_device),
    everywhere("a context of one device is like one that the device made", one_device),
    everywhere("a device that is there twice in a context is refused", twice),
    together("a context of several devices tells them in order", tells),
    together("a device that is not in a context is refused by it", stranger),
    together("a context is the same one on each of its devices", same_context),
    together("a buffer is used by queues on every device of its context", buffers),
    together("commands on one buffer run in order across devices", ordered),
    together("what one device is told to wait for may be of another", after),
    together("kernels of several devices change one buffer one after the other", kernel_order),
    together("a buffer may be dropped while any device still uses it", dropped),
    together("each device of a context has its own instance of a global", globals),
    together("a bundle has its kernels for every device of its context", bundle),
    together("unified memory is used by every device of its context", unified),
    together("buffers are copied between contexts of several devices", across),
    together("threads share a context on all of its devices", threads),
    only_where(
        &PROGRAMS_OF_SEVERAL,
        "a program from SPIR-V runs on every device of its context",
        spirv,
    ),
];

fn devices(stage: &Stage) -> Result<Vec<Device>, crosscut_runtime::Error> {
    let mut devices = vec![stage.device.clone()];
    devices.extend(stage.device.partition_equally(1)?);
    Ok(devices)
}

/// A context of the whole and its parts.
fn context(stage: &Stage) -> Result<Context, crosscut_runtime::Error> {
    Context::new(&devices(stage)?)
}

/// Queues on each of its devices: in order or not, by turns.
fn queues(context: &Context) -> Result<Vec<Queue>, crosscut_runtime::Error> {
    let orders = [QueueOrder::OutOfOrder, QueueOrder::InOrder];
    let options = orders.map(|order| QueueOptions { order, ..QueueOptions::default() });
    let made = context.devices().iter().zip(options.into_iter().cycle());
    made.map(|(device, options)| Queue::with_options(&context.on(device)?, options)).collect()
}

fn no_device(_: &Stage) -> Outcome {
    refused(Context::new(&[]), ErrorKind::Invalid)
}

fn one_device(stage: &Stage) -> Outcome {
    let context = Context::new(std::slice::from_ref(&stage.device))?;
    ensure!(context.devices() == [stage.device.clone()], "it has {:?}", context.devices());
    ensure!(context != stage.context, "it is that of another");
    ensure!(context.on(&stage.device)? == context, "it is another on its device");
    let buffer = Buffer::allocate(&context, 10, 1)?;
    put(&Queue::new(&context)?, &buffer, &[3; 10])?;
    Ok(())
}

fn twice(stage: &Stage) -> Outcome {
    refused(Context::new(&[stage.device.clone(), stage.device.clone()]), ErrorKind::Invalid)
}

fn tells(stage: &Stage) -> Outcome {
    let devices = devices(stage)?;
    let context = Context::new(&devices)?;
    ensure!(context.devices() == devices, "it has {:?}", context.devices());
    ensure!(*context.device() == devices[0], "it is on {:?}", context.device());
    for device in &devices {
        ensure!(context.on(device)?.device() == device, "it is on another device");
        ensure!(context.on(device)?.devices() == devices, "it has others there");
    }
    Ok(())
}

fn stranger(stage: &Stage) -> Outcome {
    let devices = devices(stage)?;
    let context = Context::new(&devices[1..])?;
    refused(context.on(&stage.device), ErrorKind::Invalid)?;
    refused(stage.context.on(&devices[1]), ErrorKind::Invalid)
}

fn same_context(stage: &Stage) -> Outcome {
    let (one, other) = (context(stage)?, context(stage)?);
    for queue in queues(&one)? {
        ensure!(*queue.context() == one, "it is another one on {:?}", queue.context().device());
        ensure!(*queue.context() != other, "it is like any other");
    }
    let queue = Queue::new(&other)?;
    refused(get(&queue, &Buffer::allocate(&one, 8, 8)?), ErrorKind::Invalid)
}

fn buffers(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    for device in context.devices() {
        let buffer = Buffer::allocate(&context.on(device)?, 1000, 8)?;
        for (value, queue) in (1..).zip(&queues(&context)?) {
            put(queue, &buffer, &[value; 1000])?;
            for queue in queues(&context)? {
                ensure!(get(&queue, &buffer)? == [value; 1000], "{value} is not there");
            }
        }
    }
    Ok(())
}

fn ordered(stage: &Stage) -> Outcome {
    const SIZE: usize = 1 << 18;
    let context = context(stage)?;
    let queues = queues(&context)?;
    let (mut one, mut two) =
        (Buffer::allocate(&context, SIZE, 8)?, Buffer::allocate(&context, SIZE, 8)?);
    for (step, queue) in (1..=60_u8).zip(queues.iter().cycle()) {
        fill(queue, &one, &[step], &[])?;
        let next = &queues[usize::from(step) * 7 % queues.len()];
        copy(next, &two, &one, &[])?;
        std::mem::swap(&mut one, &mut two);
    }
    for buffer in [&one, &two] {
        let found = get(&queues[0], buffer)?;
        ensure!(found.iter().all(|byte| *byte == 60), "a command ran too early: {}", found[0]);
    }
    Ok(())
}

fn after(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    let queues = queues(&context)?;
    let buffer = Buffer::allocate(&context, 4096, 8)?;
    let mut last = vec![fill(&queues[0], &buffer, &[0], &[])?];
    for (step, queue) in (1..=40).zip(queues.iter().cycle()) {
        last = vec![fill(queue, &buffer, &[step], &last)?];
        last.push(queue.barrier(&last)?);
    }
    last.iter().try_for_each(|event| event.wait())?;
    ensure!(get(&queues[0], &buffer)? == [40; 4096], "another came last");
    Ok(())
}

fn kernel_order(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    let queues = queues(&context)?;
    let (sum, seen) = (Buffer::allocate(&context, 4, 8)?, Buffer::allocate(&context, 4, 8)?);
    put(&queues[0], &sum, &[0; 4])?;
    let mut expected = 0;
    for (step, queue) in (1..=30_u32).zip(queues.iter().cycle()) {
        Run::of(&SPIN, &[4]).writes(&sum).with(500).on(queue)?;
        let next = &queues[(step as usize + 1) % queues.len()];
        Run::of(&COUNT[0], &[16]).writes(&sum).on(next)?;
        Run::of(&COPY, &[1]).writes(&seen).reads(&sum).on(queue)?;
        expected += 4 * 500 + 16;
    }
    for buffer in [&sum, &seen] {
        let found = get(&queues[1], buffer)?;
        ensure!(found == u32::to_ne_bytes(expected), "{found:?} instead of {expected}");
    }
    Ok(())
}

fn dropped(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    let queues = queues(&context)?;
    for _ in 0..5 {
        let to = Buffer::allocate(&context, 4, 8)?;
        put(&queues[0], &to, &[0; 4])?;
        for queue in &queues {
            Run::of(&SPIN, &[4]).writes(&to).with(20_000).on(queue)?;
        }
    }
    queues.iter().try_for_each(Queue::wait)?;
    Ok(())
}

fn globals(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    let queues = queues(&context)?;
    let read = |queue: &Queue| {
        let mut bytes = [0; 8];
        // SAFETY: as many bytes are writable as the global has.
        unsafe { queue.copy_from_global(word()?, 0, bytes.as_mut_ptr(), 8, &[]) }?;
        Ok::<_, super::Failure>(u64::from_ne_bytes(bytes))
    };
    for (items, queue) in (1..).zip(&queues) {
        ensure!(read(queue)? == WORD, "it does not begin with its value");
        Run::of(&COUNT[0], &[items]).changes(word()?).on(queue)?;
    }
    for (items, queue) in (1_u64..).zip(&queues) {
        let found = read(queue)?;
        ensure!(found == WORD + items, "{found} on device {items}");
    }
    Ok(())
}

fn bundle(stage: &Stage) -> Outcome {
    word()?;
    let context = context(stage)?;
    let accept = |name: &str| name.contains("store_value");
    let bundle = Bundle::build(&context, Specialization::new(), &accept)?;
    ensure!(bundle.kernels().len() == 1, "it has {:?}", bundle.kernels());
    let to = Buffer::allocate(&context, 80, 8)?;
    for (value, queue) in (1_u64..).zip(&queues(&context)?) {
        Run::of(&STORE, &[10]).writes(&to).with(value).out_of(&bundle).on(queue)?;
        ensure!(get(queue, &to)? == value.to_ne_bytes().repeat(10), "its kernel does not run");
        let left_out = Run::of(&COUNT[0], &[1]).writes(&to).out_of(&bundle);
        refused(left_out.on(queue), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn unified(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    for kind in [UsmKind::Device, UsmKind::Host, UsmKind::Shared] {
        let made = Buffer::allocate_usm(&context, kind, 800, 64);
        let Ok(buffer) = made else {
            refused(made, ErrorKind::FeatureNotSupported)?;
            continue;
        };
        for (value, queue) in (1_u64..).zip(&queues(&context)?) {
            Run::of(&STORE, &[100]).writes(&buffer).with(value).on(queue)?;
            ensure!(get(queue, &buffer)? == value.to_ne_bytes().repeat(100), "{kind}: {value}");
            let Some(address) = buffer.device_address() else { continue };
            let pointer = std::ptr::without_provenance::<u8>(address as usize + 1);
            let told = queue.context().usm_pointer(pointer).map(|it| (it.kind, it.size));
            ensure!(told == Some((kind, 800)), "{kind}: {told:?}");
        }
    }
    Ok(())
}

fn across(stage: &Stage) -> Outcome {
    let (one, other) = (context(stage)?, context(stage)?);
    let (from, to) = (Buffer::allocate(&one, 5000, 8)?, Buffer::allocate(&other, 5000, 8)?);
    let alone = stage.buffer(5000)?;
    for (here, there) in queues(&one)?.iter().zip(queues(&other)?.iter().rev()) {
        put(here, &from, &pattern(5000))?;
        copy(here, &to, &from, &[])?;
        ensure!(get(there, &to)? == pattern(5000), "a copy by the source went wrong");
        put(here, &from, &[9; 5000])?;
        copy(there, &to, &from, &[])?;
        ensure!(get(there, &to)? == [9; 5000], "a copy by the target went wrong");
        copy(there, &alone, &to, &[])?;
        ensure!(stage.bytes(&alone)? == [9; 5000], "a copy to a context of one went wrong");
    }
    Ok(())
}

fn threads(stage: &Stage) -> Outcome {
    const TIMES: u32 = 40;
    let context = context(stage)?;
    let queues = queues(&context)?;
    let sum = Buffer::allocate(&context, 4, 8)?;
    put(&queues[0], &sum, &[0; 4])?;
    let outcome: Result<Vec<()>, _> = std::thread::scope(|scope| {
        let count = |queue| {
            // The item adds atomically: on the host, launches from several threads overlap.
            let run = || Run::of(&COUNT[0], &[8]).writes(&sum).on(queue).map(drop);
            (0..TIMES).try_for_each(|_| run())
        };
        let threads: Vec<_> =
            queues.iter().map(|queue| scope.spawn(move || count(queue))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    outcome?;
    queues.iter().try_for_each(Queue::wait)?;
    let found = get(&queues[0], &sum)?;
    let expected = TIMES * 8 * queues.len() as u32;
    ensure!(found == expected.to_ne_bytes(), "{found:?} instead of {expected}");
    Ok(())
}

fn spirv(stage: &Stage) -> Outcome {
    let context = context(stage)?;
    let program = SpirvProgram::build(&context, kernels()?, &BTreeMap::new())?;
    let kernel = program.kernel("store_value")?;
    let buffer = Buffer::allocate(&context, 80, 8)?;
    let extent = Extent { dimensions: 1, size: [10, 1, 1], group: None };
    for (number, queue) in (1_u64..).zip(&queues(&context)?) {
        let to =
            SpirvArgument::Buffer { region: (&buffer).into(), access: Access::Write, element: 8 };
        let bytes = number.to_ne_bytes();
        let value = SpirvArgument::Value { bytes: bytes.into(), kind: ValueKind::Integer };
        // SAFETY: the buffer has room for ten items of the kernel.
        unsafe { queue.launch_spirv(&kernel, extent, &[to, value], &[]) }?;
        ensure!(get(queue, &buffer)? == bytes.repeat(10), "{number} is lost");
    }
    Ok(())
}
