//! What only native code on the host CPU can do, or do wrong. Most of these kernels no device could run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Backend, NdItem, Result};

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
fn a_payload_that_panics_when_dropped_does_not_unwind_out_of_a_launch() -> Result<()> {
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            std::panic::panic_any(Again);
        }
    }
    // With few items the launching thread is alone, with many others work on the launch too.
    for items in [1, 1 << 18] {
        let event = host().parallel_for(items, (), |_, ()| std::panic::panic_any(Again))?;
        assert!(event.wait().is_err());
    }
    Ok(())
}

#[test]
fn a_panic_that_a_kernel_caught_itself_is_not_told_for_a_later_one() -> Result<()> {
    let queue = host();
    let event = queue.single_task((), |()| {
        assert!(catch_unwind(|| panic!("caught")).is_err());
        std::panic::resume_unwind(Box::new("told"));
    })?;
    assert_eq!(event.wait().unwrap_err().kernel_panic().unwrap().message, "told");
    Ok(())
}

#[test]
fn a_kernel_may_panic_while_its_thread_ends() {
    struct Late(Queue, std::sync::mpsc::Sender<String>);
    impl Drop for Late {
        fn drop(&mut self) {
            let event = self.0.single_task((), |()| panic!("late")).unwrap();
            let panic = event.wait().unwrap_err().kernel_panic().unwrap().clone();
            self.1.send(panic.message).unwrap();
        }
    }
    thread_local! {
        static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) };
    }
    let (sender, messages) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Made before the first panic of this thread, so dropped after what that one left behind.
        LATE.set(Some(Late(host(), sender)));
        host().single_task((), |()| panic!("early")).unwrap().wait().unwrap_err();
    });
    thread.join().unwrap();
    assert_eq!(messages.recv().unwrap(), "late");
}

#[test]
fn a_thread_that_ends_may_submit_all_that_others_may() {
    const NAME: &str = "a_thread_that_ends_may_submit_all_that_others_may";
    const CHILD: &str = "CROSSCUT_TEST_SUBMITS_AT_THE_END";
    struct Late(Queue);
    impl Drop for Late {
        fn drop(&mut self) {
            let mut x = self.0.zeroed::<u32>(4).unwrap();
            self.0.for_each(&mut x, (), |i, x, ()| *x = i as u32).unwrap();
            self.0.host_task_with(&mut x, |x| x[0] += 7).unwrap();
            assert_eq!(self.0.download(&x).unwrap(), [7, 1, 2, 3]);
        }
    }
    thread_local! {
        static LATE: std::cell::RefCell<Option<Late>> = const { std::cell::RefCell::new(None) };
    }
    if std::env::var_os(CHILD).is_some() {
        let thread = std::thread::spawn(|| {
            // Dropped after what the task and the launch leave behind in the thread.
            LATE.set(Some(Late(host())));
            host().host_task(|| ()).unwrap();
            host().single_task((), |()| ()).unwrap();
        });
        return thread.join().unwrap();
    }
    // A panic where a thread local goes ends the process.
    let trace = tempfile::NamedTempFile::new().unwrap();
    for traced in [false, true] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", NAME]).env(CHILD, "1").env_remove("CROSSCUT_TRACE");
        if traced {
            child.env("CROSSCUT_TRACE", trace.path());
        }
        let child = child.output().unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    }
}

#[test]
fn a_kernel_that_panics_while_it_unwinds_says_why_before_the_process_ends() {
    const NAME: &str = "a_kernel_that_panics_while_it_unwinds_says_why_before_the_process_ends";
    const CHILD: &str = "CROSSCUT_TEST_PANICS_TWICE";
    struct Second;
    impl Drop for Second {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    if std::env::var_os(CHILD).is_some() {
        let panics = |()| {
            let _second = Second;
            panic!("the first")
        };
        let _ = host().single_task((), panics).unwrap().wait();
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(!child.status.success());
    let told = String::from_utf8(child.stderr).unwrap();
    let said =
        |text: &str| told.find(text).unwrap_or_else(|| panic!("`{text}` is missing in:\n{told}"));
    let places = ["a kernel panicked at ", "host_only.rs:", ": the first\n", ": the second\n"];
    assert!(places.map(said).is_sorted());
}

#[test]
fn kernels_print_although_somebody_who_waits_for_them_has_standard_output() {
    const NAME: &str = "kernels_print_although_somebody_who_waits_for_them_has_standard_output";
    const CHILD: &str = "CROSSCUT_TEST_HAS_STANDARD_OUTPUT";
    static LAST: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    const LINES: usize = 100;
    if std::env::var_os(CHILD).is_some() {
        // A hang is seen from here.
        std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_secs(120));
            std::process::abort();
        });
        let prints = || {
            let queue = host();
            let mut x = queue.zeroed::<u64>(100 * LINES).unwrap();
            // Long enough for several threads.
            let event = queue.for_each(&mut x, (), |i, x, ()| {
                *x = (0..500).fold(i as u64, |x, k| x.wrapping_mul(31).wrapping_add(k));
                if i % 100 == 0 {
                    device_println!("item {i}");
                }
            });
            event.unwrap().wait().unwrap();
        };
        let output = std::io::stdout().lock();
        prints();
        // Another thread prints, and this one waits to write what kernels may read.
        let printing = std::thread::spawn(move || (0..9).for_each(|_| prints()));
        while !printing.is_finished() {
            host().write(&LAST, &1).unwrap();
        }
        drop(output);
        return printing.join().unwrap();
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let lines = String::from_utf8(child.stdout).unwrap();
    let lines: Vec<_> = lines.lines().filter_map(|line| line.strip_prefix("item ")).collect();
    assert_eq!(lines.len(), 10 * LINES);
    assert!(lines.iter().all(|line| line.parse::<usize>().is_ok()), "lines are whole: {lines:?}");
}

#[test]
fn a_global_by_name_beside_exclusive_panics_where_it_is_named() -> Result<()> {
    static VALUE: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    let event = host().single_task(VALUE.exclusive(), |value| *value = VALUE.get())?;
    let line = line!() - 1;
    let error = event.wait().unwrap_err();
    let panic = error.kernel_panic().unwrap();
    assert!(panic.message.contains("exclusive()"), "{error}");
    assert!(panic.file.ends_with("host_only.rs") && panic.line == line, "{error}");
    Ok(())
}

#[test]
fn globals_without_bytes_share_no_memory() -> Result<()> {
    static ONE: DeviceGlobal<[u32; 0]> = DeviceGlobal::zeroed();
    static TWO: DeviceGlobal<[u32; 0]> = DeviceGlobal::zeroed();
    let both = (ONE.exclusive(), TWO.exclusive());
    host().single_task(both, |(one, two)| assert!(one.is_empty() && two.is_empty()))?.wait()
}

#[test]
fn a_panic_that_nobody_can_ask_about_any_more_is_printed() {
    const NAME: &str = "a_panic_that_nobody_can_ask_about_any_more_is_printed";
    const CHILD: &str = "CROSSCUT_TEST_PRINTS_A_PANIC";
    if std::env::var_os(CHILD).is_some() {
        let queue = host();
        queue.single_task((), |()| panic!("unheard")).unwrap();
        let event = queue.single_task((), |()| panic!("heard")).unwrap();
        drop(queue);
        event.wait().unwrap_err();
        return;
    }
    // What a process prints is seen from outside only.
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{printed}");
    assert_eq!(printed.matches("unheard").count(), 1, "{printed}");
    assert!(!printed.contains(": heard"), "{printed}");
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

#[test]
fn a_task_that_writes_a_global_is_not_held_up_by_kernels_that_wait_for_it() -> Result<()> {
    static LEVEL: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    let queue = host();
    let other: &'static Queue = Box::leak(Box::new(host()));
    for round in 0..200 {
        std::thread::scope(|scope| {
            let kernels = scope.spawn(|| -> Result<()> {
                for _ in 0..20 {
                    queue.parallel_for(1, (), |_, ()| ())?;
                }
                Ok(())
            });
            queue.host_task(move || {
                other.write(&LEVEL, &round).unwrap();
            })?;
            kernels.join().unwrap()
        })?;
        queue.wait()?;
        assert_eq!(queue.read(&LEVEL)?, round);
    }
    Ok(())
}

#[test]
fn a_kernel_behind_a_barrier_waits_for_what_the_barrier_waits_for() -> Result<()> {
    static DONE: AtomicU32 = AtomicU32::new(0);
    let (one, two) = (host(), host());
    let task = one.host_task(|| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        DONE.store(1, Relaxed);
    })?;
    two.launch().after(&task).barrier()?;
    let mut seen = two.zeroed::<u32>(1)?;
    two.for_each(&mut seen, (), |_, seen, ()| *seen = DONE.load(Relaxed))?;
    assert_eq!(two.download(&seen)?, [1]);
    Ok(())
}

#[test]
fn a_task_inside_a_task_is_refused_the_queues_of_both() -> Result<()> {
    static OUTER: std::sync::OnceLock<Queue> = std::sync::OnceLock::new();
    static REFUSED: AtomicU32 = AtomicU32::new(0);
    let outer = OUTER.get_or_init(host);
    let x = outer.upload(&[1u32])?;
    // One that has a thread of its own, in which the other runs when it is submitted.
    outer.host_task(move || {
        let inner = host();
        let event = inner.host_task_with(&x, |_| {
            REFUSED.fetch_add(OUTER.get().unwrap().wait().is_err().into(), Relaxed);
        });
        event.unwrap().wait().unwrap();
        REFUSED.fetch_add(OUTER.get().unwrap().wait().is_err().into(), Relaxed);
    })?;
    outer.wait()?;
    assert_eq!(REFUSED.load(Relaxed), 2);
    Ok(())
}

#[test]
fn items_that_show_one_another_values_of_different_sizes_are_told() {
    fn swap<T: DeviceCopy>(item: &NdItem<'_, usize>, value: T) -> T {
        item.sub_group().shuffle_xor(value, 1)
    }
    fn first<T: DeviceCopy>(item: &NdItem<'_, usize>, value: T) -> T {
        item.work_group().broadcast(value, 0)
    }
    let queue = host();
    let swaps = queue.parallel_for(NdRange::new(8, 8), (), |item, ()| {
        if item.local() % 2 == 0 {
            swap(&item, [0u64; 4096]);
        } else {
            swap(&item, 0u8);
        }
    });
    let text = swaps.unwrap().wait().unwrap_err().to_string();
    assert!(text.contains("items of one sub-group wait at different barriers"), "{text}");
    let broadcasts = queue.parallel_for(NdRange::new(8, 8), (), |item, ()| {
        if item.local() % 2 == 0 {
            first(&item, 0u8);
        } else {
            first(&item, [0u64; 4096]);
        }
    });
    let text = broadcasts.unwrap().wait().unwrap_err().to_string();
    assert!(text.contains("items of one work-group wait at different barriers"), "{text}");
}

#[test]
fn an_item_that_survives_a_panic_of_its_own_combining_leaves_nobody_with_its_value() {
    let queue = host();
    let mut sums = queue.zeroed::<u64>(8).unwrap();
    let event = queue.parallel_for(NdRange::new(8, 8), &mut sums, |item, sum| {
        let own = item.local();
        let combined = catch_unwind(AssertUnwindSafe(|| {
            item.sub_group().reduce([own as u64; 4], |one, other| {
                assert_ne!(own, 0);
                std::array::from_fn(|at| one[at] + other[at])
            })
        }));
        *sum = combined.map_or(1000, |sums| sums[3]);
    });
    event.unwrap().wait().unwrap();
    assert_eq!(queue.download(&sums).unwrap(), [1000, 28, 28, 28, 28, 28, 28, 28]);
}

#[test]
fn nobody_combines_with_the_value_of_an_item_that_caught_its_panic_and_went_on() {
    static LATER: AtomicU32 = AtomicU32::new(0);
    /// The first item of the second sub-group leaves, and then its neighbours would go on before all
    /// others know.
    fn leave(item: &NdItem<'_, usize>) -> bool {
        let own = item.local();
        let combined = catch_unwind(AssertUnwindSafe(|| {
            item.work_group().reduce([1u64; 64], |one, other| {
                assert!(own != 8, "out");
                LATER.fetch_add(u32::from(own > 8), Relaxed);
                std::array::from_fn(|at| one[at].wrapping_add(other[at]))
            })
        }));
        combined.is_err() && own == 8
    }
    let barrier = host().parallel_for(NdRange::new(16, 16), (), |item, ()| {
        if leave(&item) {
            item.sub_group().barrier();
        }
    });
    // What it shows now is smaller than what the others take it for.
    let shuffle = host().parallel_for(NdRange::new(16, 16), (), |item, ()| {
        if leave(&item) {
            item.sub_group().shuffle(1u8, 0);
        }
    });
    let end = host().parallel_for(NdRange::new(16, 16), (), |item, ()| {
        leave(&item);
    });
    for event in [barrier, shuffle, end] {
        let error = event.unwrap().wait().unwrap_err();
        let panic = error.kernel_panic().unwrap();
        assert!(panic.message.contains("the kernel caught it"), "{panic}");
        assert!(panic.file.ends_with("host_only.rs") && panic.item[0] == 8, "{panic}");
    }
    assert_eq!(LATER.load(Relaxed), 0);
}

#[test]
fn a_leader_that_catches_the_end_of_its_group_hides_no_panic() {
    fn caught(item: &NdItem<'_, usize>) {
        let _ = catch_unwind(AssertUnwindSafe(|| item.barrier()));
    }
    let panicked = host().parallel_for(NdRange::new(24, 24), (), |item, ()| {
        item.barrier();
        assert!(item.local() != 1, "the user's");
        caught(&item);
    });
    let error = panicked.unwrap().wait().unwrap_err();
    let panic = error.kernel_panic().unwrap();
    assert_eq!((&*panic.message, panic.item[0]), ("the user's", 1));
    assert!(panic.file.ends_with("host_only.rs"), "{panic}");
    let gone = host().parallel_for(NdRange::new(4, 4), (), |item, ()| {
        if item.local() != 1 {
            caught(&item);
        }
    });
    let error = gone.unwrap().wait().unwrap_err();
    let told = ["that others have ended without", "item 1 of its work-group"];
    assert!(told.iter().all(|text| error.message().contains(text)), "{error}");
    let left = host().parallel_for(NdRange::new(4, 4), (), |item, ()| {
        let own = item.local();
        let _ = catch_unwind(AssertUnwindSafe(|| {
            item.work_group().inclusive_scan([own; 4], |one, _| {
                assert!(own != 3, "out");
                one
            })
        }));
    });
    assert!(left.unwrap().wait().unwrap_err().message().contains("the kernel caught it"));
}

#[test]
fn a_global_that_is_no_static_has_no_instances() -> Result<()> {
    let context = crosscut::Context::new(&[host().device().clone()])?;
    let own = Queue::in_context(&context)?;
    let event = own.single_task((), |()| {
        let local: DeviceGlobal<AtomicU32> = DeviceGlobal::new(7);
        local.fetch_add(1, Relaxed);
    })?;
    let line = line!() - 2;
    let error = event.wait().unwrap_err();
    let panic = error.kernel_panic().unwrap();
    assert!(panic.message.contains("a device global must be a `static`"), "{error}");
    assert!(panic.file.ends_with("host_only.rs") && panic.line == line, "{error}");
    Ok(())
}

#[test]
fn what_a_launch_that_panicked_left_out_does_not_count_as_what_an_earlier_one_had_there()
-> Result<()> {
    let queue = host();
    let mut sum = Reduction::sum(&queue)?;
    let mut product = Reduction::product(&queue)?;
    queue.parallel_for(1000, &mut sum, |_, sum| sum.combine(1u32))?;
    assert_eq!(sum.take()?, 1000);
    // The product has memory that nobody has written yet.
    let event = queue.parallel_for(1000, (&mut sum, &mut product), |i, (sum, product)| {
        assert!(i != 3, "not this one");
        sum.combine(1u32);
        product.combine(1u32);
    })?;
    assert!(event.wait().is_err() && queue.wait().is_ok());
    assert_eq!((sum.get()?, product.get()?), (0, 1));
    queue.parallel_for(10, &mut sum, |_, sum| sum.combine(1u32))?;
    assert_eq!(sum.get()?, 10);
    Ok(())
}

#[test]
fn what_an_operator_that_panicked_left_out_does_not_count_twice() -> Result<()> {
    let queue = host();
    let mut sum = Reduction::new(&queue, 0u32, |a: u32, b: u32| {
        assert!(a != 7 || b != 7, "sevens");
        a + b
    })?;
    queue.parallel_for(1 << 16, &mut sum, |_, sum| sum.combine(1))?;
    assert_eq!(sum.take()?, 1 << 16);
    queue.parallel_for(1 << 16, &mut sum, |i, sum| sum.combine(if i < 2 { 7 } else { 0 }))?;
    let error = sum.get().unwrap_err();
    assert!(error.to_string().contains("sevens"), "{error}");
    assert_eq!(sum.get()?, 0);
    Ok(())
}
