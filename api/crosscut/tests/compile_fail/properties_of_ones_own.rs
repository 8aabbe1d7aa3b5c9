//! What properties say of themselves decides which memory a global has: nobody else may say it.
use crosscut::prelude::*;
use crosscut::property::{Found, Free, HostReadWrite, Lazy, Whole, With};

struct Mine;
struct Claimed;

impl With<Mine> for Found<Free, Free, Free, Free, Free> {
    type Output = Claimed;
}

impl Whole for Claimed {
    type Access = HostReadWrite;
    type Policy = Lazy;
    const BITS: u64 = 6;
}

static TABLE: DeviceGlobal<[u64; 4096], (Mine,)> = DeviceGlobal::zeroed();

fn main() {
    let _ = &TABLE;
}
