//! The timer of a device, whose counters are narrow and begin again.

use std::sync::{Mutex, PoisonError};

use crate::abi::ze_device_properties_t;

/// Turns counts of ticks into nanoseconds of one clock.
pub(crate) struct Clock {
    /// Nanoseconds of one tick.
    resolution: u64,
    /// Which bits of the device's count of ticks there are.
    bits: u64,
    /// Which of them the counts in events have.
    event_bits: u64,
    /// The count that was seen last.
    last: Mutex<Stamp>,
}

/// A count of ticks of the device.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stamp {
    /// As the device has it.
    raw: u64,
    /// As it would be if it had never begun again.
    whole: u64,
}

impl Clock {
    pub(crate) fn new(properties: &ze_device_properties_t) -> Self {
        Self {
            resolution: properties.timerResolution.max(1),
            bits: mask(properties.timestampValidBits),
            event_bits: mask(properties.kernelTimestampValidBits),
            last: Mutex::default(),
        }
    }

    /// What the device's count is now. More often than it begins again is often enough.
    pub(crate) fn stamp(&self, raw: u64) -> Stamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = last.whole + self.passed(last.raw, raw, self.bits);
        // Threads may come here in another order than they asked the device in.
        if whole > last.whole {
            *last = Stamp { raw, whole };
        }
        Stamp { raw, whole }
    }

    /// The nanoseconds of a stamp.
    pub(crate) fn nanoseconds(&self, stamp: Stamp) -> u64 {
        stamp.whole.saturating_mul(self.resolution)
    }

    /// The nanoseconds of a count in an event, of a command that was submitted at `stamp`.
    pub(crate) fn nanoseconds_after(&self, stamp: Stamp, count: u64) -> u64 {
        let passed = self.passed(stamp.raw, count, self.event_bits);
        stamp.whole.saturating_add(passed).saturating_mul(self.resolution)
    }

    /// The ticks from one count to a later one; 0 where that is not later.
    fn passed(&self, earlier: u64, later: u64, bits: u64) -> u64 {
        let ticks = later.wrapping_sub(earlier) & bits;
        // What would take half of the time until the count begins again lies in the past.
        if ticks > bits / 2 { 0 } else { ticks }
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

    fn clock() -> Clock {
        let mut properties = ze_device_properties_t::new();
        properties.timerResolution = 10;
        properties.timestampValidBits = 16;
        properties.kernelTimestampValidBits = 8;
        Clock::new(&properties)
    }

    #[test]
    fn counts_that_begin_again_go_on() {
        let clock = clock();
        let times: Vec<u64> = [0x10, 0x7000, 0xe000, 0x20, 0x7000]
            .map(|raw| clock.nanoseconds(clock.stamp(raw)))
            .to_vec();
        assert_eq!(times, [0x10, 0x7000, 0xe000, 0x1_0020, 0x1_7000].map(|ticks| ticks * 10));
    }

    #[test]
    fn counts_of_events_are_those_after_the_stamp() {
        let clock = clock();
        let stamp = clock.stamp(0x1f0);
        assert_eq!(clock.nanoseconds_after(stamp, 0xf8), 0x1f8 * 10);
        assert_eq!(clock.nanoseconds_after(stamp, 0x05), 0x205 * 10);
        assert_eq!(clock.nanoseconds_after(stamp, 0xee), 0x1f0 * 10);
    }
}
