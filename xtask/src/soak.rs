//! The long forms of tests that `test` runs briefly: for hours that nobody waits for.

use crate::checkout::run as run_command;
use crate::steps::Steps;
use crate::test::{crosscut_tests, schedules, tests};
use crate::{Result, differential, setup};

/// A fault of one kernel in a thousand shows.
const KERNELS: [&str; 4] = ["--kernels", "2000", "--seed", "2026"];

pub(crate) fn run() -> Result {
    setup::run()?;
    let mut steps = Steps::default();
    steps.run("random kernels: 2,000 in debug and release", || differential::compare(&KERNELS));
    steps.run("exits: every way out, 50 times on each device", || {
        let exits = ["--package", "crosscut-end-to-end", "--test", "end_to_end", "exits"];
        run_command(tests().args(exits).env("CROSSCUT_EXIT_ROUNDS", "50"))
    });
    steps.run("threads: 16 of them for a minute on each device", || {
        let threads = ["--package", "crosscut-language", "--test", "threads"];
        run_command(crosscut_tests().args(threads).env("CROSSCUT_SECONDS", "60"))
    });
    steps.run("schedules: the event graph, 20,000 a test", || {
        run_command(schedules().env("CROSSCUT_SCHEDULES", "20000"))
    });
    steps.run("device globals: 100,000 lives of a program", || {
        let model = ["--release", "--package", "crosscut-runtime", "--test", "global_model"];
        run_command(tests().args(model))
    });
    steps.run("mutated SPIR-V: 40 seeds", || {
        let mutated = ["--package", "crosscut", "--test", "spirv_programs", "mutated"];
        run_command(tests().args(mutated).env("CROSSCUT_MUTATION_SEEDS", "0..40"))
    });
    steps.finish()
}
