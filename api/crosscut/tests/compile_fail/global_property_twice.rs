use crosscut::prelude::*;
use crosscut::property::{DeviceImageScope, HostAccess, HostRead, HostWrite};

static TWICE: DeviceGlobal<u32, (DeviceImageScope, DeviceImageScope)> = DeviceGlobal::zeroed();
static BOTH: DeviceGlobal<u32, (HostAccess<HostRead>, HostAccess<HostWrite>)> = DeviceGlobal::zeroed();
static NONE: DeviceGlobal<u32, (DeviceImageScope, u8)> = DeviceGlobal::zeroed();
static WORD: DeviceGlobal<u32, HostAccess<u8>> = DeviceGlobal::zeroed();
static ALONE: DeviceGlobal<u32, HostRead> = DeviceGlobal::zeroed();

fn main() {}
