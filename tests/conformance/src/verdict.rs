//! Running the list on a device.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{Applies, Behaviour, Check, Failure, TestDevice, behaviours};

/// A behaviour that a device is known not to show. A reason is not optional.
pub struct ExpectedFailure {
    /// The name of the behaviour.
    pub behaviour: &'static str,
    /// Why the device does not show it.
    pub reason: &'static str,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// How many behaviours the device showed.
    pub passed: usize,
    /// How many it is known not to show.
    pub failed_as_expected: usize,
    /// Those it was not asked for, and why.
    pub skipped: Vec<(&'static str, &'static str)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed as expected", self.passed, self.failed_as_expected)?;
        let reasons: BTreeSet<_> = self.skipped.iter().map(|(_, reason)| *reason).collect();
        for reason in reasons {
            let count = self.skipped.iter().filter(|(_, why)| *why == reason).count();
            write!(f, ", {count} skipped ({reason})")?;
        }
        Ok(())
    }
}

/// Holds `device` to every behaviour that applies to it, and prints what came of it.
///
/// # Errors
/// Lists the behaviours that failed without being expected to, those that were expected to and did
/// not, and expectations without a reason or a behaviour.
pub fn run(device: &TestDevice, expected: &[ExpectedFailure]) -> Result<Report, String> {
    let report = verdict(&behaviours(), device, expected)?;
    let info = device.info();
    // Without a standard error nobody wants to know.
    let _ = writeln!(std::io::stderr(), "{} on {}: {report}", info.name, info.platform);
    Ok(report)
}

fn verdict(
    behaviours: &[&Behaviour],
    device: &TestDevice,
    expected: &[ExpectedFailure],
) -> Result<Report, String> {
    let mut problems = Vec::new();
    let mut report = Report::default();
    for entry in expected {
        if entry.reason.trim().is_empty() {
            problems.push(format!("no reason is given: {}", entry.behaviour));
        }
        if !behaviours.iter().any(|behaviour| behaviour.name == entry.behaviour) {
            problems.push(format!("there is no such behaviour: {}", entry.behaviour));
        }
    }
    for behaviour in behaviours {
        if let Applies::Where(condition) = behaviour.applies
            && !(condition.holds)(device)
        {
            report.skipped.push((behaviour.name, condition.otherwise));
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| behaviour.check.hold(device)))
            .unwrap_or_else(|_| Err("it panicked".to_owned()));
        let known = expected.iter().find(|entry| entry.behaviour == behaviour.name);
        match (outcome, known) {
            (Ok(()), None) => report.passed += 1,
            (Err(_), Some(_)) => report.failed_as_expected += 1,
            (Err(what), None) => problems.push(format!("{}: {what}", behaviour.name)),
            (Ok(()), Some(entry)) => problems.push(format!(
                "{}: it holds now; remove its entry ({})",
                behaviour.name, entry.reason
            )),
        }
    }
    if problems.is_empty() {
        return Ok(report);
    }
    let info = device.info();
    Err(format!("{} on {}:\n- {}", info.name, info.platform, problems.join("\n- ")))
}

impl Check {
    fn hold(self, device: &TestDevice) -> Result<(), String> {
        match self {
            Self::Adapter(run) => run(device),
            Self::Model(run) => run(&device.stage()?).map_err(Failure::into_text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crosscut_adapter_api::{Backend, Context, Device, DeviceInfo, DriverError};

    use super::*;
    use crate::Condition;

    struct Nothing(DeviceInfo);

    impl Device for Nothing {
        fn info(&self) -> &DeviceInfo {
            &self.0
        }

        fn create_context(&self) -> Result<Arc<dyn Context>, DriverError> {
            unreachable!("no behaviour of these tests opens the device")
        }
    }

    fn device() -> TestDevice {
        TestDevice::new(Backend::Mock, Arc::new(Nothing(DeviceInfo::default())))
    }

    const fn named(name: &'static str, run: fn(&TestDevice) -> Result<(), String>) -> Behaviour {
        Behaviour { name, applies: Applies::Everywhere, check: Check::Adapter(run) }
    }

    const HOLDS: Behaviour = named("holds", |_| Ok(()));
    const FAILS: Behaviour = named("fails", |_| Err("no".to_owned()));
    const PANICS: Behaviour = named("panics", |_| panic!("no"));
    const NEVER: Condition = Condition { otherwise: "it never does", holds: |_| false };
    const SKIPPED: Behaviour = Behaviour { applies: Applies::Where(&NEVER), ..FAILS };

    fn judge(behaviour: &Behaviour, expected: &[(&'static str, &'static str)]) -> bool {
        let expected: Vec<_> = expected
            .iter()
            .map(|(behaviour, reason)| ExpectedFailure { behaviour, reason })
            .collect();
        verdict(&[behaviour], &device(), &expected).is_ok()
    }

    #[test]
    fn a_failure_and_a_panic_fail_the_run() {
        assert!(judge(&HOLDS, &[]));
        assert!(!judge(&FAILS, &[]));
        assert!(!judge(&PANICS, &[]));
    }

    #[test]
    fn an_expected_failure_is_accepted_until_it_holds() {
        assert!(judge(&FAILS, &[("fails", "known")]));
        assert!(!judge(&HOLDS, &[("holds", "known")]));
    }

    #[test]
    fn an_expectation_needs_a_reason_and_a_behaviour() {
        assert!(!judge(&FAILS, &[("fails", " ")]));
        assert!(!judge(&HOLDS, &[("misspelt", "known")]));
    }

    #[test]
    fn a_device_is_not_asked_where_the_condition_is_false_and_the_report_says_why() {
        let report = verdict(&[&SKIPPED, &HOLDS], &device(), &[]).unwrap();
        assert_eq!(report.skipped, [("fails", "it never does")]);
        assert_eq!(report.to_string(), "1 passed, 0 failed as expected, 1 skipped (it never does)");
    }

    #[test]
    fn there_are_at_least_two_hundred_behaviours() {
        let count = behaviours().len();
        assert!(count >= 200, "{count}");
    }

    #[test]
    fn names_are_unique_and_sentences() {
        let mut names: Vec<_> = behaviours().iter().map(|behaviour| behaviour.name).collect();
        assert!(names.iter().all(|name| name.contains(' ') && !name.ends_with('.')));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
