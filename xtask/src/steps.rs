//! Named steps, each with its time, and the sum of them.

use std::time::{Duration, Instant};

use crate::Result;

/// What has been run so far. A failed step does not stop the ones after it: one run shows all.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
}

struct Step {
    name: &'static str,
    time: Duration,
    failure: Option<String>,
}

impl Steps {
    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result) {
        println!("\n== {name}");
        let start = Instant::now();
        let failure = step().err();
        let time = start.elapsed();
        match &failure {
            None => println!("== {name}: passed in {:.1} s", time.as_secs_f64()),
            Some(message) => println!("== {name}: FAILED\n{message}"),
        }
        self.done.push(Step { name, time, failure });
    }

    /// Prints the sum.
    pub(crate) fn finish(self) -> Result {
        println!();
        for Step { name, time, failure } in &self.done {
            let result = if failure.is_some() { "FAILED" } else { "passed" };
            println!("{name:<12} {result}  {:>7.1} s", time.as_secs_f64());
        }
        let failed = self.done.iter().filter(|step| step.failure.is_some()).count();
        println!("{} passed, {failed} failed", self.done.len() - failed);
        if failed == 0 { Ok(()) } else { Err(format!("{failed} steps failed")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_fails_the_whole_and_stops_nothing() {
        let mut steps = Steps::default();
        let mut ran = false;
        steps.run("first", || Err("broken".into()));
        steps.run("second", || {
            ran = true;
            Ok(())
        });
        assert_eq!(steps.finish(), Err("1 steps failed".into()));
        assert!(ran);
    }
}
