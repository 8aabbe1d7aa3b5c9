//! Property sets: facts about an image in the form that other SYCL tools know.

use crate::Global;

/// The name of the set that lists an image's device globals.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";

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
                value.push(u8::from(global.image_scope));
                Property { name: global.id.clone(), value }
            })
            .collect();
        Some(Self { name: DEVICE_GLOBALS.into(), properties })
    }
}
