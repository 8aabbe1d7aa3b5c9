//! What a device cannot do, and how it is told.

use std::collections::BTreeSet;

use super::debug::{Frame, is_users};
use crate::job::Diagnostic;
use crate::names;
use crate::passes::globals::ONE_OF_SEVERAL;

/// The functions behind `print!` and `println!`, and behind `eprintln!` and `dbg!`.
const PRINTING: [&str; 2] = ["std::io::stdio::_print", "std::io::stdio::_eprint"];

/// What a kernel does that a device cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Allocates memory.
    Heap,
    /// Allocates memory for a text that it formats.
    Format,
    /// Frees memory; told only where nothing allocates.
    Free,
    /// Talks to the operating system: files, terminal, time, processes.
    System {
        /// The function of the standard library.
        function: String,
    },
    /// Calls through a pointer.
    Pointer,
    /// Calls itself.
    Recursion {
        /// The functions on the circle.
        functions: Vec<String>,
    },
    /// Uses a static of the host.
    Static {
        /// The static.
        name: String,
    },
    /// Uses a thread local.
    ThreadLocal,
    /// Follows a captured reference.
    Captured,
    /// Has inline assembly.
    Assembly,
    /// Uses an instruction of the host's CPU, by its intrinsic.
    OneCpu,
    /// Waits at a barrier that some items of a group may not reach.
    Barrier,
    /// Divides integers of 128 bits.
    WideDivision,
    /// Calls what nobody defines.
    Undefined {
        /// The function.
        function: String,
    },
    /// Reaches a device global in a way that cannot be followed.
    GlobalAddress {
        /// Why not.
        reason: String,
    },
    /// Reads a specialization constant in a way that cannot be followed.
    SpecConstant {
        /// Why not.
        reason: &'static str,
    },
}

impl Problem {
    /// The problem that a call of an undefined function is.
    pub(crate) fn of_call(symbol: &str) -> Self {
        let path = names::display(symbol);
        let plain = path.trim_start_matches(['<', '&']);
        let allocates = ["__rust_alloc", "__rust_realloc", "__rust_no_alloc"];
        match names::crate_of(symbol).as_deref() {
            _ if symbol.contains("__rust_dealloc") || symbol == "free" => Self::Free,
            _ if allocates.iter().any(|name| symbol.contains(name)) => Self::Heap,
            _ if matches!(symbol, "malloc" | "calloc" | "realloc") => Self::Heap,
            Some("alloc") if path.contains("dealloc") || path.contains("drop") => Self::Free,
            Some("alloc") if plain.starts_with("alloc::fmt::format") => Self::Format,
            Some("alloc") => Self::Heap,
            Some("std") if plain.starts_with("std::thread::local") => Self::ThreadLocal,
            Some("std") if plain.contains("thread_local") => Self::ThreadLocal,
            Some("std") => Self::System { function: path },
            _ if symbol == "__tls_get_addr" => Self::ThreadLocal,
            _ if matches!(symbol, "__udivti3" | "__umodti3" | "__divti3" | "__modti3") => {
                Self::WideDivision
            }
            _ => Self::Undefined { function: path },
        }
    }

    /// Whether both are the same functions calling each other, whichever is called first.
    pub(crate) fn is_same_circle(&self, other: &Self) -> bool {
        let sorted = |problem: &Self| match problem {
            Self::Recursion { functions } => Some(BTreeSet::from_iter(functions.clone())),
            _ => None,
        };
        sorted(self).is_some_and(|functions| Some(functions) == sorted(other))
    }

    /// Whether it is a call of the host's standard library.
    pub(crate) fn is_system(&self) -> bool {
        matches!(self, Self::System { .. })
    }

    /// Whether it is the end of something that only the host has.
    pub(crate) fn is_drop(&self) -> bool {
        matches!(self, Self::System { function } if function.ends_with("ops::drop::Drop>::drop"))
    }

    /// The problem as the user caused it: whatever a function of `std` does that a device cannot, it is the
    /// function that only runs on the host.
    pub(crate) fn seen_from(self, frames: &[Frame]) -> Self {
        if matches!(self, Self::Captured | Self::Barrier | Self::GlobalAddress { .. }) {
            return self;
        }
        let own = frames.iter().position(|frame| is_users(frame, false)).unwrap_or(0);
        let of_std = |frame: &&Frame| names::crate_of(&frame.symbol).as_deref() == Some("std");
        let called = frames[..own].iter().rev().find(of_std);
        called.map_or(self, |frame| Self::of_call(&frame.symbol))
    }

    fn message(&self) -> String {
        match self {
            Self::Heap => "a kernel allocates memory, which a device cannot do".into(),
            Self::Format => {
                "a kernel formats text, for which a device cannot allocate memory".into()
            }
            Self::Free => "a kernel frees memory, which a device cannot do".into(),
            Self::System { function } => {
                format!("a kernel calls `{function}`, which only runs on the host")
            }
            Self::Pointer => {
                "a kernel calls a function through a pointer, which a device cannot do".into()
            }
            Self::Recursion { functions } => match functions.as_slice() {
                [one] => format!("a kernel calls `{one}`, which calls itself"),
                several => format!(
                    "a kernel calls `{}`, which calls itself through `{}`",
                    several[0],
                    several[1..].join("`, `")
                ),
            },
            Self::Static { name } => {
                format!("a kernel uses the static `{name}`, which only the host has")
            }
            Self::ThreadLocal => "a kernel uses a thread local, which only the host has".into(),
            Self::Captured => "a kernel follows a captured reference to host memory".into(),
            Self::Assembly => "a kernel contains inline assembly, which is the host's".into(),
            Self::OneCpu => "a kernel uses an instruction that only the host's CPU has".into(),
            Self::Barrier => {
                "a barrier stands where some items of a work-group may not arrive".into()
            }
            Self::WideDivision => {
                "a kernel divides 128-bit integers, which devices cannot do yet".into()
            }
            Self::Undefined { function } => {
                format!("a kernel calls `{function}`, whose code is not there to compile")
            }
            Self::GlobalAddress { reason } => {
                format!("a kernel uses a device global that cannot be told: {reason}")
            }
            Self::SpecConstant { reason } => {
                format!("a kernel reads a specialization constant that cannot be told: {reason}")
            }
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Heap => "allocates here",
            Self::Format => "formatted here",
            Self::Free => "frees here",
            Self::System { .. } | Self::Undefined { .. } | Self::Pointer => "called here",
            Self::Recursion { .. } => "the recursion begins here",
            Self::Static { .. } | Self::ThreadLocal | Self::GlobalAddress { .. } => "used here",
            Self::SpecConstant { .. } => "read here",
            Self::Captured => "the reference is followed here",
            Self::Assembly => "assembled here",
            Self::OneCpu => "used here",
            Self::Barrier => "items that went another way do not wait here",
            Self::WideDivision => "divided here",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Heap | Self::Free => {
                "use an array of fixed size, or allocate a buffer on the host and pass it as an \
                 argument"
            }
            Self::Format => {
                "print it with `device_println!`, or format it on the host, after the kernel"
            }
            Self::System { function } if PRINTING.contains(&function.as_str()) => {
                "use `device_println!`, whose lines the host prints when the kernel has ended"
            }
            Self::System { function } if function.contains("std::sync::") => {
                "items share by atomics: in a `DeviceGlobal`, or in a buffer of them"
            }
            Self::System { function } if function.starts_with("std::process::") => {
                "`return` ends an item, and a panic is an error of the launch as well: end the \
                 process on the host"
            }
            Self::System { .. } => {
                "do it on the host, before or after the kernel, and pass the data in a buffer"
            }
            Self::Pointer => {
                "make the callee a generic parameter (`F: Fn`), or match on an enum, instead of a \
                 function pointer or `dyn Trait`"
            }
            Self::Recursion { functions } if functions[0].contains("core::slice::sort") => {
                "sort on the host, or a few elements by two loops in the kernel; many items sort together \
                 as in `examples/sort.rs`"
            }
            Self::Recursion { .. } => {
                "write it as a loop, with an array of fixed size as its stack: devices have none"
            }
            Self::Static { .. } => "make it a `DeviceGlobal`, or a `const` if it never changes",
            Self::ThreadLocal => "use a variable of the kernel, or a `DeviceGlobal` for all items",
            Self::Captured => {
                "capture the value itself, or upload the data to a buffer and pass that as an \
                 argument"
            }
            Self::Assembly | Self::OneCpu => {
                "write it in Rust; `core::arch` and `asm!` are for one CPU"
            }
            Self::Barrier => "move it out of the branch or loop that depends on the item's index",
            Self::WideDivision => "divide 64-bit integers, or use floating point",
            Self::Undefined { .. } => {
                "call Rust code: functions of C libraries and `extern` blocks only run on the host"
            }
            Self::GlobalAddress { reason } if reason == ONE_OF_SEVERAL => {
                "put each device global in a static of its own, or make one device global of an array"
            }
            Self::GlobalAddress { .. } => {
                "name a `static` in the kernel (a `const` is a new global at every use), or choose between statics with `if` or `match`"
            }
            Self::SpecConstant { .. } => {
                "name the static where it is read: `TILE.get()`; choose between values, not between \
                 constants"
            }
        }
    }

    /// Tells the problem: where the user can change it, and how the kernel gets there.
    pub(crate) fn tell(&self, kernel: &str, frames: &[Frame]) -> Diagnostic {
        let place = frames
            .iter()
            .find(|frame| is_users(frame, true))
            .or_else(|| frames.iter().find(|frame| is_users(frame, false)));
        let mut notes = vec![format!("in kernel `{kernel}`")];
        notes.extend(call_chain(frames));
        Diagnostic {
            message: self.message(),
            span: place.map(|frame| frame.span.clone()),
            label: place.map(|_| self.label().to_owned()),
            notes,
            help: self.help().to_owned(),
        }
    }
}

/// How the kernel's closure reaches the place, outermost first: every function that is the user's, and
/// the first of the standard library that they call. `None` if the place is in the closure itself.
fn call_chain(frames: &[Frame]) -> Option<String> {
    let mut chain: Vec<String> = Vec::new();
    for frame in frames.iter().rev().skip_while(|frame| !is_users(frame, false)) {
        chain.push(names::display(&frame.symbol));
        if !is_users(frame, false) {
            break;
        }
    }
    let (first, rest) = chain.split_first()?;
    let (second, rest) = rest.split_first()?;
    let mut text = format!("`{first}` calls `{second}`");
    for name in rest {
        text.push_str(&format!(", which calls `{name}`"));
    }
    Some(text)
}
