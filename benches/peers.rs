//! Crosscut beside its peers, in turns, as a table of ratios.
//!
//! Run without `--bench` (as `cargo test --benches` does) it does everything once, on little data:
//! that it works is all that shows.
#![allow(clippy::print_stdout, reason = "a table for people is its result")]

mod launch;
mod raw_opencl;
mod rounds;
mod saxpy;

use crosscut::prelude::*;

use raw_opencl::Raw;
use rounds::{Contender, Times, take_turns};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How much is measured.
struct Scale {
    rounds: usize,
    lengths: &'static [(&'static str, usize)],
}

const FULL: Scale =
    Scale { rounds: 15, lengths: &[("saxpy 1 Mi", 1 << 20), ("saxpy 64 Mi", 1 << 26)] };
const QUICK: Scale = Scale { rounds: 1, lengths: &[("saxpy 1 Ki", 1 << 10)] };

/// What the ratios are to be, at most.
const SAXPY: f64 = 1.1;
const LAUNCH: f64 = 1.3;
const LAUNCH_ON_HOST: f64 = 0.1;

fn main() -> Result<()> {
    let scale = if std::env::args().any(|argument| argument == "--bench") { FULL } else { QUICK };
    let devices = crosscut::devices()?;
    let of = |backend| devices.iter().find(move |device| device.backend().name() == backend);
    let host = of("host").map(Queue::on).transpose()?;
    let opencl = of("opencl").map(Queue::on).transpose()?;
    let raw = opencl.as_ref().map(|queue| Raw::open(queue.device().name())).transpose()?;
    // A plain cargo build has no device images: then there is nothing to compare on OpenCL.
    let images = opencl.as_ref().is_some_and(|queue| queue.parallel_for(1, (), |_, ()| ()).is_ok());

    for queue in host.iter().chain(&opencl) {
        println!("{}: {}", queue.device().backend(), queue.device().name());
    }
    if opencl.is_none() {
        println!("no OpenCL device: its rows are left out");
    } else if !images {
        println!("no device images: rows of Crosscut on OpenCL are left out");
        println!("they need `cargo crosscut bench -p crosscut-benches`");
    }
    println!();
    println!(
        "{:<14} {:<7} {:>10}  {:<12} {:>10} {:>7} {:>7}",
        "case", "device", "crosscut", "peer", "time", "ratio", "target"
    );

    let on_opencl = opencl.as_ref().filter(|_| images);
    launches(host.as_ref(), on_opencl, raw.as_ref(), &scale)?;
    for &(case, length) in scale.lengths {
        if let Some(queue) = &host {
            saxpy_on_host(case, queue, length, &scale)?;
        }
        if let (Some(queue), Some(raw)) = (on_opencl, &raw) {
            let mut ours = saxpy::Crosscut::new(queue, length)?;
            let mut by_hand = saxpy::ByHand::new(raw, length)?;
            let mut contenders = [ours.contender(), by_hand.contender()];
            let times = take_turns(&mut contenders, scale.rounds)?;
            print(case, "opencl", &contenders, &times, SAXPY);
        }
    }
    Ok(())
}

fn launches(
    host: Option<&Queue>,
    opencl: Option<&Queue>,
    raw: Option<&Raw>,
    scale: &Scale,
) -> Result<()> {
    let Some(raw) = raw else { return Ok(()) };
    let mut by_hand = launch::ByHand::new(raw)?;
    for (queue, device, target) in [(host, "host", LAUNCH_ON_HOST), (opencl, "opencl", LAUNCH)] {
        if let Some(queue) = queue {
            let mut contenders = [launch::crosscut(queue), by_hand.contender()];
            let times = take_turns(&mut contenders, scale.rounds)?;
            print("launch + wait", device, &contenders, &times, target);
        }
    }
    Ok(())
}

fn saxpy_on_host(case: &str, queue: &Queue, length: usize, scale: &Scale) -> Result<()> {
    let mut ours = saxpy::Crosscut::new(queue, length)?;
    let (mut zipped, mut indexed) = (saxpy::Rayon::new(length), saxpy::Rayon::new(length));
    let mut contenders = [ours.contender(), zipped.zipped(), indexed.indexed()];
    let times = take_turns(&mut contenders, scale.rounds)?;
    print(case, "host", &contenders, &times, SAXPY);
    Ok(())
}

/// A line for each peer; the first contender is Crosscut.
fn print(case: &str, device: &str, contenders: &[Contender<'_>], times: &Times, target: f64) {
    for (peer, contender) in contenders.iter().enumerate().skip(1) {
        let ratio = times.ratio(0, peer);
        let verdict = if ratio <= target { "" } else { "  missed" };
        println!(
            "{case:<14} {device:<7} {:>10}  {:<12} {:>10} {ratio:>7.3} {target:>7}{verdict}",
            readable(times.median(0)),
            contender.name,
            readable(times.median(peer)),
        );
    }
}

fn readable(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
