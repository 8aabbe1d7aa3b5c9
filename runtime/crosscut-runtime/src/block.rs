//! Rectangles and boxes of buffers: rows of equal length at equal distances, copied row by row.

use crate::Error;
use crate::context::Context;
use crate::copy::Reading;
use crate::event::Event;
use crate::queue::Queue;
use crate::region::Region;

/// Bytes of a buffer in rows that have nothing in common.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    region: Region<'a>,
    /// Bytes of a row.
    row: usize,
    /// How many rows, and how many planes of them.
    counts: [usize; 2],
    /// From the start of one row, or plane, to that of the next.
    pitches: [usize; 2],
}

/// So many rows are on their way at once: whoever uses the memory next must be told of each.
const MOST_STARTED: usize = 256;

/// A copy is at this byte of a block.
pub(crate) struct Cursor<'a> {
    block: Block<'a>,
    /// The run, and how much of it is done.
    run: usize,
    done: usize,
}

impl<'a> Block<'a> {
    /// All of a region.
    #[must_use]
    pub fn whole(region: Region<'a>) -> Self {
        let size = region.size();
        Self { region, row: size, counts: [1, 1], pitches: [size, size] }
    }

    /// From the start of `region` on: rows of `row` bytes, `counts[0]` in a plane and `counts[1]` planes,
    /// each `pitches` bytes behind the one before.
    ///
    /// # Errors
    /// The rows overlap, or the last one ends outside.
    pub fn new(
        region: Region<'a>,
        row: usize,
        counts: [usize; 2],
        pitches: [usize; 2],
    ) -> Result<Self, Error> {
        if row == 0 || counts.contains(&0) {
            return region.part(0, 0).map(Self::whole);
        }
        let [rows, planes] = counts.map(|count| count - 1);
        let plane = rows.checked_mul(pitches[0]).and_then(|it| it.checked_add(row));
        let all = plane.and_then(|it| planes.checked_mul(pitches[1])?.checked_add(it));
        let apart = (rows == 0 || pitches[0] >= row)
            && (planes == 0 || plane.is_some_and(|it| pitches[1] >= it));
        if !apart || all.is_none_or(|it| it > region.size()) {
            return Err(Error::invalid(
                format!(
                    "{} planes of {} rows of {row} bytes, {pitches:?} bytes apart, of {} bytes",
                    counts[1],
                    counts[0],
                    region.size()
                ),
                "stay inside the buffer, with rows that do not overlap",
            ));
        }
        Ok(Self { region, row, counts, pitches }.joined())
    }

    /// The same bytes with as few rows as possible.
    fn joined(mut self) -> Self {
        if self.counts[0] == 1 || self.pitches[0] == self.row {
            self.row *= self.counts[0];
            // The planes are the rows now.
            self.counts = [self.counts[1], 1];
            self.pitches = [self.pitches[1], 0];
        }
        if self.counts == [1, 1] || (self.counts[1] == 1 && self.pitches[0] == self.row) {
            self.row *= self.counts[0];
            self.counts = [1, 1];
        }
        self
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.row * self.runs()
    }

    /// The context that its memory is of.
    pub(crate) fn context(&self) -> &'a Context {
        self.region.buffer().context()
    }

    /// The region it is, if it is one.
    #[must_use]
    pub fn as_region(&self) -> Option<Region<'a>> {
        match self.counts {
            [1, 1] => self.region.part(0, self.row).ok(),
            _ => None,
        }
    }

    fn runs(&self) -> usize {
        self.counts[0] * self.counts[1]
    }

    /// A row by its number.
    fn run(&self, number: usize) -> Result<Region<'a>, Error> {
        let rows = self.counts[0].max(1);
        let start = number / rows * self.pitches[1] + number % rows * self.pitches[0];
        self.region.part(start, self.row)
    }

    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor { block: self, run: 0, done: 0 }
    }
}

impl<'a> Cursor<'a> {
    /// How many bytes follow without a gap.
    fn ahead(&self) -> usize {
        if self.run < self.block.runs() { self.block.row - self.done } else { 0 }
    }

    /// The next `size` bytes, which follow without a gap.
    fn take(&mut self, size: usize) -> Result<Region<'a>, Error> {
        let region = self.block.run(self.run)?.part(self.done, size)?;
        self.done += size;
        if self.done == self.block.row {
            (self.run, self.done) = (self.run + 1, 0);
        }
        Ok(region)
    }
}

/// Rows on their way, inside a context.
#[derive(Default)]
struct Started(Vec<Event>);

impl Started {
    /// One more. Where there are too many, blocks until the older half has ended.
    fn add(&mut self, event: Event) -> Result<(), Error> {
        self.0.push(event);
        if self.0.len() < MOST_STARTED {
            return Ok(());
        }
        // The first one stays: the times of all begin with it.
        self.0.drain(1..MOST_STARTED / 2).try_for_each(|event| event.wait())
    }
}

impl Queue {
    /// Starts a copy for each run of the next `size` bytes, from or to memory that is given back
    /// afterwards: all that was started is waited for before this returns, also where one could not be
    /// started or fails. Tells what the first one has to say.
    fn copy_runs<'a, T>(
        &self,
        cursor: &mut Cursor<'a>,
        size: usize,
        start: impl Fn(Region<'a>, usize) -> Result<T, Error>,
        wait: impl Fn(&T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let wait_for_all = |outcome: Result<(), Error>, started: &mut Vec<T>| {
            started.drain(..).map(|it| wait(&it)).fold(outcome, first)
        };
        let (mut done, mut outcome, mut started) = (0, Ok(()), Vec::new());
        while done < size && outcome.is_ok() {
            let more = cursor.ahead().min(size - done);
            outcome =
                cursor.take(more).and_then(|run| start(run, done)).map(|copy| started.push(copy));
            done += more;
            if started.len() == MOST_STARTED {
                outcome = wait_for_all(outcome, &mut started);
            }
        }
        wait_for_all(outcome, &mut started)
    }

    /// Copies `source` to a block, row after row, and waits for it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    ///
    /// # Safety
    /// As there, with as many bytes as the block has.
    pub unsafe fn write_block(
        &self,
        target: Block<'_>,
        source: *const u8,
        after: &[Event],
    ) -> Result<(), Error> {
        if let Some(target) = target.as_region() {
            // SAFETY: passed on.
            return unsafe { self.write(target, source, after) };
        }
        // SAFETY: passed on.
        unsafe { self.write_runs(&mut target.cursor(), target.size(), source, after) }
    }

    /// Copies `size` bytes to where the cursor is, and waits for them.
    ///
    /// # Safety
    /// As [`write_block`](Self::write_block), and the block has as many bytes from there on.
    pub(crate) unsafe fn write_runs(
        &self,
        to: &mut Cursor<'_>,
        size: usize,
        source: *const u8,
        after: &[Event],
    ) -> Result<(), Error> {
        let start = |target: Region<'_>, done: usize| {
            // SAFETY: the caller's promise: the bytes are there until this returns, and all that was
            // started is waited for before.
            unsafe { self.start_write(target, source.wrapping_add(done), after) }
        };
        let wait = |copy: &Event| copy.wait().map_err(|error| self.see_end_of(copy, error));
        self.copy_runs(to, size, start, wait)
    }

    /// Copies a block to `target`, row after row, and waits for it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// As there, with as many bytes as the block has.
    pub unsafe fn read_block(
        &self,
        source: Block<'_>,
        target: *mut u8,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<(), Error> {
        if let Some(source) = source.as_region() {
            // SAFETY: passed on.
            return unsafe { self.read(source, target, atomic_width, after) };
        }
        let (cursor, size) = (&mut source.cursor(), source.size());
        // SAFETY: passed on.
        unsafe { self.read_runs(cursor, size, target, atomic_width, after) }
    }

    /// Copies `size` bytes from where the cursor is, and waits for them.
    ///
    /// # Safety
    /// As [`read_block`](Self::read_block), and the block has as many bytes from there on.
    pub(crate) unsafe fn read_runs(
        &self,
        from: &mut Cursor<'_>,
        size: usize,
        target: *mut u8,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<(), Error> {
        let start = |source: Region<'_>, done: usize| {
            // SAFETY: the caller's promise: there is room until this returns, and all that was started
            // is waited for before. Rows of atomics begin and end between two of them.
            unsafe { self.start_read(source, target.wrapping_add(done), atomic_width, after) }
        };
        let wait =
            |copy: &Reading| copy.wait().map_err(|error| self.see_end_of(&copy.event, error));
        self.copy_runs(from, size, start, wait)?;
        self.settle_pending()
    }

    /// Fills a block with a pattern, over and over. One event for all of it; of very many rows, the last
    /// are on their way when this returns.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    ///
    /// # Safety
    /// As there.
    pub unsafe fn fill_block(
        &self,
        target: Block<'_>,
        pattern: &[u8],
        after: &[Event],
    ) -> Result<Event, Error> {
        if let Some(target) = target.as_region() {
            // SAFETY: passed on.
            return unsafe { self.fill(target, pattern, after) };
        }
        let mut started = Started::default();
        for number in 0..target.runs() {
            // SAFETY: passed on.
            started.add(unsafe { self.fill(target.run(number)?, pattern, after) }?)?;
        }
        Ok(Event::all(&started.0))
    }

    /// Copies a block to another one of the same size. Inside the queue's context the copies are on
    /// their way when this returns, of very many rows the last, with one event for all; otherwise they are
    /// complete.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    ///
    /// # Safety
    /// As there.
    pub unsafe fn copy_block(
        &self,
        target: Block<'_>,
        source: Block<'_>,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        if target.size() != source.size() {
            return Err(Error::invalid(
                format!("{} bytes were to be copied to {}", source.size(), target.size()),
                "make both parts equally large",
            ));
        }
        if let (Some(target), Some(source)) = (target.as_region(), source.as_region()) {
            // SAFETY: passed on.
            return unsafe { self.copy(target, source, atomic_width, after) };
        }
        let own = |block: Block<'_>| block.context() == self.context();
        if own(source) != own(target) {
            // SAFETY: passed on.
            return unsafe { self.copy_across(target, source, atomic_width, after) };
        }
        let (mut to, mut from) = (target.cursor(), source.cursor());
        let (mut done, mut started) = (0, Started::default());
        while done < source.size() {
            let more = to.ahead().min(from.ahead());
            let (to, from) = (to.take(more)?, from.take(more)?);
            // SAFETY: passed on, row by row.
            started.add(unsafe { self.copy(to, from, atomic_width, after) }?)?;
            done += more;
        }
        Ok(Event::all(&started.0))
    }
}

/// What the first of two copies says, for the memory of both.
fn first(one: Result<(), Error>, other: Result<(), Error>) -> Result<(), Error> {
    let may_run = other.as_ref().is_err_and(Error::may_run);
    one.map_err(|error| error.with_may_run(may_run)).and(other)
}
