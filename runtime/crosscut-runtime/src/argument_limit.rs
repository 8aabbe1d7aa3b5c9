//! How many bytes of arguments one launch may have.

use crosscut_adapter_api::Argument;

use crate::Error;
use crate::device::Device;

/// What an address takes, and what the parameters of an image's kernels take, whatever they are.
const WORD: usize = 8;

/// Refuses more than the device takes.
pub(crate) fn check(
    device: &Device,
    kernel: &str,
    arguments: &[Argument<'_>],
) -> Result<(), Error> {
    let most = device.info().limits.argument_bytes;
    let size = |argument: &Argument<'_>| match argument {
        Argument::Value(bytes) => bytes.len(),
        Argument::Memory { .. } | Argument::Local(_) => WORD,
    };
    let bytes: usize = arguments.iter().map(size).sum();
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(
        format!(
            "kernel `{kernel}` has {bytes} bytes of arguments and captures, and `{}` takes {most}",
            device.name()
        ),
        "capture less: put the values into a buffer or a device global",
    ))
}
