//! Work in a copy of this process, of which only the bytes it makes come back.
//!
//! LLVM's SPIR-V back end numbers basic blocks in a table that outlives the module and is looked up
//! by the address of a function. When the next module gets memory at the same address, its blocks
//! have the numbers of the last one's, and ids are there twice. A copy that ends after one module
//! has no next one.

use std::ffi::c_int;
use std::io::{self, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::LlvmError;
use crate::LowerError;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const WORKED: u8 = 1;
const REFUSED: u8 = 2;

/// What `work` returns, done in a copy of this process. If the copy dies, this process dies the same
/// way: whoever started it asks why.
pub(super) fn apart(
    work: impl FnOnce() -> Result<Vec<u8>, LlvmError>,
) -> Result<Vec<u8>, LowerError> {
    let (mut reader, writer) = io::pipe().map_err(LowerError::Start)?;
    // SAFETY: this process has one thread, so the copy has all of it and no lock is held for ever.
    let copy = unsafe { fork() };
    if copy < 0 {
        return Err(LowerError::Start(io::Error::last_os_error()));
    }
    if copy == 0 {
        let status = catch_unwind(AssertUnwindSafe(|| answer(writer, work)));
        // SAFETY: never returns, and runs nothing that was meant for the original's end.
        unsafe { _exit(if matches!(status, Ok(Ok(()))) { 0 } else { 1 }) };
    }
    // Otherwise the pipe would never end.
    drop(writer);
    let mut bytes = Vec::new();
    let read = reader.read_to_end(&mut bytes);
    let mut status = 0;
    // SAFETY: the copy is a child nobody else waits for; `status` is writable.
    while unsafe { waitpid(copy, &raw mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        // Without the status a copy that died would pass for one that worked.
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(LowerError::Process(error.to_string()));
        }
    }
    match (status, bytes.split_first()) {
        (0, Some((&WORKED, bytes))) if read.is_ok() => Ok(bytes.to_vec()),
        (0, Some((_, message))) => Err(LowerError::Llvm(String::from_utf8_lossy(message).into())),
        _ => die_like(status),
    }
}

fn answer(
    mut writer: PipeWriter,
    work: impl FnOnce() -> Result<Vec<u8>, LlvmError>,
) -> io::Result<()> {
    let (tag, bytes) = match work() {
        Ok(bytes) => (WORKED, bytes),
        Err(LlvmError(message)) => (REFUSED, message.into_bytes()),
    };
    writer.write_all(&[tag])?;
    writer.write_all(&bytes)
}

/// The signal is in the low seven bits, the exit code in the next eight.
fn die_like(status: c_int) -> ! {
    if status & 0x7f != 0 {
        // SAFETY: takes a number; its handler is the default one, as in the copy.
        unsafe { raise(status & 0x7f) };
    }
    std::process::exit((status >> 8 & 0xff).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_changes_do_not() {
        let mut number = 1;
        let bytes = apart(|| {
            number = 2;
            Ok(vec![7; 1 << 20])
        });
        assert_eq!(bytes.unwrap(), vec![7; 1 << 20]);
        assert_eq!(number, 1);
    }

    #[test]
    fn a_refusal_comes_back_as_one() {
        let refused = apart(|| Err(LlvmError("no such thing".into())));
        assert_eq!(refused.unwrap_err().to_string(), "LLVM: no such thing");
    }
}
