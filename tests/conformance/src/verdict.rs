//! Running the list on a device.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crosscut_adapter_api::CodeForm;

use crate::{Applies, Behaviour, TestDevice, behaviours};

/// A behaviour that a device is known not to show. A reason is not optional.
pub struct ExpectedFailure {
    /// The name of the behaviour.
    pub behaviour: &'static str,
    /// Why the device does not show it.
    pub reason: &'static str,
}

/// Holds `device` to every behaviour that applies to it.
///
/// # Errors
/// Lists the behaviours that failed without being expected to, those that were expected to and did
/// not, and expectations without a reason or a behaviour.
pub fn run(device: &TestDevice, expected: &[ExpectedFailure]) -> Result<usize, String> {
    verdict(&behaviours(), device, expected)
}

fn verdict(
    behaviours: &[&Behaviour],
    device: &TestDevice,
    expected: &[ExpectedFailure],
) -> Result<usize, String> {
    let takes_kernels = device.info().code_forms.contains(&CodeForm::Spirv64);
    let mut problems = String::new();
    let mut ran = 0;
    for entry in expected {
        if entry.reason.trim().is_empty() {
            let _ = writeln!(problems, "- no reason is given: {}", entry.behaviour);
        }
        if !behaviours.iter().any(|behaviour| behaviour.name == entry.behaviour) {
            let _ = writeln!(problems, "- there is no such behaviour: {}", entry.behaviour);
        }
    }
    for behaviour in behaviours {
        if behaviour.applies == Applies::WhereKernelsRun && !takes_kernels {
            continue;
        }
        ran += 1;
        let outcome = catch_unwind(AssertUnwindSafe(|| (behaviour.run)(device)))
            .unwrap_or_else(|_| Err("it panicked".to_owned()));
        let known = expected.iter().find(|entry| entry.behaviour == behaviour.name);
        let _ = match (outcome, known) {
            (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
            (Err(what), None) => writeln!(problems, "- {}: {what}", behaviour.name),
            (Ok(()), Some(entry)) => writeln!(
                problems,
                "- {}: it holds now; remove its entry ({})",
                behaviour.name, entry.reason
            ),
        };
    }
    if problems.is_empty() {
        Ok(ran)
    } else {
        let info = device.info();
        Err(format!("{} on {}:\n{problems}", info.name, info.platform))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crosscut_adapter_api::{Context, Device, DeviceInfo, DriverError};

    use super::*;

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
        TestDevice::new(Arc::new(Nothing(DeviceInfo::default())))
    }

    const HOLDS: Behaviour =
        Behaviour { name: "holds", applies: Applies::Everywhere, run: |_| Ok(()) };
    const FAILS: Behaviour =
        Behaviour { name: "fails", applies: Applies::Everywhere, run: |_| Err("no".to_owned()) };
    const PANICS: Behaviour =
        Behaviour { name: "panics", applies: Applies::Everywhere, run: |_| panic!("no") };
    const LAUNCHES: Behaviour = Behaviour { applies: Applies::WhereKernelsRun, ..FAILS };

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
    fn a_device_without_spirv_is_not_asked_to_launch() {
        assert!(judge(&LAUNCHES, &[]));
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
