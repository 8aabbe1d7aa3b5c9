//! LLVM modules.

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use super::{Llvm, LlvmError, Ref, TargetMachine, c_string};
use crate::LowerError;

/// How a symbol is linked; LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// Seen by other modules.
    External,
    /// One of equal definitions is kept, and dropped if unused.
    LinkOnceOdr,
    /// This module only.
    Internal,
}

impl Linkage {
    fn number(self) -> c_int {
        match self {
            Self::External => 0,
            Self::LinkOnceOdr => 3,
            Self::Internal => 8,
        }
    }
}

/// A module; freed when dropped.
pub(crate) struct Module {
    llvm: Llvm,
    module: Ref,
}

impl Drop for Module {
    fn drop(&mut self) {
        if !self.module.is_null() {
            // SAFETY: a non-null module is owned by this value and not used after.
            unsafe { (self.llvm.api().LLVMDisposeModule)(self.module) };
        }
    }
}

/// A function or variable of a module that is borrowed for as long.
#[derive(Clone, Copy)]
struct Symbol(Ref);

impl Module {
    /// An empty module.
    pub(crate) fn empty(llvm: &Llvm, name: &str) -> Self {
        let name = c_string(name);
        // SAFETY: the name is terminated, the context lives.
        let module = unsafe {
            (llvm.api().LLVMModuleCreateWithNameInContext)(name.as_ptr(), llvm.context())
        };
        Self { llvm: llvm.clone(), module }
    }

    /// Reads a module's text.
    pub(crate) fn from_text(llvm: &Llvm, text: &str) -> Result<Self, LlvmError> {
        let buffer = copy_to_buffer(llvm, text.as_bytes());
        let (mut module, mut message) = (null_mut(), null_mut());
        // SAFETY: the call takes over the buffer; both results are written to live variables.
        let failed = unsafe {
            (llvm.api().LLVMParseIRInContext)(
                llvm.context(),
                buffer,
                &raw mut module,
                &raw mut message,
            )
        };
        let message = llvm.take_message(message);
        if failed != 0 {
            return Err(LlvmError(message));
        }
        Ok(Self { llvm: llvm.clone(), module })
    }

    /// Reads bitcode. With `lazy`, function bodies are read when something asks for them.
    pub(crate) fn from_bitcode(llvm: &Llvm, bytes: &[u8], lazy: bool) -> Result<Self, LlvmError> {
        let buffer = copy_to_buffer(llvm, bytes);
        let mut module = null_mut();
        let failed = if lazy {
            // SAFETY: the call takes over the buffer; the result is written to a live variable.
            unsafe {
                (llvm.api().LLVMGetBitcodeModuleInContext2)(llvm.context(), buffer, &raw mut module)
            }
        } else {
            // SAFETY: the call only reads the buffer; the result is written to a live variable.
            let failed = unsafe {
                (llvm.api().LLVMParseBitcodeInContext2)(llvm.context(), buffer, &raw mut module)
            };
            // SAFETY: the buffer is ours and not used any more.
            unsafe { (llvm.api().LLVMDisposeMemoryBuffer)(buffer) };
            failed
        };
        if failed != 0 {
            return Err(llvm.reported("the bitcode cannot be read"));
        }
        Ok(Self { llvm: llvm.clone(), module })
    }

    /// The module's text.
    pub(crate) fn print(&self) -> String {
        // SAFETY: the module lives; the result is a fresh message.
        let text = unsafe { (self.llvm.api().LLVMPrintModuleToString)(self.module) };
        self.llvm.take_message(text)
    }

    /// Asks LLVM's verifier.
    pub(crate) fn verify(&self) -> Result<(), LlvmError> {
        const RETURN_STATUS: c_int = 2;
        let mut message = null_mut();
        // SAFETY: the module lives, and the result is written to a live variable.
        let broken = unsafe {
            (self.llvm.api().LLVMVerifyModule)(self.module, RETURN_STATUS, &raw mut message)
        };
        let message = self.llvm.take_message(message);
        if broken != 0 { Err(LlvmError(message)) } else { Ok(()) }
    }

    /// Links `source` into this module.
    pub(crate) fn link(&mut self, mut source: Self) -> Result<(), LlvmError> {
        let taken = std::mem::replace(&mut source.module, null_mut());
        // SAFETY: both modules live in one context; the call takes over the second, and `source`
        // has forgotten it.
        let failed = unsafe { (self.llvm.api().LLVMLinkModules2)(self.module, taken) };
        if failed != 0 { Err(self.llvm.reported("modules cannot be linked")) } else { Ok(()) }
    }

    /// Runs LLVM passes, in `opt`'s notation.
    pub(crate) fn run(
        &mut self,
        passes: &str,
        machine: Option<&TargetMachine>,
    ) -> Result<(), LlvmError> {
        let api = self.llvm.api();
        let passes = c_string(passes);
        // SAFETY: takes nothing; freed below.
        let options = unsafe { (api.LLVMCreatePassBuilderOptions)() };
        let machine = machine.map_or(null_mut(), TargetMachine::raw);
        // SAFETY: module, machine and options live; the pass list is terminated.
        let error = unsafe { (api.LLVMRunPasses)(self.module, passes.as_ptr(), machine, options) };
        // SAFETY: the options are ours and not used any more.
        unsafe { (api.LLVMDisposePassBuilderOptions)(options) };
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the call takes over the error and gives a fresh message.
        let message = unsafe { (api.LLVMGetErrorMessage)(error) };
        // SAFETY: the message is a terminated string.
        let text = unsafe { std::ffi::CStr::from_ptr(message) }.to_string_lossy().into_owned();
        // SAFETY: the message came from the call above and is not used any more.
        unsafe { (api.LLVMDisposeErrorMessage)(message) };
        Err(LlvmError(text))
    }

    /// Sets what the module is compiled for.
    pub(crate) fn set_target(&mut self, machine: &TargetMachine) {
        let triple = c_string(machine.triple());
        // SAFETY: the module lives; the string is terminated and copied.
        unsafe { (self.llvm.api().LLVMSetTarget)(self.module, triple.as_ptr()) };
        let layout = c_string(&machine.data_layout());
        // SAFETY: as above.
        unsafe { (self.llvm.api().LLVMSetDataLayout)(self.module, layout.as_ptr()) };
    }

    /// Removes debug info.
    pub(crate) fn strip_debug_info(&mut self) {
        // SAFETY: the module lives.
        unsafe { (self.llvm.api().LLVMStripModuleDebugInfo)(self.module) };
    }

    /// The names of all functions and variables that are defined here and that other modules may
    /// mean: those they see, and everything with a Rust name, which is the same wherever it is
    /// defined, so that a crate linked twice still has one copy of its private statics.
    pub(crate) fn exported_names(&self) -> Vec<String> {
        let api = self.llvm.api();
        let mut names = Vec::new();
        for symbol in self.symbols() {
            // SAFETY: the symbol is one of this live module.
            if unsafe { (api.LLVMIsDeclaration)(symbol.0) } != 0 {
                continue;
            }
            const PRIVATE: c_int = 9;
            // SAFETY: as above.
            let linkage = unsafe { (api.LLVMGetLinkage)(symbol.0) };
            let name = self.name(symbol);
            let hidden = linkage == Linkage::Internal.number() || linkage == PRIVATE;
            if !hidden || name.starts_with("_R") {
                names.push(name);
            }
        }
        names
    }

    /// Gives every definition that other modules see `linkage`.
    pub(crate) fn set_linkage_of_exports(&mut self, linkage: Linkage) {
        let api = self.llvm.api();
        for name in self.exported_names() {
            if let Some(symbol) = self.find(&name) {
                // SAFETY: the symbol is one of this live module.
                unsafe { (api.LLVMSetLinkage)(symbol.0, linkage.number()) };
            }
        }
    }

    /// Gives one definition `linkage`.
    pub(crate) fn set_linkage(&mut self, name: &str, linkage: Linkage) {
        if let Some(symbol) = self.find(name) {
            // SAFETY: the symbol is one of this live module.
            unsafe { (self.llvm.api().LLVMSetLinkage)(symbol.0, linkage.number()) };
        }
    }

    /// The names of the functions that call `callee`, each once, in the order of the module.
    pub(crate) fn callers(&self, callee: &str) -> Vec<String> {
        let api = self.llvm.api();
        let callee = c_string(callee);
        // SAFETY: the module lives, the name is terminated.
        let function = unsafe { (api.LLVMGetNamedFunction)(self.module, callee.as_ptr()) };
        if function.is_null() {
            return Vec::new();
        }
        let mut callers = Vec::new();
        // SAFETY: the function is one of this live module.
        let mut usage = unsafe { (api.LLVMGetFirstUse)(function) };
        while !usage.is_null() {
            // SAFETY: the use is one of a live value.
            let user = unsafe { (api.LLVMGetUser)(usage) };
            // SAFETY: any value may be asked what it is.
            let mut call = unsafe { (api.LLVMIsACallInst)(user) };
            if call.is_null() {
                // SAFETY: as above.
                call = unsafe { (api.LLVMIsAInvokeInst)(user) };
            }
            if !call.is_null() {
                // SAFETY: a call is an instruction, and those in a module have a block.
                let block = unsafe { (api.LLVMGetInstructionParent)(call) };
                // SAFETY: a block in a module has a function.
                let caller = Symbol(unsafe { (api.LLVMGetBasicBlockParent)(block) });
                let name = self.name(caller);
                if !callers.contains(&name) {
                    callers.push(name);
                }
            }
            // SAFETY: the use is one of a live value.
            usage = unsafe { (api.LLVMGetNextUse)(usage) };
        }
        callers
    }

    /// Emits the module as SPIR-V, in a copy of this process (see [`apart`](super::apart)).
    pub(crate) fn emit_apart(&self, machine: &TargetMachine) -> Result<Vec<u8>, LowerError> {
        super::apart::apart(|| self.emit(machine))
    }

    /// Emits the module: an object, or SPIR-V.
    pub(crate) fn emit(&self, machine: &TargetMachine) -> Result<Vec<u8>, LlvmError> {
        const OBJECT: c_int = 1;
        let api = self.llvm.api();
        let (mut message, mut buffer) = (null_mut(), null_mut());
        // SAFETY: machine and module live; both results are written to live variables.
        let failed = unsafe {
            (api.LLVMTargetMachineEmitToMemoryBuffer)(
                machine.raw(),
                self.module,
                OBJECT,
                &raw mut message,
                &raw mut buffer,
            )
        };
        if failed != 0 {
            return Err(LlvmError(self.llvm.take_message(message)));
        }
        // SAFETY: the buffer is live.
        let start = unsafe { (api.LLVMGetBufferStart)(buffer) };
        // SAFETY: the buffer is live.
        let size = unsafe { (api.LLVMGetBufferSize)(buffer) };
        // SAFETY: the two describe the buffer's initialised bytes, which live until it is freed.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }.to_vec();
        // SAFETY: the buffer is ours and not used any more.
        unsafe { (api.LLVMDisposeMemoryBuffer)(buffer) };
        Ok(bytes)
    }

    fn symbols(&self) -> Vec<Symbol> {
        let api = self.llvm.api();
        let mut symbols = Vec::new();
        // SAFETY: the module lives.
        let mut function = unsafe { (api.LLVMGetFirstFunction)(self.module) };
        while !function.is_null() {
            symbols.push(Symbol(function));
            // SAFETY: the function is one of this live module.
            function = unsafe { (api.LLVMGetNextFunction)(function) };
        }
        // SAFETY: the module lives.
        let mut global = unsafe { (api.LLVMGetFirstGlobal)(self.module) };
        while !global.is_null() {
            symbols.push(Symbol(global));
            // SAFETY: the variable is one of this live module.
            global = unsafe { (api.LLVMGetNextGlobal)(global) };
        }
        symbols
    }

    fn name(&self, symbol: Symbol) -> String {
        let mut length = 0;
        // SAFETY: the symbol is one of this live module; the length goes to a live variable.
        let start = unsafe { (self.llvm.api().LLVMGetValueName2)(symbol.0, &raw mut length) };
        // SAFETY: LLVM gives the start and length of the name, which lives as long as the symbol.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn find(&self, name: &str) -> Option<Symbol> {
        let api = self.llvm.api();
        let name = c_string(name);
        // SAFETY: the module lives, the name is terminated.
        let function = unsafe { (api.LLVMGetNamedFunction)(self.module, name.as_ptr()) };
        if !function.is_null() {
            return Some(Symbol(function));
        }
        // SAFETY: as above.
        let global = unsafe { (api.LLVMGetNamedGlobal)(self.module, name.as_ptr()) };
        (!global.is_null()).then_some(Symbol(global))
    }
}

/// A copy of `bytes` that LLVM owns, terminated as its parsers want it.
fn copy_to_buffer(llvm: &Llvm, bytes: &[u8]) -> Ref {
    let start = bytes.as_ptr().cast::<c_char>();
    // SAFETY: the slice is readable for its length; LLVM copies it.
    unsafe {
        (llvm.api().LLVMCreateMemoryBufferWithMemoryRangeCopy)(
            start,
            bytes.len(),
            c"crosscut".as_ptr(),
        )
    }
}
