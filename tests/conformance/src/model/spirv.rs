//! Programs that come as SPIR-V, and bundles of the program's own kernels.

use std::collections::BTreeMap;

use crosscut_runtime::{
    Access, Bundle, ErrorKind, Event, Extent, Queue, Region, Specialization, SpirvArgument,
    SpirvConstant, SpirvKernel, SpirvProgram, ValueKind,
};

use super::program::{COUNT, Run, STORE};
use super::stage::refused;
use super::{Failure, Outcome, Stage, only_where, where_kernels_run, where_programs_are_built};
use crate::condition::RUNS_NATIVE_CODE;
use crate::{Behaviour, ensure, kernels};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_programs_are_built("a program from SPIR-V tells its kernels", names),
    where_programs_are_built("a kernel from SPIR-V runs with its arguments", runs),
    where_programs_are_built("a kernel from SPIR-V writes its part, wherever that begins", part),
    where_programs_are_built("parts that overlap are refused where one is written", parts_overlap),
    where_programs_are_built("a kernel of another name is refused", other_name),
    where_programs_are_built("a wrong number of arguments is refused", other_number),
    where_programs_are_built("arguments of other kinds and sizes are refused", other_kinds),
    where_programs_are_built("a kernel of another context is refused", foreign),
    where_programs_are_built("bytes that are no SPIR-V are refused, wherever they end", truncated),
    where_programs_are_built("a specialization constant that is not there is refused", no_constant),
    where_programs_are_built("a program outlives its context's other handles", outlives),
    only_where(&RUNS_NATIVE_CODE, "a device of native code says that it takes no SPIR-V", native),
    where_kernels_run("a bundle has the kernels that were asked for", bundle),
    where_kernels_run("a bundle without any kernel is refused", empty_bundle),
    where_kernels_run("a kernel that is not in the bundle is refused", not_inside),
    where_kernels_run("a bundle of another context is refused", foreign_bundle),
];

fn build(stage: &Stage) -> Result<SpirvProgram, Failure> {
    Ok(SpirvProgram::build(&stage.context, kernels()?, &BTreeMap::new())?)
}

fn names(stage: &Stage) -> Outcome {
    let program = build(stage)?;
    let found: Vec<&str> = program.kernels().collect();
    for name in ["copy", "add", "store_value", "count", "turn_around", "nothing"] {
        ensure!(found.contains(&name), "{name} is not among {found:?}");
        ensure!(program.kernel(name)?.name() == name, "{name} is another");
    }
    ensure!(program.kernel("add")?.arguments() == 3, "add takes another number of arguments");
    ensure!(*program.context() == stage.context, "it is of another context");
    Ok(())
}

fn value(bytes: &[u8], kind: ValueKind) -> SpirvArgument<'static> {
    SpirvArgument::Value { bytes: bytes.into(), kind }
}

fn launch(
    queue: &Queue,
    kernel: &SpirvKernel,
    arguments: &[SpirvArgument<'_>],
) -> Result<Event, crosscut_runtime::Error> {
    let extent = Extent { dimensions: 1, size: [10, 1, 1], group: None };
    // SAFETY: behaviours pass buffers that have room for ten items of the kernels they launch.
    unsafe { queue.launch_spirv(kernel, extent, arguments, &[]) }
}

fn runs(stage: &Stage) -> Outcome {
    let kernel = build(stage)?.kernel("store_value")?;
    let buffer = stage.buffer(80)?;
    for number in [3_u64, u64::MAX] {
        let to =
            SpirvArgument::Buffer { region: (&buffer).into(), access: Access::Write, element: 8 };
        let arguments = [to, value(&number.to_ne_bytes(), ValueKind::Integer)];
        launch(&stage.queue, &kernel, &arguments)?;
        ensure!(stage.bytes(&buffer)? == number.to_ne_bytes().repeat(10), "{number} is lost");
    }
    Ok(())
}

fn part(stage: &Stage) -> Outcome {
    let kernel = build(stage)?.kernel("store_value")?;
    let number = 5_u64.to_ne_bytes();
    for start in [0, 8, 24, 128, 200] {
        let buffer = stage.holding(&[1; 400])?;
        let region = Region::new(&buffer, start..start + 80)?;
        let to = SpirvArgument::Buffer { region, access: Access::Write, element: 8 };
        launch(&stage.queue, &kernel, &[to, value(&number, ValueKind::Integer)])?;
        let found = stage.bytes(&buffer)?;
        ensure!(found[start..start + 80] == number.repeat(10), "at {start}: {found:?}");
        let around = found[..start].iter().chain(&found[start + 80..]).all(|byte| *byte == 1);
        ensure!(around, "a neighbour at {start} changed: {found:?}");
    }
    Ok(())
}

fn parts_overlap(stage: &Stage) -> Outcome {
    let kernel = build(stage)?.kernel("copy")?;
    let bytes: Vec<u8> = (0..240).collect();
    let buffer = stage.holding(&bytes)?;
    let part = |start, access| -> Result<SpirvArgument<'_>, Failure> {
        let region = Region::new(&buffer, start..start + 80)?;
        Ok(SpirvArgument::Buffer { region, access, element: 8 })
    };
    for start in [8, 80, 152] {
        let arguments = [part(80, Access::Write)?, part(start, Access::Read)?];
        refused(launch(&stage.queue, &kernel, &arguments), ErrorKind::Invalid)?;
    }
    launch(&stage.queue, &kernel, &[part(160, Access::Write)?, part(0, Access::Read)?])?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[..160] == bytes[..160] && found[160..200] == bytes[..40], "{found:?}");
    Ok(())
}

fn other_name(stage: &Stage) -> Outcome {
    let program = build(stage)?;
    for name in ["", "Copy", "copy ", "copy\0", "main"] {
        refused(program.kernel(name), ErrorKind::Invalid)?;
    }
    program.kernel("copy")?;
    Ok(())
}

fn other_number(stage: &Stage) -> Outcome {
    let program = build(stage)?;
    refused(launch(&stage.queue, &program.kernel("count")?, &[]), ErrorKind::Invalid)?;
    let more = [value(&[0; 8], ValueKind::Integer)];
    refused(launch(&stage.queue, &program.kernel("nothing")?, &more), ErrorKind::Invalid)
}

fn other_kinds(stage: &Stage) -> Outcome {
    let kernel = build(stage)?.kernel("store_value")?;
    let buffer = stage.holding(&[1; 80])?;
    let to =
        || SpirvArgument::Buffer { region: (&buffer).into(), access: Access::Write, element: 8 };
    let number = || value(&[0; 8], ValueKind::Integer);
    let wrong = [
        [number(), number()],
        [to(), to()],
        [to(), value(&[0; 4], ValueKind::Integer)],
        [to(), value(&[0; 8], ValueKind::Float)],
        [
            SpirvArgument::Buffer { region: (&buffer).into(), access: Access::Write, element: 4 },
            number(),
        ],
        [SpirvArgument::Local { size: 80, element: 8, align: 8 }, number()],
    ];
    for arguments in &wrong {
        refused(launch(&stage.queue, &kernel, arguments), ErrorKind::Invalid)?;
    }
    ensure!(stage.bytes(&buffer)? == [1; 80], "something ran");
    Ok(())
}

fn foreign(stage: &Stage) -> Outcome {
    let other = stage.elsewhere()?;
    let kernel = build(&other)?.kernel("nothing")?;
    refused(launch(&stage.queue, &kernel, &[]), ErrorKind::Invalid)?;
    launch(&other.queue, &kernel, &[])?.wait()?;
    Ok(())
}

fn truncated(stage: &Stage) -> Outcome {
    let whole = kernels()?;
    let built = |bytes: &[u8]| SpirvProgram::build(&stage.context, bytes, &BTreeMap::new());
    for length in (0..whole.len()).step_by(4 * 37).chain([1, 2, 3, 19, 21, whole.len() - 1]) {
        refused(built(&whole[..length]), ErrorKind::Invalid)?;
    }
    for bytes in [&b"no SPIR-V, but some text of a few words"[..], &[0; 64], &[0xFF; 64]] {
        refused(built(bytes), ErrorKind::Invalid)?;
    }
    built(whole)?;
    Ok(())
}

fn no_constant(stage: &Stage) -> Outcome {
    let values = BTreeMap::from([(7, SpirvConstant { bits: 1, size: 4 })]);
    refused(SpirvProgram::build(&stage.context, kernels()?, &values), ErrorKind::Invalid)
}

fn outlives(stage: &Stage) -> Outcome {
    let (program, queue) = {
        let other = stage.elsewhere()?;
        (build(&other)?, other.queue)
    };
    let kernel = program.kernel("nothing")?;
    drop(program);
    launch(&queue, &kernel, &[])?.wait()?;
    Ok(())
}

fn native(stage: &Stage) -> Outcome {
    let outcome = SpirvProgram::build(&stage.context, kernels()?, &BTreeMap::new());
    refused(outcome, ErrorKind::KernelNotSupported)
}

fn bundled(stage: &Stage, name: &str) -> Result<Bundle, crosscut_runtime::Error> {
    Bundle::build(&stage.context, Specialization::new(), &|kernel| kernel.contains(name))
}

fn bundle(stage: &Stage) -> Outcome {
    super::program::word()?;
    let bundle = bundled(stage, "store_value")?;
    let found: Vec<&str> = bundle.kernels().iter().map(|kernel| &*kernel.name).collect();
    ensure!(found == ["conformance::store_value_1"], "{found:?}");
    ensure!(*bundle.context() == stage.context, "it is of another context");
    let to = stage.buffer(80)?;
    Run::of(&STORE, &[10]).writes(&to).with(6).out_of(&bundle).on(&stage.queue)?;
    ensure!(stage.bytes(&to)? == 6_u64.to_ne_bytes().repeat(10), "its kernel does not run");
    Ok(())
}

fn empty_bundle(stage: &Stage) -> Outcome {
    super::program::word()?;
    refused(bundled(stage, "no such kernel"), ErrorKind::Invalid)
}

fn not_inside(stage: &Stage) -> Outcome {
    super::program::word()?;
    let bundle = bundled(stage, "store_value")?;
    let to = stage.holding(&[0; 4])?;
    let run = Run::of(&COUNT[0], &[1]).writes(&to).out_of(&bundle);
    refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&to)? == [0; 4], "it ran");
    Ok(())
}

fn foreign_bundle(stage: &Stage) -> Outcome {
    super::program::word()?;
    let bundle = bundled(&stage.elsewhere()?, "store_value")?;
    let to = stage.holding(&[0; 80])?;
    let run = Run::of(&STORE, &[10]).writes(&to).with(6).out_of(&bundle);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}
