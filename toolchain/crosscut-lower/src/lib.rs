//! Turns linked device bitcode into device images; the only crate that talks to LLVM.
