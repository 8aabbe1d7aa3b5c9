//! Programs as the driver's own bytes: what lets a program be built once and loaded ever after.

use crate::{DriverError, Program};

/// The ability to turn built programs into bytes and back, reached by
/// [`Context::as_caching`](crate::Context::as_caching).
///
/// The bytes are the driver's own, native code as a rule: the runtime hands back only what it has
/// checked to be, byte for byte, what [`binary`](Self::binary) gave for the same device, the same
/// driver and the same [`build_identity`](Self::build_identity).
pub trait ProgramBinaries {
    /// Whatever decides what a build makes, beside the code and what
    /// [`DeviceInfo`](crate::DeviceInfo) tells: the build options, for one.
    fn build_identity(&self) -> String;

    /// The bytes of a program that this context built; empty if the driver has none for it.
    ///
    /// # Errors
    /// The driver's refusal.
    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError>;

    /// The program that these bytes are.
    ///
    /// # Errors
    /// The driver's refusal, of whatever kind: it is then built from its code.
    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError>;
}
