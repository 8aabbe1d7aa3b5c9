//! Runs every example on every device found.

use std::process::Command;

use crate::checkout::{cargo, output, run as run_command};
use crate::tidy::workspace::Workspace;
use crate::{Result, setup};

/// The package that has the examples.
const PACKAGE: &str = "crosscut-examples";

/// The example that shows a device panic in what it prints.
const PANICKING: &str = "saxpy";

/// Where examples are run: values of `CROSSCUT_DEVICE`.
const DEVICES: &[Device] = &[
    Device { selector: "host", presence: Presence::Required },
    // Set-up installs one.
    Device { selector: "opencl:cpu", presence: Presence::Required },
    Device { selector: "opencl:gpu", presence: Presence::Optional },
];

struct Device {
    selector: &'static str,
    presence: Presence,
}

#[derive(PartialEq)]
enum Presence {
    Required,
    Optional,
}

/// One example on one device.
struct Row {
    example: String,
    device: &'static str,
    outcome: Outcome,
}

enum Outcome {
    /// Its check passed; what it printed.
    Correct(String),
    /// There is no such device, as far as the first example could tell.
    Absent,
    /// What it printed instead.
    Failed(String),
}

pub(crate) fn run() -> Result {
    setup::run()?;
    let rows = run_all()?;
    println!();
    print_table(&rows);
    println!("\n{PANICKING} provokes a device panic, to show what the host sees of it:");
    for row in rows.iter().filter(|row| row.example == PANICKING) {
        if let Outcome::Correct(text) = &row.outcome {
            println!("\n[{}]\n{}", row.device, text.trim_end());
        }
    }
    verdict(&rows)?;
    println!("\neverything ran and was correct, on every device found");
    Ok(())
}

/// The same without the panic, for `test`.
pub(crate) fn check() -> Result {
    let rows = run_all()?;
    print_table(&rows);
    verdict(&rows)
}

fn run_all() -> Result<Vec<Row>> {
    let examples = Workspace::read()?.examples(PACKAGE)?;
    println!("building {} examples by `cargo crosscut`", examples.len());
    // Once for all, so that the build's messages are seen and the runs below are only runs.
    run_command(cargo().args(["crosscut", "build", "--release"]).args([
        "-p",
        PACKAGE,
        "--examples",
    ]))?;
    let mut rows = Vec::new();
    for device in DEVICES {
        for example in &examples {
            let first = example == &examples[0];
            let outcome = match output(&mut command(example, device.selector)) {
                Ok(text) => Outcome::Correct(text),
                Err(_) if first && device.presence == Presence::Optional => Outcome::Absent,
                Err(error) => Outcome::Failed(error),
            };
            let is_absent = matches!(outcome, Outcome::Absent);
            rows.push(Row { example: example.clone(), device: device.selector, outcome });
            if is_absent {
                break;
            }
        }
    }
    Ok(rows)
}

fn command(example: &str, selector: &str) -> Command {
    let mut command = cargo();
    command.args(["crosscut", "run", "--quiet", "--release", "-p", PACKAGE, "--example", example]);
    command.env("CROSSCUT_DEVICE", selector);
    command
}

fn print_table(rows: &[Row]) {
    let longest = rows.iter().map(|row| row.example.len()).max().unwrap_or_default();
    let width = longest.max("example".len());
    println!("{:<width$}  {:<10}  result", "example", "device");
    for row in rows {
        let result = match &row.outcome {
            Outcome::Correct(_) => "correct",
            Outcome::Absent => "not run: no such device",
            Outcome::Failed(_) => "FAILED",
        };
        let example = if matches!(row.outcome, Outcome::Absent) { "(all)" } else { &row.example };
        println!("{example:<width$}  {:<10}  {result}", row.device);
    }
}

/// Fails with what each failed example printed.
fn verdict(rows: &[Row]) -> Result {
    let failure = |row: &Row| match &row.outcome {
        Outcome::Failed(text) => Some(format!("{} on {}:\n{text}", row.example, row.device)),
        Outcome::Correct(_) | Outcome::Absent => None,
    };
    let failures: Vec<String> = rows.iter().filter_map(failure).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: &'static str, outcome: Outcome) -> Row {
        Row { example: "letters".into(), device, outcome }
    }

    #[test]
    fn a_failure_on_a_device_that_must_be_there_fails_the_demo() {
        let rows = [
            row("host", Outcome::Correct(String::new())),
            row("opencl:cpu", Outcome::Failed("broken".into())),
        ];
        assert_eq!(verdict(&rows), Err("letters on opencl:cpu:\nbroken".into()));
    }

    #[test]
    fn a_device_that_may_be_missing_fails_nothing() {
        let rows =
            [row("host", Outcome::Correct(String::new())), row("opencl:gpu", Outcome::Absent)];
        assert_eq!(verdict(&rows), Ok(()));
    }
}
