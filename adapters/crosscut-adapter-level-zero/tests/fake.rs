//! What only Level Zero does, on a driver that has no hardware and checks every call.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod spirv;

use std::cell::RefCell;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::num::NonZeroUsize;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crosscut_adapter_api::{
    Adapter, CodeForm, Context, DriverErrorKind, Event, Extent, Memory, MemoryKind, Program,
    Promise, Queue, QueueOptions, QueueOrder, Variable,
};
use crosscut_adapter_level_zero::LevelZero;
use crosscut_adapter_level_zero::abi::{
    ZE_RESULT_ERROR_DEVICE_LOST, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
    ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
};

/// What the loader reads, and what makes it take the fake driver.
const DRIVERS: &str = "ZE_ENABLE_ALT_DRIVERS";

/// How long something may take that takes no time.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs one test once more, in a process whose loader has the fake driver from the start.
fn again(test: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let driver = format!("{DLL_PREFIX}crosscut_fake_level_zero{DLL_SUFFIX}");
    let arguments = ["--exact", test, "--nocapture"];
    Command::new(&this).args(arguments).env(DRIVERS, this.with_file_name(driver)).output().unwrap()
}

/// A context of the fake device, in a process of its own; `None` in the process that made that one, and
/// where there is no such device.
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn context(test: &str) -> Option<Arc<dyn Context>> {
    if std::env::var_os(DRIVERS).is_none() {
        let Output { status, stdout, stderr } = again(test);
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(status.success(), "{stdout}{stderr}");
        // A name that no test has would run none, and succeed.
        assert!(stdout.contains("1 passed"), "{stdout}");
        eprint!("{stderr}");
        return None;
    }
    match LevelZero.devices() {
        Ok(devices) => Some(devices[0].create_context().unwrap()),
        Err(absence) => {
            let required =
                std::env::var_os("CROSSCUT_REQUIRE_LEVEL_ZERO").is_some_and(|v| v == "1");
            assert!(!required, "CROSSCUT_REQUIRE_LEVEL_ZERO=1, but {absence}");
            eprintln!("not run: {absence}");
            None
        }
    }
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

fn add_one(queue: &dyn Queue, program: &dyn Program) {
    let kernel = program.kernel("add_one").unwrap();
    let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
    // SAFETY: the kernel has no parameters.
    let event = unsafe { queue.launch(&*kernel, extent, &[], &[]) }.unwrap();
    event.wait().unwrap();
}

#[test]
fn variables_are_found_by_name_and_copied_as_memory_is() {
    let test = "variables_are_found_by_name_and_copied_as_memory_is";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Spirv64, &spirv::counter()).unwrap();
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
    for name in ["", "count", "counter2", "add_one", "a\0b"] {
        assert!(program.variable(name).is_none(), "{name:?}");
    }
}

#[test]
fn a_variable_is_found_by_its_name_for_the_host_and_by_that_for_linking() {
    let test = "a_variable_is_found_by_its_name_for_the_host_and_by_that_for_linking";
    let Some(context) = context(test) else { return };
    let program = context.build(CodeForm::Spirv64, &spirv::exporting()).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    assert_eq!(read(&*queue, &*program.variable("counter").unwrap()), 41);
    assert_eq!(read(&*queue, &*program.variable("linked").unwrap()), 41 << 8);
}

#[test]
fn a_program_from_its_own_binary_has_the_variables_too() {
    let test = "a_program_from_its_own_binary_has_the_variables_too";
    let Some(context) = context(test) else { return };
    let caching = context.as_caching().unwrap();
    let built = context.build(CodeForm::Spirv64, &spirv::counter()).unwrap();
    let binary = caching.binary(&*built).unwrap();
    let program = caching.build_binary(&binary).unwrap();
    let queue = queue(&*context, QueueOrder::InOrder);
    add_one(&*queue, &*program);
    assert_eq!(read(&*queue, &*program.variable("counter").unwrap()), 42);
    assert_eq!(read(&*queue, &*built.variable("counter").unwrap()), 41, "it has its own");
}

#[test]
fn what_a_module_imports_and_nobody_has_is_named_when_it_is_built() {
    let test = "what_a_module_imports_and_nobody_has_is_named_when_it_is_built";
    let Some(context) = context(test) else { return };
    let refusal = context.build(CodeForm::Spirv64, &spirv::importing()).err().unwrap();
    assert_eq!((refusal.kind, refusal.call), (DriverErrorKind::Build, "zeModuleDynamicLink"));
    assert_eq!(refusal.log.unwrap(), "ZE_RESULT_ERROR_MODULE_LINK_FAILURE\nundefined: elsewhere");
    context.build(CodeForm::Spirv64, &spirv::counter()).unwrap();
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
fn times_go_on_when_the_counters_of_the_device_begin_again() {
    let test = "times_go_on_when_the_counters_of_the_device_begin_again";
    let Some(context) = context(test) else { return };
    let options = QueueOptions { profiling: true, ..QueueOptions::default() };
    let queue = context.create_queue(&options).unwrap();
    let memory = context.allocate(MemoryKind::Device, bytes(64), 8).unwrap();
    // When it was submitted, by the host's clock at the earliest and at the latest, and by the device's.
    let submit = || {
        let before = Instant::now();
        // SAFETY: the memory lives until the wait.
        let event = unsafe { queue.fill(&*memory, 0, &[1], bytes(64), &[]) }.unwrap();
        let after = Instant::now();
        event.wait().unwrap();
        let times = event.times().unwrap().unwrap();
        assert!(times.submitted <= times.started && times.started <= times.ended, "{times:?}");
        assert!(times.ended - times.submitted <= nanoseconds(before.elapsed()) + TICK, "{times:?}");
        (before, after, times.submitted)
    };
    let (earliest, latest, first) = submit();
    // The counters of the fake device begin again two seconds after its start.
    for _ in 0..25 {
        std::thread::sleep(Duration::from_millis(100));
        let (before, after, submitted) = submit();
        let passed = nanoseconds(before - latest) - TICK..=nanoseconds(after - earliest) + TICK;
        let told = submitted.saturating_sub(first);
        assert!(passed.contains(&told), "{first} {submitted}: {told} is not in {passed:?}");
    }
}

/// Nanoseconds of one tick of the fake device's clock.
const TICK: u64 = 100;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// Has the fake driver answer queries of events with `status`, and tell the truth again for 0.
fn answer_queries(status: u32) {
    let driver = std::env::var_os(DRIVERS).unwrap();
    // SAFETY: the driver is loaded already.
    let driver = unsafe { libloading::Library::new(driver) }.unwrap();
    // SAFETY: this is the function's signature.
    let answer = unsafe { driver.get::<unsafe extern "C" fn(u32)>("crosscut_fake_answer_queries") };
    // SAFETY: it takes any number.
    unsafe { answer.unwrap()(status) };
}

#[test]
fn who_wants_to_be_called_hears_that_the_device_is_lost() {
    let test = "who_wants_to_be_called_hears_that_the_device_is_lost";
    let Some(context) = context(test) else { return };
    let queue = queue(&*context, QueueOrder::InOrder);
    let (told, outcomes) = channel();
    let ask = |event: &dyn Event| {
        let told = told.clone();
        event.on_complete(Box::new(move |outcome| told.send(outcome).unwrap())).unwrap();
    };
    let heard = || outcomes.recv_timeout(LIMIT).unwrap();
    let (open, promise) = context.promise().unwrap();
    let over = queue.barrier(&[]).unwrap();
    over.wait().unwrap();

    ask(&*open);
    assert!(outcomes.recv_timeout(Duration::from_millis(20)).is_err());
    answer_queries(ZE_RESULT_ERROR_DEVICE_LOST);
    let failure = heard().unwrap_err();
    assert_eq!((failure.kind, failure.call), (DriverErrorKind::DeviceLost, "zeEventQueryStatus"));
    ask(&*over);
    assert_eq!(heard(), Err(failure));
    answer_queries(0);
    ask(&*over);
    assert_eq!(heard(), Ok(()));

    // What a command failed with before the driver had it is still what it failed with.
    drop(promise);
    answer_queries(ZE_RESULT_ERROR_DEVICE_LOST);
    ask(&*open);
    assert_eq!(heard().unwrap_err().call, "promise");
    answer_queries(0);
}

#[test]
fn a_driver_without_memory_to_answer_is_asked_again() {
    let test = "a_driver_without_memory_to_answer_is_asked_again";
    let Some(context) = context(test) else { return };
    let (told, outcomes) = channel();
    for status in [ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY] {
        let (event, promise) = context.promise().unwrap();
        answer_queries(status);
        let told = told.clone();
        event.on_complete(Box::new(move |outcome| told.send(outcome).unwrap())).unwrap();
        assert!(outcomes.recv_timeout(Duration::from_millis(20)).is_err());
        promise.keep(Ok(()));
        assert!(outcomes.recv_timeout(Duration::from_millis(20)).is_err());
        answer_queries(0);
        assert_eq!(outcomes.recv_timeout(LIMIT).unwrap(), Ok(()));

        // The driver would say so if an event were used again that a command still knows.
        let queue = queue(&*context, QueueOrder::OutOfOrder);
        let memory = context.allocate(MemoryKind::Device, bytes(1 << 26), 8).unwrap();
        answer_queries(status);
        for part in 0..4 {
            let (offset, size) = (part << 24, bytes(1 << 24));
            // SAFETY: the memory lives until the wait.
            drop(unsafe { queue.fill(&*memory, offset, &[1], size, &[]) }.unwrap());
        }
        queue.wait().unwrap();
        answer_queries(0);
    }
}

thread_local! {
    /// A promise that its thread keeps when it is ending.
    static AT_THE_END: Kept = const { Kept(RefCell::new(None)) };
}

struct Kept(RefCell<Option<Box<dyn Promise>>>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(promise) = self.0.take() {
            promise.keep(Ok(()));
        }
    }
}

#[test]
fn thousands_of_commands_run_when_a_thread_that_is_ending_keeps_their_promise() {
    let test = "thousands_of_commands_run_when_a_thread_that_is_ending_keeps_their_promise";
    let Some(context) = context(test) else { return };
    let queue = queue(&*context, QueueOrder::InOrder);
    let memory = context.allocate(MemoryKind::Device, bytes(8), 8).unwrap();
    let (event, promise) = context.promise().unwrap();
    for value in 0..5_000_u64 {
        // The first waits for the promise, and each for the one before.
        let after: &[&dyn Event] = if value == 0 { &[&*event] } else { &[] };
        // SAFETY: the memory lives until the wait below.
        drop(unsafe { queue.fill(&*memory, 0, &value.to_ne_bytes(), bytes(8), after) }.unwrap());
    }
    let last = queue.barrier(&[]).unwrap();
    let another = context.promise().unwrap().1;
    // Its stack is too small for thousands of calls inside of calls.
    let ending = std::thread::Builder::new().stack_size(1 << 18).spawn(move || {
        AT_THE_END.with(|kept| kept.0.replace(Some(promise)));
        // What the adapter keeps for this thread comes later, and so goes earlier.
        another.keep(Ok(()));
    });
    let start = Instant::now();
    while !last.is_complete().unwrap() {
        assert!(start.elapsed() < LIMIT, "the commands do not go on");
        std::thread::sleep(Duration::from_millis(1));
    }
    ending.unwrap().join().unwrap();
    assert_eq!(contents(&*queue, &*memory), 4_999_u64.to_ne_bytes());
}

#[test]
fn a_wrong_call_ends_the_process_and_is_named() {
    const LOADER: &str = "libze_loader.so.1";
    let test = "a_wrong_call_ends_the_process_and_is_named";
    if std::env::var_os(DRIVERS).is_none() {
        let said = String::from_utf8(again(test).stderr).unwrap();
        let wrong = "fake Level Zero driver: zeContextDestroy: 0xdead is no context, or is gone";
        assert!(said.contains(wrong) || said.contains("not run: "), "{said}");
        return;
    }
    let Some(_context) = context(test) else { return };
    // SAFETY: the loader is loaded already.
    let loader = unsafe { libloading::Library::new(LOADER) }.unwrap();
    // SAFETY: this is the function's signature.
    let destroy = unsafe { loader.get::<unsafe extern "C" fn(usize) -> u32>("zeContextDestroy") };
    // SAFETY: the driver behind it looks at the number alone.
    let status = unsafe { destroy.unwrap()(0xdead) };
    panic!("it returned {status}");
}
