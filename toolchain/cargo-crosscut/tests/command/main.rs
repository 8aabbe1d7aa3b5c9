//! `cargo crosscut` as a whole, on packages in temporary folders.

mod behaves_like_cargo;
mod second_pass;
mod workspace;
