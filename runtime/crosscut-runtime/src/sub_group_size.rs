//! Sub-groups of a size that the program asks for.

use crate::device::Device;
use crate::{Error, ErrorKind};

/// Refuses a size that the device's sub-groups cannot have; `kernel` is for the message.
pub(crate) fn check(device: &Device, size: u32, kernel: &str) -> Result<(), Error> {
    let sizes = &device.info().sub_group_sizes;
    if sizes.iter().any(|&known| u32::try_from(known) == Ok(size)) {
        return Ok(());
    }
    let (name, backend) = (device.name(), device.backend());
    let asks =
        format!("kernel `{kernel}` asks for sub-groups of {size} items, and `{name}` ({backend})");
    let error = |message: String| Error::new(ErrorKind::KernelNotSupported, message);
    let shown: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    Err(match &*shown {
        [] => error(format!("{asks} does not say which sizes it has"))
            .with_help("leave `sub_group_size` out, or choose a device that does: `cargo crosscut ls --verbose` tells"),
        [only] => error(format!("{asks} has those of {only}"))
            .with_help(format!("pass `sub_group_size` {only}, or leave it out")),
        [first @ .., last] => error(format!("{asks} has those of {} or {last}", first.join(", ")))
            .with_help("pass `sub_group_size` one of these, or leave it out"),
    })
}
