//! `CROSSCUT_DEVICE` and `ONEAPI_DEVICE_SELECTOR`.

use std::thread::available_parallelism;

use crate::lab::{Lab, lab};

/// The devices there are, as an error lists them.
fn listed(lab: &Lab) -> String {
    let devices = lab.probe("debug", "devices").works();
    devices.lines().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn a_selector_chooses_the_device() {
    let Some(lab) = lab() else { return };
    for (selector, backend) in [
        ("host", "host:0\n"),
        ("native_cpu", "host:0\n"),
        ("opencl:cpu", "opencl:"),
        ("OpenCL:CPU", "opencl:"),
        ("opencl:0", "opencl:0\n"),
        ("*:cpu", "opencl:"),
        ("!opencl:*", "host:0\n"),
        ("!host", "opencl:"),
        ("cuda:*;opencl:cpu", "opencl:"),
        ("*:*;!opencl:*", "host:0\n"),
    ] {
        let chosen = lab.probe("debug", "chosen").device(selector).works();
        assert!(chosen.starts_with(backend), "{selector}: {chosen}");
    }
}

#[test]
fn a_point_in_the_selector_chooses_a_part_of_the_device_and_kernels_run_there() {
    let Some(lab) = lab() else { return };
    // With one thread there is nothing to cut.
    if available_parallelism().is_ok_and(|threads| threads.get() < 2) {
        return;
    }
    let whole = lab.probe("debug", "chosen").device("opencl:cpu").works();
    let cpu = whole.trim_end();
    for variable in ["CROSSCUT_DEVICE", "ONEAPI_DEVICE_SELECTOR"] {
        for (selector, part) in [
            (format!("{cpu}.1"), format!("{cpu}.1\n")),
            (format!("{cpu}.*"), format!("{cpu}.0\n")),
            (format!("{cpu}.*;!{cpu}.0"), format!("{cpu}.1\n")),
            ("opencl:cpu.0".into(), format!("{cpu}.0\n")),
            ("host:0.1".into(), "host:0.1\n".into()),
        ] {
            let probe = |what| lab.probe("debug", what).with(variable, &selector);
            assert_eq!(probe("chosen").works(), part, "{selector}");
            assert_eq!(probe("count").works(), "1000\n", "{selector}");
        }
    }
    let selector = format!("{cpu}.99999");
    let done = lab.probe("debug", "chosen").device(&selector).run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    let start = format!(
        "Error: CROSSCUT_DEVICE=`{selector}` accepts no device\n  there are:\n{}    \
         {cpu} has the parts {cpu}.0 to {cpu}.",
        listed(lab)
    );
    assert!(done.stderr.starts_with(&start), "{}", done.stderr);
}

#[test]
fn without_a_selector_the_device_with_images_comes_before_the_host() {
    let Some(lab) = lab() else { return };
    for selector in [None, Some(""), Some(" ")] {
        let probe = lab.probe("debug", "chosen");
        let probe = if let Some(selector) = selector { probe.device(selector) } else { probe };
        let chosen = probe.works();
        assert!(chosen.starts_with("opencl:"), "{chosen}");
    }
}

#[test]
fn the_selector_of_dpcpp_is_honoured_and_ours_counts_for_more() {
    let Some(lab) = lab() else { return };
    let probe = || lab.probe("debug", "chosen").with("ONEAPI_DEVICE_SELECTOR", "native_cpu");
    assert_eq!(probe().works(), "host:0\n");
    assert_eq!(probe().device("opencl:0").works(), "opencl:0\n");
    assert_eq!(probe().device("").works(), "host:0\n");
}

#[test]
fn a_selector_that_cannot_be_read_is_refused_with_what_there_is() {
    let Some(lab) = lab() else { return };
    let there = listed(lab);
    for (selector, why) in [
        (
            "garbage",
            "`garbage` is no back end; \
             there are *, host, native_cpu, opencl, level_zero; this build has no adapter for cuda, hip",
        ),
        ("openc:cpu", "`openc` is no back end; did you mean `opencl`?"),
        ("cpu", "`cpu` is no back end: write `*:cpu` for any"),
        ("opencl:x", "`x` is no device; there are *, cpu, gpu, acc, fpga and numbers"),
        ("opencl:0.x", "`0.x` is no part of a device; after a point comes * or a number"),
        ("host;", "there is an empty term"),
        ("!host;opencl", "`opencl` comes after a term that discards: put it before"),
    ] {
        let done = lab.probe("debug", "chosen").device(selector).run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{selector}");
        assert_eq!(
            done.stderr,
            format!(
                "Error: CROSSCUT_DEVICE=`{selector}` cannot be read: {why}\n\
                 \x20 there are:\n{there}\
                 \x20 help: set CROSSCUT_DEVICE to what is there, for example `host:0` or `opencl:0`\n"
            )
        );
    }
}

#[test]
fn a_selector_that_accepts_nothing_lists_what_there_is_and_why_not_more() {
    let Some(lab) = lab() else { return };
    let there = listed(lab);
    for (variable, selector, rest) in [
        ("CROSSCUT_DEVICE", "cuda:*", "    cuda: no device: this build has no adapter for cuda\n"),
        (
            "ONEAPI_DEVICE_SELECTOR",
            "level_zero:gpu;hip:0",
            "    hip: no device: this build has no adapter for hip\n",
        ),
        ("CROSSCUT_DEVICE", "opencl:99", ""),
        ("CROSSCUT_DEVICE", "!*:*", ""),
    ] {
        let done = lab.probe("debug", "chosen").with(variable, selector).run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{selector}");
        assert_eq!(
            done.stderr,
            format!(
                "Error: {variable}=`{selector}` accepts no device\n\
                 \x20 there are:\n{there}{rest}\
                 \x20 help: unset {variable}, or set it to what is there, for example `host:0` or `opencl:0`\n"
            )
        );
    }
}
