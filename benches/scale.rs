//! Programs with many device globals: how long they take from start to the first result.
//!
//! The programs are written and built here, next to other things that cargo builds. What a peer does
//! in its place is done by this very program, started again with the peer's name (`starts.rs`).
//! Run without `--bench` (as `cargo test --benches` does) nothing happens: building takes a minute.
#![allow(clippy::print_stdout, reason = "a table for people is its result")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "the other benchmark uses the rest of it")]
mod dpcpp;
#[allow(dead_code, reason = "the other benchmark uses the rest of it")]
mod raw_opencl;
mod starts;

use starts::Peer;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How many globals the programs have.
const FEW: usize = 1_000;
const MANY: usize = 10_000;
/// How many of them a kernel reads.
const PER_KERNEL: usize = 50;
/// What the many may take in terms of the few: in proportion, or less.
const TARGET: f64 = (MANY / FEW) as f64;
/// What all of them may add to a start on the host CPU, in seconds.
const HOST_LIMIT: f64 = 2e-3;
/// What they may take beside a peer on OpenCL.
const BESIDE_PEER: f64 = 1.0;
/// How often each program is started; the fastest counts.
const STARTS: usize = 30;
/// The same where a peer takes seconds.
const LONG_STARTS: usize = 3;
const LONG: Duration = Duration::from_secs(1);
/// A compiler that takes more memory than this, in KiB, is ended before the machine suffers.
const MOST_MEMORY: usize = 12 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if starts::be_peer(&arguments)? {
        return Ok(());
    }
    let (flags, wanted): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| argument.starts_with('-'));
    let wanted = wanted.is_empty() || wanted.iter().any(|part| NAME.contains(part.as_str()));
    if !wanted || !flags.iter().any(|flag| *flag == "--bench") {
        return Ok(());
    }
    let programs = [build(FEW)?, build(MANY)?];
    println!();
    println!(
        "{:<14} {:<7} {:>10}  {:<12} {:>10} {:>7} {:>7}",
        "case", "device", "10000", "peer", "time", "ratio", "target"
    );
    compare("host", &programs)?;
    let devices = crosscut::devices()?;
    let Some(device) = devices.iter().find(|device| device.backend().name() == "opencl") else {
        println!("{NAME:<14} opencl  left out: no such device");
        return Ok(());
    };
    compare("opencl", &programs)?;
    for peer in Peer::ALL {
        compare_with(peer, device.name(), &programs[1])?;
    }
    Ok(())
}

const NAME: &str = "10k globals";

/// Starts both programs in turns and prints a line.
fn compare(device: &str, programs: &[PathBuf; 2]) -> Result<()> {
    // The first start builds and caches the kernel.
    for (program, count) in programs.iter().zip([FEW, MANY]) {
        start(program, device, count)?;
    }
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..STARTS {
        for ((program, count), fastest) in programs.iter().zip([FEW, MANY]).zip(&mut fastest) {
            *fastest = fastest.min(start(program, device, count)?.as_secs_f64());
        }
    }
    let [few, many] = fastest;
    let ratio = many / few;
    let within = ratio <= TARGET && (device != "host" || many - few <= HOST_LIMIT);
    println!(
        "{NAME:<14} {device:<7} {:>7.2} ms  {:<12} {:>7.2} ms {ratio:>7.3} {TARGET:>7}  {}",
        many * 1e3,
        "1000 globals",
        few * 1e3,
        if within { "ok" } else { "missed" },
    );
    Ok(())
}

/// Runs a program to its end, and checks what it computed.
fn start(program: &Path, device: &str, count: usize) -> Result<Duration> {
    let last = count / PER_KERNEL - 1;
    let mut command = Command::new(program);
    let expected = (count - PER_KERNEL..count).sum();
    run(command.arg(last.to_string()).env("CROSSCUT_DEVICE", device), expected)
}

/// Runs a command to its end; it prints this number.
fn run(command: &mut Command, expected: usize) -> Result<Duration> {
    let started = Instant::now();
    let output = command.output()?;
    let taken = started.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, said.trim()).into());
    }
    match String::from_utf8_lossy(&output.stdout).trim() {
        number if number == expected.to_string() => Ok(taken),
        other => Err(format!("it printed `{other}` instead of {expected}").into()),
    }
}

/// Starts the program with many globals and a peer's in turns and prints a line.
fn compare_with(peer: Peer, device: &str, program: &Path) -> Result<()> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("globals-of-peers");
    fs::create_dir_all(&place)?;
    let start_peer = || run(&mut peer.command(device, &place)?, peer.sum());
    // The first start fills the peer's cache. The second says how long one takes.
    let taken = match start_peer().and_then(|_| start_peer()) {
        Ok(taken) => taken,
        Err(error) => {
            // A compiler's reasons may be many.
            let reason: String = error.to_string().chars().take(200).collect();
            println!("{NAME:<14} opencl  {} is left out: {reason}", peer.name());
            return Ok(());
        }
    };
    let (mut of_peer, mut ours) = (taken, Duration::MAX);
    for _ in 0..if taken < LONG { STARTS } else { LONG_STARTS } {
        ours = ours.min(start(program, "opencl", MANY)?);
        of_peer = of_peer.min(start_peer()?);
    }
    let ratio = ours.as_secs_f64() / of_peer.as_secs_f64();
    println!(
        "{NAME:<14} {:<7} {:>7.2} ms  {:<12} {:>7.2} ms {ratio:>7.3} {BESIDE_PEER:>7}  {}",
        "opencl",
        ours.as_secs_f64() * 1e3,
        peer.name(),
        of_peer.as_secs_f64() * 1e3,
        if ratio <= BESIDE_PEER { "ok" } else { "missed" },
    );
    Ok(())
}

/// Builds a program with so many globals, as this one was built: with device images or without.
fn build(count: usize) -> Result<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?;
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (folder, target) = (place.join(format!("globals-{count}")), place.join("globals-target"));
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/main.rs"), source(count)?)?;
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"globals-{count}\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ncrosscut = {{ path = {:?} }}\n",
            repository.join("api/crosscut")
        ),
    )?;
    println!("building a program with {count} device globals");
    // The repository's alias makes `cargo crosscut` of it.
    let limited = format!("ulimit -v {}; exec \"$@\"", MOST_MEMORY);
    let status = Command::new("sh")
        .args(["-c", &limited, "sh", env!("CARGO"), "crosscut", "build", "--quiet", "--release"])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("RUSTC_WRAPPER")
        .current_dir(repository)
        .status()?;
    if !status.success() {
        return Err(format!("a program with {count} device globals does not build").into());
    }
    Ok(target.join(format!("crosscut/release/globals-{count}")))
}

/// A program with `count` globals and kernels that add up some of them; its argument says which one.
fn source(count: usize) -> Result<String> {
    let mut text = String::from("use crosscut::prelude::*;\n");
    for number in 0..count {
        writeln!(text, "static G{number}: DeviceGlobal<u32> = DeviceGlobal::new({number});")?;
    }
    let kernels = count / PER_KERNEL;
    for kernel in 0..kernels {
        let globals = kernel * PER_KERNEL..(kernel + 1) * PER_KERNEL;
        let sum: Vec<String> = globals.map(|number| format!("G{number}.get()")).collect();
        writeln!(
            text,
            "fn k{kernel}(queue: &Queue, y: &mut Buffer<u32>) -> crosscut::Result<Event> {{\n    \
             queue.for_each(y, (), |_, y, ()| *y = {})\n}}",
            sum.join(" + ")
        )?;
    }
    let names: Vec<String> = (0..kernels).map(|kernel| format!("k{kernel}")).collect();
    write!(
        text,
        "type Run = fn(&Queue, &mut Buffer<u32>) -> crosscut::Result<Event>;
const KERNELS: &[Run] = &[{}];
fn main() -> crosscut::Result<()> {{
    let which: usize = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(1)?;
    KERNELS[which](&queue, &mut y)?;
    println!(\"{{}}\", queue.download(&y)?[0]);
    Ok(())
}}
",
        names.join(", ")
    )?;
    Ok(text)
}
