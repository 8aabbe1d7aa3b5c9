//! Where programs lie, for those of their statics that no table lists.
//!
//! The table of a program has the device globals that its kernels name. One that kernels only get as an
//! argument, or that is only copied, is known by its address alone: it belongs to the program whose memory it
//! lies in, and goes with it. Its id is its distance from the table in a program of this layout, so that
//! another program, in which something else may be at that distance, does not get its contents.

use std::ops::Range;

use crosscut_image::registration::Descriptor;

/// The memory of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    addresses: Range<usize>,
    /// The address of the table that distances count from.
    table: usize,
    /// The number of the layout; `None` if it is not known.
    layout: Option<u64>,
}

impl Extent {
    /// That of a program which is loaded now; `None` if it does not say.
    ///
    /// # Safety
    /// The descriptor has the version of this runtime, and its pointers are null or lead to what they are said
    /// to.
    pub(crate) unsafe fn of(descriptor: &Descriptor) -> Option<Self> {
        let extent = descriptor.extent;
        let addresses = extent.start.addr()..extent.end.addr();
        if extent.start.is_null() || addresses.is_empty() {
            return None;
        }
        let known = !extent.layout.is_null() && extent.layout.is_aligned();
        // SAFETY: not null, aligned, and by the caller's promise the number is there. The link step wrote it
        // into the file, unknown to the compiler; nobody writes it in memory.
        let layout = known.then(|| unsafe { extent.layout.read_volatile() });
        let layout = layout.filter(|&layout| layout != 0);
        Some(Self { addresses, table: descriptor.objects.addr(), layout })
    }

    /// Whether a static at this address is the program's.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.addresses.contains(&address)
    }

    pub(crate) fn addresses(&self) -> &Range<usize> {
        &self.addresses
    }

    /// The id of the static at this address; `None` if nothing would tell it from one of another program.
    /// No symbol has such a name.
    pub(crate) fn id_of(&self, address: usize) -> Option<String> {
        let distance = address.wrapping_sub(self.table).cast_signed();
        self.layout.map(|layout| format!("layout {layout:016x} at {distance}"))
    }
}

#[cfg(test)]
impl Extent {
    /// A hundred bytes, with the table at the tenth.
    pub(crate) fn at(start: usize, layout: u64) -> Self {
        Self { addresses: start..start + 100, table: start + 10, layout: Some(layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_program_and_not_its_address() {
        let at = |start| Extent::at(start, 7).id_of(start + 30);
        assert_eq!(at(1000).as_deref(), Some("layout 0000000000000007 at 20"));
        assert_eq!(at(1000), at(5000));
        assert_ne!(at(1000), Extent::at(1000, 8).id_of(1030));
        assert_eq!(Extent { layout: None, ..Extent::at(1000, 7) }.id_of(1030), None);
    }
}
