//! From a device global of an image to the static in the host program.

use crate::global::GlobalHandle;
use crate::registry::{self, Found};
use crate::{Error, ErrorKind};

/// The static of a global that a kernel uses behind the program's back.
pub(crate) fn global_handle(found: &Found, index: u32) -> Result<GlobalHandle, Error> {
    let refused = |message: String| {
        Error::new(ErrorKind::KernelNotSupported, message)
            .with_help("rebuild with `cargo crosscut build`")
    };
    let Some(global) = found.image.globals.get(index as usize) else {
        return Err(refused(format!("corrupt device image: there is no global {index}")));
    };
    if let Some(other) = registry::contradiction(found.program.id(), global) {
        return Err(Error::new(
            ErrorKind::Build,
            format!(
                "`{}` has {} bytes aligned to {} (properties {:#x}) in one loaded program, and `{}` \
                 {} bytes aligned to {} (properties {:#x}) in another",
                global.display_name,
                global.size,
                global.align,
                global.properties,
                other.display_name,
                other.size,
                other.align,
                other.properties
            ),
        )
        .with_help("build both programs from the same version of the crate that defines it"));
    }
    let (size, align) = match (usize::try_from(global.size), usize::try_from(global.align)) {
        (Ok(size), Ok(align)) if align.is_power_of_two() => (size, align),
        _ => return Err(refused(format!("`{}` has an impossible layout", global.display_name))),
    };
    let Some(address) = found.program.object(&global.id)? else {
        return Err(refused(format!("`{}` is not in the host program", global.display_name)));
    };
    // SAFETY: the link step registered this address as that of a device global with this id, and
    // wrote size, alignment and properties into the image as the program itself hands them to the
    // access hook; device globals have the initial bytes that these promise. This is the one thing in
    // an image that is believed: the table of statics has no sizes that it could be checked against.
    // No width is needed here.
    Ok(unsafe { GlobalHandle::new(address, size, align, 0, global.properties) })
}
