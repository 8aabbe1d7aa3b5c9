//! The reading half: every number is checked before it is used.

use super::DecodeError;
use crate::{
    AssumedKernel, Global, Image, Kernel, PanicSite, Parameter, Property, PropertySet,
    SpecConstant, Target, global_properties,
};

pub(super) const TARGET_SPIRV64: u8 = 1;

pub(super) const PARAMETER_CAPTURES: u8 = 1;
pub(super) const PARAMETER_ADDRESS: u8 = 2;
pub(super) const PARAMETER_LENGTH: u8 = 3;
pub(super) const PARAMETER_GLOBAL: u8 = 4;
pub(super) const PARAMETER_PANIC_RECORD: u8 = 5;
pub(super) const PARAMETER_LOCAL: u8 = 6;
pub(super) const PARAMETER_SCRATCH: u8 = 7;
pub(super) const PARAMETER_LINES: u8 = 8;

/// The fewest bytes an element of each list takes, empty lists and texts inside it included. A count
/// is checked against them before its list is allocated.
mod least {
    pub(super) const IMAGE: usize = 1 + 8 + 5 * 8;
    pub(super) const GLOBAL: usize = 2 * 8 + 3 * 8;
    pub(super) const KERNEL: usize = 8 + 2 * 8 + 1 + 4 + 3 * 8;
    pub(super) const PARAMETER: usize = 1 + 4;
    pub(super) const NUMBER: usize = 4;
    pub(super) const SPEC_CONSTANT: usize = 2 * 8 + 4 + 1 + 8 + 4;
    pub(super) const PANIC_SITE: usize = 2 * 8 + 4 + 4;
    pub(super) const PROPERTY_SET: usize = 8 + 8;
    pub(super) const PROPERTY: usize = 8 + 8;
}

type Result<T> = std::result::Result<T, DecodeError>;

/// The part of the body that is not read yet.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Where `rest` starts, for messages.
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8], offset: usize) -> Self {
        Self { rest: body, offset }
    }

    pub(super) fn finish(&self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Trailing { offset: self.offset })
        }
    }

    pub(super) fn images(&mut self) -> Result<Vec<Image>> {
        self.list("images", least::IMAGE, Self::image)
    }

    fn image(&mut self) -> Result<Image> {
        let target = match self.tag("an image's target", "not a target this runtime knows")? {
            (TARGET_SPIRV64, _) => Target::Spirv64,
            (_, unknown) => return Err(unknown),
        };
        let payload = self.bytes("an image's payload")?.to_vec();
        let globals = self.list("globals", least::GLOBAL, Self::global)?;
        let kernels = self.list("kernels", least::KERNEL, |reader| reader.kernel(globals.len()))?;
        let spec_constants =
            self.list("specialization constants", least::SPEC_CONSTANT, Self::spec_constant)?;
        let panic_sites = self.list("panic sites", least::PANIC_SITE, Self::panic_site)?;
        let property_sets = self.list("property sets", least::PROPERTY_SET, Self::property_set)?;
        Ok(Image { target, payload, kernels, globals, spec_constants, panic_sites, property_sets })
    }

    fn global(&mut self) -> Result<Global> {
        let id = self.text("a global's id")?;
        let display_name = self.text("a global's name")?;
        let size = self.u64("a global's size")?;
        let offset = self.offset;
        let align = self.u64("a global's alignment")?;
        if !align.is_power_of_two() {
            let (what, expected) = ("a global's alignment", "not a power of two");
            return Err(DecodeError::Value { what, value: align, expected, offset });
        }
        let offset = self.offset;
        let properties = self.u64("a global's properties")?;
        if properties & !global_properties::ALL != 0 {
            let (what, expected) =
                ("a global's properties", "with bits this runtime does not know");
            return Err(DecodeError::Value { what, value: properties, expected, offset });
        }
        Ok(Global { id, display_name, size, align, properties })
    }

    fn kernel(&mut self, globals: usize) -> Result<Kernel> {
        let key = self.u64("a kernel's key")?;
        let name = self.text("a kernel's entry point")?;
        let display_name = self.text("a kernel's name")?;
        let dimensions = match self.tag("a kernel's dimensions", "more than 3")? {
            (dimensions @ 0..=3, _) => dimensions,
            (_, too_many) => return Err(too_many),
        };
        let captures_size = self.u32("a kernel's captures")?;
        let parameters = self.parameters(globals)?;
        let assumed = match self.tag("a kernel's second form", "neither 0 nor 1")? {
            (0, _) => None,
            (1, _) => Some(AssumedKernel {
                name: self.text("the entry point of a kernel's second form")?,
                slots: self
                    .list("slots", least::NUMBER, |reader| reader.u32("a slot to be covered"))?,
                parameters: self.parameters(globals)?,
            }),
            (_, unknown) => return Err(unknown),
        };
        let reads = self.global_set("a kernel's read set", globals)?;
        let writes = self.global_set("a kernel's write set", globals)?;
        Ok(Kernel {
            key,
            name,
            display_name,
            dimensions,
            captures_size,
            parameters,
            assumed,
            reads,
            writes,
        })
    }

    fn parameters(&mut self, globals: usize) -> Result<Vec<Parameter>> {
        self.list("parameters", least::PARAMETER, |reader| reader.parameter(globals))
    }

    fn parameter(&mut self, globals: usize) -> Result<Parameter> {
        let (kind, unknown) = self.tag("a parameter's kind", "not a kind this runtime knows")?;
        let offset = self.offset;
        let value = self.u32("a parameter")?;
        Ok(match kind {
            PARAMETER_CAPTURES => Parameter::Captures { word: value },
            PARAMETER_ADDRESS => Parameter::Address { slot: value },
            PARAMETER_LENGTH => Parameter::Length { slot: value },
            PARAMETER_LOCAL => Parameter::Local { slot: value },
            PARAMETER_SCRATCH => Parameter::Scratch { bytes: value },
            PARAMETER_GLOBAL => {
                check_index("a parameter", value, globals, offset)?;
                Parameter::Global { index: value }
            }
            PARAMETER_PANIC_RECORD if value == 0 => Parameter::PanicRecord,
            PARAMETER_LINES if value == 0 => Parameter::Lines,
            PARAMETER_PANIC_RECORD | PARAMETER_LINES => {
                let (what, expected) = ("the parameter of a record or of lines", "not 0");
                return Err(DecodeError::Value { what, value: value.into(), expected, offset });
            }
            _ => return Err(unknown),
        })
    }

    fn global_set(&mut self, what: &'static str, globals: usize) -> Result<Vec<u32>> {
        let mut last = None;
        self.list(what, least::NUMBER, |reader| {
            let offset = reader.offset;
            let index = reader.u32(what)?;
            check_index(what, index, globals, offset)?;
            if last.is_some_and(|last| last >= index) {
                let expected = "not above the element before it";
                return Err(DecodeError::Value { what, value: index.into(), expected, offset });
            }
            last = Some(index);
            Ok(index)
        })
    }

    fn spec_constant(&mut self) -> Result<SpecConstant> {
        let id = self.text("a specialization constant's id")?;
        let display_name = self.text("a specialization constant's name")?;
        let offset = self.u32("a specialization constant's offset")?;
        let width = match self.tag("a specialization constant's width", "not 1, 2, 4 or 8")? {
            (width @ (1 | 2 | 4 | 8), _) => width,
            (_, unknown) => return Err(unknown),
        };
        let default = self.u64("a specialization constant's default")?;
        let number = self.u32("a specialization constant's number")?;
        Ok(SpecConstant { id, display_name, offset, width, default, number })
    }

    fn panic_site(&mut self) -> Result<PanicSite> {
        Ok(PanicSite {
            message: self.text("a panic's message")?,
            file: self.text("a panic's file")?,
            line: self.u32("a panic's line")?,
            column: self.u32("a panic's column")?,
        })
    }

    fn property_set(&mut self) -> Result<PropertySet> {
        Ok(PropertySet {
            name: self.text("a property set's name")?,
            properties: self.list("properties", least::PROPERTY, Self::property)?,
        })
    }

    fn property(&mut self) -> Result<Property> {
        Ok(Property {
            name: self.text("a property's name")?,
            value: self.bytes("a property's value")?.to_vec(),
        })
    }

    fn list<T>(
        &mut self,
        what: &'static str,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let offset = self.offset;
        let count = self.u64(what)?;
        if count > (self.rest.len() / least) as u64 {
            return Err(DecodeError::Count { what, count, offset });
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn text(&mut self, what: &'static str) -> Result<String> {
        let offset = self.offset;
        let bytes = self.bytes(what)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(DecodeError::Text { what, offset }),
        }
    }

    fn bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let offset = self.offset;
        let length = self.u64(what)?;
        // A length beyond `usize` is beyond the end as well.
        usize::try_from(length)
            .ok()
            .and_then(|length| self.take(length))
            .ok_or(DecodeError::Truncated { what, offset })
    }

    /// A byte that stands for a choice, and the error for when it is none of the choices.
    fn tag(&mut self, what: &'static str, expected: &'static str) -> Result<(u8, DecodeError)> {
        let offset = self.offset;
        let [value] = self.array(what)?;
        Ok((value, DecodeError::Value { what, value: value.into(), expected, offset }))
    }

    fn u32(&mut self, what: &'static str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let (array, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(DecodeError::Truncated { what, offset: self.offset })?;
        self.rest = rest;
        self.offset += N;
        Ok(*array)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        self.offset += length;
        Some(taken)
    }
}

fn check_index(what: &'static str, index: u32, count: usize, offset: usize) -> Result<()> {
    if (index as usize) < count {
        Ok(())
    } else {
        Err(DecodeError::Index { what, index, count, offset })
    }
}
