use crosscut::prelude::*;
use crosscut::property::{InitPolicy, Lazy};

static G: DeviceGlobal<u32, InitPolicy<Lazy>> = DeviceGlobal::new(1);

fn main() {}
