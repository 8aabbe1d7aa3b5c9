//! What kernels do with addresses of device globals, beyond using them on the spot.
//!
//! A kernel may keep the address of a global in memory, and a later one may follow it: no argument and no
//! name of the second kernel tells which global it touches. So images say of each kernel which globals'
//! addresses leave it, and whether it follows addresses that it found.

use crate::{Image, Property, PropertySet};

/// The name of the set with what kernels do with addresses.
pub const ADDRESSES: &str = "CROSSCUT/addresses";

/// What one kernel does with addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Whether it may follow addresses that it finds in memory or in its captures.
    pub follows: bool,
    /// The globals whose addresses may leave it, as numbers of [`Image::globals`].
    pub leave: Vec<u32>,
}

impl Addresses {
    /// The set [`ADDRESSES`]: for each kernel's name one byte, 1 if it follows addresses, and the numbers
    /// of the globals, each as four little-endian bytes. Kernels that do neither are left out.
    #[must_use]
    pub fn property_set<'a>(
        kernels: impl IntoIterator<Item = (&'a str, &'a Self)>,
    ) -> Option<PropertySet> {
        let told = kernels.into_iter().filter(|(_, addresses)| **addresses != Self::default());
        let properties: Vec<Property> = told
            .map(|(name, Self { follows, leave })| {
                let mut value = vec![u8::from(*follows)];
                value.extend(leave.iter().flat_map(|number| number.to_le_bytes()));
                Property { name: name.to_owned(), value }
            })
            .collect();
        (!properties.is_empty()).then(|| PropertySet { name: ADDRESSES.into(), properties })
    }

    /// What the image says about the kernel of this name. What cannot be read counts as a kernel that
    /// follows addresses; numbers beyond the image's globals are the reader's to leave out.
    #[must_use]
    pub fn of(image: &Image, kernel: &str) -> Self {
        let sets = image.property_sets.iter().filter(|set| set.name == ADDRESSES);
        let Some(property) = sets.flat_map(|set| &set.properties).find(|it| it.name == kernel)
        else {
            return Self::default();
        };
        let Some((&follows, numbers)) = property.value.split_first() else {
            return Self { follows: true, leave: Vec::new() };
        };
        let (numbers, rest) = numbers.as_chunks::<4>();
        let leave = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
        Self { follows: follows != 0 || !rest.is_empty(), leave }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn what_is_written_about_a_kernel_is_read_again() {
        let both = Addresses { follows: true, leave: vec![0, 70_000] };
        let (neither, one) = (Addresses::default(), Addresses { follows: false, leave: vec![3] });
        let set = Addresses::property_set([("a", &both), ("b", &neither), ("c", &one)]);
        let mut image = Image {
            target: Target::Spirv64,
            payload: vec![],
            kernels: vec![],
            globals: vec![],
            spec_constants: vec![],
            panic_sites: vec![],
            property_sets: set.into_iter().collect(),
        };
        assert_eq!(image.property_sets[0].properties.len(), 2);
        assert_eq!(Addresses::of(&image, "a"), both);
        assert_eq!(Addresses::of(&image, "b"), neither);
        assert_eq!(Addresses::of(&image, "c"), one);
        for broken in [&[][..], &[0, 1]] {
            image.property_sets[0].properties[0].value = broken.to_vec();
            assert!(Addresses::of(&image, "a").follows);
        }
        assert_eq!(Addresses::property_set([("b", &neither)]), None);
    }
}
