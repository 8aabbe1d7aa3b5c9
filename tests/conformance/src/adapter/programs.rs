//! Programs: built, found again as bytes, side by side.

use crosscut_adapter_api::Program;

use super::where_programs_are_built;
use crate::device::{extent, text};
use crate::{Behaviour, Bench, Place, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_programs_are_built(
        "one code may be built many times, and each program works",
        built_many_times,
    ),
    where_programs_are_built("a kernel found twice is two kernels", found_twice),
    where_programs_are_built(
        "a program's own bytes are a program with the same kernels",
        bytes_and_back,
    ),
    where_programs_are_built("bytes made by one context are a program of another", bytes_elsewhere),
    where_programs_are_built(
        "bytes that are no program are refused, and code builds after",
        no_program,
    ),
    where_programs_are_built(
        "what decides a build is the same whenever it is asked",
        same_identity,
    ),
];

/// Runs the program's `store_value` and looks at what it stored.
fn works(bench: &Bench, program: &dyn Program, value: u64) -> Result<(), String> {
    let memory = bench.memory(8)?;
    let kernel = bench.kernel_of(program, "store_value")?;
    let work = Work::StoreValue { to: Place::start(&memory), value };
    bench.start_launch(&kernel, extent(&[1]), &work, &[])?.wait()?;
    ensure!(bench.read_all(&memory)? == value.to_ne_bytes(), "{value} was not stored");
    Ok(())
}

fn built_many_times(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let mut programs = Vec::new();
    for value in 0..4 {
        programs.push(bench.program()?);
        works(&bench, &*programs[0], value)?;
    }
    while let Some(program) = programs.pop() {
        works(&bench, &*program, 10 + programs.len() as u64)?;
    }
    Ok(())
}

fn found_twice(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let program = bench.program()?;
    // The second place is one that an argument may point at.
    let second = bench.context.argument_alignment().max(8);
    let memory = bench.memory(second + 8)?;
    let kernels =
        [bench.kernel_of(&*program, "store_value")?, bench.kernel_of(&*program, "store_value")?];
    let mut started = Vec::new();
    for (kernel, (offset, value)) in kernels.iter().zip([(0, 5), (second, 6)]) {
        let to = Place { offset, ..Place::start(&memory) };
        let work = Work::StoreValue { to, value };
        started.push(bench.start_launch(kernel, extent(&[1]), &work, &[])?);
    }
    started.iter().try_for_each(|pending| pending.wait())?;
    for (offset, value) in [(0, 5u64), (second, 6)] {
        let stored = bench.read(&memory, offset, 8)?;
        ensure!(stored == value.to_ne_bytes(), "{stored:?} at {offset}");
    }
    Ok(())
}

/// The bytes of a program; `None` where the driver gives none.
fn bytes(bench: &Bench) -> Result<Option<Vec<u8>>, String> {
    let Some(caching) = bench.context.as_caching() else { return Ok(None) };
    let program = bench.program()?;
    let bytes = caching.binary(&*program).map_err(text)?;
    Ok((!bytes.is_empty()).then_some(bytes))
}

fn bytes_and_back(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let (Some(bytes), Some(caching)) = (bytes(&bench)?, bench.context.as_caching()) else {
        return Ok(());
    };
    for value in 20..23 {
        let program = caching.build_binary(&bytes).map_err(text)?;
        works(&bench, &*program, value)?;
    }
    Ok(())
}

fn bytes_elsewhere(device: &TestDevice) -> Result<(), String> {
    let Some(bytes) = bytes(&device.bench()?)? else { return Ok(()) };
    let bench = device.bench()?;
    let Some(caching) = bench.context.as_caching() else { return Ok(()) };
    let program = caching.build_binary(&bytes).map_err(text)?;
    works(&bench, &*program, 30)
}

fn no_program(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    if let Some(caching) = bench.context.as_caching() {
        for bytes in [&b"no program at all"[..], &[0; 64]] {
            ensure!(caching.build_binary(bytes).is_err(), "{bytes:?} were a program");
        }
    }
    works(&bench, &*bench.program()?, 40)
}

fn same_identity(device: &TestDevice) -> Result<(), String> {
    let identity = |bench: &Bench| bench.context.as_caching().map(|it| it.build_identity());
    let (one, other) = (device.bench()?, device.bench()?);
    let first = identity(&one);
    works(&one, &*one.program()?, 50)?;
    ensure!(first == identity(&one) && first == identity(&other), "it changed");
    Ok(())
}
