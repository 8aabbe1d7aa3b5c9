//! Crosscut beside its peers, in turns, as a table of ratios.
//!
//! Run without `--bench` (as `cargo test --benches` does) it does everything once, on little data:
//! that it works is all that shows.
#![allow(clippy::print_stdout, reason = "a table for people is its result")]

#[allow(dead_code, reason = "the other benchmark uses the rest of it")]
mod dpcpp;
mod globals;
mod launch;
#[allow(dead_code, reason = "the other benchmark uses the rest of it")]
mod raw_opencl;
mod rounds;
mod saxpy;

use std::cell::Cell;

use crosscut::prelude::*;

use dpcpp::Dpcpp;
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

/// The same beside DPC++, which does more on its way to the driver.
const LAUNCH_OF_DPCPP: f64 = 0.8;
const MANY_LAUNCHES_OF_DPCPP: f64 = 1.0;
const CELL_OF_DPCPP: f64 = 0.4;
const BLOCK_OF_DPCPP: f64 = 0.15;
const CHAIN_OF_DPCPP: f64 = 0.65;

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
    /// DPC++ on the same OpenCL device, or why it is not here.
    dpcpp: std::result::Result<Dpcpp, String>,
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
            dpcpp: match &opencl {
                Some(queue) => open_dpcpp(queue.device().name()),
                None => Err("no OpenCL device".into()),
            },
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
        if let (Some(_), Err(reason)) = (&self.opencl, &self.dpcpp) {
            println!("DPC++ is left out: {reason}");
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
        let peer = Peer::raw_opencl(by_hand.contender(), LAUNCH_ON_HOST);
        self.compare("launch + wait", "host", launch::crosscut(queue), [peer])
    }

    fn launch_on_opencl(&self) -> Result<()> {
        let Some((queue, raw)) = self.on_opencl() else { return Ok(()) };
        let mut by_hand = launch::ByHand::new(raw)?;
        let peers = [Peer::raw_opencl(by_hand.contender(), LAUNCH)]
            .into_iter()
            .chain(self.dpcpp(launch::dpcpp, LAUNCH_OF_DPCPP));
        self.compare("launch + wait", "opencl", launch::crosscut(queue), peers)
    }

    fn many_launches(&self) -> Result<()> {
        const NAME: &str = "10k launches";
        let Some(raw) = &self.raw else { return Ok(()) };
        let mut by_hand = launch::ByHand::new(raw)?;
        if let Some(queue) = &self.host {
            let peer = Peer::raw_opencl(by_hand.many(), LAUNCH_ON_HOST);
            self.compare(NAME, "host", launch::crosscut_many(queue), [peer])?;
        }
        if let Some((queue, _)) = self.on_opencl() {
            let peers = [Peer::raw_opencl(by_hand.many(), MANY_LAUNCHES)]
                .into_iter()
                .chain(self.dpcpp(launch::dpcpp_many, MANY_LAUNCHES_OF_DPCPP));
            self.compare(NAME, "opencl", launch::crosscut_many(queue), peers)?;
        }
        Ok(())
    }

    fn globals(&self) -> Result<()> {
        let Some(raw) = &self.raw else { return Ok(()) };
        let Some(mut by_hand) = globals::ByHand::new(raw)? else {
            println!("the driver has no calls for variables: globals are left out");
            return Ok(());
        };
        for (name, work, target, of_dpcpp) in [
            ("global 4 B", Work::Cell, GLOBAL, CELL_OF_DPCPP),
            ("global 4 KiB", Work::Block, GLOBAL, BLOCK_OF_DPCPP),
            ("global chain", Work::Chain, CHAIN, CHAIN_OF_DPCPP),
        ] {
            if let Some(queue) = &self.host {
                let peer = Peer::raw_opencl(by_hand.contender(work), LAUNCH_ON_HOST);
                self.compare(name, "host", globals::crosscut(queue, work), [peer])?;
            }
            if let Some((queue, _)) = self.on_opencl() {
                let peers = [Peer::raw_opencl(by_hand.contender(work), target)]
                    .into_iter()
                    .chain(self.dpcpp(|peer| globals::dpcpp(peer, work), of_dpcpp));
                self.compare(name, "opencl", globals::crosscut(queue, work), peers)?;
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
        let peers = [("rayon, zip", case.target), ("rayon, x[i]", case.target)];
        self.print(case.name, "host", &peers, &times);
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
        self.print(case.name, "opencl", &[(RAW_OPENCL, case.target)], &times);
        Ok(())
    }

    /// DPC++ as a peer, if it is here.
    fn dpcpp<'a>(
        &'a self,
        contender: impl FnOnce(&'a Dpcpp) -> Contender<'a>,
        target: f64,
    ) -> Option<Peer<'a>> {
        let dpcpp = self.dpcpp.as_ref().ok()?;
        Some(Peer { name: "DPC++", contender: contender(dpcpp), target })
    }

    /// A line for each peer, by name and target; the contender before them is Crosscut.
    fn print(&self, case: &str, device: &str, peers: &[(&str, f64)], times: &Times) {
        for (index, (peer, target)) in (1..).zip(peers) {
            let ratio = times.ratio(0, index);
            self.missed.set(self.missed.get() + usize::from(ratio > *target));
            println!(
                "{case:<14} {device:<7} {:>10}  {peer:<12} {:>10} {ratio:>7.3} {:>7.3} {target:>7}  {}",
                readable(times.median(0)),
                readable(times.median(index)),
                times.fastest(0) / times.fastest(index),
                if ratio <= *target { "ok" } else { "missed" },
            );
        }
    }

    /// Lets Crosscut and its peers take turns and prints the lines.
    fn compare<'a>(
        &self,
        case: &str,
        device: &str,
        crosscut: Contender<'a>,
        peers: impl IntoIterator<Item = Peer<'a>>,
    ) -> Result<()> {
        if !self.wants(case, device) {
            return Ok(());
        }
        let (mut contenders, mut lines) = (vec![crosscut], Vec::new());
        for peer in peers {
            contenders.push(peer.contender);
            lines.push((peer.name, peer.target));
        }
        let times = take_turns(&mut contenders, self.scale.rounds)?;
        self.print(case, device, &lines, &times);
        Ok(())
    }
}

/// Who does the same work.
struct Peer<'a> {
    name: &'static str,
    contender: Contender<'a>,
    /// What Crosscut may take of its time.
    target: f64,
}

const RAW_OPENCL: &str = "raw OpenCL";

impl<'a> Peer<'a> {
    fn raw_opencl(contender: Contender<'a>, target: f64) -> Self {
        Self { name: RAW_OPENCL, contender, target }
    }
}

/// DPC++ with its kernels compiled for that device, or why not.
fn open_dpcpp(device: &str) -> std::result::Result<Dpcpp, String> {
    let open = || -> Result<Option<Dpcpp>> {
        let Some(dpcpp) = Dpcpp::load()? else { return Ok(None) };
        dpcpp.open(device)?;
        Ok(Some(dpcpp))
    };
    match open() {
        Ok(Some(dpcpp)) => Ok(dpcpp),
        Ok(None) => Err("`cargo xtask setup --peers` installs it".into()),
        Err(error) => Err(error.to_string()),
    }
}

fn readable(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
