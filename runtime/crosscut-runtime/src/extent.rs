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

    fn overlaps(&self, other: &Self) -> bool {
        self.addresses.start < other.addresses.end && other.addresses.start < self.addresses.end
    }

    /// The id of the static at this address; `None` if nothing would tell it from one of another program.
    /// No symbol has such a name.
    pub(crate) fn id_of(&self, address: usize) -> Option<String> {
        let distance = address.wrapping_sub(self.table).cast_signed();
        self.layout.map(|layout| format!("layout {layout:016x} at {distance}"))
    }
}

/// Programs that are gone, each with the generation under which it went; of those that lay at the same place the
/// oldest comes first.
#[derive(Default)]
pub(crate) struct Gone(Vec<(u64, Extent)>);

impl Gone {
    /// A program went. One that comes and goes again and again, with no other at its place in between, is
    /// remembered once.
    pub(crate) fn add(&mut self, generation: u64, extent: Extent) {
        match self.0.iter_mut().rfind(|(_, known)| known.overlaps(&extent)) {
            Some((when, known)) if *known == extent => *when = generation,
            _ => self.0.push((generation, extent)),
        }
    }

    /// The program that had this address and went after generation `since`, the first of them if there were
    /// several.
    pub(crate) fn after(&self, since: u64, address: usize) -> Option<&Extent> {
        let went = |(when, extent): &&(u64, Extent)| *when > since && extent.contains(address);
        self.0.iter().find(went).map(|(_, extent)| extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: usize, layout: Option<u64>) -> Extent {
        Extent { addresses: start..start + 100, table: start + 10, layout }
    }

    #[test]
    fn ids_follow_the_program_and_not_its_address() {
        let at = |start| extent(start, Some(7)).id_of(start + 30);
        assert_eq!(at(1000).as_deref(), Some("layout 0000000000000007 at 20"));
        assert_eq!(at(1000), at(5000));
        assert_ne!(at(1000), extent(1000, Some(8)).id_of(1030));
        assert_eq!(extent(1000, None).id_of(1030), None);
    }

    #[test]
    fn of_several_programs_at_an_address_the_first_that_went_since_had_it() {
        let mut gone = Gone::default();
        gone.add(3, extent(1000, Some(7)));
        gone.add(5, extent(1050, Some(8)));
        assert_eq!(gone.after(0, 1060).unwrap().layout, Some(7));
        assert_eq!(gone.after(3, 1060).unwrap().layout, Some(8));
        assert_eq!(gone.after(3, 1010), None);
        gone.add(7, extent(1050, Some(8)));
        assert_eq!(gone.0.len(), 2);
        assert_eq!(gone.after(5, 1060).unwrap().layout, Some(8));
        gone.add(9, extent(1000, Some(7)));
        assert_eq!(gone.after(7, 1060).unwrap().layout, Some(7));
        assert_eq!(gone.after(3, 1060).unwrap().layout, Some(8));
    }
}
