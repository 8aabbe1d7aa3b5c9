use crosscut::prelude::*;

macro_rules! assert {
    ($($anything:tt)*) => {};
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Padded {
    a: u8,
    b: u32,
}

fn main() {}
