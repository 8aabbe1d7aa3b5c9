//! The timeline that `CROSSCUT_TRACE` writes of the n-body example, held against its description in
//! `docs/tools.md`. Run by `cargo crosscut test` it is that of a device.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

#[path = "../nbody.rs"]
#[allow(dead_code, reason = "it is a program, of which only `main` is called")]
mod nbody;

/// Set for the process that is to be traced.
const TRACED: &str = "CROSSCUT_TEST_TRACED";

/// Not a test of its own: what the others run in a process of its own, with a trace.
#[test]
fn the_traced_program() {
    match std::env::var(TRACED).as_deref() {
        Ok("whole") => nbody::main().unwrap(),
        Ok("crash") => {
            nbody::main().unwrap();
            std::process::abort();
        }
        _ => {}
    }
}

fn run(ending: &str, trace: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_traced_program", "--nocapture"])
        .env(TRACED, ending)
        .env("CROSSCUT_TRACE", trace)
        .output()
        .unwrap()
}

fn events_of(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn text<'a>(event: &'a Value, member: &str) -> &'a str {
    event[member].as_str().unwrap_or_else(|| panic!("no text `{member}` in {event}"))
}

fn number(event: &Value, member: &str) -> u64 {
    event[member].as_u64().unwrap_or_else(|| panic!("no number `{member}` in {event}"))
}

fn time(event: &Value, member: &str) -> f64 {
    let time = event[member].as_f64().unwrap_or_else(|| panic!("no time `{member}` in {event}"));
    assert!(time >= 0.0, "{event}");
    time
}

/// Holds every event to the schema.
fn check_schema(events: &[Value]) {
    for event in events {
        let members = event.as_object().unwrap_or_else(|| panic!("{event} is no object"));
        number(event, "pid");
        number(event, "tid");
        time(event, "ts");
        text(event, "name");
        let allowed: &[&str] = match text(event, "ph") {
            "M" => {
                let known =
                    ["process_name", "process_sort_index", "thread_name", "thread_sort_index"];
                assert!(known.contains(&text(event, "name")), "{event}");
                &["args"]
            }
            "X" => {
                time(event, "dur");
                let categories = ["submit", "wait", "build", "kernel", "transfer", "barrier"];
                assert!(categories.contains(&text(event, "cat")), "{event}");
                &["cat", "dur", "args"]
            }
            "b" | "e" => {
                assert_eq!(text(event, "cat"), "device");
                number(event, "id");
                &["cat", "id"]
            }
            "s" => {
                number(event, "id");
                &["cat", "id"]
            }
            "f" => {
                number(event, "id");
                assert_eq!(text(event, "bp"), "e");
                &["cat", "id", "bp"]
            }
            other => panic!("phase {other} in {event}"),
        };
        for name in members.keys() {
            let common = ["ph", "name", "pid", "tid", "ts"].contains(&name.as_str());
            assert!(common || allowed.contains(&name.as_str()), "`{name}` in {event}");
        }
    }
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

fn named<'a>(events: &'a [Value], what: &str) -> HashMap<(u64, u64), &'a str> {
    let names = events.iter().filter(|event| event["ph"] == "M" && event["name"] == what);
    names
        .map(|event| ((number(event, "pid"), number(event, "tid")), text(&event["args"], "name")))
        .collect()
}

/// On one track, what lasts is nested or apart, never across.
fn check_nesting(events: &[Value]) {
    let mut tracks: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
    for event in of_phase(events, "X") {
        let begin = time(event, "ts");
        let track = (number(event, "pid"), number(event, "tid"));
        tracks.entry(track).or_default().push((begin, begin + time(event, "dur")));
    }
    let tracks_named = named(events, "thread_name");
    for (track, mut spans) in tracks {
        assert!(tracks_named.contains_key(&track), "track {track:?} has no name");
        spans.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
        let mut open: Vec<f64> = Vec::new();
        for (begin, end) in spans {
            // Times have nanoseconds; sums of them are not exact.
            while open.last().is_some_and(|&last| last <= begin + 0.0005) {
                open.pop();
            }
            if let Some(&last) = open.last() {
                assert!(end <= last + 0.0005, "{begin}..{end} crosses {last} on {track:?}");
            }
            open.push(end);
        }
    }
}

#[test]
fn the_timeline_of_nbody_is_what_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nbody-%p.json");
    let output = run("whole", &file);
    assert!(output.status.success(), "{output:?}");
    let written = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    assert!(!written.to_string_lossy().contains("%p"), "{}", written.display());
    let events = events_of(&std::fs::read_to_string(written).unwrap());
    check_schema(&events);
    check_nesting(&events);

    let processes = named(&events, "process_name");
    assert_eq!(processes[&(1, 0)], "host program");
    let device = *processes.keys().find(|(process, _)| *process != 1).unwrap();
    let tracks = named(&events, "thread_name");
    assert_eq!(tracks[&device], "all queues");
    assert!(tracks.iter().any(|(track, name)| track.0 == device.0 && *name == "queue 0"));

    // Every step is there once, on its queue, after it was submitted, and has its arrow.
    let lasting = of_phase(&events, "X");
    let kernels: Vec<&&Value> = lasting.iter().filter(|event| event["cat"] == "kernel").collect();
    assert_eq!(kernels.len(), 20, "{kernels:#?}");
    for kernel in kernels {
        assert!(text(kernel, "name").contains("nbody"), "{kernel}");
        assert_eq!(kernel["args"]["range"], serde_json::json!([512]), "{kernel}");
        assert_eq!(number(kernel, "pid"), device.0);
        let command = &kernel["args"]["command"];
        let submit = lasting
            .iter()
            .find(|event| event["cat"] == "submit" && event["args"]["command"] == *command)
            .unwrap_or_else(|| panic!("{kernel} was never submitted"));
        assert_eq!(number(submit, "pid"), 1);
        assert!(time(kernel, "ts") >= time(submit, "ts"), "{kernel} before {submit}");
        for (phase, place, other) in [("s", submit, 1), ("f", kernel, device.0)] {
            let arrow = of_phase(&events, phase);
            let arrow = arrow.iter().find(|event| event["id"] == *command).unwrap();
            assert_eq!((number(arrow, "pid"), &arrow["tid"]), (other, &place["tid"]), "{arrow}");
            assert_eq!(arrow["ts"], place["ts"], "{arrow} and {place}");
        }
        for phase in ["b", "e"] {
            let found = of_phase(&events, phase);
            let found = found.iter().filter(|event| event["id"] == *command);
            assert_eq!(found.count(), 1, "{phase} of {command}");
        }
    }

    // 512 bodies of 32 bytes up and down, on whichever track.
    for verb in ["write", "read"] {
        let name = format!("{verb} 16384 bytes");
        assert!(lasting.iter().any(|event| event["name"] == name.as_str()), "no `{name}`");
    }
    assert!(
        lasting
            .iter()
            .any(|event| event["name"] == "fill 16384 bytes" && event["args"]["bytes"] == 16384)
    );
    if !processes[&device].starts_with("host") {
        let build = lasting.iter().find(|event| event["cat"] == "build").unwrap();
        assert_eq!(build["args"]["built"], true, "{build}");
    }
}

#[test]
fn a_crash_leaves_all_but_the_last_bracket() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crash.json");
    assert!(!run("crash", &file).status.success());
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.trim_end().ends_with(']'), "it ended as if nothing had happened");
    let events = events_of(&format!("{text}]"));
    check_schema(&events);
    let kernels = of_phase(&events, "X").into_iter().filter(|event| event["cat"] == "kernel");
    assert_eq!(kernels.count(), 20);
}

#[test]
fn a_trace_that_cannot_be_written_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = run("whole", &folder.path().join("no/such/folder.json"));
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints = said.matches("crosscut: CROSSCUT_TRACE=").count();
    assert_eq!(complaints, 1, "{said}");
}

#[test]
fn the_log_tells_of_devices_and_nothing_without_being_asked() {
    let run = |level: Option<&str>| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "the_traced_program", "--nocapture"]).env(TRACED, "whole");
        match level {
            Some(level) => command.env("RUST_LOG", level),
            None => command.env_remove("RUST_LOG"),
        };
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let debug = run(Some("crosscut=debug"));
    assert!(debug.contains("crosscut_runtime") && debug.contains("opened "), "{debug}");
    assert!(!debug.contains("launching"), "{debug}");
    let trace = run(Some("crosscut=trace"));
    assert_eq!(trace.matches("launching `").count(), 20, "{trace}");
    let nothing = run(None);
    assert!(!nothing.contains("crosscut_runtime"), "{nothing}");
}
