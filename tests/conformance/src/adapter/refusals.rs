//! What is refused, and what must still work after that.

use crosscut_adapter_api::{DriverErrorKind, MemoryKind};

use super::{everywhere, where_programs_are_built};
use crate::device::{length, text};
use crate::{Behaviour, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("too much memory is out of memory, and less is granted after", too_much_memory),
    everywhere("a refused allocation leaves the queue usable", queue_survives_refusal),
    where_programs_are_built(
        "a missing kernel is a build error, and others are found after",
        no_kernel,
    ),
    where_programs_are_built("what is no code is a build error, and code builds after", no_code),
];

fn too_much_memory(device: &TestDevice) -> Result<(), String> {
    let context = device.context()?;
    for kind in [MemoryKind::Device, MemoryKind::HostVisible] {
        for size in [usize::MAX, usize::MAX / 2, usize::MAX / 4] {
            let Err(error) = context.allocate(kind, length(size)?, 8) else {
                return Err(format!("{size} bytes of {kind:?} were granted"));
            };
            ensure!(error.kind == DriverErrorKind::OutOfMemory, "{kind:?}: {:?}", error.kind);
            ensure!(!error.call.is_empty(), "the error names no call");
        }
        context.allocate(kind, length(64)?, 8).map_err(text)?;
    }
    Ok(())
}

fn queue_survives_refusal(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 4, 64, &[])?;
    ensure!(bench.memory(usize::MAX / 2).is_err(), "half of all addresses were granted");
    filled.wait()?;
    ensure!(bench.read_all(&memory)? == [4; 64], "the command before the refusal was lost");
    Ok(())
}

fn no_kernel(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let program = bench.program()?;
    for name in ["no such kernel", "", "copy\0", "Copy"] {
        let Err(error) = program.kernel(name) else {
            return Err(format!("there is a kernel {name:?}"));
        };
        ensure!(error.kind == DriverErrorKind::Build, "{name:?}: {:?}", error.kind);
    }
    program.kernel("copy").map_err(text)?;
    bench.launch(&[1], &Work::Nothing)
}

fn no_code(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let mut broken = bench.code()?.to_vec();
    broken[..4].fill(0);
    let Err(error) = bench.build(&broken) else {
        return Err("it was built".to_owned());
    };
    ensure!(error.kind == DriverErrorKind::Build, "{:?}", error.kind);
    bench.launch(&[1], &Work::Nothing)
}
