//! Programs that are gone, and which statics they had.
//!
//! Contexts look here before they take an instance at some address for that of the program that is there now. A
//! context may look late, when several programs have come and gone at one place: what it has from there belongs to the
//! first of those that went since it last looked.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::extent::Extent;

/// One program that is gone.
struct Went {
    /// The generation of the registry under which it went.
    when: u64,
    /// The statics that its table had, by address, with their ids.
    listed: HashMap<usize, String>,
    /// Where it lay, for the statics that its table had not.
    extent: Option<Extent>,
    /// From the first to the last of its addresses.
    span: RangeInclusive<usize>,
}

impl Went {
    /// The id of the static at this address, if the program had one there; without one if nobody can tell which it was.
    fn id_at(&self, address: usize) -> Option<Option<String>> {
        if let Some(id) = self.listed.get(&address) {
            return Some(Some(id.clone()));
        }
        let extent = self.extent.as_ref().filter(|extent| extent.contains(address))?;
        Some(extent.id_of(address))
    }

    /// Whether one address may have been a static of both. What is said too often costs an entry, and no more.
    fn may_meet(&self, other: &Self) -> bool {
        self.span.start() <= other.span.end() && other.span.start() <= self.span.end()
    }
}

/// From the first to the last address of a program, if it had any.
fn span(listed: &HashMap<usize, String>, extent: Option<&Extent>) -> Option<RangeInclusive<usize>> {
    let place = extent.map(|extent| [extent.addresses().start, extent.addresses().end - 1]);
    let all = || listed.keys().copied().chain(place.into_iter().flatten());
    Some(all().min()?..=all().max()?)
}

/// All that are gone; of those that lay at the same place the oldest comes first.
pub(crate) struct Gone(Vec<Went>);

impl Gone {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// A program went. One that comes and goes again and again, with no other at its place in between, is remembered
    /// once.
    pub(crate) fn add(
        &mut self,
        when: u64,
        listed: HashMap<usize, String>,
        extent: Option<Extent>,
    ) {
        // One of which nothing is known had nothing.
        let Some(span) = span(&listed, extent.as_ref()) else { return };
        let went = Went { when, listed, extent, span };
        match self.0.iter_mut().rfind(|known| known.may_meet(&went)) {
            Some(known) if (&known.listed, &known.extent) == (&went.listed, &went.extent) => {
                known.when = when;
            }
            _ => self.0.push(went),
        }
    }

    /// What was at this address, if it went after generation `since`: its id, or nothing where nobody can tell.
    pub(crate) fn after(&self, since: u64, address: usize) -> Option<Option<String>> {
        let mut since = self.0.iter().filter(|went| went.when > since);
        since.find_map(|went| went.id_at(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, address: usize) -> HashMap<usize, String> {
        HashMap::from([(address, id.to_owned())])
    }

    fn id(found: Option<Option<String>>) -> Option<String> {
        found.and_then(|id| id)
    }

    #[test]
    fn of_several_programs_at_an_address_the_first_that_went_since_had_it() {
        let extent = |start, layout| Some(Extent::at(start, layout));
        let mut gone = Gone::new();
        gone.add(3, HashMap::new(), extent(1000, 7));
        gone.add(5, HashMap::new(), extent(1050, 8));
        assert_eq!(id(gone.after(0, 1060)).unwrap(), "layout 0000000000000007 at 50");
        assert_eq!(id(gone.after(3, 1060)).unwrap(), "layout 0000000000000008 at 0");
        assert_eq!(gone.after(3, 1010), None);
        gone.add(7, HashMap::new(), extent(1050, 8));
        assert_eq!(gone.0.len(), 2, "it came again, with no other in between");
        assert_eq!(id(gone.after(5, 1060)).unwrap(), "layout 0000000000000008 at 0");
        gone.add(9, HashMap::new(), extent(1000, 7));
        assert_eq!(id(gone.after(7, 1060)).unwrap(), "layout 0000000000000007 at 50");
        assert_eq!(id(gone.after(3, 1060)).unwrap(), "layout 0000000000000008 at 0");
    }

    #[test]
    fn listed_statics_follow_the_same_rule_with_and_without_a_known_place() {
        for extent in [None, Some(Extent::at(1000, 7))] {
            let mut gone = Gone::new();
            gone.add(3, listed("a", 1010), extent.clone());
            gone.add(5, listed("b", 1010), extent.clone());
            gone.add(7, listed("a", 1010), extent);
            assert_eq!(id(gone.after(2, 1010)).as_deref(), Some("a"));
            assert_eq!(id(gone.after(3, 1010)).as_deref(), Some("b"));
            assert_eq!(id(gone.after(5, 1010)).as_deref(), Some("a"));
            assert_eq!(gone.after(7, 1010), None);
        }
    }

    #[test]
    fn statics_outside_the_place_of_their_program_keep_their_order_too() {
        let mut gone = Gone::new();
        gone.add(1, listed("a", 5000), Some(Extent::at(1000, 7)));
        gone.add(2, listed("b", 5000), Some(Extent::at(2000, 8)));
        gone.add(3, listed("a", 5000), Some(Extent::at(1000, 7)));
        assert_eq!(id(gone.after(1, 5000)).as_deref(), Some("b"));
    }

    #[test]
    fn a_program_of_which_nothing_is_known_is_not_remembered() {
        let mut gone = Gone::new();
        gone.add(1, HashMap::new(), None);
        assert!(gone.0.is_empty());
    }

    #[test]
    fn a_program_that_says_where_it_lay_meets_one_that_only_lists_its_statics() {
        let mut gone = Gone::new();
        gone.add(1, listed("a", 1010), None);
        gone.add(2, HashMap::new(), Some(Extent::at(1000, 7)));
        gone.add(3, listed("a", 1010), None);
        assert_eq!(id(gone.after(0, 1010)).as_deref(), Some("a"));
        assert_eq!(id(gone.after(1, 1010)).as_deref(), Some("layout 0000000000000007 at 0"));
        assert_eq!(id(gone.after(2, 1010)).as_deref(), Some("a"));
    }
}
