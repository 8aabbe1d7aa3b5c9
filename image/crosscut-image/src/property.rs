//! Property sets: facts about an image in the form that other SYCL tools know.

use crate::Global;

/// The name of the set that lists an image's device globals.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";

/// The name of the set with what the one above has no room for.
pub const DEVICE_GLOBAL_LAYOUTS: &str = "CROSSCUT/device globals";

/// A named set of properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertySet {
    /// The set's name.
    pub name: String,
    /// Its properties, in the order written.
    pub properties: Vec<Property>,
}

/// One property: a name and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The property's name.
    pub name: String,
    /// Its value.
    pub value: Vec<u8>,
}

impl PropertySet {
    /// The set [`DEVICE_GLOBALS`]: for each global its id, and as value its size as four
    /// little-endian bytes and its image scope as one.
    ///
    /// `None` without globals. A size beyond four bytes is written as `u32::MAX`.
    #[must_use]
    pub fn device_globals(globals: &[Global]) -> Option<Self> {
        if globals.is_empty() {
            return None;
        }
        let properties = globals
            .iter()
            .map(|global| {
                let size = u32::try_from(global.size).unwrap_or(u32::MAX);
                let mut value = size.to_le_bytes().to_vec();
                value.push(u8::from(global.has_image_scope()));
                Property { name: global.id.clone(), value }
            })
            .collect();
        Some(Self { name: DEVICE_GLOBALS.into(), properties })
    }

    /// The set [`DEVICE_GLOBAL_LAYOUTS`]: for each global its id, and as value its size, alignment
    /// and [properties](crate::global_properties), each as eight little-endian bytes.
    #[must_use]
    pub fn device_global_layouts(globals: &[Global]) -> Option<Self> {
        if globals.is_empty() {
            return None;
        }
        let properties = globals
            .iter()
            .map(|global| {
                let numbers = [global.size, global.align, global.properties];
                let value = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                Property { name: global.id.clone(), value }
            })
            .collect();
        Some(Self { name: DEVICE_GLOBAL_LAYOUTS.into(), properties })
    }
}

/// Size and image scope from a value of [`DEVICE_GLOBALS`]: five bytes as written here, or two
/// 32-bit numbers as later compilers write. `None` for anything else.
#[must_use]
pub fn device_global_value(value: &[u8]) -> Option<(u32, bool)> {
    let (size, scope) = value.split_first_chunk()?;
    let scope = match *scope {
        [scope] => scope.into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => return None,
    };
    (scope <= 1).then_some((u32::from_le_bytes(*size), scope == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_device_global_are_read() {
        assert_eq!(device_global_value(&[4, 1, 0, 0, 1]), Some((260, true)));
        assert_eq!(device_global_value(&[8, 0, 0, 0, 0, 0, 0, 0]), Some((8, false)));
        assert_eq!(device_global_value(&[8, 0, 0, 0, 1, 0, 0, 0]), Some((8, true)));
        for wrong in [&[][..], &[1; 4], &[0, 0, 0, 0, 2], &[0; 6], &[1; 9]] {
            assert_eq!(device_global_value(wrong), None);
        }
    }
}
