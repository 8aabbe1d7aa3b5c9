//! Opening several devices together.

use std::any::Any;
use std::sync::Arc;

use crate::{Context, DriverError};

/// The ability to share a context with other devices, reached by [`Device::as_joinable`](crate::Device::as_joinable).
pub trait Joinable: Send + Sync {
    /// Whether the driver can open this device and that one together. A device and its parts can be.
    fn can_join(&self, other: &dyn Joinable) -> bool;

    /// Opens this device and `others` together: one context for each, this device's first.
    ///
    /// Memory, events and promises of one of them are as good as their own to all others; programs with
    /// their kernels and variables stay each one's own. All memory is reachable by all devices, whatever
    /// its kind; what that rules out is what the contexts [lack](Context::lacks). What is left of them
    /// works when the others are gone.
    ///
    /// The runtime names every device once, and only such as [can join](Self::can_join) this one.
    ///
    /// # Errors
    /// The driver's refusal.
    fn create_contexts(
        &self,
        others: &[&dyn Joinable],
    ) -> Result<Vec<Arc<dyn Context>>, DriverError>;

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}
