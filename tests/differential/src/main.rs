//! The command behind `cargo xtask differential`.

#![allow(clippy::print_stdout, reason = "a command talks to the terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use crosscut_differential::choices::{Choices, Random};
use crosscut_differential::generate::{self, Kernel};
use crosscut_differential::package::{Profile, Verdict, Workshop};
use crosscut_differential::shrink;

/// Random kernels on every device, compared with the host.
#[derive(Parser)]
struct Arguments {
    /// How many kernels.
    #[arg(long, default_value_t = 100)]
    kernels: usize,
    /// Which kernels: the same seed makes the same ones.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this one of them.
    #[arg(long)]
    only: Option<usize>,
    /// Kernels of one program.
    #[arg(long, default_value_t = 100)]
    at_once: usize,
    /// `debug` or `release` instead of both.
    #[arg(long)]
    profile: Option<String>,
    /// Report failures as they are.
    #[arg(long)]
    no_shrink: bool,
    /// Print the kernels and do nothing else.
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The kernel of a number under a seed.
fn numbered(seed: u64, number: usize) -> Kernel {
    let mut random = Random::new(seed ^ (number as u64).wrapping_mul(0xd134_2543_de82_ef95));
    // Most are small: two small ones find more than one large one, and compile sooner.
    let limit = [60, 120, 120, 240, 240, 600][(random.next() % 6) as usize];
    generate::kernel(Choices::random(random.next(), limit))
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let numbers: Vec<usize> = match arguments.only {
        Some(number) => vec![number],
        None => (0..arguments.kernels).collect(),
    };
    if arguments.print {
        for &number in &numbers {
            println!("// kernel {number}\n{}", numbered(arguments.seed, number).source);
        }
        return Ok(true);
    }
    let profiles: Vec<Profile> = match arguments.profile.as_deref() {
        None => Profile::ALL.to_vec(),
        Some("debug") => vec![Profile::Debug],
        Some("release") => vec![Profile::Release],
        Some(other) => return Err(format!("`{other}` is neither debug nor release")),
    };
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = repository.canonicalize().map_err(|error| error.to_string())?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository.join("target"), PathBuf::from);
    let workshop = Workshop::open(&repository, &target, &target.join("differential"))?;
    let start = Instant::now();
    let (mut agreed, mut failed) = (0, Vec::new());
    for numbers in numbers.chunks(arguments.at_once.max(1)) {
        let kernels: Vec<Kernel> =
            numbers.iter().map(|&number| numbered(arguments.seed, number)).collect();
        for &profile in &profiles {
            let verdicts = workshop.judge(&kernels, profile)?;
            for ((&number, kernel), verdict) in numbers.iter().zip(&kernels).zip(verdicts) {
                match verdict {
                    Verdict::Same => agreed += 1,
                    verdict => {
                        println!("kernel {number}, {profile:?}: {}", told(&verdict));
                        failed.push((number, profile, kernel.clone(), verdict));
                    }
                }
            }
        }
        println!(
            "{} to {}: {agreed} agree, {} do not, {} s",
            numbers[0],
            numbers[numbers.len() - 1],
            failed.len(),
            start.elapsed().as_secs()
        );
    }
    let passed = failed.is_empty();
    for (number, profile, kernel, verdict) in failed {
        let (kernel, verdict) = if arguments.no_shrink {
            (kernel, verdict)
        } else {
            shrink::shrink(kernel, verdict, |candidates| workshop.judge(candidates, profile))?
        };
        println!(
            "\nseed {}, kernel {number}, {profile:?}: {}\n{}\nagain: cargo xtask differential --seed {} --only {number}",
            arguments.seed,
            told(&verdict),
            kernel.source,
            arguments.seed
        );
    }
    Ok(passed)
}

fn told(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Same => "agrees",
        Verdict::Differs(how) | Verdict::NotBuilt(how) => how,
    }
}
