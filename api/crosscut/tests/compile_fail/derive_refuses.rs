use crosscut::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
struct NoLayout {
    a: u32,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Padded {
    a: u8,
    b: u32,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Pointer {
    a: &'static u32,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(u8)]
enum Choice {
    A,
    B,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Generic<T> {
    a: T,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Borrowed<'a> {
    a: &'a u32,
}

fn main() {}
