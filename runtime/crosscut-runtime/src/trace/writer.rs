//! The file: an array of events in the trace event format, one per line.
//!
//! Every event is written whole and at once, so a process that crashes leaves all of them but the
//! closing bracket, which viewers do without. A file that cannot be written to is given up on with one
//! message; the program goes on.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::VARIABLE;

/// Nanoseconds since the trace began.
pub(super) type Time = u64;

/// The host program's number among the processes of the timeline; devices follow it.
const HOST: u64 = 1;

pub(super) struct Writer {
    began: Instant,
    /// A child that was forked has the file too, and writes nothing to it.
    process: u32,
    file: Mutex<Option<File>>,
    devices: Mutex<HashMap<String, u64>>,
    threads: AtomicU64,
    pub(super) queues: AtomicU64,
    pub(super) commands: AtomicU64,
}

unsafe extern "C" {
    /// C's own; it is part of every C library that Rust's standard library links.
    fn atexit(handler: extern "C" fn()) -> i32;
}

extern "C" fn close() {
    if let Some(writer) = super::writer() {
        writer.finish();
    }
}

impl Writer {
    /// Begins a trace in the file of this name; `None` for no name, or if there can be no such file.
    pub(super) fn create(name: &OsStr) -> Option<Self> {
        if name.is_empty() {
            return None;
        }
        let process = std::process::id();
        let name = name.to_string_lossy().replace("%p", &process.to_string());
        let begin = |mut file: File| file.write_all(BEGINNING.as_bytes()).map(|()| file);
        let file = match File::create(&name).and_then(begin) {
            Ok(file) => file,
            Err(error) => {
                complain(&format!("{VARIABLE}=`{name}` cannot be written: {error}"));
                return None;
            }
        };
        // SAFETY: the handler takes a lock that is never held for long and writes to a file, which
        // may be done at any time. If it is not taken, the file lacks its last line.
        unsafe { atexit(close) };
        Some(Self {
            began: Instant::now(),
            process,
            file: Mutex::new(Some(file)),
            devices: Mutex::default(),
            threads: AtomicU64::new(1),
            queues: AtomicU64::new(0),
            commands: AtomicU64::new(1),
        })
    }

    pub(super) fn now(&self) -> Time {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(Time::MAX)
    }

    /// The process of the timeline that stands for this device.
    pub(super) fn device(&self, name: &str) -> u64 {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let next = HOST + 1 + devices.len() as u64;
        *devices.entry(name.to_owned()).or_insert_with(|| {
            self.metadata("process_name", next, 0, &format!("\"name\":{}", quoted(name)));
            self.metadata("process_sort_index", next, 0, &format!("\"sort_index\":{next}"));
            self.metadata("thread_name", next, 0, "\"name\":\"all queues\"");
            next
        })
    }

    /// Names a track.
    pub(super) fn track(&self, process: u64, thread: u64, name: &str) {
        self.metadata("thread_name", process, thread, &format!("\"name\":{}", quoted(name)));
        self.metadata("thread_sort_index", process, thread, &format!("\"sort_index\":{thread}"));
    }

    /// The track of this thread.
    fn thread(&self) -> u64 {
        thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
        let known = NUMBER.try_with(Cell::get).unwrap_or_default();
        if known != 0 {
            return known;
        }
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        let _ = NUMBER.try_with(|known| known.set(number));
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("thread {number}"), str::to_owned);
        self.track(HOST, number, &name);
        number
    }

    fn metadata(&self, what: &str, process: u64, thread: u64, arguments: &str) {
        self.line(&format!(
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{process},\"tid\":{thread},\"ts\":0,\
             \"args\":{{{arguments}}}}}"
        ));
    }

    /// Something that lasted, on the track of this thread. `arguments` are members of an object.
    pub(super) fn on_this_thread(
        &self,
        category: &str,
        name: &str,
        begin: Time,
        end: Time,
        arguments: &str,
    ) {
        self.lasting(HOST, self.thread(), category, name, (begin, end), arguments);
    }

    /// Something that lasted, on any track.
    pub(super) fn lasting(
        &self,
        process: u64,
        thread: u64,
        category: &str,
        name: &str,
        (begin, end): (Time, Time),
        arguments: &str,
    ) {
        self.line(&format!(
            "{{\"ph\":\"X\",\"cat\":\"{category}\",\"name\":{},\"pid\":{process},\"tid\":{thread},\
             \"ts\":{},\"dur\":{},\"args\":{{{arguments}}}}}",
            quoted(name),
            microseconds(begin),
            microseconds(end.saturating_sub(begin)),
        ));
    }

    /// Something that lasted beside others, on the track of its whole process.
    pub(super) fn beside(&self, process: u64, id: u64, name: &str, (begin, end): (Time, Time)) {
        for (phase, time) in [("b", begin), ("e", end)] {
            self.line(&format!(
                "{{\"ph\":\"{phase}\",\"cat\":\"device\",\"id\":{id},\"name\":{},\"pid\":{process},\
                 \"tid\":0,\"ts\":{}}}",
                quoted(name),
                microseconds(time),
            ));
        }
    }

    /// The beginning of an arrow, at something that this thread did at the time.
    pub(super) fn arrow_from_this_thread(&self, id: u64, time: Time) {
        self.arrow("s", "", HOST, self.thread(), id, time);
    }

    /// The end of an arrow, at something that began on this track at the time.
    pub(super) fn arrow_to(&self, process: u64, thread: u64, id: u64, time: Time) {
        self.arrow("f", ",\"bp\":\"e\"", process, thread, id, time);
    }

    fn arrow(&self, phase: &str, more: &str, process: u64, thread: u64, id: u64, time: Time) {
        self.line(&format!(
            "{{\"ph\":\"{phase}\"{more},\"cat\":\"submit\",\"name\":\"submit\",\"id\":{id},\
             \"pid\":{process},\"tid\":{thread},\"ts\":{}}}",
            microseconds(time),
        ));
    }

    fn line(&self, event: &str) {
        if self.process != std::process::id() {
            return;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &mut *file else { return };
        // One call, so that no crash comes between the separator and the event.
        if let Err(error) = open.write_all(format!(",\n{event}").as_bytes()) {
            complain(&format!("the trace ends here: {error}"));
            *file = None;
        }
    }

    /// Ends the array. What comes later is left out.
    fn finish(&self) {
        if self.process != std::process::id() {
            return;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut open) = file.take() {
            // Viewers do without it.
            let _ = open.write_all(b"\n]\n");
        }
    }
}

/// The first event names the host's process; all others follow a comma.
const BEGINNING: &str = "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"ts\":0,\
                         \"args\":{\"name\":\"host program\"}}";

/// Without a standard error nobody is there to be told.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "crosscut: {message}");
}

/// The format counts in microseconds.
fn microseconds(time: Time) -> String {
    format!("{}.{:03}", time / 1000, time % 1000)
}

/// A string of JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control < ' ' => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_json_wants_it() {
        assert_eq!(quoted("a \"b\" \\ \n{closure#0}"), "\"a \\\"b\\\" \\\\ \\u000a{closure#0}\"");
    }

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(microseconds(1_002_003), "1002.003");
        assert_eq!(microseconds(7), "0.007");
    }
}
