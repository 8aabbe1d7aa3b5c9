//! LLVM's code generators.

use std::ffi::c_int;
use std::ptr::null_mut;

use super::{Llvm, LlvmError, Ref, c_string};

/// A code generator for one triple.
///
/// The SPIR-V one remembers functions of the module it emitted: it is good for one module.
pub(crate) struct TargetMachine {
    llvm: Llvm,
    triple: String,
    machine: Ref,
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: the machine is owned by this value and not used after.
        unsafe { (self.llvm.api().LLVMDisposeTargetMachine)(self.machine) };
    }
}

impl TargetMachine {
    /// The code generator for `triple`.
    pub(crate) fn new(llvm: &Llvm, triple: &str) -> Result<Self, LlvmError> {
        const DEFAULT_LEVEL: c_int = 2;
        const POSITION_INDEPENDENT: c_int = 2;
        const DEFAULT_MODEL: c_int = 0;
        let api = llvm.api();
        let name = c_string(triple);
        let (mut target, mut message) = (null_mut(), null_mut());
        // SAFETY: the triple is terminated; both results are written to live variables.
        let failed = unsafe {
            (api.LLVMGetTargetFromTriple)(name.as_ptr(), &raw mut target, &raw mut message)
        };
        let message = llvm.take_message(message);
        if failed != 0 {
            return Err(LlvmError(message));
        }
        // SAFETY: the target is a static table of LLVM's; the strings are terminated and copied.
        let machine = unsafe {
            (api.LLVMCreateTargetMachine)(
                target,
                name.as_ptr(),
                c"".as_ptr(),
                c"".as_ptr(),
                DEFAULT_LEVEL,
                POSITION_INDEPENDENT,
                DEFAULT_MODEL,
            )
        };
        if machine.is_null() {
            return Err(LlvmError(format!("no code generator for {triple}")));
        }
        Ok(Self { llvm: llvm.clone(), triple: triple.into(), machine })
    }

    pub(crate) fn raw(&self) -> Ref {
        self.machine
    }

    /// The triple it was made for.
    pub(crate) fn triple(&self) -> &str {
        &self.triple
    }

    /// Sizes and alignments, in LLVM's notation.
    pub(crate) fn data_layout(&self) -> String {
        // SAFETY: the machine lives; the layout is freed below.
        let layout = unsafe { (self.llvm.api().LLVMCreateTargetDataLayout)(self.machine) };
        // SAFETY: the layout lives; the result is a fresh message.
        let text = unsafe { (self.llvm.api().LLVMCopyStringRepOfTargetData)(layout) };
        // SAFETY: the layout is ours and not used any more.
        unsafe { (self.llvm.api().LLVMDisposeTargetData)(layout) };
        self.llvm.take_message(text)
    }
}
