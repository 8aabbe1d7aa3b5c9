//! `cargo crosscut` as a whole, on packages in temporary folders.

mod behaves_like_cargo;
mod links_device_code;
mod second_pass;
mod tools;
mod workspace;
