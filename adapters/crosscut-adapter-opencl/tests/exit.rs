//! The process may end at any moment, with anything alive and anything running.
//!
//! Each case runs in a child: this same program, with the case's name in the environment. The child
//! must end with the code it chose; a crash in the driver's tear-down would be a signal instead.

#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(unused_crate_dependencies, reason = "each test file uses what it needs")]

#[allow(dead_code, reason = "each test file uses what it needs")]
mod device;

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{
    Adapter, Argument, CodeForm, Context, Device, DriverError, DriverErrorKind, Event, Extent,
    Kernel, Memory, MemoryKind, Program, Queue, QueueOptions, QueueOrder,
};
use crosscut_adapter_opencl::OpenCl;
use device::{bytes, devices, kernels};

const CASE: &str = "CROSSCUT_TEST_EXIT_CASE";
/// The code the child ends with: one that neither success nor a failed test has.
const CODE: i32 = 42;
/// How long a busy kernel spins that the end of the process may wait for: about a second.
const LONG: u64 = 1 << 28;

/// Everything one can have, in an order of fields (which is the order of dropping) that is the
/// wrong way round.
struct Everything {
    context: Arc<dyn Context>,
    program: Box<dyn Program>,
    kernel: Box<dyn Kernel>,
    queue: Box<dyn Queue>,
    memory: Box<dyn Memory>,
    events: Vec<Box<dyn Event>>,
}

impl Everything {
    fn on(device: &dyn Device, order: QueueOrder) -> Self {
        let context = device.create_context().unwrap();
        let program = context.build(CodeForm::Spirv64, kernels()).unwrap();
        let kernel = program.kernel("spin").unwrap();
        let queue =
            context.create_queue(&QueueOptions { order, ..QueueOptions::default() }).unwrap();
        let memory = context.allocate(MemoryKind::Device, bytes(64), 8).unwrap();
        Self { context, program, kernel, queue, memory, events: Vec::new() }
    }

    fn spin(&mut self, times: u64) -> Result<(), DriverError> {
        self.spin_after(times, &[])
    }

    fn spin_after(&mut self, times: u64, after: &[&dyn Event]) -> Result<(), DriverError> {
        let memory = &*self.memory;
        let times = times.to_ne_bytes();
        let arguments = [Argument::Memory { memory, offset: 0 }, Argument::Value(&times)];
        let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
        // SAFETY: the arguments fit `spin`; the cases below free the memory after a wait, or leave
        // it to the end of the process.
        let event = unsafe { self.queue.launch(&*self.kernel, extent, &arguments, after)? };
        self.events.push(event);
        Ok(())
    }
}

static LEFT: Mutex<Vec<Everything>> = Mutex::new(Vec::new());

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> i32;
}

/// Uses what is left, then drops it. An assertion that fails here aborts, which the parent sees.
extern "C" fn use_and_drop_what_is_left() {
    for mut left in LEFT.lock().unwrap().drain(..) {
        assert_eq!(left.queue.wait().unwrap_err().kind, DriverErrorKind::DeviceLost);
        assert_eq!(left.spin(1).unwrap_err().kind, DriverErrorKind::DeviceLost);
        assert!(left.events[0].wait().is_err());
        assert!(left.program.kernel("spin").is_err());
        assert!(left.context.allocate(MemoryKind::Device, bytes(64), 8).is_err());
    }
    assert!(OpenCl::new().devices().is_err(), "even to list devices is to call the driver");
}

static END_BEGINS: OnceLock<Instant> = OnceLock::new();

/// The end has not waited for calls in other threads, which it does for half a minute. Aborts otherwise.
extern "C" fn no_long_end() {
    let took = END_BEGINS.get().unwrap().elapsed();
    assert!(took < Duration::from_secs(25), "{took:?}");
}

/// The child's part of every case; nothing when run as a test of its own.
#[test]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    // Registered before the driver, and so called after it.
    match &*case {
        // SAFETY: the handler stays in this program, which is never unloaded.
        "handler registered before the driver" => unsafe { atexit(use_and_drop_what_is_left) },
        // SAFETY: as above.
        "host memory visited" => unsafe { atexit(no_long_end) },
        _ => 0,
    };
    let devices = devices();
    let (order, case) = match case.strip_prefix("out of order: ") {
        Some(case) => (QueueOrder::OutOfOrder, case),
        None => (QueueOrder::InOrder, &*case),
    };
    let mut everything: Vec<_> =
        devices.iter().map(|device| Everything::on(&**device, order)).collect();
    for one in &mut everything {
        one.spin(if case == "kernel in flight" { LONG } else { 1 }).unwrap();
    }
    match case {
        "kernel in flight" | "kernel on its way" => std::process::exit(CODE),
        "kernel behind a promise" => {
            for mut one in everything {
                let (promised, promise) = one.context.promise().unwrap();
                one.spin_after(1, &[&*promised]).unwrap();
                std::mem::forget((one, promised, promise));
            }
            std::process::exit(CODE);
        }
        "given up with a kernel in flight" => {
            for mut one in everything {
                one.spin(LONG).unwrap();
                let Everything { queue, memory, .. } = one;
                drop(queue);
                std::mem::forget(memory);
            }
            std::process::exit(CODE);
        }
        "host memory visited" => {
            for one in &everything {
                let kind = MemoryKind::HostVisible;
                let memory = one.context.allocate(kind, bytes(64), 8).unwrap();
                if memory.host_address().is_some() {
                    memory.visit_on_host(&mut |_| {
                        END_BEGINS.set(Instant::now()).unwrap();
                        std::process::exit(CODE)
                    });
                }
            }
            panic!("no device shares memory with the host");
        }
        "thread that waits for its queue" => {
            for mut one in everything {
                one.spin(4 * LONG).unwrap();
                std::thread::spawn(move || one.queue.wait());
            }
            std::thread::sleep(Duration::from_millis(100));
            std::process::exit(CODE);
        }
        "thread that waits" => {
            for mut one in everything {
                one.spin(LONG).unwrap();
                std::thread::spawn(move || one.events[1].wait());
            }
            std::thread::sleep(Duration::from_millis(100));
            std::process::exit(CODE);
        }
        "thread that begins to wait late" => {
            for mut one in everything {
                one.spin(LONG).unwrap();
                std::thread::spawn(move || {
                    while one.queue.barrier(&[]).is_ok() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    // The process is ending and the kernel still runs: with its memory freed, or
                    // what a copy behind it writes to, it would write to somebody else's.
                    let _ = one.events[1].wait();
                    std::process::abort();
                });
            }
            std::thread::sleep(Duration::from_millis(100));
            std::process::exit(CODE);
        }
        "handler registered before the driver" => {
            *LEFT.lock().unwrap() = everything;
            std::process::exit(CODE);
        }
        "threads that go on" => {
            for mut one in everything {
                std::thread::spawn(move || {
                    while one.spin(1).is_ok() {
                        one.events.clear();
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(200));
            std::process::exit(CODE);
        }
        "dropped the wrong way round" => {
            for one in &everything {
                one.queue.wait().unwrap();
            }
            drop(devices);
            drop(everything);
            std::process::exit(CODE);
        }
        _ => panic!("no such case: {case}"),
    }
}

/// What goes wrong now and then goes wrong once in so many rounds.
const ROUNDS: usize = 20;

fn ends_well(case: &str) {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture"]).env(CASE, case);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("`{case}` does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(CODE), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_process_can_end_with_a_kernel_in_flight() {
    ends_well("kernel in flight");
}

#[test]
fn a_process_can_end_while_a_thread_waits() {
    ends_well("thread that waits");
}

#[test]
fn a_thread_that_waits_while_the_process_ends_never_comes_back() {
    ends_well("thread that begins to wait late");
}

#[test]
fn objects_used_and_dropped_after_the_driver_is_gone_answer_with_an_error() {
    ends_well("handler registered before the driver");
}

#[test]
fn a_process_can_end_while_threads_launch() {
    ends_well("threads that go on");
}

#[test]
fn objects_can_be_dropped_in_any_order() {
    ends_well("dropped the wrong way round");
}

#[test]
fn a_process_can_end_with_a_kernel_in_flight_out_of_order() {
    for _ in 0..ROUNDS {
        ends_well("out of order: kernel on its way");
    }
    ends_well("out of order: kernel in flight");
    ends_well("out of order: given up with a kernel in flight");
}

#[test]
fn a_process_can_end_with_a_command_behind_a_promise_that_nobody_keeps() {
    ends_well("kernel behind a promise");
    ends_well("out of order: kernel behind a promise");
}

#[test]
fn a_process_can_end_while_threads_wait_and_launch_out_of_order() {
    ends_well("out of order: thread that waits");
    ends_well("out of order: thread that waits for its queue");
    ends_well("out of order: threads that go on");
}

#[test]
fn a_process_that_is_ended_by_whoever_visits_memory_does_not_wait_for_him() {
    ends_well("host memory visited");
}
