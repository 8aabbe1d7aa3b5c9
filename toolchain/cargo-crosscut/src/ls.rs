//! `crosscut ls`: the devices that programs can use, and why there are no others.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use crosscut_runtime::Runtime;

use crate::command::print;
use crate::options::{Misuse, Request};
use crate::report::{self, Backend, DeviceReport, Report, SelectorReport};

const HELP: &str = "\
List the devices that programs can use, and for each driver interface without one the reason

Usage: cargo crosscut ls [OPTIONS]
       crosscut ls [OPTIONS]

Options:
      --json     Everything, as JSON; docs/tools.md has its schema
  -v, --verbose  What each device can do, for people
  -h, --help     Print this

A line begins with what CROSSCUT_DEVICE calls the device. `*` marks the one that programs built by
`cargo crosscut` use if nobody says otherwise; `-` those that CROSSCUT_DEVICE does not accept.
Plain cargo builds run on `host`. The exit code is 1 if CROSSCUT_DEVICE cannot be read or accepts no
device.

Examples:
  cargo crosscut ls
  CROSSCUT_DEVICE=opencl:0 cargo crosscut run
  crosscut ls --json | jq '.backends[].devices[] | select(.features | index(\"fp64\")) | .selector'
";

/// How to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    json: bool,
    verbose: bool,
}

/// Reads what follows `ls`.
pub(crate) fn read(words: &[OsString]) -> Result<Request, Misuse> {
    let mut options = Options::default();
    for word in words {
        match word.to_str() {
            Some("--json") => options.json = true,
            Some("--verbose" | "-v") => options.verbose = true,
            Some("--help" | "-h") => return Ok(Request::HelpFor(HELP)),
            _ => {
                return Err(Misuse {
                    message: format!("`ls` has no option `{}`", word.to_string_lossy()),
                    help: "say `--json` or `--verbose`; `cargo crosscut ls --help` explains them"
                        .into(),
                });
            }
        }
    }
    Ok(Request::Ls(options))
}

/// Lists.
pub(crate) fn run(options: &Options) -> ExitCode {
    let report = report::gather(&Runtime::new(crosscut_adapters::all()));
    let text = if options.json {
        // Text and numbers only: this cannot fail, and what cannot be written is not there.
        serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
    } else {
        render(&report, options.verbose)
    };
    match report.selector {
        // Told above: this is for scripts.
        Some(SelectorReport { error: Some(_), .. }) => {
            print(&text);
            ExitCode::FAILURE
        }
        _ => print(&text),
    }
}

fn render(report: &Report, verbose: bool) -> String {
    let mut text = String::new();
    let devices = || report.backends.iter().flat_map(|backend| &backend.devices);
    let width = |of: fn(&DeviceReport) -> usize| devices().map(of).max().unwrap_or_default();
    let (selector, kind) = (width(|d| d.selector.len()), width(|d| d.kind.len()));
    for backend in &report.backends {
        for device in &backend.devices {
            let mark = match (device.default, device.accepted) {
                (true, _) => '*',
                (false, true) => ' ',
                (false, false) => '-',
            };
            let driver = if device.code_forms.iter().any(|form| form == "native") {
                "native code".to_owned()
            } else {
                format!("{}, driver {}", device.platform.name, device.driver_version)
            };
            put(
                &mut text,
                &format!(
                    "{mark} {:selector$}  {:kind$}  {} ({driver})",
                    device.selector, device.kind, device.name
                ),
            );
            if let Some(note) = &device.code_forms_note {
                put(&mut text, &format!("    cannot run kernels: {note}"));
            }
            if verbose {
                details(&mut text, device);
            }
        }
        absence(&mut text, backend);
    }
    if let Some(selector) = &report.selector {
        let (variable, said) = (&selector.variable, &selector.text);
        put(&mut text, &format!("{variable}=`{said}` chooses among them"));
        if let Some(error) = &selector.error {
            put(&mut text, &format!("  = note: {error}"));
        }
    }
    text
}

fn absence(text: &mut String, backend: &Backend) {
    if let Some(absence) = &backend.absence {
        put(text, &format!("  {}: no device: {}", backend.name, absence.reason));
        put(text, &format!("  = help: {}", absence.help));
    }
}

fn details(text: &mut String, device: &DeviceReport) {
    let limits = &device.limits;
    let [x, y, z] = limits.work_item_sizes;
    let list = |items: &[String]| if items.is_empty() { "none".into() } else { items.join(", ") };
    let sizes: Vec<String> = device.sub_group_sizes.iter().map(ToString::to_string).collect();
    let rows = [
        ("vendor", device.vendor.clone()),
        ("version", device.version.clone()),
        ("driver", device.driver_version.clone()),
        (
            "platform",
            format!(
                "{} by {}, {}",
                device.platform.name, device.platform.vendor, device.platform.version
            ),
        ),
        ("code", list(&device.code_forms)),
        ("compute units", device.compute_units.to_string()),
        ("memory", bytes(device.memory_bytes)),
        ("largest allocation", bytes(device.largest_allocation_bytes)),
        ("local memory", bytes(limits.local_memory_bytes)),
        ("work-group", format!("{} items, at most {x} x {y} x {z}", limits.work_group_size)),
        ("arguments", bytes(limits.argument_bytes as u64)),
        ("sub-groups", list(&sizes)),
        ("sub-devices", limits.sub_devices.to_string()),
        ("address bits", device.address_bits.to_string()),
        ("features", list(&device.features)),
    ];
    for (name, value) in rows {
        put(text, &format!("      {name:18}  {value}"));
    }
}

fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut shown = format!("{count} bytes");
    for (power, unit) in (1..).zip(UNITS) {
        if count >> (10 * power) > 0 {
            shown = format!("{:.1} {unit}", count as f64 / (1_u64 << (10 * power)) as f64);
        }
    }
    // Nobody has so much: it is a device that sets no limit.
    if count >= isize::MAX as u64 { "no limit of its own".to_owned() } else { shown }
}

fn put(text: &mut String, line: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_in_the_largest_unit_that_fits() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1 << 20), "1.0 MiB");
        assert_eq!(bytes(3 << 29), "1.5 GiB");
        assert_eq!(bytes(u64::MAX), "no limit of its own");
    }

    #[test]
    fn nonsense_is_refused_with_a_way_out() {
        let refused = read(&["--xml".into()]).unwrap_err();
        assert_eq!(refused.message, "`ls` has no option `--xml`");
        assert!(refused.help.contains("--json"));
    }
}
