//! Specialization constants get their values in the words of a module.

use std::collections::BTreeMap;

use crosscut_image::spirv::{SpirvError, specialise};
use proptest::collection::vec;
use proptest::prelude::*;

const DECORATE: u32 = 71;
const TYPE_BOOL: u32 = 20;
const TYPE_INT: u32 = 21;
const TYPE_FLOAT: u32 = 22;
const CONSTANT_TRUE: u32 = 41;
const CONSTANT_FALSE: u32 = 42;
const CONSTANT: u32 = 43;
const SPEC_TRUE: u32 = 48;
const SPEC_FALSE: u32 = 49;
const SPEC: u32 = 50;
const SPEC_ID: u32 = 1;

fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let count = u32::try_from(operands.len() + 1).expect("a short instruction");
    std::iter::once(count << 16 | opcode).chain(operands.iter().copied()).collect()
}

fn module(instructions: &[Vec<u32>]) -> Vec<u8> {
    let header = vec![0x0723_0203, 0x0001_0200, 0, 100, 0];
    let words = [vec![header, instruction(14, &[2, 2])], instructions.to_vec()].concat().concat();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Constants of all kinds, with the numbers 0 to 6.
fn sample() -> Vec<u8> {
    let mut instructions: Vec<Vec<u32>> =
        (0..7).map(|number| instruction(DECORATE, &[20 + number, SPEC_ID, number])).collect();
    instructions.extend([
        instruction(TYPE_INT, &[1, 8, 0]),
        instruction(TYPE_INT, &[2, 16, 1]),
        instruction(TYPE_INT, &[3, 32, 0]),
        instruction(TYPE_INT, &[4, 64, 0]),
        instruction(TYPE_FLOAT, &[5, 64]),
        instruction(TYPE_BOOL, &[6]),
        instruction(SPEC, &[1, 20, 7]),
        instruction(SPEC, &[2, 21, 8]),
        instruction(SPEC, &[3, 22, 9]),
        instruction(SPEC, &[4, 23, 10, 11]),
        instruction(SPEC, &[5, 24, 0, 0x3ff0_0000]),
        instruction(SPEC_TRUE, &[6, 25]),
        instruction(SPEC_FALSE, &[6, 26]),
    ]);
    module(&instructions)
}

/// The sample with ordinary constants of these values.
fn plain(values: [&[u32]; 5], truths: [u32; 2]) -> Vec<u8> {
    let mut instructions = vec![
        instruction(TYPE_INT, &[1, 8, 0]),
        instruction(TYPE_INT, &[2, 16, 1]),
        instruction(TYPE_INT, &[3, 32, 0]),
        instruction(TYPE_INT, &[4, 64, 0]),
        instruction(TYPE_FLOAT, &[5, 64]),
        instruction(TYPE_BOOL, &[6]),
    ];
    for (kind, value) in (1..).zip(values) {
        instructions.push(instruction(CONSTANT, &[&[kind, 19 + kind], value].concat()));
    }
    instructions.extend([instruction(truths[0], &[6, 25]), instruction(truths[1], &[6, 26])]);
    module(&instructions)
}

#[test]
fn without_values_constants_have_their_defaults() {
    let specialised = specialise(&sample(), &BTreeMap::new()).unwrap();
    let defaults: [&[u32]; 5] = [&[7], &[8], &[9], &[10, 11], &[0, 0x3ff0_0000]];
    assert_eq!(specialised.bytes, plain(defaults, [CONSTANT_TRUE, CONSTANT_FALSE]));
    let sizes = [(0, 1), (1, 2), (2, 4), (3, 8), (4, 8), (5, 0), (6, 0)];
    assert_eq!(specialised.constants, BTreeMap::from(sizes));
}

#[test]
fn values_are_cut_to_the_width_and_extended_by_their_sign() {
    let values = [
        (0, 0xfff),
        (1, 0xffff),
        (2, u64::MAX),
        (3, 0x1122_3344_5566_7788),
        (4, 2.0f64.to_bits()),
        (5, 0),
        (6, 1),
        (99, 1),
    ];
    let specialised = specialise(&sample(), &BTreeMap::from(values)).unwrap();
    let set: [&[u32]; 5] =
        [&[0xff], &[u32::MAX], &[u32::MAX], &[0x5566_7788, 0x1122_3344], &[0, 0x4000_0000]];
    assert_eq!(specialised.bytes, plain(set, [CONSTANT_FALSE, CONSTANT_TRUE]));
}

#[test]
fn constants_that_are_no_numbers_are_refused() {
    let fault = |instructions: &[Vec<u32>]| {
        specialise(&module(instructions), &BTreeMap::new()).unwrap_err().to_string()
    };
    let at = "SPIR-V OpSpecConstant at word";
    assert_eq!(fault(&[instruction(SPEC, &[1, 20, 7])]), format!("{at} 8 is no number"));
    let int = instruction(TYPE_INT, &[1, 32, 0]);
    assert_eq!(
        fault(&[int.clone(), instruction(SPEC, &[1, 20, 7, 7])]),
        format!("{at} 12 has a value of another width than its type")
    );
    let odd = instruction(TYPE_INT, &[1, 0, 0]);
    assert_eq!(
        fault(&[odd, instruction(SPEC, &[1, 20])]),
        format!("{at} 12 has a width that no device has")
    );
    assert_eq!(
        fault(&[instruction(SPEC_TRUE, &[1])]),
        format!("{at} 8 has the wrong number of operands")
    );
    assert_eq!(specialise(&[0; 20], &BTreeMap::new()), Err(SpirvError::Magic));
}

proptest! {
    #[test]
    fn mutated_modules_do_not_panic(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        values in vec((0..8u32, any::<u64>()), 0..4),
    ) {
        let mut bytes = sample();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let values: BTreeMap<u32, u64> = values.into_iter().collect();
        if let Ok(once) = specialise(&bytes, &values) {
            // What has its values keeps them.
            let again = specialise(&once.bytes, &BTreeMap::new()).unwrap();
            prop_assert_eq!(again.bytes, once.bytes);
            prop_assert!(again.constants.is_empty());
        }
    }
}
