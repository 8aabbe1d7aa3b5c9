//! Well-formed modules pass, anything else is refused, nothing panics.

use crosscut_image::spirv::{LARGEST_BOUND, Module, SpirvError, check};
use proptest::collection::vec;
use proptest::prelude::*;

const CAPABILITY: u32 = 17;
const MEMORY_MODEL: u32 = 14;
const ENTRY_POINT: u32 = 15;
const TYPE_VOID: u32 = 19;
const TYPE_FUNCTION: u32 = 33;
const FUNCTION: u32 = 54;
const FUNCTION_END: u32 = 56;
const LABEL: u32 = 248;
const RETURN: u32 = 253;

const BOUND: u32 = 8;

/// `abc` and its zero in one word.
const ABC: u32 = u32::from_le_bytes(*b"abc\0");

fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let count = u32::try_from(operands.len() + 1).expect("a short instruction");
    std::iter::once(count << 16 | opcode).chain(operands.iter().copied()).collect()
}

fn header() -> Vec<u32> {
    vec![0x0723_0203, 0x0001_0200, 0, BOUND, 0]
}

/// A module with one empty kernel `abc`, as one list of words per instruction.
fn instructions() -> Vec<Vec<u32>> {
    vec![
        instruction(CAPABILITY, &[4]),
        instruction(CAPABILITY, &[6]),
        instruction(MEMORY_MODEL, &[2, 2]),
        instruction(ENTRY_POINT, &[6, 3, ABC]),
        instruction(TYPE_VOID, &[1]),
        instruction(TYPE_FUNCTION, &[2, 1]),
        instruction(FUNCTION, &[1, 3, 0, 2]),
        instruction(LABEL, &[4]),
        instruction(RETURN, &[]),
        instruction(FUNCTION_END, &[]),
    ]
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn module(instructions: &[Vec<u32>]) -> Vec<u8> {
    bytes(&[header(), instructions.concat()].concat())
}

/// The sample with instruction `at` replaced.
fn replaced(at: usize, by: Vec<u32>) -> Vec<u8> {
    let mut instructions = instructions();
    instructions[at] = by;
    module(&instructions)
}

/// The sample with word `at` of the header replaced.
fn with_header_word(at: usize, word: u32) -> Vec<u8> {
    let mut header = header();
    header[at] = word;
    bytes(&[header, instructions().concat()].concat())
}

fn fault(bytes: &[u8]) -> String {
    check(bytes).expect_err("must be refused").to_string()
}

#[test]
fn a_module_names_its_kernels_and_capabilities() {
    let expected =
        Module { version: (1, 2), capabilities: vec![4, 6], entry_points: vec!["abc".into()] };
    assert_eq!(check(&module(&instructions())), Ok(expected));
}

#[test]
fn a_name_of_several_words_is_read_whole() {
    let name = [u32::from_le_bytes(*b"abcd"), u32::from_le_bytes(*b"efgh"), 0, 5];
    let module = check(&replaced(3, instruction(ENTRY_POINT, &[&[6, 3], &name[..]].concat())));
    assert_eq!(module.map(|module| module.entry_points), Ok(vec!["abcdefgh".to_owned()]));
}

#[test]
fn a_wrong_header_is_refused() {
    let sample = module(&instructions());
    assert_eq!(check(&sample[..19]), Err(SpirvError::Length { length: 19 }));
    assert_eq!(check(&sample[..16]), Err(SpirvError::TooShort { words: 4 }));
    assert_eq!(check(&with_header_word(0, 0x0302_2307)), Err(SpirvError::Magic));
    for found in [0x0001_0700, 0x0002_0000, 0x0000_0100, 0x0001_0201, 0x0101_0200] {
        assert_eq!(check(&with_header_word(1, found)), Err(SpirvError::Version { found }));
    }
    for found in [0, LARGEST_BOUND + 1, u32::MAX] {
        assert_eq!(check(&with_header_word(3, found)), Err(SpirvError::Bound { found }));
    }
    assert_eq!(check(&with_header_word(4, 1)), Err(SpirvError::Schema { found: 1 }));
}

#[test]
fn an_instruction_of_no_words_is_refused() {
    let error = check(&replaced(4, vec![TYPE_VOID]));
    assert!(matches!(error, Err(SpirvError::Instruction { opcode: TYPE_VOID, words: 0, .. })));
}

#[test]
fn every_truncation_of_a_kernel_is_refused() {
    let sample = module(&instructions());
    // Up to the memory model it is a module too, one without kernels.
    let without_kernels = module(&instructions()[..3]).len();
    assert_eq!(check(&sample[..without_kernels]).map(|module| module.entry_points), Ok(vec![]));
    for length in (0..sample.len()).filter(|&length| length != without_kernels) {
        assert!(check(&sample[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn words_after_the_end_are_refused() {
    let mut sample = module(&instructions());
    sample.extend([0; 4]);
    assert!(matches!(check(&sample), Err(SpirvError::Instruction { opcode: 0, words: 0, .. })));
}

#[test]
fn another_memory_model_is_refused() {
    let expected = "SPIR-V OpMemoryModel at word 9 is not OpenCL's with 64-bit addresses";
    assert_eq!(fault(&replaced(2, instruction(MEMORY_MODEL, &[0, 1]))), expected);
    assert_eq!(fault(&replaced(2, instruction(MEMORY_MODEL, &[1, 2]))), expected);
    let without = [&instructions()[..2], &instructions()[4..]].concat();
    assert_eq!(check(&module(&without)), Err(SpirvError::NoMemoryModel));
}

#[test]
fn a_wrong_entry_point_is_refused() {
    let fault_of = |operands: &[u32]| fault(&replaced(3, instruction(ENTRY_POINT, operands)));
    let at = "SPIR-V OpEntryPoint at word 12";
    assert_eq!(fault_of(&[5, 3, ABC]), format!("{at} is not a kernel"));
    assert_eq!(fault_of(&[6, BOUND, ABC]), format!("{at} names an id beyond the bound"));
    assert_eq!(fault_of(&[6, 3, ABC, 0]), format!("{at} names an id beyond the bound"));
    assert_eq!(fault_of(&[6]), format!("{at} has too few operands"));
    assert_eq!(fault_of(&[6, 3, 0x6161_6161]), format!("{at} has a name without end"));
    assert_eq!(fault_of(&[6, 3, 0]), format!("{at} has an empty name"));
    assert_eq!(fault_of(&[6, 3, 0xff]), format!("{at} has a name that is not UTF-8"));
    let followed = u32::from_le_bytes(*b"a\0b\0");
    assert_eq!(
        fault_of(&[6, 3, followed]),
        format!("{at} has a name followed by something else than zeros")
    );
}

#[test]
fn an_entry_point_without_its_function_is_refused() {
    let error = check(&replaced(3, instruction(ENTRY_POINT, &[6, 4, ABC])));
    assert_eq!(error, Err(SpirvError::NoFunction { name: "abc".into() }));
}

#[test]
fn two_entry_points_of_one_name_are_refused() {
    let mut instructions = instructions();
    instructions.insert(3, instruction(ENTRY_POINT, &[6, 3, ABC]));
    let error = check(&module(&instructions));
    assert_eq!(error, Err(SpirvError::Duplicate { name: "abc".into() }));
}

#[test]
fn a_function_without_end_is_refused() {
    let mut instructions = instructions();
    instructions.pop();
    assert_eq!(check(&module(&instructions)), Err(SpirvError::OpenFunction));
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(check(&bytes).is_err());
    }

    #[test]
    fn random_instructions_do_not_panic(words in vec(any::<u32>(), 0..60)) {
        let _ = check(&bytes(&[header(), words].concat()));
    }

    /// Entry points are looked up by name and launched, so those that pass must be sound.
    #[test]
    fn mutated_modules_are_refused_or_have_sound_names(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = module(&instructions());
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(module) = check(&bytes) {
            prop_assert!(module.entry_points.iter().all(|name| !name.is_empty()));
            prop_assert!(module.entry_points.iter().all(|name| !name.contains('\0')));
        }
    }
}
