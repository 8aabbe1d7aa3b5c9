//! Crosscut beside its peers, in turns, as a table of ratios.
//!
//! Run without `--bench` (as `cargo test --benches` does) it does everything once, on little data:
//! that it works is all that shows.
#![allow(clippy::print_stdout, reason = "a table for people is its result")]

mod globals;
mod launch;
mod raw_opencl;
mod rounds;
mod saxpy;

use std::cell::Cell;

use crosscut::prelude::*;

use globals::Work;
use raw_opencl::Raw;
use rounds::{Contender, Times, take_turns};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How much is measured.
struct Scale {
    rounds: usize,
    /// How often a case that works on memory allocates it anew; each has its share of the rounds.
    allocations: usize,
    saxpy: &'static [Saxpy],
}

impl Scale {
    fn rounds_each(&self) -> usize {
        self.rounds / self.allocations
    }
}

/// A size of saxpy.
#[derive(Clone, Copy)]
struct Saxpy {
    name: &'static str,
    length: usize,
    /// What the ratios are to be, at most.
    target: f64,
}

/// So short that it is a launch with arguments, and little else.
const SHORT: Saxpy = Saxpy { name: "saxpy 1 Ki", length: 1 << 10, target: LAUNCH };

const FULL: Scale = Scale {
    rounds: 36,
    allocations: 9,
    saxpy: &[
        SHORT,
        Saxpy { name: "saxpy 1 Mi", length: 1 << 20, target: SAXPY },
        Saxpy { name: "saxpy 64 Mi", length: 1 << 26, target: SAXPY },
    ],
};
const QUICK: Scale = Scale { rounds: 1, allocations: 1, saxpy: &[SHORT] };

/// What the ratios are to be, at most.
const SAXPY: f64 = 1.1;
const LAUNCH: f64 = 1.3;
const LAUNCH_ON_HOST: f64 = 0.1;
const MANY_LAUNCHES: f64 = 1.0;
const GLOBAL: f64 = 1.05;
const CHAIN: f64 = 1.0;

fn main() -> Result<()> {
    let bench = Bench::new()?;
    bench.print_head();
    bench.launch_on_host()?;
    bench.launch_on_opencl()?;
    bench.many_launches()?;
    bench.globals()?;
    for &case in bench.scale.saxpy {
        bench.saxpy_on_host(case)?;
        bench.saxpy_on_opencl(case)?;
    }
    match bench.missed.get() {
        0 => println!("\nevery ratio is within its target"),
        missed => println!("\n{missed} of the ratios are beyond their targets"),
    }
    Ok(())
}

struct Bench {
    scale: Scale,
    /// Parts of the names of what is to run; everything if there are none.
    wanted: Vec<String>,
    host: Option<Queue>,
    opencl: Option<Queue>,
    raw: Option<Raw>,
    /// Whether this program has device images: a plain cargo build has none.
    images: bool,
    /// How many ratios are beyond their targets.
    missed: Cell<usize>,
}

impl Bench {
    fn new() -> Result<Self> {
        let (flags, wanted): (Vec<String>, Vec<String>) =
            std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
        let devices = crosscut::devices()?;
        let of = |backend| devices.iter().find(move |device| device.backend().name() == backend);
        let opencl = of("opencl").map(Queue::on).transpose()?;
        Ok(Self {
            scale: if flags.iter().any(|flag| flag == "--bench") { FULL } else { QUICK },
            wanted,
            host: of("host").map(Queue::on).transpose()?,
            raw: opencl.as_ref().map(|queue| Raw::open(queue.device().name())).transpose()?,
            images: opencl
                .as_ref()
                .is_some_and(|queue| queue.parallel_for(1, (), |_, ()| ()).is_ok()),
            opencl,
            missed: Cell::new(0),
        })
    }

    fn print_head(&self) {
        for queue in self.host.iter().chain(&self.opencl) {
            println!("{}: {}", queue.device().backend(), queue.device().name());
        }
        if self.opencl.is_none() {
            println!("no OpenCL device: what needs one is left out");
        } else if !self.images {
            println!("no device images: Crosscut on OpenCL is left out");
            println!("run `cargo crosscut bench -p crosscut-benches` for it");
        }
        println!();
        println!(
            "{:<14} {:<7} {:>10}  {:<12} {:>10} {:>7} {:>7} {:>7}",
            "case", "device", "crosscut", "peer", "time", "ratio", "fastest", "target"
        );
    }

    fn wants(&self, case: &str, device: &str) -> bool {
        let name = format!("{case} {device}");
        self.wanted.is_empty() || self.wanted.iter().any(|part| name.contains(part.as_str()))
    }

    /// The two queues of a comparison on OpenCL.
    fn on_opencl(&self) -> Option<(&Queue, &Raw)> {
        self.opencl.as_ref().filter(|_| self.images).zip(self.raw.as_ref())
    }

    fn launch_on_host(&self) -> Result<()> {
        let Some((queue, raw)) = self.host.as_ref().zip(self.raw.as_ref()) else { return Ok(()) };
        let mut by_hand = launch::ByHand::new(raw)?;
        let contenders = [launch::crosscut(queue), by_hand.contender()];
        self.compare("launch + wait", "host", LAUNCH_ON_HOST, contenders)
    }

    fn launch_on_opencl(&self) -> Result<()> {
        let Some((queue, raw)) = self.on_opencl() else { return Ok(()) };
        let mut by_hand = launch::ByHand::new(raw)?;
        let contenders = [launch::crosscut(queue), by_hand.contender()];
        self.compare("launch + wait", "opencl", LAUNCH, contenders)
    }

    fn many_launches(&self) -> Result<()> {
        const NAME: &str = "10k launches";
        let Some(raw) = &self.raw else { return Ok(()) };
        let mut by_hand = launch::ByHand::new(raw)?;
        if let Some(queue) = &self.host {
            let contenders = [launch::crosscut_many(queue), by_hand.many()];
            self.compare(NAME, "host", LAUNCH_ON_HOST, contenders)?;
        }
        if let Some((queue, _)) = self.on_opencl() {
            let contenders = [launch::crosscut_many(queue), by_hand.many()];
            self.compare(NAME, "opencl", MANY_LAUNCHES, contenders)?;
        }
        Ok(())
    }

    fn globals(&self) -> Result<()> {
        let Some(raw) = &self.raw else { return Ok(()) };
        let Some(mut by_hand) = globals::ByHand::new(raw)? else {
            println!("the driver has no calls for variables: globals are left out");
            return Ok(());
        };
        for (name, work, target) in [
            ("global 4 B", Work::Cell, GLOBAL),
            ("global 4 KiB", Work::Block, GLOBAL),
            ("global chain", Work::Chain, CHAIN),
        ] {
            if let Some(queue) = &self.host {
                let contenders = [globals::crosscut(queue, work), by_hand.contender(work)];
                self.compare(name, "host", LAUNCH_ON_HOST, contenders)?;
            }
            if let Some((queue, _)) = self.on_opencl() {
                let contenders = [globals::crosscut(queue, work), by_hand.contender(work)];
                self.compare(name, "opencl", target, contenders)?;
            }
        }
        Ok(())
    }

    fn saxpy_on_host(&self, case: Saxpy) -> Result<()> {
        let Some(queue) = self.host.as_ref().filter(|_| self.wants(case.name, "host")) else {
            return Ok(());
        };
        let mut times = Times::default();
        for _ in 0..self.scale.allocations {
            let mut ours = saxpy::Crosscut::new(queue, case.length)?;
            let (mut zipped, mut indexed) =
                (saxpy::Rayon::new(case.length), saxpy::Rayon::new(case.length));
            let mut contenders = [ours.contender(), zipped.zipped(), indexed.indexed()];
            times.append(take_turns(&mut contenders, self.scale.rounds_each())?);
        }
        self.print(case.name, "host", case.target, &["rayon, zip", "rayon, x[i]"], &times);
        Ok(())
    }

    fn saxpy_on_opencl(&self, case: Saxpy) -> Result<()> {
        let Some((queue, raw)) = self.on_opencl().filter(|_| self.wants(case.name, "opencl"))
        else {
            return Ok(());
        };
        let mut times = Times::default();
        for _ in 0..self.scale.allocations {
            let mut ours = saxpy::Crosscut::new(queue, case.length)?;
            let mut by_hand = saxpy::ByHand::new(raw, case.length)?;
            let mut contenders = [ours.contender(), by_hand.contender()];
            times.append(take_turns(&mut contenders, self.scale.rounds_each())?);
        }
        self.print(case.name, "opencl", case.target, &["raw OpenCL"], &times);
        Ok(())
    }

    /// A line for each peer; the contender before them is Crosscut.
    fn print(&self, case: &str, device: &str, target: f64, peers: &[&str], times: &Times) {
        for (index, peer) in (1..).zip(peers) {
            let ratio = times.ratio(0, index);
            self.missed.set(self.missed.get() + usize::from(ratio > target));
            println!(
                "{case:<14} {device:<7} {:>10}  {peer:<12} {:>10} {ratio:>7.3} {:>7.3} {target:>7}  {}",
                readable(times.median(0)),
                readable(times.median(index)),
                times.fastest(0) / times.fastest(index),
                if ratio <= target { "ok" } else { "missed" },
            );
        }
    }

    /// Lets Crosscut and a peer take turns and prints the line.
    fn compare(
        &self,
        case: &str,
        device: &str,
        target: f64,
        mut contenders: [Contender<'_>; 2],
    ) -> Result<()> {
        if self.wants(case, device) {
            let times = take_turns(&mut contenders, self.scale.rounds)?;
            self.print(case, device, target, &["raw OpenCL"], &times);
        }
        Ok(())
    }
}

fn readable(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
