//! Lines that kernels print, on every device: this test runs itself, and looks at what came out.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use crosscut::Result;
use crosscut::prelude::*;
use crosscut::property::DeviceImageScope;
use crosscut_language::targets;
use half::{bf16, f16};

/// Which of the programs below this process is, and on which device.
const PROGRAM: &str = "CROSSCUT_LINES_PROGRAM";
const TARGET: &str = "CROSSCUT_LINES_TARGET";

static SMALL: DeviceGlobal<u32> = DeviceGlobal::zeroed();

fn every_kind_of_value(queue: &Queue) -> Result<()> {
    let x = queue.upload(&[1.5f32, -0.25])?;
    let event = queue.parallel_for(2, &x, |i, x| {
        device_println!("item {} has {:>8.3}|{:?}", i, x[i], x[i]);
        device_println!("{} {:#06x} {} {:?} {}", i == 1, 255u8, 'ß', 'q', -3i16);
        device_println!("{} {} {} {:e}", u64::MAX, i64::MIN, isize::MAX, 1e300f64);
        device_println!("{{}}");
        let (mut own, half) = (i, x[i] / 2.0);
        let named = &mut own;
        device_println!("{named} {named:>3} {half:.3} {0} {x}", i + 1, x = 'x',);
        device_println!("{:.2} {:?} {}", f16::PI, bf16::from_f32(x[i]), f16::NAN);
    })?;
    event.wait()
}

fn more_than_there_is_room_for(queue: &Queue) -> Result<()> {
    queue.parallel_for(20_000, (), |i, ()| device_println!("line {}", i))?.wait()?;
    queue.single_task((), |()| device_println!("the last"))?.wait()
}

fn a_panic_after_a_line(queue: &Queue) -> Result<()> {
    let event = queue.parallel_for(1, (), |i, ()| {
        device_println!("before");
        assert!(i > 0, "too small");
        device_println!("after");
    })?;
    let told = event.wait().is_err();
    queue.single_task((), move |()| device_println!("told: {}", told))?.wait()
}

fn groups_and_launches(queue: &Queue) -> Result<()> {
    for round in 0..3u32 {
        queue.parallel_for(NdRange::new(4, 2), (), move |item, ()| {
            let sum = item.work_group().reduce(item.global() as u32, |a, b| a + b);
            if item.local() == 0 {
                device_println!("round {} group {} sum {}", round, item.group(), sum);
            }
        })?;
    }
    queue.wait()
}

/// One thread waits for a kernel that printed while another, which has the lock of standard output, uses the
/// same queue.
fn standard_output_is_locked(queue: &Queue) -> Result<()> {
    queue.single_task((), |()| device_println!("printed"))?;
    std::thread::scope(|threads| {
        let output = std::io::stdout().lock();
        let waits = threads.spawn(|| queue.wait());
        // Long enough for it to stand before the lock; less would only make the test weaker.
        std::thread::sleep(Duration::from_millis(300));
        queue.single_task((), |()| ())?.wait()?;
        drop(output);
        waits.join().unwrap()
    })
}

/// The same with copies that are submitted in two steps, which nobody comes between.
fn standard_output_is_locked_beside_copies(queue: &Queue) -> Result<()> {
    static SCOPED: DeviceGlobal<u32, DeviceImageScope> = DeviceGlobal::new(3);
    let (mut one, mut other) = (queue.zeroed::<u32>(1)?, queue.zeroed::<u32>(1)?);
    queue.for_each(&mut one, (), |_, one, ()| *one = SCOPED.get())?.wait()?;
    queue.single_task((), |()| device_println!("printed"))?;
    // Long enough for it to end without being asked; less would only make the test weaker.
    std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|threads| {
        let output = std::io::stdout().lock();
        // So many that the queue looks which of its commands have ended, while it submits one.
        let copies = threads
            .spawn(|| (0..2000).try_for_each(|_| queue.copy_from(&SCOPED, &mut one, 0).map(drop)));
        std::thread::sleep(Duration::from_millis(300));
        queue.copy_from(&SCOPED, &mut other, 0)?.wait()?;
        drop(output);
        copies.join().unwrap()
    })?;
    assert_eq!(queue.download(&other)?, [3]);
    queue.wait()
}

/// The same with kernels that follow addresses, which look in their turn for what others left.
fn standard_output_is_locked_beside_addresses(queue: &Queue) -> Result<()> {
    let data = queue.alloc_device::<u32>(1)?;
    let place = data.device_ptr();
    let follow = || {
        queue.single_task((), move |()| {
            // SAFETY: there is one element, which nobody else uses and which lives until the end.
            unsafe { *place.get() = 1 };
        })
    };
    follow()?.wait()?;
    queue.single_task((), |()| device_println!("printed"))?;
    // Long enough for it to end without being asked; less would only make the test weaker.
    std::thread::sleep(Duration::from_millis(300));
    std::thread::scope(|threads| {
        let output = std::io::stdout().lock();
        let launches = threads.spawn(|| (0..2000).try_for_each(|_| follow().map(drop)));
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(queue.read(&SMALL)?, 0);
        drop(output);
        launches.join().unwrap()
    })?;
    queue.wait()
}

/// A copy that the host makes itself finds that a kernel has ended before anybody waits for it.
fn a_copy_comes_between(queue: &Queue) -> Result<()> {
    let event = queue.single_task((), |()| device_println!("first"))?;
    while !event.is_complete()? {
        std::thread::yield_now();
    }
    queue.write(&SMALL, &7)?;
    event.wait()?;
    let mut output = std::io::stdout();
    // Past the harness, which keeps what `println!` prints; and no more comes after this.
    output.write_all(b"then\n").and_then(|()| output.flush()).expect("a standard output");
    std::process::exit(0);
}

/// Ends a process that hangs.
fn watch_over_this_process() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(300));
        std::process::abort();
    });
}

#[test]
fn program() {
    let (Ok(program), Ok(target)) = (std::env::var(PROGRAM), std::env::var(TARGET)) else { return };
    watch_over_this_process();
    let queue = &targets()[target.parse::<usize>().unwrap()].queue;
    match program.as_str() {
        "values" => every_kind_of_value(queue),
        "room" => more_than_there_is_room_for(queue),
        "panic" => a_panic_after_a_line(queue),
        "locked" => standard_output_is_locked(queue),
        "between" => a_copy_comes_between(queue),
        "locked beside copies" => standard_output_is_locked_beside_copies(queue),
        "locked beside addresses" => standard_output_is_locked_beside_addresses(queue),
        _ => groups_and_launches(queue),
    }
    .unwrap();
}

/// The lines of a program on each device.
fn run(program: &str) -> Vec<Vec<String>> {
    let run_on = |target: usize| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "program", "--nocapture", "--test-threads=1"])
            .env(PROGRAM, program)
            .env(TARGET, target.to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = String::from_utf8(output.stdout).unwrap();
        // What the harness itself says stands around it, before the first line even in the same line.
        let lines = output.lines().map(|line| line.trim_start_matches("test program ... "));
        let of_harness = |line: &&str| {
            !line.is_empty() && !line.starts_with("running ") && !line.starts_with("test result")
        };
        lines.filter(of_harness).filter(|line| *line != "ok").map(str::to_owned).collect()
    };
    (0..targets().len()).map(run_on).collect()
}

#[test]
fn values_of_every_kind_arrive_and_lines_of_an_item_are_in_order() {
    for lines in run("values") {
        let of = |i: usize, x: f32| {
            [
                format!("item {} has {:>8.3}|{:?}", i, x, x),
                format!("{} {:#06x} {} {:?} {}", i == 1, 255u8, 'ß', 'q', -3i16),
                format!("{} {} {} {:e}", u64::MAX, i64::MIN, isize::MAX, 1e300f64),
                "{}".to_owned(),
                format!("{i} {i:>3} {:.3} {} x", x / 2.0, i + 1),
                format!("{:.2} {:?} {}", f16::PI, bf16::from_f32(x), f16::NAN),
            ]
        };
        let mut places = [0, 0];
        let expected = [of(0, 1.5), of(1, -0.25)];
        assert_eq!(lines.len(), 12, "{lines:?}");
        // Items may print side by side.
        for line in &lines {
            let next = (0..2).find(|&i| expected[i].get(places[i]) == Some(line));
            places[next.unwrap_or_else(|| panic!("{line} among {lines:?}"))] += 1;
        }
    }
}

#[test]
fn lines_without_room_are_counted() {
    for (target, lines) in run("room").into_iter().enumerate() {
        assert_eq!(lines.last().unwrap(), "the last");
        let printed = lines.iter().filter(|line| line.starts_with("line ")).count();
        let Some(more) = lines.iter().find(|line| line.starts_with("... and ")) else {
            assert_eq!((target, printed), (0, 20_000), "only the host has room for all");
            continue;
        };
        let lost: usize = more.split(' ').nth(2).unwrap().parse().unwrap();
        assert_eq!(printed + lost, 20_000, "{more}");
        assert!(printed > 5_000, "{printed}");
    }
}

#[test]
fn a_panic_does_not_take_the_lines_before_it() {
    for lines in run("panic") {
        assert_eq!(lines, ["before", "told: true"]);
    }
}

#[test]
fn who_holds_standard_output_may_use_a_queue_that_prints() {
    for program in ["locked", "locked beside copies", "locked beside addresses"] {
        for lines in run(program) {
            assert_eq!(lines, ["printed"], "{program}");
        }
    }
}

#[test]
fn lines_are_there_when_their_kernel_has_been_waited_for() {
    for lines in run("between") {
        assert_eq!(lines, ["first", "then"]);
    }
}

#[test]
fn kernels_with_barriers_print_and_launches_keep_their_order() {
    for mut lines in run("groups") {
        assert_eq!(lines.len(), 6, "{lines:?}");
        for pair in lines.chunks_mut(2) {
            pair.sort();
        }
        let expected: Vec<String> = (0..3)
            .flat_map(|round| [(round, 0, 1), (round, 1, 5)])
            .map(|(round, group, sum)| format!("round {round} group {group} sum {sum}"))
            .collect();
        assert_eq!(lines, expected);
    }
}
