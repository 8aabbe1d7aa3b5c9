//! Modules with variables.

use std::io::Write;
use std::process::{Command, Stdio};

/// The start of a module whose kernel adds one to a variable of four bytes, which starts as 41. As in
/// images the variable is an array of bytes, and the module names its language: without that Intel's
/// driver knows no names of variables.
const START: &str = "
    OpCapability Kernel
    OpCapability Addresses
    OpCapability Linkage
    OpCapability Int8
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %add_one \"add_one\"
    OpSource OpenCL_CPP 100000
    OpDecorate %variable Alignment 4
";

const REST: &str = "
    %void = OpTypeVoid
    %uint = OpTypeInt 32 0
    %uchar = OpTypeInt 8 0
    %one = OpConstant %uint 1
    %four = OpConstant %uint 4
    %first = OpConstant %uchar 41
    %zero = OpConstant %uchar 0
    %array = OpTypeArray %uchar %four
    %initial = OpConstantComposite %array %first %zero %zero %zero
    %other_initial = OpConstantComposite %array %zero %first %zero %zero
    %pointer = OpTypePointer CrossWorkgroup %uint
    %place = OpTypePointer CrossWorkgroup %array
    %adding = OpTypeFunction %void
    %variable = OpVariable %place CrossWorkgroup %initial
    {}
    %add_one = OpFunction %void None %adding
    %start = OpLabel
    %counter = OpBitcast %pointer %variable
    %before = OpLoad %uint %counter Aligned 4
    %after = OpIAdd %uint %before %one
    OpStore %counter %after Aligned 4
    OpReturn
    OpFunctionEnd
";

/// The variable's name for the host is `counter`.
pub(crate) fn counter() -> Vec<u8> {
    named("", "")
}

/// So it is, and another variable has a name for linking, `linked`.
pub(crate) fn exporting() -> Vec<u8> {
    named(
        "OpDecorate %other LinkageAttributes \"linked\" Export",
        "%other = OpVariable %place CrossWorkgroup %other_initial",
    )
}

/// Another variable is to come from elsewhere.
pub(crate) fn importing() -> Vec<u8> {
    named(
        "OpDecorate %other LinkageAttributes \"elsewhere\" Import",
        "%other = OpVariable %place CrossWorkgroup",
    )
}

/// The module with its variable named for the host. Assemblers of a few years ago do not know how.
fn named(decoration: &str, variable: &str) -> Vec<u8> {
    const OP_EXTENSION: u32 = 10;
    const OP_MEMORY_MODEL: u32 = 14;
    const OP_CAPABILITY: u32 = 17;
    const OP_DECORATE: u32 = 71;
    const ALIGNMENT: u32 = 44;
    const CAPABILITY_HOST_ACCESS: u32 = 6187;
    const DECORATION_HOST_ACCESS: u32 = 6188;
    const READ_AND_WRITE: u32 = 3;
    let plain = assemble(&format!("{START}{decoration}{}", REST.replace("{}", variable)));
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
        if opcode == OP_DECORATE && words[at + 2] == ALIGNMENT {
            let operands = [words[at + 1], DECORATION_HOST_ACCESS, READ_AND_WRITE];
            out.extend(instruction(OP_DECORATE, &operands, "counter"));
        }
        at += length;
    }
    out.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn instruction(opcode: u32, operands: &[u32], text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    let text: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let words = [operands, &text].concat();
    [&[(words.len() as u32 + 1) << 16 | opcode][..], &words].concat()
}

fn assemble(text: &str) -> Vec<u8> {
    let mut assembler = Command::new("spirv-as")
        .args(["--target-env", "spv1.2", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spirv-as runs (Debian: spirv-tools)");
    let mut input = assembler.stdin.take().expect("a pipe was asked for");
    input.write_all(text.as_bytes()).expect("spirv-as reads");
    drop(input);
    let output = assembler.wait_with_output().expect("spirv-as ends");
    assert!(output.status.success(), "spirv-as refused the module");
    output.stdout
}
