//! Programs from SPIR-V: kernels by name, arguments checked, modules that lie refused.
//!
//! The modules come from clang and `spirv-as`, the devices are those that take SPIR-V. Without either the
//! tests have nothing to hold; `CROSSCUT_REQUIRE_OPENCL=1` makes that a failure.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crosscut::prelude::*;
use crosscut::{Backend, ByValue, CodeForm, DeviceCopy, ErrorKind, Program, ProgramParameter};

fn is_required() -> bool {
    std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|value| value == "1")
}

/// A queue on a device that takes SPIR-V.
fn queue() -> Option<Queue> {
    let device = crosscut::devices()
        .unwrap()
        .into_iter()
        .find(|device| device.info().code_forms.contains(&CodeForm::Spirv64));
    assert!(device.is_some() || !is_required(), "no device takes SPIR-V");
    Some(Queue::on(&device?).unwrap())
}

/// The kernels of `kernels.cl`, by a clang of the version that the set-up of the tests installs.
fn compiled() -> Option<&'static [u8]> {
    static MODULE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let module = MODULE.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spirv_programs/kernels.cl");
        let folder = tempfile::tempdir().unwrap();
        let object = folder.path().join("kernels.spv");
        let mut command = Command::new("clang-22");
        command.args(["--target=spirv64v1.2-unknown-unknown", "-x", "cl", "-cl-std=CL3.0"]);
        command.args(["-Xclang", "-finclude-default-header", "-O1", "-c"]);
        command.arg(&source).arg("-o").arg(&object).stderr(Stdio::null());
        command.status().ok().filter(|status| status.success())?;
        fs::read(&object).ok()
    });
    assert!(module.is_some() || !is_required(), "no clang-22: `cargo xtask test` installs it");
    module.as_deref()
}

/// A module from its text.
fn assembled(text: &str) -> Option<Vec<u8>> {
    let mut assembler = Command::new("spirv-as");
    assembler.args(["--target-env", "spv1.2", "-o", "-", "-"]);
    let assembler = assembler.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    assert!(assembler.is_ok() || !is_required(), "no spirv-as");
    let mut assembler = assembler.ok()?;
    assembler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = assembler.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

/// One kernel, which stores three specialization constants.
const CONSTANTS: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpCapability Int64
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %store \"store\"
    OpDecorate %a SpecId 0
    OpDecorate %b SpecId 7
    OpDecorate %c SpecId 2
    %void = OpTypeVoid
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %bool = OpTypeBool
    %pointer = OpTypePointer CrossWorkgroup %ulong
    %type = OpTypeFunction %void %pointer
    %a = OpSpecConstant %ulong 5
    %b = OpSpecConstant %uint 6
    %c = OpSpecConstantTrue %bool
    %one = OpConstant %ulong 1
    %two = OpConstant %ulong 2
    %zero = OpConstant %ulong 0
    %store = OpFunction %void None %type
    %p = OpFunctionParameter %pointer
    %start = OpLabel
    %p1 = OpPtrAccessChain %pointer %p %one
    %p2 = OpPtrAccessChain %pointer %p %two
    %wide = OpUConvert %ulong %b
    %chosen = OpSelect %ulong %c %one %zero
    OpStore %p %a Aligned 8
    OpStore %p1 %wide Aligned 8
    OpStore %p2 %chosen Aligned 8
    OpReturn
    OpFunctionEnd";

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Setup {
    gain: f32,
    bias: i32,
    big: i64,
}

#[test]
fn kernels_run_by_name_with_typed_arguments() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let names: Vec<&str> = program.kernels().collect();
    assert_eq!(names, ["saxpy", "numbers", "by_value", "table", "group_sums", "shaped", "sampled"]);

    let saxpy = program.kernel("saxpy").unwrap();
    assert_eq!((saxpy.name(), saxpy.arguments()), ("saxpy", 3));
    let x = queue.upload(&[1.0f32, 2.0, 3.0]).unwrap();
    let mut y = queue.upload(&[10.0f32, 20.0, 30.0]).unwrap();
    for _ in 0..2 {
        // SAFETY: one item per element.
        unsafe { queue.launch().run(&saxpy, 3, (2.0f32, &x, &mut y)) }.unwrap();
    }
    assert_eq!(queue.download(&y).unwrap(), [14.0, 28.0, 42.0]);

    let mut out = queue.zeroed::<i64>(9).unwrap();
    let numbers = program.kernel("numbers").unwrap();
    let values = (-1i8, 255u8, -2i16, 65_535u16, -3i32, u32::MAX, -4i64, u64::MAX, -5.0f32);
    let (a, b, c, d, e, f, g, h, i) = values;
    // SAFETY: it writes nine elements.
    unsafe { queue.launch().run(&numbers, 1, (&mut out, a, b, c, d, e, f, g, h, i)) }.unwrap();
    let expected = [-1, 255, -2, 65_535, -3, i64::from(u32::MAX), -4, -1, -5];
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<f32>(2).unwrap();
    let setup = Setup { gain: 0.5, bias: -2, big: 1 << 20 };
    let by_value = program.kernel("by_value").unwrap();
    let arguments = (&mut out, ByValue(setup), ByValue([1.0f32, 2.0, 4.0, 8.0]));
    // SAFETY: it writes two elements.
    unsafe { queue.launch().run(&by_value, 1, arguments) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1_048_574.5, 15.0]);

    let table = queue.upload(&[1i32, 2, 3]).unwrap();
    let mut out = queue.zeroed::<i32>(6).unwrap();
    // SAFETY: two rows of three elements, which the table has.
    unsafe { queue.launch().run(&program.kernel("table").unwrap(), [2, 3], (&table, &mut out)) }
        .unwrap();
    assert_eq!(queue.download(&out).unwrap(), [10, 20, 30, 11, 21, 31]);
}

#[test]
fn work_groups_have_memory_of_their_own() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let sums = program.kernel("group_sums").unwrap();
    let x = queue.upload(&[1i32, 2, 3, 4, 10, 20, 30, 40]).unwrap();
    let mut out = queue.zeroed::<i32>(2).unwrap();
    let mut run = |range: NdRange<usize>, tile: Local<i32>| {
        // SAFETY: one element of the tile for each item of a group, where it runs.
        unsafe { queue.launch().run(&sums, range, (&x, &mut out, tile)) }
    };
    run(NdRange::new(8, 4), Local::new(4)).unwrap();
    let too_much = run(NdRange::new(8, 4), Local::new(1 << 30)).unwrap_err();
    assert!(too_much.to_string().contains("bytes of local memory"), "{too_much}");
    let uneven = run(NdRange::new(8, 3), Local::new(4)).unwrap_err();
    assert!(uneven.to_string().contains("do not divide it"), "{uneven}");
    assert_eq!(queue.download(&out).unwrap(), [10, 100]);
    // SAFETY: nothing runs.
    let plain = unsafe { queue.launch().run(&sums, 8, (&x, &mut out, Local::<i32>::new(4))) };
    assert!(plain.unwrap_err().to_string().contains("no work-groups"));
    let range = NdRange::new(8, 4);
    // SAFETY: nothing runs.
    let wrong = unsafe { queue.launch().run(&sums, range, (&x, &mut out, Local::<u16>::new(4))) };
    assert!(wrong.unwrap_err().to_string().contains("not work-group memory of 2-byte elements"));
}

#[test]
fn a_kernel_compiled_for_one_shape_of_groups_runs_in_no_other() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let shaped = program.kernel("shaped").unwrap();
    let mut out = queue.zeroed::<i32>(16).unwrap();
    // SAFETY: one element for each of the 2 times 8 items.
    let mut run =
        |group| unsafe { queue.launch().run(&shaped, NdRange::new([2, 8], group), &mut out) };
    run([2, 4]).unwrap();
    let turned = run([1, 8]).unwrap_err();
    let message = "work-groups of [1, 8] items for kernel `shaped`, which is compiled for groups of [1, 2, 4]";
    assert!(turned.to_string().contains(message), "{turned}");
    assert_eq!(queue.download(&out).unwrap(), [0, 1, 2, 3].repeat(4));
    // SAFETY: nothing runs.
    let any = unsafe { queue.launch().run(&shaped, [2, 8], &mut out) }.unwrap_err();
    assert_eq!(any.kind(), ErrorKind::Invalid, "{any}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_the_driver_sees_them() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let saxpy = program.kernel("saxpy").unwrap();
    let x = queue.upload(&[1.0f32]).unwrap();
    let mut y = queue.upload(&[1.0f32]).unwrap();
    let shorts = queue.upload(&[1i16, 2]).unwrap();
    macro_rules! refused {
        ($kernel:expr, $arguments:expr, $message:literal) => {
            // SAFETY: nothing runs.
            let error = unsafe { queue.launch().run($kernel, 1, $arguments) }.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains($message), "{error}");
        };
    }
    refused!(&saxpy, (2.0f32, &x), "takes 3 arguments, and 2 are passed");
    refused!(&saxpy, (), "takes 3 arguments, and 0 are passed");
    refused!(&saxpy, (2.0f64, &x, &mut y), "a floating-point number of 4 bytes as argument 0, not");
    refused!(&saxpy, (2u32, &x, &mut y), "not an integer of 4 bytes");
    refused!(&saxpy, (&x, &x, &mut y), "not a buffer of 4-byte elements");
    refused!(&saxpy, (2.0f32, 1u64, &mut y), "a buffer of 4-byte elements as argument 1");
    refused!(&saxpy, (2.0f32, &shorts, &mut y), "not a buffer of 2-byte elements");
    let numbers = program.kernel("numbers").unwrap();
    refused!(&numbers, &x, "it takes (a buffer of 8-byte elements, an integer of 1 bytes,");
    let by_value = program.kernel("by_value").unwrap();
    refused!(
        &by_value,
        (&mut y, ByValue([0u64; 3]), ByValue([0f32; 4])),
        "not a value of 24 bytes"
    );

    let sampled = program.kernel("sampled").unwrap();
    // SAFETY: nothing runs.
    let error = unsafe { queue.launch().run(&sampled, 1, (1u64, &mut y)) }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    assert!(error.to_string().contains("takes a sampler as argument 0"), "{error}");

    let error = program.kernel("sax").unwrap_err();
    assert!(error.to_string().contains("no kernel `sax`"), "{error}");
    assert!(error.help().unwrap().contains("`saxpy`"), "{error}");

    let elsewhere = Queue::in_context(&queue.device().create_context().unwrap()).unwrap();
    // SAFETY: nothing runs.
    let error = unsafe { elsewhere.launch().run(&saxpy, 1, (2.0f32, &x, &mut y)) }.unwrap_err();
    assert!(error.to_string().contains("another context"), "{error}");

    static UNUSED: SpecConstant<u32> = SpecConstant::new(1);
    let launch = queue.launch().with(&UNUSED, 2);
    // SAFETY: nothing runs.
    let error = unsafe { launch.run(&saxpy, 1, (2.0f32, &x, &mut y)) }.unwrap_err();
    assert!(error.to_string().contains("`SpecConstant`"), "{error}");
    // And after all that it still runs.
    // SAFETY: one item for one element.
    unsafe { queue.launch().run(&saxpy, 1, (2.0f32, &x, &mut y)) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [3.0]);
}

#[test]
fn constants_of_a_module_are_set_by_number() {
    let (Some(queue), Some(module)) = (queue(), assembled(CONSTANTS)) else { return };
    let run = |program: Program| {
        let mut out = queue.zeroed::<u64>(3).unwrap();
        // SAFETY: it writes three elements.
        unsafe { queue.launch().run(&program.kernel("store").unwrap(), 1, &mut out) }.unwrap();
        queue.download(&out).unwrap()
    };
    assert_eq!(run(Program::from_spirv(queue.context(), &module).unwrap()), [5, 6, 1]);
    let set = || Program::spirv(queue.context(), &module);
    let program = set().with(0, u64::MAX).with(7, 9u32).with(2, false).build().unwrap();
    assert_eq!(run(program), [u64::MAX, 9, 0]);
    let error = set().with(1, 5u32).build().unwrap_err();
    assert!(error.to_string().contains("no specialization constant 1"), "{error}");
    assert!(error.help().unwrap().contains("0, 2, 7"), "{error}");
    let error = set().with(7, 5u64).build().unwrap_err();
    assert!(error.to_string().contains("is a number of 4 bytes, not a number of 8"), "{error}");
}

/// One kernel, which stores a `half`, widened.
#[cfg(feature = "half")]
const HALF: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpCapability Float16
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %store \"store\"
    %void = OpTypeVoid
    %half = OpTypeFloat 16
    %float = OpTypeFloat 32
    %pointer = OpTypePointer CrossWorkgroup %float
    %type = OpTypeFunction %void %pointer %half
    %store = OpFunction %void None %type
    %p = OpFunctionParameter %pointer
    %x = OpFunctionParameter %half
    %start = OpLabel
    %wide = OpFConvert %float %x
    OpStore %p %wide Aligned 4
    OpReturn
    OpFunctionEnd";

#[cfg(feature = "half")]
#[test]
fn a_half_is_an_argument_where_the_device_has_halves() {
    use crosscut::Feature;
    use half::f16;

    let (Some(queue), Some(module)) = (queue(), assembled(HALF)) else { return };
    let program = Program::from_spirv(queue.context(), &module);
    if !queue.device().has(Feature::Fp16) {
        assert!(program.unwrap_err().to_string().contains("fp16"));
        return;
    }
    let kernel = program.unwrap().kernel("store").unwrap();
    let mut out = queue.zeroed::<f32>(1).unwrap();
    // SAFETY: it writes one element.
    unsafe { queue.launch().run(&kernel, 1, (&mut out, f16::from_f32(1.5))) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [1.5]);
    // SAFETY: as above; the number has the wrong type.
    let wrong = unsafe { queue.launch().run(&kernel, 1, (&mut out, 1u16)) }.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Invalid);
}

#[test]
fn the_module_of_the_examples_is_the_text_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/program");
    let text = fs::read_to_string(folder.join("multiply_add.spvasm")).unwrap();
    let Some(mut expected) = assembled(&text) else { return };
    let mut module = fs::read(folder.join("multiply_add.spv")).unwrap();
    // The third word tells which version of which assembler it was.
    expected[8..12].fill(0);
    module[8..12].fill(0);
    assert_eq!(module, expected);
}

#[test]
fn the_host_says_why_it_takes_no_spirv() {
    let devices = crosscut::devices().unwrap();
    let Some(host) = devices.iter().find(|device| device.backend() == Backend::Host) else {
        return;
    };
    let queue = Queue::on(host).unwrap();
    let error = Program::from_spirv(queue.context(), &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
    assert!(error.to_string().contains("takes no SPIR-V: it runs native code"), "{error}");
}

#[test]
fn files_that_are_no_modules_are_refused() {
    let (Some(queue), Some(module)) = (queue(), assembled(CONSTANTS)) else { return };
    let refused = |bytes: &[u8]| {
        let error = Program::from_spirv(queue.context(), bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        error.to_string()
    };
    assert!(refused(b"").contains("shorter than its header"));
    assert!(refused(b"#!/bin/sh\nexit 0\n").contains("32-bit words"));
    assert!(refused(&[0x7f; 64]).contains("magic number"));
    for length in (0..module.len()).step_by(4) {
        refused(&module[..length]);
    }
    let empty = "OpCapability Kernel\nOpCapability Addresses\nOpMemoryModel Physical64 OpenCL";
    assert!(refused(&assembled(empty).unwrap()).contains("without a kernel"));
    let shader = "OpCapability Shader\nOpMemoryModel Logical GLSL450";
    assert!(refused(&assembled(shader).unwrap()).contains("is not OpenCL's"));
}

/// Set in the process that [`mutated_files_never_end_the_process`] starts: which module it mutates.
const CHILD: &str = "CROSSCUT_TEST_MUTATED";
/// Set there too: which mutations.
const SEED: &str = "CROSSCUT_TEST_MUTATION_SEED";
/// Which mutations to try, as `first..end`; a few always without it.
const SEEDS: &str = "CROSSCUT_MUTATION_SEEDS";

/// Where the module that is tried last is, for whoever wants to know which one ended the process.
fn last(which: &str, seed: u64) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutated-{which}-{seed}.spv"))
}

/// Not a test of its own: builds mutated modules, of which most are refused and none may end the process.
#[test]
fn child() {
    let Ok(which) = std::env::var(CHILD) else { return };
    let queue = queue().unwrap();
    let module = match &*which {
        "compiled" => compiled().unwrap().to_vec(),
        _ => assembled(CONSTANTS).unwrap(),
    };
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % below
    };
    let (mut refused, mut built) = (0, 0);
    for _ in 0..400 {
        let mut mutated = module.clone();
        for _ in 0..=next(2) {
            let word = 20 + 4 * next((module.len() - 20) / 4);
            let value: u32 = match next(3) {
                0 => 1 << next(32),
                1 => next(256) as u32,
                _ => u32::from_le_bytes(
                    *module[20 + 4 * next(module.len() / 4 - 5)..].first_chunk().unwrap(),
                ),
            };
            let value = match next(2) {
                0 => value,
                _ => value ^ u32::from_le_bytes(*mutated[word..].first_chunk().unwrap()),
            };
            mutated[word..word + 4].copy_from_slice(&value.to_le_bytes());
        }
        fs::write(last(&which, seed), &mutated).unwrap();
        match Program::from_spirv(queue.context(), &mutated) {
            Ok(program) => {
                built += 1;
                for name in program.kernels() {
                    let _ = program.kernel(name);
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > built && built > 0, "{refused} refused, {built} built");
}

#[test]
fn mutated_files_never_end_the_process() {
    if queue().is_none() || compiled().is_none() {
        return;
    }
    let seeds = std::env::var(SEEDS).unwrap_or("1..2".into());
    let (first, end) = seeds.split_once("..").expect("first..end");
    for seed in first.parse::<u64>().unwrap()..end.parse().unwrap() {
        for which in ["compiled", "assembled"] {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child"])
                .env(CHILD, which)
                .env(SEED, seed.to_string())
                .env("CROSSCUT_CACHE", "0")
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&child.stdout).into_owned();
            let (status, last) = (child.status, last(which, seed));
            assert!(status.success(), "{status} at {}\n{told}", last.display());
            fs::remove_file(last).unwrap();
        }
    }
}

#[test]
fn kernels_by_name_take_parts_shapes_and_shared_memory() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let saxpy = program.kernel("saxpy").unwrap();
    let x = queue.upload(&[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let mut y = queue.zeroed::<f32>(4).unwrap().shaped([2, 2]).unwrap();
    let arguments = (10.0f32, x.slice(1..3).unwrap(), y.slice_mut(2..).unwrap());
    // SAFETY: both parts have an element for each of the two items.
    unsafe { queue.launch().run(&saxpy, 2, arguments) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [0.0, 0.0, 20.0, 30.0]);
    // Two parts of one buffer are two arguments.
    let mut z = queue.upload(&[1.0f32, 2.0, 0.0, 0.0, 5.0]).unwrap();
    let (low, high) = z.split_at_mut(2).unwrap();
    // SAFETY: as above.
    unsafe { queue.launch().run(&saxpy, 2, (3.0f32, &low, high)) }.unwrap();
    assert_eq!(queue.download(&z).unwrap(), [1.0, 2.0, 3.0, 6.0, 5.0]);
    // SAFETY: one item per element.
    unsafe { queue.launch().run(&saxpy, 4, (1.0f32, &x, &mut y)) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [1.0, 2.0, 23.0, 34.0]);

    let mut shared = queue.alloc_shared::<f32>(4).unwrap();
    // SAFETY: one item per element.
    unsafe { queue.launch().run(&saxpy, 4, (1.0f32, &y, &mut shared)) }.unwrap();
    assert_eq!(*shared.read().unwrap(), [1.0, 2.0, 23.0, 34.0]);
    let mut out = queue.zeroed::<f32>(4).unwrap();
    // SAFETY: one item per element.
    unsafe { queue.launch().run(&saxpy, 4, (2.0f32, &shared, &mut out)) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [2.0, 4.0, 46.0, 68.0]);

    let (numbers, mut out) = (program.kernel("numbers").unwrap(), queue.zeroed::<i64>(9).unwrap());
    let arguments = (&mut out, 0i8, 0u8, 0i16, 0u16, 0i32, 0u32, -7isize, 8usize, 0.0f32);
    // SAFETY: it writes nine elements.
    unsafe { queue.launch().run(&numbers, 1, arguments) }.unwrap();
    assert_eq!(queue.download(&out).unwrap()[6..8], [-7, 8]);
}

#[test]
fn kernels_by_name_tell_what_they_take() {
    let (Some(queue), Some(module)) = (queue(), compiled()) else { return };
    let program = Program::from_spirv(queue.context(), module).unwrap();
    let of = |name| program.kernel(name).unwrap().parameters().collect::<Vec<_>>();
    assert_eq!(of("saxpy")[0], ProgramParameter::Float { size: 4 });
    assert!(matches!(of("saxpy")[2], ProgramParameter::Memory { constant: false, .. }));
    assert_eq!(of("numbers")[9].to_string(), "a floating-point number of 4 bytes");
    assert_eq!(of("numbers")[3], ProgramParameter::Integer { size: 2 });
    assert_eq!(of("by_value")[1..], [16, 16].map(|size| ProgramParameter::Composite { size }));
    assert!(matches!(of("table")[0], ProgramParameter::Memory { constant: true, .. }));
    assert!(matches!(of("group_sums")[2], ProgramParameter::Local { .. }));
    assert!(matches!(of("sampled")[0], ProgramParameter::Other(_)));
}
