use crosscut::prelude::*;

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Plain {
    a: u32,
}

// Safe code cannot promise that plain data changes by atomic operations only.
impl crosscut::ByName for Plain {}

fn main() {}
