//! Variables of programs by name: what drivers with `cl_intel_global_variable_access` do.

#![allow(missing_docs, reason = "a test's name is its documentation")]

#[allow(dead_code, reason = "each test file uses its part")]
mod device;

use crosscut_adapter_api::{
    CodeForm, Context, DriverErrorKind, Extent, Program, Queue, QueueOptions, Variable,
};
use device::{assemble, bytes, devices};

/// A kernel that adds one to a variable of four bytes, which starts as 41, and one that shows it. As in
/// images the variable is an array of bytes, and the module names its language: without that Intel's
/// driver knows no names of variables.
const MODULE: &[u8] = b"
    OpCapability Kernel
    OpCapability Addresses
    OpCapability Int8
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %add_one \"add_one\"
    OpEntryPoint Kernel %show \"show\"
    OpSource OpenCL_CPP 100000
    OpDecorate %variable Alignment 4
    %void = OpTypeVoid
    %uint = OpTypeInt 32 0
    %uchar = OpTypeInt 8 0
    %one = OpConstant %uint 1
    %four = OpConstant %uint 4
    %first = OpConstant %uchar 41
    %zero = OpConstant %uchar 0
    %array = OpTypeArray %uchar %four
    %initial = OpConstantComposite %array %first %zero %zero %zero
    %pointer = OpTypePointer CrossWorkgroup %uint
    %place = OpTypePointer CrossWorkgroup %array
    %adding = OpTypeFunction %void
    %showing = OpTypeFunction %void %pointer
    %variable = OpVariable %place CrossWorkgroup %initial
    %add_one = OpFunction %void None %adding
    %start = OpLabel
    %counter = OpBitcast %pointer %variable
    %before = OpLoad %uint %counter Aligned 4
    %after = OpIAdd %uint %before %one
    OpStore %counter %after Aligned 4
    OpReturn
    OpFunctionEnd
    %show = OpFunction %void None %showing
    %target = OpFunctionParameter %pointer
    %begin = OpLabel
    %source = OpBitcast %pointer %variable
    %shown = OpLoad %uint %source Aligned 4
    OpStore %target %shown Aligned 4
    OpReturn
    OpFunctionEnd
";

const OP_EXTENSION: u32 = 10;
const OP_MEMORY_MODEL: u32 = 14;
const OP_CAPABILITY: u32 = 17;
const OP_DECORATE: u32 = 71;
const CAPABILITY_HOST_ACCESS: u32 = 6187;
const DECORATION_HOST_ACCESS: u32 = 6188;
/// Read and write.
const BOTH: u32 = 3;
/// Read only.
const READ: u32 = 1;

fn instruction(opcode: u32, operands: &[u32], text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    let text: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let words = [operands, &text].concat();
    [&[(words.len() as u32 + 1) << 16 | opcode][..], &words].concat()
}

/// The module with its variable named for the host. Assemblers of a few years ago do not know how.
fn named(name: &str, access: u32) -> Vec<u8> {
    let plain = assemble(MODULE);
    let words: Vec<u32> =
        plain.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut out = words[..5].to_vec();
    let mut at = 5;
    while at < words.len() {
        let (opcode, length) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        if opcode == OP_MEMORY_MODEL {
            out.extend([2 << 16 | OP_CAPABILITY, CAPABILITY_HOST_ACCESS]);
            out.extend(instruction(OP_EXTENSION, &[], "SPV_INTEL_global_variable_host_access"));
        }
        out.extend(&words[at..at + length]);
        if opcode == OP_DECORATE {
            let operands = [words[at + 1], DECORATION_HOST_ACCESS, access];
            out.extend(instruction(OP_DECORATE, &operands, name));
        }
        at += length;
    }
    out.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Contexts of devices that know variables by name, with the program.
fn programs(access: u32) -> Vec<(std::sync::Arc<dyn Context>, Box<dyn Program>)> {
    let contexts = devices().into_iter().map(|device| device.create_context().unwrap());
    contexts
        .filter(|context| context.takes_annotation(CAPABILITY_HOST_ACCESS))
        .map(|context| {
            let program = context.build(CodeForm::Spirv64, &named("counter", access)).unwrap();
            (context, program)
        })
        .collect()
}

fn read(queue: &dyn Queue, variable: &dyn Variable) -> u32 {
    let mut value = 0u32;
    let target = (&raw mut value).cast();
    let calls = queue.as_variables().unwrap();
    // SAFETY: four bytes on both sides, waited for below.
    let event = unsafe { calls.read_variable(variable, 0, target, bytes(4), &[]) }.unwrap();
    event.wait().unwrap();
    value
}

#[test]
fn the_host_reads_and_writes_what_kernels_do() {
    for (context, program) in programs(BOTH) {
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let variable = program.variable("counter").unwrap();
        assert_eq!(variable.size(), bytes(4));
        assert_ne!(variable.device_address(), Some(0));
        assert_eq!(read(&*queue, &*variable), 41);
        let kernel = program.kernel("add_one").unwrap();
        let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
        // SAFETY: the kernel has no parameters.
        let first = unsafe { queue.launch(&*kernel, extent, &[], &[]) }.unwrap();
        first.wait().unwrap();
        assert_eq!(read(&*queue, &*variable), 42);
        // Two bytes of it, in the middle.
        let (value, calls) = (0x0102u16.to_le_bytes(), queue.as_variables().unwrap());
        // SAFETY: two bytes that live until the wait.
        let event =
            unsafe { calls.write_variable(&*variable, 1, value.as_ptr(), bytes(2), &[]) }.unwrap();
        event.wait().unwrap();
        assert_eq!(read(&*queue, &*variable), 0x0001_022a);
        // SAFETY: as above.
        let second = unsafe { queue.launch(&*kernel, extent, &[], &[&*event]) }.unwrap();
        second.wait().unwrap();
        assert_eq!(read(&*queue, &*variable), 0x0001_022b);
    }
}

#[test]
fn a_variable_keeps_its_program() {
    for (context, program) in programs(BOTH) {
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let variable = program.variable("counter").unwrap();
        drop(program);
        assert_eq!(read(&*queue, &*variable), 41);
    }
}

#[test]
fn names_that_no_variable_has_find_none() {
    for (_, program) in programs(BOTH) {
        for name in ["", "count", "counter2", "add_one", "a\0b"] {
            assert!(program.variable(name).is_none(), "{name:?}");
        }
    }
}

#[test]
fn a_write_that_the_code_forbids_is_refused_and_changes_nothing() {
    for (context, program) in programs(READ) {
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let variable = program.variable("counter").unwrap();
        let (value, calls) = (7u32.to_le_bytes(), queue.as_variables().unwrap());
        // SAFETY: four bytes that live to the end of this block, and the driver refuses.
        let refused = unsafe { calls.write_variable(&*variable, 0, value.as_ptr(), bytes(4), &[]) };
        let refusal = refused.err().unwrap();
        assert_eq!((refusal.call, refusal.code), ("clEnqueueWriteGlobalVariableINTEL", -59));
        assert_ne!(refusal.kind, DriverErrorKind::Build);
        assert_eq!(read(&*queue, &*variable), 41);
    }
}

#[test]
fn devices_without_the_calls_say_so_everywhere() {
    for device in devices() {
        let context = device.create_context().unwrap();
        let queue = context.create_queue(&QueueOptions::default()).unwrap();
        let takes = context.takes_annotation(CAPABILITY_HOST_ACCESS);
        assert_eq!(queue.as_variables().is_some(), takes);
        assert!(!context.takes_annotation(6189), "no driver here makes FPGAs");
        if !takes {
            let program = context.build(CodeForm::Spirv64, &assemble(MODULE)).unwrap();
            assert!(program.variable("counter").is_none());
        }
    }
}
