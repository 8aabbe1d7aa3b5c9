//! How far atomics and fences reach and what they order, read from the words of modules.

use crosscut_image::spirv::{Strength, Synchronisation, synchronisation};
use proptest::prelude::*;

/// Ids of constants: 10 to 14 are the scopes 0 to 4, 20 is 0 (by `OpConstantNull`), 21 to 24 are orders.
const RELAXED: u32 = 20;
const ACQUIRE: u32 = 21;
const RELEASE: u32 = 22;
const ACQUIRE_RELEASE: u32 = 23;
const SEQUENTIALLY_CONSISTENT: u32 = 24;
const SYSTEM: u32 = 10;
const DEVICE: u32 = 11;
const WORK_GROUP: u32 = 12;
const SUB_GROUP: u32 = 13;
const NOT_A_CONSTANT: u32 = 30;

const NOTHING: Strength = Strength {
    acquire_release: false,
    sequentially_consistent: false,
    sub_group: false,
    device: false,
    system: false,
};

fn module(instructions: &[&[u32]]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 64, 0];
    let mut put = |instruction: &[u32]| {
        words.push((instruction.len() as u32) << 16 | instruction[0]);
        words.extend_from_slice(&instruction[1..]);
    };
    for scope in 0..5 {
        put(&[43, 1, SYSTEM + scope, scope]);
    }
    put(&[46, 1, RELAXED]);
    put(&[43, 1, ACQUIRE, 0x202]);
    put(&[43, 1, RELEASE, 0x204]);
    put(&[43, 1, ACQUIRE_RELEASE, 0x308]);
    put(&[50, 1, SEQUENTIALLY_CONSISTENT, 0x310]);
    instructions.iter().for_each(|instruction| put(instruction));
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn of(instruction: &[u32]) -> Synchronisation {
    synchronisation(&module(&[instruction])).expect("a well-formed module")
}

fn atomics(instruction: &[u32]) -> Strength {
    let found = of(instruction);
    assert_eq!(found.fences, NOTHING, "{instruction:?}");
    found.atomics
}

#[test]
fn relaxed_atomics_of_a_work_group_ask_for_nothing() {
    for instruction in [
        &[227, 1, 40, 2, WORK_GROUP, RELAXED][..],
        &[228, 2, WORK_GROUP, RELAXED, 3],
        &[229, 1, 40, 2, WORK_GROUP, RELAXED, 3],
        &[230, 1, 40, 2, WORK_GROUP, RELAXED, RELAXED, 3, 4],
    ] {
        assert_eq!(of(instruction), Synchronisation::default());
    }
}

#[test]
fn every_atomic_instruction_is_known_with_its_operands_in_their_places() {
    let expected = Strength { device: true, acquire_release: true, ..NOTHING };
    for opcode in
        (229..=242).filter(|opcode| ![230, 231].contains(opcode)).chain([5614, 5615, 6035])
    {
        let instruction = [opcode, 1, 40, 2, DEVICE, ACQUIRE_RELEASE, 3];
        assert_eq!(atomics(&instruction), expected, "{opcode}");
    }
    for opcode in [227, 318] {
        assert_eq!(atomics(&[opcode, 1, 40, 2, DEVICE, ACQUIRE]), expected, "{opcode}");
    }
    assert_eq!(atomics(&[228, 2, DEVICE, RELEASE, 3]), expected);
    assert_eq!(atomics(&[319, 2, DEVICE, RELEASE]), expected);
}

#[test]
fn an_exchange_with_a_condition_has_the_orders_of_both_ways_out() {
    let both = Strength { sequentially_consistent: true, acquire_release: true, ..NOTHING };
    for opcode in [230, 231] {
        for [equal, unequal] in
            [[SEQUENTIALLY_CONSISTENT, ACQUIRE], [ACQUIRE, SEQUENTIALLY_CONSISTENT]]
        {
            let instruction = [opcode, 1, 40, 2, WORK_GROUP, equal, unequal, 3, 4];
            assert_eq!(atomics(&instruction), both);
        }
    }
}

#[test]
fn each_scope_is_told_from_the_others() {
    let scoped = |scope| atomics(&[227, 1, 40, 2, scope, RELAXED]);
    assert_eq!(scoped(SYSTEM), Strength { system: true, ..NOTHING });
    assert_eq!(scoped(DEVICE), Strength { device: true, ..NOTHING });
    assert_eq!(scoped(SUB_GROUP), Strength { sub_group: true, ..NOTHING });
    assert_eq!(scoped(NOT_A_CONSTANT), NOTHING);
}

#[test]
fn a_fence_is_no_atomic() {
    let found = of(&[225, SYSTEM, SEQUENTIALLY_CONSISTENT]);
    assert_eq!(found.atomics, NOTHING);
    assert_eq!(found.fences, Strength { system: true, sequentially_consistent: true, ..NOTHING });
}

#[test]
fn a_barrier_reaches_as_far_as_it_says_and_its_order_is_that_of_every_device() {
    let barrier = |scope| of(&[224, WORK_GROUP, scope, SEQUENTIALLY_CONSISTENT]);
    assert_eq!(barrier(WORK_GROUP), Synchronisation::default());
    assert_eq!(barrier(DEVICE).fences, Strength { device: true, ..NOTHING });
}

#[test]
fn what_several_instructions_ask_for_is_added_up() {
    let found = synchronisation(&module(&[
        &[227, 1, 40, 2, DEVICE, ACQUIRE],
        &[228, 2, SUB_GROUP, SEQUENTIALLY_CONSISTENT, 3],
    ]));
    let all = Strength { system: false, ..of_everything() };
    assert_eq!(found.expect("well formed").atomics, all);
}

fn of_everything() -> Strength {
    Strength {
        acquire_release: true,
        sequentially_consistent: true,
        sub_group: true,
        device: true,
        system: true,
    }
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(words in proptest::collection::vec(any::<u32>(), 0..64)) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let _ = synchronisation(&bytes);
    }

    #[test]
    fn instructions_that_are_too_short_are_no_panic(
        opcode in 224_u32..=242, operands in proptest::collection::vec(0_u32..40, 0..8),
    ) {
        let instruction: Vec<u32> = std::iter::once(opcode).chain(operands).collect();
        prop_assert!(synchronisation(&module(&[&instruction])).is_ok());
    }
}
