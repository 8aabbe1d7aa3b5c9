//! Environment variables by which one role of the command speaks to the next.

/// A wrapper of rustc that was set before ours: it runs the host's compilation.
pub const CHAINED_WRAPPER: &str = "CROSSCUT_CHAINED_RUSTC_WRAPPER";

/// The environment of the command, as [`described`](crate::environment::described). Whatever a
/// compilation has beyond it, or with another value, was set by cargo for that crate.
pub const COMMAND_VARIABLES: &str = "CROSSCUT_COMMAND_VARIABLES";

/// A lowering pass whose result is to be written as text.
pub const DUMP_AFTER: &str = "CROSSCUT_DUMP_AFTER";

/// Where that text goes.
pub const DUMP_DIR: &str = "CROSSCUT_DUMP_DIR";

/// Read by the linker role: the record of the crate that is linked.
pub const LINK_RECORD: &str = "CROSSCUT_LINK_RECORD";

/// Read by the linker role: the linker to run.
pub const LINKER: &str = "CROSSCUT_LINKER";
