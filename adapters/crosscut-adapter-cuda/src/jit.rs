//! From PTX to the device's own code, by the compiler in the driver.

use std::ffi::c_void;

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::abi::{self, Handle, JitOption, Status};
use crate::context::{ContextHandle, Current};
use crate::query;

/// The bytes of messages that are read at most.
const LOG_SIZE: usize = 16 << 10;

/// Where the driver's compiler writes what it does not like, as options of its calls.
pub(crate) struct Log {
    buffer: Vec<u8>,
    pub(crate) options: [JitOption; 2],
    pub(crate) values: [*mut c_void; 2],
}

impl Log {
    pub(crate) fn new() -> Self {
        let mut buffer = vec![0; LOG_SIZE];
        let options = [abi::CU_JIT_ERROR_LOG_BUFFER, abi::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let size = std::ptr::without_provenance_mut(LOG_SIZE);
        let values = [buffer.as_mut_ptr().cast(), size];
        Self { buffer, options, values }
    }

    pub(crate) fn count(&self) -> u32 {
        self.options.len() as u32
    }

    /// Turns the status of a call that had these options into a result.
    pub(crate) fn check(
        &self,
        context: &ContextHandle,
        call: &'static str,
        status: Status,
    ) -> Result<(), DriverError> {
        context.api.check(call, status).map_err(|refusal| {
            let text = Some(query::text(&self.buffer)).filter(|text| !text.is_empty());
            let lines: Vec<String> = refusal.log.iter().cloned().chain(text).collect();
            // Whatever the driver does not like about the code: there is nothing else to dislike.
            let kind = match refusal.kind {
                DriverErrorKind::Other => DriverErrorKind::Build,
                kind => kind,
            };
            DriverError { kind, log: (!lines.is_empty()).then(|| lines.join("\n")), ..refusal }
        })
    }
}

/// A link in progress.
struct Link<'a> {
    context: &'a ContextHandle,
    raw: Handle,
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: the link is alive, its context current, and nobody else has it.
        unsafe { (self.context.api.cuLinkDestroy)(self.raw) };
    }
}

/// The device's own code for a program in PTX, which is checked first: the driver reads text until a zero
/// byte, wherever that is.
pub(crate) fn compile(
    context: &ContextHandle,
    _current: &Current,
    ptx: &[u8],
) -> Result<Vec<u8>, DriverError> {
    const CREATE: &str = "cuLinkCreate_v2";
    const ADD: &str = "cuLinkAddData_v2";
    const COMPLETE: &str = "cuLinkComplete";
    let text = ptx.strip_suffix(&[0]).unwrap_or(ptx);
    if text.contains(&0) || !text.is_ascii() {
        return Err(DriverError {
            log: Some(
                "this is no PTX, which is text: a file of another kind, or damaged".to_owned(),
            ),
            ..context.api.error(ADD, abi::CUDA_ERROR_INVALID_PTX)
        });
    }
    let mut text = [text, &[0]].concat();
    let (api, mut log, mut raw) = (context.api, Log::new(), std::ptr::null_mut());
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    // SAFETY: the context is current; as many options as are announced live until the link is destroyed,
    // at the end of this function, as does the buffer they name; `raw` is writable.
    let status = unsafe { (api.cuLinkCreate_v2)(log.count(), options, values, &raw mut raw) };
    log.check(context, CREATE, status)?;
    let link = Link { context, raw };
    // SAFETY: the link is alive, the text ends with a zero byte which its size counts, the name is
    // terminated, and no options are announced.
    let status = unsafe {
        (api.cuLinkAddData_v2)(
            link.raw,
            abi::CU_JIT_INPUT_PTX,
            text.as_mut_ptr().cast(),
            text.len(),
            c"program".as_ptr(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    log.check(context, ADD, status)?;
    let (mut code, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the link is alive and has its input, both results are writable.
    let status = unsafe { (api.cuLinkComplete)(link.raw, &raw mut code, &raw mut size) };
    log.check(context, COMPLETE, status)?;
    if code.is_null() || size == 0 {
        return Err(context.api.error(COMPLETE, abi::CUDA_ERROR_INVALID_IMAGE));
    }
    // SAFETY: the link made as many bytes, which live until it is destroyed, after this.
    Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), size) }.to_vec())
}
