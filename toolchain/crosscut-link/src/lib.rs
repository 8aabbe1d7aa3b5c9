//! The rustc wrapper and the linker wrapper: collect device bitcode, lower it, embed the images.
