//! When commands ran.
//!
//! A queue's commands are noted as they complete: by whoever waits for them, or because the driver says
//! so. Where the device measures, its clock is brought in line with the host's; elsewhere a command
//! lasted from when it could have begun until it was seen to have ended. Commands that overlap get
//! tracks beside one another.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{Event, QueueOrder};

use super::writer::{Time, Writer};

/// No more commands of one queue than this are shown beside one another.
const LANES: u64 = 64;

/// A queue in the timeline.
pub(super) struct Track {
    pub(super) writer: &'static Writer,
    process: u64,
    pub(super) number: u64,
    order: QueueOrder,
    /// What the host's clock is ahead of the device's. A command cannot reach the device before it is
    /// submitted, so every command gives a lower bound; the highest is the best.
    ahead: AtomicI64,
    /// When the last command of each lane ended.
    lanes: Mutex<Vec<Time>>,
    /// Submitted and not known to be complete, oldest first.
    running: Mutex<VecDeque<Arc<Execution>>>,
    /// Something completed that whoever holds `running` may not have seen.
    stale: AtomicBool,
}

/// One command.
pub(super) struct Execution {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) category: &'static str,
    /// Members of an object of JSON.
    pub(super) arguments: String,
    pub(super) submitted: Time,
    pub(super) event: Box<dyn Event>,
    pub(super) noted: AtomicBool,
}

impl Track {
    pub(super) fn new(
        writer: &'static Writer,
        process: u64,
        number: u64,
        order: QueueOrder,
    ) -> Self {
        Self {
            writer,
            process,
            number,
            order,
            ahead: AtomicI64::new(i64::MIN),
            lanes: Mutex::default(),
            running: Mutex::default(),
            stale: AtomicBool::new(false),
        }
    }

    /// Notes a command that ran while it was submitted.
    pub(super) fn ran(&self, execution: &Execution, end: Time) {
        if !execution.noted.swap(true, Ordering::AcqRel) {
            self.write(execution, execution.submitted, end);
        }
    }

    /// Takes a command that has been submitted and not completed.
    pub(super) fn follow(self: &Arc<Self>, execution: &Arc<Execution>) {
        self.running().push_back(Arc::clone(execution));
        self.settle_if_stale();
        let track = Arc::clone(self);
        // Where the driver does not take the call, commands are noted when somebody waits.
        let _ = execution.event.on_complete(Box::new(move |_| track.settle_from_driver()));
    }

    /// Notes whatever has completed since.
    pub(super) fn settle(&self) {
        self.note_complete(&mut self.running());
        self.settle_if_stale();
    }

    /// The same on a thread of the driver's, which may be inside of [`settle`](Self::settle) already:
    /// whoever has the list, looks again once he has let go of it.
    fn settle_from_driver(&self) {
        self.stale.store(true, Ordering::SeqCst);
        self.settle_if_stale();
    }

    fn settle_if_stale(&self) {
        while self.stale.load(Ordering::SeqCst) {
            let Ok(mut running) = self.running.try_lock() else { return };
            self.note_complete(&mut running);
        }
    }

    fn note_complete(&self, running: &mut VecDeque<Arc<Execution>>) {
        loop {
            self.stale.store(false, Ordering::SeqCst);
            running.retain(|execution| {
                // A failed command will never be more complete than it is.
                let over = !matches!(execution.event.is_complete(), Ok(false));
                if over && !execution.noted.swap(true, Ordering::AcqRel) {
                    let (begin, end) = self.times(execution);
                    self.write(execution, begin, end);
                }
                !over
            });
            if !self.stale.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// From when to when a command ran that has completed by now.
    fn times(&self, execution: &Execution) -> (Time, Time) {
        let now = self.writer.now();
        let free = match self.order {
            QueueOrder::InOrder => self.lanes().first().copied().unwrap_or_default(),
            QueueOrder::OutOfOrder => 0,
        };
        let earliest = execution.submitted.max(free).min(now);
        let Ok(Some(times)) = execution.event.times() else { return (earliest, now) };
        let bound = execution.submitted.cast_signed().wrapping_sub(times.submitted.cast_signed());
        let ahead = self.ahead.fetch_max(bound, Ordering::Relaxed).max(bound);
        let here = |there: u64| there.saturating_add_signed(ahead).clamp(earliest, now);
        (here(times.started), here(times.ended))
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Vec<Time>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Execution>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes that a command ran from `begin` to `end`.
    fn write(&self, execution: &Execution, begin: Time, end: Time) {
        let Execution { number, name, category, arguments, submitted, .. } = execution;
        let (writer, process) = (self.writer, self.process);
        let thread = self.lane(begin, end);
        let arguments = format!(
            "\"command\":{number},\"queue\":{},\"waited_us\":{}{arguments}",
            self.number,
            begin.saturating_sub(*submitted) / 1000
        );
        writer.lasting(process, thread, category, name, (begin, end), &arguments);
        writer.arrow_to(process, thread, *number, begin);
        writer.beside(process, *number, name, (begin, end));
    }

    /// A track of the queue on which nothing else is from `begin` to `end`.
    fn lane(&self, begin: Time, end: Time) -> u64 {
        let mut lanes = self.lanes();
        let lane = match lanes.iter().position(|&last| last <= begin) {
            Some(lane) => lane,
            None if lanes.len() as u64 == LANES => lanes.len() - 1,
            None => {
                lanes.push(0);
                let (lane, queue) = (lanes.len() - 1, self.number);
                let beside = if lane == 0 { String::new() } else { format!(", beside ({lane})") };
                let thread = queue * LANES + lane as u64 + 1;
                self.writer.track(self.process, thread, &format!("queue {queue}{beside}"));
                lane
            }
        };
        lanes[lane] = lanes[lane].max(end);
        self.number * LANES + lane as u64 + 1
    }
}
