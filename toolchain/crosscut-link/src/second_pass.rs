//! The command that compiles a crate a second time, to device bitcode.
//!
//! The same source, the same dependencies and the same configuration as for the host: symbols,
//! type ids and layouts come out equal. Not optimised, because what a host's optimiser does is
//! wrong or useless on a device. What the host's build checks, the device's checks too.

use crate::arguments::{Argument, Arguments};

/// Codegen options that only concern the host's code or its link, or that this pass sets itself.
const DROPPED_CODEGEN: &[&str] = &[
    "ar",
    "codegen-units",
    "debug-assertions",
    "debuginfo",
    "dlltool",
    "embed-bitcode",
    "incremental",
    "inline-threshold",
    "instrument-coverage",
    "link-arg",
    "link-args",
    "link-dead-code",
    "link-self-contained",
    "linker",
    "linker-flavor",
    "linker-plugin-lto",
    "llvm-args",
    "lto",
    "no-prepopulate-passes",
    "opt-level",
    "overflow-checks",
    "passes",
    "profile-generate",
    "profile-use",
    "remark",
    "rpath",
    "save-temps",
    "split-debuginfo",
    "strip",
    "symbol-mangling-version",
];

/// Options about output and messages, which this pass sets itself.
const DROPPED_OPTIONS: &[&str] = &[
    "--cap-lints",
    "--color",
    "--diagnostic-width",
    "--emit",
    "--error-format",
    "--json",
    "--out-dir",
    "-o",
];

/// Rewrites the host's arguments for the second pass. Where its output goes is said when it is run.
pub(crate) fn arguments(host: &Arguments, mangling: Mangling) -> Arguments {
    let mut list: Vec<Argument> = host
        .0
        .iter()
        .filter(|argument| match argument {
            Argument::Codegen { name, .. } => !DROPPED_CODEGEN.contains(&name.as_str()),
            Argument::Valued { name, .. } => !DROPPED_OPTIONS.contains(&name.as_str()),
            Argument::Plain(word) => word != "-O" && word != "-g",
        })
        .cloned()
        .collect();
    let optimised = is_optimised(host);
    let switch = |option: &str, default: bool| match host.codegen(option) {
        None => on_off(default),
        // An option without a value is on.
        Some("") => on_off(true),
        Some(value) => value.into(),
    };
    let debug_assertions = switch("debug-assertions", !optimised);
    // Overflow checks follow debug assertions where nothing is said of them.
    let overflow_checks = switch("overflow-checks", is_on(&debug_assertions));
    for (name, value) in [
        ("opt-level", Some("0".into())),
        ("codegen-units", Some("1".into())),
        ("no-prepopulate-passes", None),
        ("debuginfo", Some("line-tables-only".into())),
        ("debug-assertions", Some(debug_assertions)),
        ("overflow-checks", Some(overflow_checks)),
    ] {
        list.push(Argument::Codegen { name: name.into(), value });
    }
    list.extend(mangling.argument(host));
    // The host's compilation has shown the warnings.
    list.push(Argument::Valued { name: "--cap-lints".into(), value: "allow".into() });
    Arguments(list)
}

/// How a crate's symbols are named, on the host and in device bitcode alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mangling {
    /// As the host's command says.
    AsGiven,
    /// With the crate's and the item's full path in a form that can be read back.
    Readable,
}

impl Mangling {
    /// What the host's command lacks.
    pub(crate) fn argument(self, host: &Arguments) -> Option<Argument> {
        let given = host.codegen("symbol-mangling-version").map(String::from);
        let value = match self {
            Self::AsGiven => given?,
            Self::Readable => given.unwrap_or_else(|| "v0".into()),
        };
        Some(Argument::Codegen { name: "symbol-mangling-version".into(), value: Some(value) })
    }
}

fn is_optimised(host: &Arguments) -> bool {
    // `-O` and `-C opt-level` together are refused by rustc.
    host.flag("-O") || host.codegen("opt-level").is_some_and(|level| level != "0")
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.into()
}

/// Whether rustc reads a codegen switch as on.
fn is_on(value: &str) -> bool {
    matches!(value, "y" | "yes" | "on" | "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(line: &str, mangling: Mangling) -> String {
        let host = Arguments::parse(line.split_whitespace().map(String::from));
        arguments(&host, mangling).words().join(" ")
    }

    #[test]
    fn a_debug_build_of_cargo_becomes_unoptimised_bitcode_with_its_checks_on() {
        let line = "--crate-name app --edition=2024 src/main.rs --error-format=json \
            --json=diagnostic-rendered-ansi,artifacts --diagnostic-width=80 --crate-type bin \
            --emit=dep-info,link -C embed-bitcode=no -C debuginfo=2 -C split-debuginfo=unpacked \
            -C metadata=12 -C extra-filename=-1 --out-dir t -C incremental=t/i -L dependency=t \
            --extern crosscut=t/libcrosscut-2.rlib";
        assert_eq!(
            rewrite(line, Mangling::Readable),
            "--crate-name app --edition 2024 src/main.rs --crate-type bin -C metadata=12 \
             -C extra-filename=-1 -L dependency=t --extern crosscut=t/libcrosscut-2.rlib \
             -C opt-level=0 -C codegen-units=1 -C no-prepopulate-passes \
             -C debuginfo=line-tables-only -C debug-assertions=on -C overflow-checks=on \
             -C symbol-mangling-version=v0 --cap-lints allow"
        );
    }

    #[test]
    fn a_release_build_has_its_checks_off_unless_the_profile_says_otherwise() {
        let plain = rewrite("-C opt-level=3 x.rs", Mangling::Readable);
        assert!(plain.contains("-C debug-assertions=off -C overflow-checks=off"), "{plain}");
        let checked = rewrite("-C opt-level=3 -C overflow-checks=on x.rs", Mangling::Readable);
        assert!(checked.contains("-C debug-assertions=off -C overflow-checks=on"), "{checked}");
        let asserting = rewrite("-O -C debug-assertions x.rs", Mangling::Readable);
        assert!(asserting.contains("-C debug-assertions=on -C overflow-checks=on"), "{asserting}");
    }

    #[test]
    fn a_debug_build_may_turn_its_checks_off() {
        let line = rewrite("-C opt-level=0 -C debug-assertions=off x.rs", Mangling::Readable);
        assert!(line.contains("-C debug-assertions=off -C overflow-checks=off"), "{line}");
    }

    #[test]
    fn panic_strategy_and_target_features_are_the_hosts() {
        let line = rewrite("-C panic=abort -C target-cpu=native x.rs", Mangling::Readable);
        assert!(line.starts_with("-C panic=abort -C target-cpu=native x.rs"), "{line}");
    }

    #[test]
    fn mangling_stays_as_given_where_the_host_must_not_change() {
        assert!(!rewrite("x.rs", Mangling::AsGiven).contains("mangling"));
        let given = rewrite("-C symbol-mangling-version=v0 x.rs", Mangling::AsGiven);
        assert_eq!(given.matches("symbol-mangling-version=v0").count(), 1);
    }
}
