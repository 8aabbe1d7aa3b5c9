//! LLVM as this crate sees it: a context, modules, passes, code generators.
//!
//! Most passes of ours work on the module's text (see [`crate::ir`]), so little of LLVM's interface
//! is needed: read, link, optimise, verify, print, emit. Everything here runs in the lowering
//! process, which ends when its one job is done: contexts are never freed.

mod apart;
mod api;
mod module;
mod target;

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null;
use std::rc::Rc;
use std::sync::Once;

use crosscut_image::spirv;

pub(crate) use api::{Api, Ref};
pub use api::{LIBRARY_VARIABLE, LLVM_MAJOR, LoadError, find_llvm};
pub(crate) use module::{Linkage, Module};
pub(crate) use target::TargetMachine;

/// LLVM's own word that it cannot do what was asked: a bug of ours, or of LLVM's.
#[derive(Debug, thiserror::Error)]
#[error("LLVM: {0}")]
pub(crate) struct LlvmError(pub(crate) String);

/// A loaded LLVM with one context. Clones share it.
#[derive(Clone)]
pub(crate) struct Llvm {
    inner: Rc<Inner>,
}

struct Inner {
    api: Api,
    context: Ref,
    /// What LLVM reported while the last call ran; the handler below fills it.
    reports: Box<Reports>,
}

/// Where the diagnostic handler leaves what LLVM says.
struct Reports {
    describe: unsafe extern "C" fn(Ref) -> *mut c_char,
    severity: unsafe extern "C" fn(Ref) -> c_int,
    dispose: unsafe extern "C" fn(*mut c_char),
    errors: RefCell<Vec<String>>,
}

/// Keeps errors; LLVM's remarks and warnings about device code are of no use to users.
extern "C" fn keep_report(info: Ref, reports: *mut c_void) {
    // SAFETY: the handler was installed with a pointer to `Inner::reports`, which is boxed and lives
    // as long as the context that calls this.
    let reports = unsafe { &*reports.cast::<Reports>() };
    // SAFETY: LLVM hands over a diagnostic that is valid for this call.
    let severity = unsafe { (reports.severity)(info) };
    if severity != 0 {
        return;
    }
    // SAFETY: as above; the result is a fresh message.
    let message = unsafe { (reports.describe)(info) };
    // SAFETY: messages are terminated strings.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: the message came from LLVM and is not used any more.
    unsafe { (reports.dispose)(message) };
    reports.errors.borrow_mut().push(text);
}

impl Llvm {
    /// Loads LLVM and makes a context.
    pub(crate) fn load() -> Result<Self, LoadError> {
        let api = Api::load()?;
        set_options(&api);
        // SAFETY: takes nothing; the context is never freed.
        let context = unsafe { (api.LLVMContextCreate)() };
        let reports = Box::new(Reports {
            describe: api.LLVMGetDiagInfoDescription,
            severity: api.LLVMGetDiagInfoSeverity,
            dispose: api.LLVMDisposeMessage,
            errors: RefCell::default(),
        });
        let data = (&raw const *reports).cast_mut().cast();
        // SAFETY: the handler reads `data` only as a shared reference to the boxed reports, which
        // are kept beside the context.
        unsafe { (api.LLVMContextSetDiagnosticHandler)(context, Some(keep_report), data) };
        Ok(Self { inner: Rc::new(Inner { api, context, reports }) })
    }

    pub(crate) fn api(&self) -> &Api {
        &self.inner.api
    }

    pub(crate) fn context(&self) -> Ref {
        self.inner.context
    }

    /// The errors LLVM reported since this was last asked, as one error.
    pub(crate) fn reported(&self, otherwise: &str) -> LlvmError {
        let errors = std::mem::take(&mut *self.inner.reports.errors.borrow_mut());
        LlvmError(if errors.is_empty() { otherwise.into() } else { errors.join("; ") })
    }

    /// Takes over a message of LLVM's.
    pub(crate) fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM's messages are terminated strings, and this one is ours now.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        // SAFETY: the message came from LLVM and is not used any more.
        unsafe { (self.api().LLVMDisposeMessage)(message) };
        text
    }
}

/// Tells the SPIR-V back end which extensions it may use where a module asks for them, and LLVM to leave loops as they
/// are. LLVM ends the process if it is told twice.
///
/// Vectorisers stay off: devices vectorise across items, and what vectorises loops that end early asks for what the
/// back end does not have. (A pass builder's own options do not: a level of optimisation goes over them.)
///
/// A loop that looks for a zero is not made a call of the C library's, which devices have not.
///
/// What makes loops cheaper before code is written counts in integers of any width: of `address & 3` two bits, of
/// which the back end makes eight and forgets to cut off the rest.
fn set_options(api: &Api) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        let list = spirv::VARIABLE_EXTENSIONS.map(|name| format!("+{name}")).join(",");
        let option = c_string(&format!("--spirv-ext={list}"));
        let arguments = [
            c"crosscut-lower",
            option.as_c_str(),
            c"--vectorize-loops=false",
            c"--vectorize-slp=false",
            c"--interleave-loops=false",
            c"--disable-lsr",
            c"--disable-loop-idiom-strlen",
            c"--disable-loop-idiom-wcslen",
        ];
        let pointers = arguments.map(CStr::as_ptr);
        let count = c_int::try_from(pointers.len()).unwrap_or_default();
        // SAFETY: so many terminated strings, which LLVM copies, and no text about the program.
        unsafe { (api.LLVMParseCommandLineOptions)(count, pointers.as_ptr(), null()) };
    });
}

/// A terminated copy; text after an inner zero byte, which no name or pass list of ours has, is cut.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
