//! The timer of a device, whose counters are narrow and begin again.
//!
//! How often one has begun again since somebody looked is not in it. The host's clock tells: that need
//! not agree with the device's to the tick, only to half of the time until the count begins again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::ze_device_properties_t;

/// By how many nanoseconds the counts of events may be behind those of the device.
const BEHIND: u64 = 1_000_000_000;

/// Turns counts of ticks into nanoseconds of one clock.
pub(crate) struct Clock {
    /// Nanoseconds of one tick.
    resolution: u64,
    /// Which bits of the device's count of ticks there are.
    bits: u64,
    /// Which of them the counts in events have.
    event_bits: u64,
    /// The newest count that was seen, if one was.
    newest: Mutex<Option<Seen>>,
}

/// A count that never begins again, and when the device had it.
#[derive(Clone, Copy)]
struct Seen {
    whole: u64,
    at: Instant,
}

/// A count of ticks of the device.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    /// As the device has it.
    raw: u64,
    /// As it would be if it had not begun again since the first one.
    whole: u64,
}

impl Clock {
    pub(crate) fn new(properties: &ze_device_properties_t) -> Self {
        Self {
            resolution: properties.timerResolution.max(1),
            bits: mask(properties.timestampValidBits),
            event_bits: mask(properties.kernelTimestampValidBits),
            newest: Mutex::default(),
        }
    }

    /// What the device's count was at a time of the host's.
    pub(crate) fn stamp(&self, raw: u64, at: Instant) -> Stamp {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = match *newest {
            None => raw & self.bits,
            Some(seen) => self.nearest(self.expected(seen, at), raw),
        };
        // Threads may come here in another order than they asked the device in.
        if newest.is_none_or(|seen| seen.at < at) {
            *newest = Some(Seen { whole, at });
        }
        Stamp { raw, whole }
    }

    /// What the whole count should be by the host's clock.
    fn expected(&self, seen: Seen, at: Instant) -> u64 {
        let ticks =
            |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / self.resolution;
        match at.checked_duration_since(seen.at) {
            Some(later) => seen.whole.saturating_add(ticks(later)),
            None => seen.whole.saturating_sub(ticks(seen.at.duration_since(at))),
        }
    }

    /// The whole count that the device has as `raw` and that is nearest to the one expected.
    fn nearest(&self, expected: u64, raw: u64) -> u64 {
        let missing = self.bits.leading_zeros();
        let away = (raw.wrapping_sub(expected) << missing).cast_signed() >> missing;
        expected.saturating_add_signed(away)
    }

    /// The nanoseconds of a stamp.
    pub(crate) fn nanoseconds(&self, stamp: Stamp) -> u64 {
        stamp.whole.saturating_mul(self.resolution)
    }

    /// The nanoseconds of the counts in an event, of the start and the end of a command that was
    /// submitted at `stamp`.
    pub(crate) fn nanoseconds_after(&self, stamp: Stamp, start: u64, end: u64) -> (u64, u64) {
        let started = stamp.whole.saturating_add(self.passed(stamp.raw, start));
        let ended = started.saturating_add(self.passed(start, end));
        (started.saturating_mul(self.resolution), ended.saturating_mul(self.resolution))
    }

    /// The ticks from one count to a later one of an event; 0 where that is a little earlier.
    fn passed(&self, earlier: u64, later: u64) -> u64 {
        let ticks = later.wrapping_sub(earlier) & self.event_bits;
        // Commands wait and run for long, so that as much as possible counts as later.
        let behind = (BEHIND / self.resolution).min(self.event_bits / 4);
        if ticks > self.event_bits - behind { 0 } else { ticks }
    }
}

/// The lowest so many bits; all where nobody knows.
fn mask(bits: u32) -> u64 {
    if bits == 0 || bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Typed;

    /// A clock with ticks of 10 nanoseconds, and what it makes of counts that never begin again.
    struct Ticking {
        clock: Clock,
        start: Instant,
    }

    impl Ticking {
        fn with_bits(bits: u32, event_bits: u32) -> Self {
            let mut properties = ze_device_properties_t::new();
            properties.timerResolution = 10;
            properties.timestampValidBits = bits;
            properties.kernelTimestampValidBits = event_bits;
            Self { clock: Clock::new(&properties), start: Instant::now() }
        }

        fn new() -> Self {
            Self::with_bits(16, 8)
        }

        /// The stamp of a whole count, asked for at its time.
        fn stamp(&self, whole: u64) -> Stamp {
            self.clock.stamp(whole & self.clock.bits, self.start + Duration::from_nanos(whole * 10))
        }

        /// The ticks that are told for a whole count.
        fn ticks(&self, whole: u64) -> u64 {
            self.clock.nanoseconds(self.stamp(whole)) / 10
        }
    }

    #[test]
    fn counts_that_begin_again_go_on() {
        let ticking = Ticking::new();
        for whole in [0x10, 0x7000, 0xe000, 0x1_0020, 0x1_7000] {
            assert_eq!(ticking.ticks(whole), whole);
        }
    }

    #[test]
    fn the_first_count_may_be_any() {
        for first in [0, 0x7fff, 0x8000, 0xe000, 0xffff] {
            let ticking = Ticking::new();
            for whole in [first, first + 1, first + 0x2000, first + 0xc000] {
                assert_eq!(ticking.ticks(whole), whole);
            }
        }
    }

    #[test]
    fn it_does_not_matter_how_long_nobody_looked() {
        let ticking = Ticking::new();
        for whole in [0xe000, 0x1_6001, 0x2_5fff, 0x9_8000, 0x9_8001, 0x123_4567] {
            assert_eq!(ticking.ticks(whole), whole);
        }
    }

    #[test]
    fn the_clocks_of_host_and_device_need_not_agree() {
        let ticking = Ticking::new();
        ticking.stamp(0x100);
        let late = ticking.start + Duration::from_nanos(0x5_7000 * 10);
        let stamp = ticking.clock.stamp(0, late);
        assert_eq!(ticking.clock.nanoseconds(stamp), 0x5_0000 * 10);
        let stamp = ticking.clock.stamp(0x7000, late + Duration::from_nanos(10));
        assert_eq!(ticking.clock.nanoseconds(stamp), 0x5_7000 * 10);
    }

    #[test]
    fn who_asked_earlier_and_comes_later_has_the_earlier_time() {
        let ticking = Ticking::new();
        for whole in [0xe000, 0x1_0020, 0xfff0, 0x1_0010, 0x1_0021] {
            assert_eq!(ticking.ticks(whole), whole);
        }
    }

    #[test]
    fn counts_of_all_bits_are_what_they_are() {
        for bits in [0, 64] {
            let ticking = Ticking::with_bits(bits, bits);
            for whole in [1 << 40, 1 << 41, 5] {
                assert_eq!(ticking.ticks(whole), whole);
            }
        }
    }

    #[test]
    fn counts_of_events_are_those_after_the_stamp() {
        let ticking = Ticking::new();
        let stamp = ticking.stamp(0x1f0);
        let after = |start, end| {
            let (started, ended) = ticking.clock.nanoseconds_after(stamp, start, end);
            (started / 10, ended / 10)
        };
        assert_eq!(after(0xf8, 0xf9), (0x1f8, 0x1f9));
        assert_eq!(after(0xf8, 0x05), (0x1f8, 0x205));
        // Almost as long as it takes them to begin again.
        assert_eq!(after(0xa0, 0x50), (0x2a0, 0x350));
        // They are a little behind.
        assert_eq!(after(0xee, 0xed), (0x1f0, 0x1f0));
        assert_eq!(after(0xee, 0xf8), (0x1f0, 0x1fa));
    }
}
