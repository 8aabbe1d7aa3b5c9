//! Panics of kernels, as the host sees them.

use std::fmt;

use crosscut_adapter_api::{Extent, NativePanic};
use crosscut_image::PanicSite;

/// A kernel panicked: where, why, and for which item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelPanic {
    /// The kernel's name: the path of its closure.
    pub kernel: String,
    /// What the panic said.
    pub message: String,
    /// The file of the panic, as rustc names it.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The index of the item in each dimension of the launch; empty for a single task.
    pub item: Vec<usize>,
    /// The linear index of the item, the last dimension being the fastest.
    pub linear_item: u64,
}

/// The index space a kernel was launched over; `dimensions` is 0 for a single task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) dimensions: u8,
    pub(crate) extent: Extent,
}

impl Space {
    /// The index in each dimension of a linear index.
    fn item(&self, mut linear: u64) -> Vec<usize> {
        let mut item = vec![0; usize::from(self.dimensions.min(3))];
        for (index, &size) in item.iter_mut().zip(&self.extent.size).rev() {
            let size = (size as u64).max(1);
            // Below `size`, which came from a `usize`.
            *index = usize::try_from(linear % size).unwrap_or(usize::MAX);
            linear /= size;
        }
        item
    }
}

impl KernelPanic {
    pub(crate) fn from_native(kernel: &str, space: Space, panic: NativePanic) -> Self {
        Self {
            kernel: kernel.to_owned(),
            message: panic.message,
            file: panic.file,
            line: panic.line,
            column: panic.column,
            item: space.item(panic.item),
            linear_item: panic.item,
        }
    }

    /// From the words of a panic record; `site` is the one it names, if the image has it.
    pub(crate) fn from_record(
        kernel: &str,
        space: Space,
        site: Option<&PanicSite>,
        item: u64,
        operands: [u64; 2],
    ) -> Self {
        let (message, file, line, column) = match site {
            Some(site) => {
                (fill_in(&site.message, operands), site.file.clone(), site.line, site.column)
            }
            None => ("a panic at a place the image does not list".to_owned(), String::new(), 0, 0),
        };
        Self {
            kernel: kernel.to_owned(),
            message,
            file,
            line,
            column,
            item: space.item(item),
            linear_item: item,
        }
    }
}

/// Puts the operands where `message` says `{0}` and `{1}`, or `{0:i32}` for one that is of another type
/// than `u64`; a doubled brace stands for itself.
fn fill_in(message: &str, operands: [u64; 2]) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let (meaning, length) = operand_at(rest, operands).unwrap_or_else(|| {
            let doubled = rest.starts_with("{{") || rest.starts_with("}}");
            (rest[..1].to_owned(), if doubled { 2 } else { 1 })
        });
        text.push_str(&meaning);
        rest = &rest[length..];
    }
    text + rest
}

/// The operand that `rest` begins with, and how much of `rest` says so.
fn operand_at(rest: &str, operands: [u64; 2]) -> Option<(String, usize)> {
    let (inside, _) = rest.strip_prefix('{')?.split_once('}')?;
    let (number, kind) = inside.split_once(':').unwrap_or((inside, "u64"));
    let operand = match number {
        "0" => operands[0],
        "1" => operands[1],
        _ => return None,
    };
    Some((format_as(kind, operand), inside.len() + 2))
}

/// A value whose bits are `operand`, as Rust writes it: with `{}`, or `{:?}` if the kind ends so.
#[expect(clippy::cast_possible_truncation, reason = "the device widened a value of 32 bits")]
fn format_as(kind: &str, operand: u64) -> String {
    let narrow = operand as u32;
    let character = char::from_u32(narrow).unwrap_or(char::REPLACEMENT_CHARACTER);
    match kind {
        "char" => return character.to_string(),
        "char?" => return format!("{character:?}"),
        "f32?" => return format!("{:?}", f32::from_bits(narrow)),
        "f64?" => return format!("{:?}", f64::from_bits(operand)),
        _ => {}
    }
    match kind.trim_end_matches('?') {
        "i8" | "i16" | "i32" | "i64" | "isize" => operand.cast_signed().to_string(),
        "u8" | "u16" | "u32" | "u64" | "usize" => operand.to_string(),
        "bool" => (operand != 0).to_string(),
        "f32" => f32::from_bits(narrow).to_string(),
        "f64" => f64::from_bits(operand).to_string(),
        _ => "_".to_owned(),
    }
}

impl fmt::Display for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` panicked", self.kernel)?;
        if !self.file.is_empty() {
            write!(f, " at {}", self.file)?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
                if self.column > 0 {
                    write!(f, ":{}", self.column)?;
                }
            }
        }
        match self.item.as_slice() {
            [] => {}
            [index] => write!(f, " in item {index}")?,
            indices => write!(f, " in item {indices:?} (linear index {})", self.linear_item)?,
        }
        write!(f, ": {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, KernelPanic, PanicSite, Space, fill_in};

    #[test]
    fn doubled_braces_are_the_users_own() {
        assert_eq!(fill_in("{{0}} is {0}, {{ is {{, } is {1}", [4, 5]), "{0} is 4, { is {, } is 5");
    }

    #[test]
    fn an_operand_is_written_as_its_type_is() {
        let minus = (-3i64).cast_unsigned();
        assert_eq!(fill_in("{0:i16}, {1:u8?}{{0}}", [minus, 200]), "-3, 200{0}");
        assert_eq!(fill_in("{0:char} {0:char?} {1:bool}", [0x27, 1]), "' '\\'' true");
        let half = u64::from(0.5f32.to_bits());
        assert_eq!(fill_in("{0:f32} {1:f64?}", [half, 2f64.to_bits()]), "0.5 2.0");
        assert_eq!(fill_in("{0:i128}", [1, 2]), "_");
    }

    #[test]
    fn a_record_names_place_item_and_operands() {
        let space = Space {
            dimensions: 2,
            extent: Extent { dimensions: 2, size: [3, 10, 1], group: None },
        };
        let site = PanicSite {
            message: "the len is {0} but the index is {1}".into(),
            file: "src/main.rs".into(),
            line: 4,
            column: 9,
        };
        let panic = KernelPanic::from_record("k", space, Some(&site), 25, [5, 70]);
        assert_eq!(panic.item, [2, 5]);
        assert_eq!(
            panic.to_string(),
            "kernel `k` panicked at src/main.rs:4:9 in item [2, 5] (linear index 25): \
             the len is 5 but the index is 70"
        );
    }

    #[test]
    fn a_single_task_has_no_item() {
        let space =
            Space { dimensions: 0, extent: Extent { dimensions: 1, size: [1, 1, 1], group: None } };
        let panic = KernelPanic::from_record("k", space, None, 0, [0, 0]);
        assert_eq!(
            panic.to_string(),
            "kernel `k` panicked: a panic at a place the image does not list"
        );
    }
}
