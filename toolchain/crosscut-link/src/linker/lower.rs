//! Getting the device images, with as little bitcode as they need.

use crosscut_lower::job::{Job, Lowered, Outcome};

use super::Failure;
use super::collect::Program;
use crate::record::SecondPassError;

/// How many times more bitcode is made before what is missing counts as missing. A call chain
/// through as many crates that do not know Crosscut needs as many rounds.
const ROUNDS: usize = 16;

/// What came of it.
pub(super) enum Lowering {
    /// The program has no kernels.
    NoKernels,
    /// An object to link.
    Done(Lowered),
}

/// Runs the lowering until it has all it needs, or all there is.
pub(super) fn run(
    program: &mut Program,
    job: impl Fn(&Program) -> Result<Job, Failure>,
    lower: impl Fn(&Job) -> Result<Outcome, Failure>,
) -> Result<Lowering, Failure> {
    program.compile().map_err(second_pass_failure)?;
    let mut missing: Vec<String> = Vec::new();
    for round in 0..=ROUNDS {
        match lower(&job(program)?)? {
            Outcome::NoKernels => return Ok(Lowering::NoKernels),
            Outcome::Lowered(lowered) => return Ok(Lowering::Done(lowered)),
            Outcome::Rejected(diagnostics) => return Err(Failure::Diagnostics(diagnostics)),
            Outcome::NeedSymbols(symbols) => {
                let more = round < ROUNDS
                    && program.add_crates_of(&symbols).map_err(second_pass_failure)?;
                let asked_before = symbols == missing;
                missing = symbols;
                // Asked once more with nothing new, the lowering says where they are called.
                if !more && asked_before {
                    break;
                }
            }
        }
    }
    Err(Failure::new(
        &format!("no crate of the program defines `{}`", missing.join("`, `")),
        "report this: kernels call a function that rustc did not compile",
    ))
}

fn second_pass_failure(error: SecondPassError) -> Failure {
    Failure::new(&error.to_string(), "report this with the source: rustc took it for the host")
}
