//! Getting the device images, with as little bitcode as they need.

use crosscut_lower::job::{Job, Lowered, Outcome};

use super::Failure;
use super::collect::Program;

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

/// Runs the lowering until it has all it needs, or all there is. `job` says what to ask for the
/// program as it is known so far, and for the symbols that were looked for in vain.
pub(super) fn run(
    program: &mut Program,
    job: impl Fn(&Program, &[String]) -> Result<Job, Failure>,
    lower: impl Fn(&Job) -> Result<Outcome, Failure>,
) -> Result<Lowering, Failure> {
    program.compile()?;
    let mut searched = Vec::new();
    for _ in 0..ROUNDS {
        match lower(&job(program, &searched)?)? {
            Outcome::NoKernels => return Ok(Lowering::NoKernels),
            Outcome::Lowered(lowered) => return Ok(Lowering::Done(lowered)),
            Outcome::Rejected(diagnostics) => return Err(Failure::Diagnostics(diagnostics)),
            Outcome::NeedSymbols(symbols) => {
                let missing = program.add_crates_of(symbols)?;
                searched.extend(missing);
            }
        }
    }
    Err(Failure::new(
        &format!("device code still lacks functions after {ROUNDS} rounds of adding crates"),
        "please report this with the program",
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;

    use super::super::collect::fixture::record;
    use super::*;

    fn job(program: &Program, searched: &[String]) -> Result<Job, Failure> {
        Ok(Job {
            crate_name: program.record().crate_name.clone(),
            modules: program.modules(),
            std_archives: Vec::new(),
            searched: searched.to_vec(),
            output_dir: PathBuf::new(),
            host_triple: String::new(),
            dump_after: None,
            dump_dir: None,
        })
    }

    fn lowered() -> Outcome {
        let object = PathBuf::from("object.o");
        Outcome::Lowered(Lowered { object, host_symbols: Vec::new(), images: Vec::new() })
    }

    /// Runs the loop on `app`, which depends on `numbers`; gives how many modules each question had
    /// and how many symbols it said were looked for in vain.
    fn questions(
        answer: impl Fn(&Job) -> Outcome,
    ) -> (Vec<(usize, usize)>, Result<Lowering, Failure>) {
        let folder = tempfile::tempdir().unwrap();
        record(folder.path(), "numbers", &[], false);
        let app = record(folder.path(), "app", &["numbers"], true);
        let asked = RefCell::new(Vec::new());
        let result = Program::collect(app, &[]).and_then(|mut program| {
            run(&mut program, job, |job| {
                asked.borrow_mut().push((job.modules.len(), job.searched.len()));
                Ok(answer(job))
            })
        });
        (asked.into_inner(), result)
    }

    fn need(symbols: &[&str]) -> Outcome {
        Outcome::NeedSymbols(symbols.iter().map(|symbol| String::from(*symbol)).collect())
    }

    #[test]
    fn a_crate_is_added_when_a_symbol_of_it_is_missing() {
        let (asked, result) = questions(|job| match job.modules.len() {
            1 => need(&["_RNvCs1_7numbers3sum", "nowhere"]),
            _ => lowered(),
        });
        assert_eq!(asked, [(1, 0), (2, 1)]);
        assert!(matches!(result, Ok(Lowering::Done(_))));
    }

    #[test]
    fn a_symbol_that_its_crate_does_not_define_counts_as_looked_for_in_vain() {
        let (asked, result) = questions(|job| match job.searched.len() {
            0 => need(&["_RNvCs1_7numbers3sum"]),
            _ => Outcome::Rejected(Vec::new()),
        });
        assert_eq!(asked, [(1, 0), (2, 0), (2, 1)]);
        assert!(matches!(result, Err(Failure::Diagnostics(list)) if list.is_empty()));
    }

    #[test]
    fn a_lowering_that_asks_for_ever_is_stopped() {
        let (asked, result) = questions(|_| need(&["nowhere"]));
        assert_eq!(asked.len(), ROUNDS);
        let Err(Failure::Diagnostics(list)) = result else { panic!("not refused") };
        assert!(list[0].message.starts_with("device code still lacks functions"));
    }

    #[test]
    fn a_program_without_kernels_is_asked_about_once() {
        let (asked, result) = questions(|_| Outcome::NoKernels);
        assert_eq!(asked, [(1, 0)]);
        assert!(matches!(result, Ok(Lowering::NoKernels)));
    }
}
