//! The kernels that behaviours launch.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::{Argument, CodeForm, Extent, Memory};

/// The bytes of a 32-bit word.
const WORD: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// A place in memory, as a kernel's argument.
#[derive(Clone)]
pub struct Place {
    /// The allocation.
    pub memory: Arc<dyn Memory>,
    /// From which byte on.
    pub offset: usize,
}

impl Place {
    /// The beginning of `memory`.
    #[must_use]
    pub fn start(memory: &Arc<dyn Memory>) -> Self {
        Self { memory: Arc::clone(memory), offset: 0 }
    }

    fn room(&self) -> usize {
        self.memory.size().get() - self.offset
    }
}

/// A kernel with its arguments: what can be launched without breaking a promise.
#[derive(Clone)]
pub enum Work {
    /// `copy`: item `i` copies the 32-bit word `i`.
    Copy {
        /// Where to.
        to: Place,
        /// Where from.
        from: Place,
    },
    /// `add`: item `i` stores the word `i` plus a number.
    Add {
        /// Where to.
        to: Place,
        /// Where from.
        from: Place,
        /// The number.
        number: u32,
    },
    /// `store_value`: item `i` stores a 64-bit value at the 64-bit word `i`.
    StoreValue {
        /// Where to.
        to: Place,
        /// The value.
        value: u64,
    },
    /// `store_indices`: each item stores `z * 10000 + y * 100 + x` at the 64-bit word of its linear
    /// index, `x` being the fastest dimension.
    StoreIndices {
        /// Where to.
        to: Place,
    },
    /// `follow_address`: takes an address from a cell and copies the 32-bit word there.
    FollowAddress {
        /// Where to.
        to: Place,
        /// The cell.
        cell: Place,
        /// What the cell points to: the behaviour has put its address there.
        pointee: Place,
    },
    /// `count`: each item adds one to a 32-bit word.
    Count {
        /// Which word.
        to: Place,
    },
    /// `spin`: each item adds one to a 32-bit word, a number of times.
    Spin {
        /// Which word.
        to: Place,
        /// The number of times.
        times: u64,
    },
    /// `turn_around`: each group of a one-dimensional launch stores the indices of its items in reverse,
    /// by way of its local memory.
    TurnAround {
        /// Where to.
        to: Place,
        /// The items of a group.
        group: NonZeroUsize,
    },
    /// `nothing`: does nothing.
    Nothing,
}

impl Work {
    /// The kernel's name.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        match self {
            Self::Copy { .. } => "copy",
            Self::Add { .. } => "add",
            Self::StoreValue { .. } => "store_value",
            Self::StoreIndices { .. } => "store_indices",
            Self::FollowAddress { .. } => "follow_address",
            Self::Count { .. } => "count",
            Self::Spin { .. } => "spin",
            Self::TurnAround { .. } => "turn_around",
            Self::Nothing => "nothing",
        }
    }

    /// What it touches; the arguments come first, in order.
    fn places(&self) -> Vec<&Place> {
        match self {
            Self::Copy { to, from } | Self::Add { to, from, .. } => vec![to, from],
            Self::FollowAddress { to, cell, pointee } => vec![to, cell, pointee],
            Self::StoreValue { to, .. }
            | Self::StoreIndices { to }
            | Self::Count { to }
            | Self::TurnAround { to, .. }
            | Self::Spin { to, .. } => vec![to],
            Self::Nothing => vec![],
        }
    }

    /// All the memory it touches.
    pub(crate) fn memory(&self) -> Vec<Arc<dyn Memory>> {
        self.places().into_iter().map(|place| Arc::clone(&place.memory)).collect()
    }

    /// Where native code finds what it touches, and how many bytes there are.
    pub(crate) fn addresses(&self) -> Result<Vec<(*mut u8, usize)>, String> {
        let address = |place: &Place| {
            let start = place.memory.host_address().ok_or("native code has no address of it")?;
            Ok((start.as_ptr().wrapping_add(place.offset), place.room()))
        };
        self.places().into_iter().map(address).collect()
    }

    /// The value it takes; 0 if it takes none.
    pub(crate) fn value(&self) -> u64 {
        match *self {
            Self::Add { number, .. } => u64::from(number),
            Self::StoreValue { value, .. } | Self::Spin { times: value, .. } => value,
            _ => 0,
        }
    }

    /// Whether every item of `extent` stays inside the memory.
    pub(crate) fn fits(&self, extent: Extent) -> bool {
        let items: usize = extent.size.iter().product();
        let words = |place: &Place, size| place.room() >= items * size;
        match self {
            Self::Copy { to, from } | Self::Add { to, from, .. } => words(to, 4) && words(from, 4),
            Self::StoreValue { to, .. } | Self::StoreIndices { to } => words(to, 8),
            Self::FollowAddress { to, cell, pointee } => {
                to.room() >= 4 && cell.room() >= 8 && pointee.room() >= 4
            }
            Self::Count { to } | Self::Spin { to, .. } => to.room() >= 4,
            Self::TurnAround { to, group } => {
                words(to, 4) && extent.group == Some([group.get(), 1, 1])
            }
            Self::Nothing => true,
        }
    }

    /// Hands the kernel's arguments to `take`.
    pub(crate) fn with_arguments<R>(&self, take: impl FnOnce(&[Argument<'_>]) -> R) -> R {
        fn memory(place: &Place) -> Argument<'_> {
            Argument::Memory { memory: &*place.memory, offset: place.offset }
        }
        match self {
            Self::Copy { to, from } => take(&[memory(to), memory(from)]),
            Self::Add { to, from, number } => {
                take(&[memory(to), memory(from), Argument::Value(&number.to_ne_bytes())])
            }
            Self::StoreValue { to, value } | Self::Spin { to, times: value } => {
                take(&[memory(to), Argument::Value(&value.to_ne_bytes())])
            }
            Self::FollowAddress { to, cell, .. } => take(&[memory(to), memory(cell)]),
            Self::StoreIndices { to } | Self::Count { to } => take(&[memory(to)]),
            Self::TurnAround { to, group } => {
                take(&[memory(to), Argument::Local(group.saturating_mul(WORD))])
            }
            Self::Nothing => take(&[]),
        }
    }
}

/// The kernels as SPIR-V.
///
/// # Errors
/// Says why `spirv-as` did not assemble them.
pub fn kernels() -> Result<&'static [u8], String> {
    static KERNELS: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let text = include_str!("../kernels/kernels.spvasm");
    KERNELS.get_or_init(|| assemble(text)).as_deref().map_err(Clone::clone)
}

/// The kernels in a form of code that programs are built of.
///
/// # Errors
/// Says why there are none of that form.
pub fn code(form: CodeForm) -> Result<&'static [u8], String> {
    match form {
        CodeForm::Spirv64 => kernels(),
        CodeForm::Ptx => Ok(include_bytes!("../kernels/kernels.ptx")),
        other => Err(format!("there are no kernels as {}", other.name())),
    }
}

/// Assembles the text of a SPIR-V module.
///
/// # Errors
/// Says why `spirv-as` did not.
pub fn assemble(text: &str) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("spirv-as: {error} (Debian: spirv-tools)");
    let mut assembler = Command::new("spirv-as")
        .args(["--target-env", "spv1.2", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = assembler.stdin.take() {
        input.write_all(text.as_bytes()).map_err(failed)?;
    }
    let output = assembler.wait_with_output().map_err(failed)?;
    if output.status.success() { Ok(output.stdout) } else { Err("spirv-as refused".to_owned()) }
}
