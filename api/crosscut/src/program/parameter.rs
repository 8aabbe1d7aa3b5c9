//! What kernels by name take.

use std::fmt;

use crosscut_runtime::{KernelParameter, ValueKind};

/// What a kernel of a [`Program`](crate::Program) takes as one argument, as far as its module tells. Sizes
/// are in bytes.
///
/// ```
/// use crosscut::ProgramParameter;
///
/// let parameter = ProgramParameter::Memory { element: Some(4), constant: false };
/// assert_eq!(parameter.to_string(), "a buffer of 4-byte elements");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramParameter {
    /// An address of global memory: a buffer, a part of one, or USM.
    Memory {
        /// The size of an element, where the module says what it points to.
        element: Option<usize>,
        /// Whether it is constant memory, which the kernel does not write.
        constant: bool,
    },
    /// An address of work-group memory: [`Local`](crate::Local).
    Local {
        /// The size of an element, where the module says what it points to.
        element: Option<usize>,
    },
    /// An integer.
    Integer {
        /// Its size.
        size: usize,
    },
    /// A floating-point number.
    Float {
        /// Its size.
        size: usize,
    },
    /// A vector, array or struct: [`ByValue`](crate::ByValue).
    Composite {
        /// Its size.
        size: usize,
    },
    /// Something that cannot be passed, such as an image.
    Other(&'static str),
}

impl ProgramParameter {
    pub(super) fn of(parameter: &KernelParameter) -> Self {
        let bytes = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        let known = |element: u64| (element > 0).then(|| bytes(element));
        match *parameter {
            KernelParameter::Global { element, constant } => {
                Self::Memory { element: known(element), constant }
            }
            KernelParameter::Local { element } => Self::Local { element: known(element) },
            KernelParameter::Value { size, kind } => {
                let size = bytes(size);
                match kind {
                    ValueKind::Integer => Self::Integer { size },
                    ValueKind::Float => Self::Float { size },
                    ValueKind::Composite => Self::Composite { size },
                }
            }
            KernelParameter::Other(what) => Self::Other(what),
        }
    }
}

impl fmt::Display for ProgramParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elements =
            |f: &mut fmt::Formatter<'_>, what: &str, element: Option<usize>| match element {
                Some(size) => write!(f, "{what} of {size}-byte elements"),
                None => f.write_str(what),
            };
        match *self {
            Self::Memory { element, constant: false } => elements(f, "a buffer", element),
            Self::Memory { element, constant: true } => elements(f, "a constant buffer", element),
            Self::Local { element } => elements(f, "work-group memory", element),
            Self::Integer { size } => write!(f, "an integer of {size} bytes"),
            Self::Float { size } => write!(f, "a floating-point number of {size} bytes"),
            Self::Composite { size } => write!(f, "a value of {size} bytes"),
            Self::Other(what) => f.write_str(what),
        }
    }
}
