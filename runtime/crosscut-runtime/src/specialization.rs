//! Values of specialization constants, and the size of sub-groups: what a launch sets, and what that makes of an
//! image.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use crosscut_image::{Image, SpecConstant, spirv};

use crate::registry::Found;
use crate::{Error, ErrorKind};

/// A constant by the address of its static, its type, and where its value is.
pub type Setting = (*const u8, TypeId, *const u8);

/// The values that a launch or a bundle gives to specialization constants. All others have their
/// defaults.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Specialization {
    /// By the address of the constant's static, ascending; with its type.
    values: Vec<(usize, TypeId, Box<[u8]>)>,
    sub_group_size: Option<u32>,
}

/// What makes one build of an image differ from another.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The constants that have not their default, by number.
    numbers: BTreeMap<u32, u64>,
    sub_group_size: Option<u32>,
}

impl Specialization {
    /// No values.
    #[must_use]
    pub const fn new() -> Self {
        Self { values: Vec::new(), sub_group_size: None }
    }

    /// Gives a constant these bytes; what was set before is forgotten.
    ///
    /// # Safety
    /// `constant` is the address of the static of a specialization constant, and `value` are the bytes
    /// of a value of this type.
    pub unsafe fn set(&mut self, constant: *const u8, kind: TypeId, value: &[u8]) {
        let setting = (constant.addr(), kind, value.into());
        match self.values.binary_search_by_key(&constant.addr(), |known| known.0) {
            Ok(at) => self.values[at] = setting,
            Err(at) => self.values.insert(at, setting),
        }
    }

    /// Asks for sub-groups of so many items.
    pub fn set_sub_group_size(&mut self, size: u32) {
        self.sub_group_size = Some(size);
    }

    /// The size of sub-groups that was asked for.
    #[must_use]
    pub fn sub_group_size(&self) -> Option<u32> {
        self.sub_group_size
    }

    /// Whether every constant has its default, and sub-groups may be of any size.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.sub_group_size.is_none()
    }

    /// The constants and where their values are.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let setting = |(constant, kind, value): &(usize, TypeId, Box<[u8]>)| {
            (std::ptr::without_provenance(*constant), *kind, value.as_ptr())
        };
        self.values.iter().map(setting).collect()
    }

    fn get(&self, constant: *const u8) -> Option<&[u8]> {
        let at = self.values.binary_search_by_key(&constant.addr(), |known| known.0).ok()?;
        Some(&self.values[at].2)
    }

    /// What this makes of an image.
    pub(crate) fn difference(&self, found: &Found) -> Result<Difference, Error> {
        Ok(Difference { numbers: self.numbers(found)?, sub_group_size: self.sub_group_size })
    }

    /// What the image's constants are by number, where that is not their default.
    fn numbers(&self, found: &Found) -> Result<BTreeMap<u32, u64>, Error> {
        let mut numbers = BTreeMap::new();
        if self.values.is_empty() {
            return Ok(numbers);
        }
        for constant in &found.image.spec_constants {
            // A constant that the host program does not contain is one that nobody can set.
            let Some(address) = found.program.object(&constant.id)? else { continue };
            let Some(value) = self.get(address) else { continue };
            if found.program.is_shared(address)? {
                return Err(Error::new(
                    ErrorKind::Build,
                    format!(
                        "`{}` has the address of another static: the linker merged equal data",
                        constant.display_name
                    ),
                )
                .with_help("link without `--icf=all`"));
            }
            let bits = bits(constant, value).ok_or_else(|| {
                corrupt(format!(
                    "`{}` is smaller in the host program than in the image",
                    constant.display_name
                ))
            })?;
            if bits != constant.default {
                numbers.insert(constant.number, bits);
            }
        }
        Ok(numbers)
    }
}

/// The bits of one piece of a constant's value.
fn bits(constant: &SpecConstant, value: &[u8]) -> Option<u64> {
    let from = constant.offset as usize;
    let piece = value.get(from..from.checked_add(usize::from(constant.width))?)?;
    let mut bytes = [0; 8];
    bytes.get_mut(..piece.len())?.copy_from_slice(piece);
    // The host's bytes are a device's: both are little-endian wherever there is a driver.
    Some(u64::from_le_bytes(bytes))
}

impl Difference {
    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        self.numbers.is_empty() && self.sub_group_size.is_none()
    }

    /// The code of the image with it, for a driver that keeps the order of loops by itself or [does
    /// not](crosscut_adapter_api::Context::reorders_loops).
    pub(crate) fn code<'i>(
        &self,
        image: &'i Image,
        reorders_loops: bool,
    ) -> Result<Cow<'i, [u8]>, Error> {
        let code = match image.spec_constants.is_empty() && !reorders_loops {
            true => Cow::Borrowed(&*image.payload),
            false => {
                let mut numbers = self.numbers.clone();
                numbers.extend(reorders_loops.then_some((spirv::LOOPS_IN_ORDER, 1)));
                Cow::Owned(specialised(image, &numbers)?)
            }
        };
        match self.sub_group_size {
            None => Ok(code),
            Some(size) => {
                let sized = spirv::with_sub_group_size(&code, size);
                Ok(Cow::Owned(sized.map_err(|error| corrupt(error.to_string()))?))
            }
        }
    }
}

/// The code of an image in which the constants with these numbers have these values.
fn specialised(image: &Image, numbers: &BTreeMap<u32, u64>) -> Result<Vec<u8>, Error> {
    let specialised =
        spirv::specialise(&image.payload, numbers).map_err(|error| corrupt(error.to_string()))?;
    for constant in &image.spec_constants {
        if specialised.constants.get(&constant.number) != Some(&constant.width) {
            return Err(corrupt(format!("`{}` is not in its code", constant.display_name)));
        }
    }
    Ok(specialised.bytes)
}

fn corrupt(why: String) -> Error {
    Error::new(ErrorKind::Build, format!("corrupt device image: {why}"))
        .with_help("rebuild with `cargo crosscut build`")
}

impl fmt::Debug for Specialization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Specialization").field("constants", &self.values.len()).finish()
    }
}

/// So many values of one kernel are remembered; older ones are loaded again.
const REMEMBERED: usize = 64;

/// Kernels by the values they were built with.
pub(crate) struct Specialised<T>(HashMap<u64, Vec<(Specialization, Arc<T>)>>);

impl<T> Default for Specialised<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Specialised<T> {
    pub(crate) fn get(&self, key: u64, values: &Specialization) -> Option<&Arc<T>> {
        let known = self.0.get(&key)?.iter().find(|known| known.0 == *values)?;
        Some(&known.1)
    }

    /// Remembers a kernel, and forgets the one remembered longest where there are too many.
    pub(crate) fn insert(&mut self, key: u64, values: &Specialization, kernel: Arc<T>) -> Arc<T> {
        if let Some(known) = self.get(key, values) {
            return Arc::clone(known);
        }
        let kernels = self.0.entry(key).or_default();
        if kernels.len() >= REMEMBERED {
            kernels.remove(0);
        }
        kernels.push((values.clone(), Arc::clone(&kernel)));
        kernel
    }

    /// Takes out those of which this is true.
    pub(crate) fn take_out(&mut self, is_gone: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let lists = self.0.values_mut();
        let gone = lists.flat_map(|kernels| kernels.extract_if(.., |known| is_gone(&known.1)));
        let gone = gone.map(|known| known.1).collect();
        self.0.retain(|_, kernels| !kernels.is_empty());
        gone
    }
}

#[cfg(test)]
mod tests {
    use crosscut_image::Target;

    use super::*;

    fn values(value: u32) -> Specialization {
        let mut values = Specialization::new();
        // SAFETY: the address is only compared here.
        unsafe {
            values.set(std::ptr::without_provenance(16), TypeId::of::<u32>(), &value.to_le_bytes())
        };
        values
    }

    #[test]
    fn the_last_value_counts_and_the_order_of_setting_does_not() {
        let mut one = values(1);
        // SAFETY: as above.
        unsafe { one.set(std::ptr::without_provenance(8), TypeId::of::<u32>(), &[7]) };
        let mut other = Specialization::new();
        for (address, bytes) in [(8, vec![3]), (16, vec![1, 0, 0, 0]), (8, vec![7])] {
            // SAFETY: as above.
            unsafe {
                other.set(std::ptr::without_provenance(address), TypeId::of::<u32>(), &bytes)
            };
        }
        assert!(one == other && one != values(1));
    }

    #[test]
    fn loops_are_kept_in_order_for_drivers_that_do_not() {
        let module = |number: u32, constant: u32| {
            let words = [
                vec![0x0723_0203, 0x0001_0200, 0, 9, 0],
                vec![3 << 16 | 14, 2, 2],
                if constant == 50 {
                    vec![4 << 16 | 71, 5, 1, spirv::LOOPS_IN_ORDER]
                } else {
                    vec![]
                },
                vec![4 << 16 | 21, 4, 32, 0],
                vec![4 << 16 | constant, 4, 5, number],
            ];
            words.concat().iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
        };
        let image = Image {
            target: Target::Spirv64,
            payload: module(0, 50),
            kernels: Vec::new(),
            globals: Vec::new(),
            spec_constants: Vec::new(),
            panic_sites: Vec::new(),
            property_sets: Vec::new(),
        };
        let none = Difference::default();
        assert_eq!(none.code(&image, false).unwrap(), image.payload);
        assert_eq!(none.code(&image, true).unwrap(), module(1, 43));
    }

    #[test]
    fn a_size_of_sub_groups_is_a_difference_of_its_own() {
        let mut sized = Specialization::new();
        sized.set_sub_group_size(16);
        assert!(!sized.is_empty() && sized != Specialization::new() && sized != values(16));
        assert_eq!(sized.sub_group_size(), Some(16));
    }

    #[test]
    fn the_values_of_one_kernel_do_not_grow_without_end() {
        let mut known = Specialised::default();
        for value in 0..1000 {
            known.insert(5, &values(value), Arc::new(value));
        }
        assert_eq!(known.0.values().map(Vec::len).sum::<usize>(), REMEMBERED);
        assert_eq!(known.get(5, &values(999)).map(|value| **value), Some(999));
        assert!(known.get(5, &values(0)).is_none() && known.get(6, &values(999)).is_none());
    }
}
