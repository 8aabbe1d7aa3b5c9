//! What only CUDA does, on a driver that has no hardware and checks every call.

#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test's name is its documentation")]

mod process;

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crosscut_adapter_api::{
    Adapter, Argument, CodeForm, Context, DeviceKind, DriverErrorKind, Event, Extent, Memory,
    MemoryKind, Program, Promise, Queue, QueueOptions, QueueOrder, Variable,
};
use crosscut_adapter_cuda::Cuda;

const PTX: &[u8] = include_bytes!("counter.ptx");

/// How long something may take that takes no time.
const LIMIT: Duration = Duration::from_secs(60);

/// Keeps a promise when its thread ends.
struct KeptAtTheEnd(RefCell<Option<Box<dyn Promise>>>);

impl Drop for KeptAtTheEnd {
    fn drop(&mut self) {
        if let Some(promise) = self.0.take() {
            promise.keep(Ok(()));
        }
    }
}

thread_local! {
    static AT_THE_END: KeptAtTheEnd = const { KeptAtTheEnd(RefCell::new(None)) };
}

/// A context of the first fake device, in a process of its own; `None` in the process that made that one.
fn context(test: &str) -> Option<Arc<dyn Context>> {
    process::is_fake(test).then(|| Cuda.devices().unwrap()[0].create_context().unwrap())
}

fn bytes(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn queue(context: &dyn Context, order: QueueOrder) -> Box<dyn Queue> {
    context.create_queue(&QueueOptions { order, ..QueueOptions::default() }).unwrap()
}

fn read(queue: &dyn Queue, variable: &dyn Variable) -> u32 {
    let mut value = 0_u32;
    let (calls, target) = (queue.as_variables().unwrap(), (&raw mut value).cast());
    // SAFETY: four bytes on both sides, waited for below.
    let event = unsafe { calls.read_variable(variable, 0, target, bytes(4), &[]) }.unwrap();
    event.wait().unwrap();
    value
}

fn contents(queue: &dyn Queue, memory: &dyn Memory) -> Vec<u8> {
    let mut found = vec![0; memory.size().get()];
    // SAFETY: as many bytes on both sides, waited for below.
    let event = unsafe { queue.read(memory, 0, found.as_mut_ptr(), memory.size(), &[]) }.unwrap();
    event.wait().unwrap();
    found
}

fn one_item() -> Extent {
    Extent { dimensions: 1, size: [1, 1, 1], group: None }
}

fn add_one(queue: &dyn Queue, program: &dyn Program) {
    let kernel = program.kernel("add_one").unwrap();
    // SAFETY: the kernel has no parameters.
    let event = unsafe { queue.launch(&*kernel, one_item(), &[], &[]) }.unwrap();
    event.wait().unwrap();
}

#[test]
fn variables_are_found_by_name_and_copied_as_memory_is() {
    let test = "variables_are_found_by_name_and_copied_as_memory_is";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let variable = program.variable("counter").unwrap();
    assert_eq!(variable.size(), bytes(4));
    assert!(variable.device_address().is_some_and(|address| address != 0));
    assert_eq!(read(&*queue, &*variable), 41);
    add_one(&*queue, &*program);
    assert_eq!(read(&*queue, &*variable), 42);
    let (value, calls) = (0x0102_u16.to_le_bytes(), queue.as_variables().unwrap());
    // SAFETY: two bytes that live until the wait.
    let event =
        unsafe { calls.write_variable(&*variable, 1, value.as_ptr(), bytes(2), &[]) }.unwrap();
    event.wait().unwrap();
    add_one(&*queue, &*program);
    assert_eq!(read(&*queue, &*variable), 0x0001_022b);
    let table = program.variable("table").unwrap();
    assert_eq!((table.size(), read(&*queue, &*table)), (bytes(16), 0x0403_0201));
    for name in ["", "count", "counter2", "add_one", "local_memory", "a\0b"] {
        assert!(program.variable(name).is_none(), "{name:?}");
    }
}

#[test]
fn copies_of_variables_wait_for_the_events_they_name() {
    let test = "copies_of_variables_wait_for_the_events_they_name";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let (one, other) =
        (queue(&*context, QueueOrder::InOrder), queue(&*context, QueueOrder::OutOfOrder));
    let variable = program.variable("counter").unwrap();
    let (event, promise) = context.promise().unwrap();
    let (value, mut found) = (7_u32.to_le_bytes(), 0_u32);
    let (writes, reads) = (one.as_variables().unwrap(), other.as_variables().unwrap());
    // SAFETY: four bytes that live until the waits below.
    let written =
        unsafe { writes.write_variable(&*variable, 0, value.as_ptr(), bytes(4), &[&*event]) }
            .unwrap();
    let target = (&raw mut found).cast();
    // SAFETY: four bytes that nobody touches before the wait below.
    let copied =
        unsafe { reads.read_variable(&*variable, 0, target, bytes(4), &[&*written]) }.unwrap();
    assert!(!copied.is_complete().unwrap() && read(&*other, &*variable) == 41);
    promise.keep(Ok(()));
    copied.wait().unwrap();
    assert_eq!(found, 7);
}

#[test]
fn a_program_from_its_own_binary_has_the_variables_too() {
    let test = "a_program_from_its_own_binary_has_the_variables_too";
    let Some(context) = context(test) else { return };
    let caching = context.as_caching().unwrap();
    assert_eq!(caching.build_identity(), "sm_80");
    let built = context.build(CodeForm::Ptx, PTX).unwrap();
    let binary = caching.binary(&*built).unwrap();
    let program = caching.build_binary(&binary).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    add_one(&*queue, &*program);
    assert_eq!(read(&*queue, &*program.variable("counter").unwrap()), 42);
    assert_eq!(read(&*queue, &*built.variable("counter").unwrap()), 41, "it has its own");
    let damaged = [&binary[..8], &[0; 64]].concat();
    for wrong in [&binary[..16], &damaged] {
        let refusal = caching.build_binary(wrong).err().unwrap();
        assert_eq!((refusal.kind, refusal.code), (DriverErrorKind::Build, 200));
    }
}

#[test]
fn ptx_that_is_refused_is_told_by_the_drivers_own_words() {
    let test = "ptx_that_is_refused_is_told_by_the_drivers_own_words";
    let Some(context) = context(test) else { return };
    let text = String::from_utf8(PTX.to_vec()).unwrap().replace("bar.sync", "bar.warp.sync");
    let refusal = context.build(CodeForm::Ptx, text.as_bytes()).err().unwrap();
    assert_eq!(
        (refusal.kind, refusal.call, refusal.code),
        (DriverErrorKind::Build, "cuLinkAddData_v2", 218)
    );
    assert_eq!(
        refusal.log.unwrap(),
        "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed\n\
         line 45: unknown instruction `bar.warp.sync`"
    );
    let newer = String::from_utf8(PTX.to_vec()).unwrap().replace("sm_50", "sm_90");
    let refusal = context.build(CodeForm::Ptx, newer.as_bytes()).err().unwrap();
    assert!(refusal.log.unwrap().contains("code for sm_90 on a device of sm_80"));
    for code in [&b"\x03\x02\x23\x07\0\0\0\0"[..], "\u{e4}".as_bytes()] {
        let refusal = context.build(CodeForm::Ptx, code).err().unwrap();
        assert_eq!(refusal.kind, DriverErrorKind::Build);
        assert!(refusal.log.unwrap().contains("this is no PTX"));
    }
    let program = context.build(CodeForm::Ptx, &[PTX, &[0]].concat()).unwrap();
    let missing = program.kernel("missing").err().unwrap();
    assert_eq!((missing.kind, missing.code), (DriverErrorKind::Build, 500));
}

#[test]
fn arguments_of_local_memory_have_places_of_their_own() {
    let test = "arguments_of_local_memory_have_places_of_their_own";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let kernel = program.kernel("two_pieces").unwrap();
    let memory = context.allocate(MemoryKind::Device, bytes(4 * 48), 8).unwrap();
    let extent = Extent { dimensions: 1, size: [48, 1, 1], group: Some([48, 1, 1]) };
    let arguments = [
        Argument::Memory { memory: &*memory, offset: 0 },
        Argument::Local(bytes(4 * 48)),
        Argument::Local(bytes(4 * 48)),
    ];
    // SAFETY: these are the kernel's parameters, and the memory has a word for each item.
    let event = unsafe { queue.launch(&*kernel, extent, &arguments, &[]) }.unwrap();
    event.wait().unwrap();
    let words: Vec<u32> = (0..48).map(|item| item * 11).collect();
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(contents(&*queue, &*memory), expected);
}

#[test]
fn long_patterns_are_filled_by_copies_that_double() {
    let test = "long_patterns_are_filled_by_copies_that_double";
    let Some(context) = context(test) else { return };
    let queue = queue(&*context, QueueOrder::InOrder);
    for length in [8, 16, 128] {
        let pattern: Vec<u8> = (0..length).map(|at| at as u8 ^ 0x5a).collect();
        for times in [1, 3, 64, 1000] {
            let size = length * times;
            let memory = context.allocate(MemoryKind::Device, bytes(size + length), 128).unwrap();
            // SAFETY: the memory lives until the reads below have waited for it.
            unsafe { queue.fill(&*memory, 0, &[9], bytes(size + length), &[]) }.unwrap();
            // SAFETY: as above.
            unsafe { queue.fill(&*memory, 0, &pattern, bytes(size), &[]) }.unwrap();
            let found = contents(&*queue, &*memory);
            assert!(found[..size].chunks(length).all(|part| part == pattern), "{length} {times}");
            assert!(found[size..].iter().all(|byte| *byte == 9), "{length} {times}");
        }
    }
}

#[test]
fn commands_that_wait_for_a_failed_promise_fail_and_do_not_run() {
    let test = "commands_that_wait_for_a_failed_promise_fail_and_do_not_run";
    let Some(context) = context(test) else { return };
    for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
        let (one, other) = (queue(&*context, order), queue(&*context, order));
        let memory = context.allocate(MemoryKind::Device, bytes(64), 8).unwrap();
        let fill = |queue: &dyn Queue, value: u8, after: &[&dyn Event]| {
            // SAFETY: the memory lives until the end of the block, which waits.
            unsafe { queue.fill(&*memory, 0, &[value], bytes(64), after) }.unwrap()
        };
        fill(&*one, 1, &[]).wait().unwrap();
        let (event, promise) = context.promise().unwrap();
        let first = fill(&*one, 2, &[&*event]);
        let second = fill(&*other, 3, &[&*first]);
        drop(promise);
        let third = fill(&*other, 4, &[&*second]);
        for failed in [&first, &second, &third] {
            assert!(failed.wait().is_err() && failed.state().is_err());
        }
        one.wait().unwrap();
        assert_eq!(contents(&*one, &*memory), [1; 64], "{order:?}");
        fill(&*other, 5, &[]).wait().unwrap();
        assert_eq!(contents(&*other, &*memory), [5; 64], "{order:?}");
    }
}

#[test]
fn thousands_of_commands_behind_a_promise_run_in_order_when_it_is_kept() {
    let test = "thousands_of_commands_behind_a_promise_run_in_order_when_it_is_kept";
    let Some(context) = context(test) else { return };
    let queue = queue(&*context, QueueOrder::InOrder);
    let memory = context.allocate(MemoryKind::Device, bytes(8), 8).unwrap();
    let (event, promise) = context.promise().unwrap();
    queue.barrier(&[&*event]).unwrap();
    for value in 0..5_000_u64 {
        // SAFETY: the memory lives until the wait below.
        drop(unsafe { queue.fill(&*memory, 0, &value.to_ne_bytes(), bytes(8), &[]) }.unwrap());
    }
    promise.keep(Ok(()));
    queue.wait().unwrap();
    assert_eq!(contents(&*queue, &*memory), 4_999_u64.to_ne_bytes());
}

#[test]
fn thousands_of_commands_run_when_a_thread_that_is_ending_keeps_their_promise() {
    let test = "thousands_of_commands_run_when_a_thread_that_is_ending_keeps_their_promise";
    let Some(context) = context(test) else { return };
    let queue = queue(&*context, QueueOrder::InOrder);
    let memory = context.allocate(MemoryKind::Device, bytes(8), 8).unwrap();
    let (event, promise) = context.promise().unwrap();
    queue.barrier(&[&*event]).unwrap();
    for value in 0..5_000_u64 {
        // SAFETY: the memory lives until the wait below.
        drop(unsafe { queue.fill(&*memory, 0, &value.to_ne_bytes(), bytes(8), &[]) }.unwrap());
    }
    let last = queue.barrier(&[]).unwrap();
    let another = context.promise().unwrap().1;
    let ending = std::thread::spawn(move || {
        AT_THE_END.with(|kept| kept.0.replace(Some(promise)));
        // What the adapter keeps for this thread comes later, and so goes earlier.
        another.keep(Ok(()));
    });
    let start = Instant::now();
    while !last.is_complete().unwrap() {
        assert!(start.elapsed() < LIMIT, "the commands do not go on");
        std::thread::sleep(Duration::from_millis(1));
    }
    ending.join().unwrap();
    assert_eq!(contents(&*queue, &*memory), 4_999_u64.to_ne_bytes());
}

/// Many threads ask all the time, so that some are in the middle of it when the driver gets the command.
#[test]
fn a_command_that_the_driver_has_just_got_is_not_over() {
    let Some(context) = context("a_command_that_the_driver_has_just_got_is_not_over") else {
        return;
    };
    let queue = queue(&*context, QueueOrder::InOrder);
    let memory = context.allocate(MemoryKind::Device, bytes(1 << 24), 8).unwrap();
    for round in 0..20 {
        let (event, promise) = context.promise().unwrap();
        // SAFETY: all bytes of the allocation, which outlives the wait below.
        let fill = unsafe { queue.fill(&*memory, 0, &[1], memory.size(), &[&*event]) }.unwrap();
        let (fill, kept) = (Arc::<dyn Event>::from(fill), AtomicBool::new(false));
        let early = Arc::new(AtomicUsize::new(0));
        let ask = || {
            // So many at the most, should nobody else have a core for long.
            for _ in (0..20_000).take_while(|_| !kept.load(Relaxed)) {
                let (asked, early) = (Arc::clone(&fill), Arc::clone(&early));
                let call = move |_| {
                    early.fetch_add(usize::from(asked.is_complete() != Ok(true)), Relaxed);
                };
                fill.on_complete(Box::new(call)).unwrap();
            }
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(ask)));
            std::thread::sleep(Duration::from_millis(10));
            promise.keep(Ok(()));
            kept.store(true, Relaxed);
        });
        fill.wait().unwrap();
        assert_eq!(early.load(Relaxed), 0, "were called too early in round {round}");
    }
}

#[test]
fn who_wants_to_be_called_hears_that_the_device_is_lost() {
    let test = "who_wants_to_be_called_hears_that_the_device_is_lost";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let kernel = program.kernel("store").unwrap();
    let (event, promise) = context.promise().unwrap();
    let (address, (tell, told)) = (8_u64.to_ne_bytes(), channel());
    let arguments = [Argument::Value(&address)];
    // SAFETY: the fake device looks at the address before it uses it.
    let launched = unsafe { queue.launch(&*kernel, one_item(), &arguments, &[&*event]) }.unwrap();
    launched.on_complete(Box::new(move |outcome| tell.send(outcome).unwrap())).unwrap();
    assert!(told.try_recv().is_err(), "it has not run yet");
    promise.keep(Ok(()));
    let refusal = told.recv_timeout(LIMIT).unwrap().unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (DriverErrorKind::DeviceLost, 700));
    assert!(launched.wait().is_err() && launched.state().is_err());
}

#[test]
fn a_process_that_ends_while_a_kernel_runs_ends_well() {
    let test = "a_process_that_ends_while_a_kernel_runs_ends_well";
    if !process::is_child() {
        let output = process::again(test);
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let context = context(test).unwrap();
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let (kernel, times) = (program.kernel("spin").unwrap(), (1_u64 << 32).to_ne_bytes());
    let arguments = [Argument::Value(&times)];
    // SAFETY: this is the kernel's parameter, and the variable lives as long as the process.
    let event = unsafe { queue.launch(&*kernel, one_item(), &arguments, &[]) }.unwrap();
    event.on_complete(Box::new(|_| std::process::abort())).unwrap();
    std::mem::forget((context, program, queue, kernel, event));
    std::process::exit(0);
}

#[test]
fn a_kernel_that_leaves_its_memory_loses_the_device_and_the_driver_says_why() {
    let test = "a_kernel_that_leaves_its_memory_loses_the_device_and_the_driver_says_why";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let kernel = program.kernel("store").unwrap();
    assert_eq!(kernel.groups().largest, Some(bytes(64)));
    let address = 8_u64.to_ne_bytes();
    let arguments = [Argument::Value(&address)];
    // SAFETY: the fake device looks at the address before it uses it.
    let launched = unsafe { queue.launch(&*kernel, one_item(), &arguments, &[]) };
    // The kernel may have failed before its event is recorded.
    let refusal = launched.and_then(|event| event.wait()).unwrap_err();
    assert_eq!((refusal.kind, refusal.code), (DriverErrorKind::DeviceLost, 700));
    let words = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";
    assert_eq!(refusal.log.as_deref(), Some(words));
    assert_eq!(queue.barrier(&[]).err().unwrap().kind, DriverErrorKind::DeviceLost);
    // Everything of the context is let go of, and the next one is whole.
    drop((kernel, queue, program, context));
    let context = Cuda.devices().unwrap()[0].create_context().unwrap();
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    add_one(&*self::queue(&*context, QueueOrder::InOrder), &*program);
}

#[test]
fn more_groups_than_a_device_takes_are_refused_by_their_number() {
    let test = "more_groups_than_a_device_takes_are_refused_by_their_number";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    let kernel = program.kernel("add_one").unwrap();
    let extent = Extent { dimensions: 2, size: [70_001, 1, 1], group: Some([1, 1, 1]) };
    // SAFETY: the kernel has no parameters.
    let refusal = unsafe { queue.launch(&*kernel, extent, &[], &[]) }.err().unwrap();
    assert_eq!(
        refusal.log.unwrap(),
        "a launch of 1 by 70001 by 1 work-groups, the fastest dimension first, where the device \
         takes 2147483647 by 65535 by 65535: launch larger groups, or the long dimension last"
    );
    add_one(&*queue, &*program);
}

#[test]
fn no_context_is_current_on_a_thread_after_a_call() {
    let test = "no_context_is_current_on_a_thread_after_a_call";
    let Some(context) = context(test) else { return };
    let library = process::driver();
    let current = || {
        let mut current = 0_usize;
        // SAFETY: this is the function's signature.
        let get =
            unsafe { library.get::<unsafe extern "C" fn(*mut usize) -> i32>("cuCtxGetCurrent") };
        // SAFETY: the place is writable.
        assert_eq!(unsafe { get.unwrap()(&raw mut current) }, 0);
        current
    };
    assert_eq!(current(), 0);
    let program = context.build(CodeForm::Ptx, PTX).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    add_one(&*queue, &*program);
    assert!(program.kernel("missing").is_err() && program.variable("missing").is_none());
    assert!(context.build(CodeForm::Ptx, b"none").is_err());
    drop((queue, program));
    assert_eq!(current(), 0);
    drop(context);
    assert_eq!(current(), 0);
}

#[test]
fn a_device_without_unified_addresses_has_device_memory_alone() {
    let test = "a_device_without_unified_addresses_has_device_memory_alone";
    if !process::is_fake(test) {
        return;
    }
    let devices = Cuda.devices().unwrap();
    assert_eq!(devices.len(), 2);
    let info = devices[1].info();
    assert_eq!((info.kind, &*info.version), (DeviceKind::Gpu, "compute capability 5.0"));
    let context = devices[1].create_context().unwrap();
    let memory = context.allocate(MemoryKind::HostVisible, bytes(64), 4096).unwrap();
    assert!(memory.host_address().is_none());
    assert!(memory.device_address().is_some_and(|address| address.is_multiple_of(4096)));
    // Both devices at once: each call is made in the context it belongs to.
    let other = devices[0].create_context().unwrap();
    let programs = [&context, &other].map(|context| context.build(CodeForm::Ptx, PTX).unwrap());
    let queues = [&context, &other].map(|context| queue(&**context, QueueOrder::InOrder));
    for (queue, program) in queues.iter().zip(&programs) {
        add_one(&**queue, &**program);
        assert_eq!(read(&**queue, &*program.variable("counter").unwrap()), 42);
    }
}

#[test]
fn a_wrong_call_ends_the_process_and_is_named() {
    let test = "a_wrong_call_ends_the_process_and_is_named";
    if !process::is_child() {
        let said = String::from_utf8(process::again(test).stderr).unwrap();
        let wrong = "fake CUDA driver: cuStreamDestroy_v2: no context is current on this thread";
        assert!(said.contains(wrong), "{said}");
        return;
    }
    let _context = context(test).unwrap();
    let library = process::driver();
    // SAFETY: this is the function's signature.
    let destroy =
        unsafe { library.get::<unsafe extern "C" fn(usize) -> i32>("cuStreamDestroy_v2") };
    // SAFETY: the driver behind it looks at the number alone.
    let status = unsafe { destroy.unwrap()(0xdead) };
    panic!("it returned {status}");
}

#[test]
fn a_machine_without_the_driver_is_told_what_is_missing() {
    // On a machine that has one, there are devices instead.
    if let Err(absence) = Cuda.devices() {
        assert!(absence.reason.contains("CUDA driver"), "{absence}");
        assert!(!absence.help.is_empty());
    }
}
