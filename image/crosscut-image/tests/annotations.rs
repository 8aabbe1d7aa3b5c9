//! What a module says about its variables, and who is not told.

use std::borrow::Cow;

use crosscut_image::spirv::{
    self, CAPABILITY_FPGA_VARIABLES, CAPABILITY_HOST_ACCESS, VARIABLE_EXTENSIONS, keep_annotations,
};

fn text(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn module(instructions: &[(u32, Vec<u32>)]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 20, 0];
    for (opcode, operands) in instructions {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend(operands);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Kernel, memory model, and the instructions of the annotations that are asked for.
fn example(host: bool, fpga: bool) -> Vec<u8> {
    let with = |there: bool, operands: (u32, Vec<u32>)| there.then_some(operands);
    let all = [
        Some((17, vec![6])),
        with(host, (17, vec![CAPABILITY_HOST_ACCESS])),
        with(fpga, (17, vec![CAPABILITY_FPGA_VARIABLES])),
        with(host, (10, text(VARIABLE_EXTENSIONS[0]))),
        with(fpga, (10, text(VARIABLE_EXTENSIONS[1]))),
        Some((10, text("SPV_KHR_other"))),
        Some((14, vec![2, 2])),
        Some((71, vec![9, 44, 4])),
        with(host, (71, [&[9, 6188, 3][..], &text("name")].concat())),
        with(fpga, (71, vec![9, 6190, 1])),
        with(fpga, (71, vec![9, 6191, 0])),
    ];
    module(&all.into_iter().flatten().collect::<Vec<_>>())
}

#[test]
fn a_driver_gets_the_annotations_that_it_takes_and_no_others() {
    let whole = example(true, true);
    let kept = |takes: &[u32]| {
        keep_annotations(&whole, |number| takes.contains(&number)).unwrap().into_owned()
    };
    assert_eq!(kept(&[]), example(false, false));
    assert_eq!(kept(&[CAPABILITY_HOST_ACCESS]), example(true, false));
    assert_eq!(kept(&[CAPABILITY_FPGA_VARIABLES]), example(false, true));
    assert_eq!(kept(&[CAPABILITY_HOST_ACCESS, CAPABILITY_FPGA_VARIABLES]), whole);
}

#[test]
fn a_module_that_says_nothing_about_variables_is_not_copied() {
    let plain = example(false, false);
    assert!(matches!(keep_annotations(&plain, |_| false), Ok(Cow::Borrowed(_))));
}

#[test]
fn a_module_that_is_cut_off_is_refused() {
    let whole = example(true, true);
    let cut = keep_annotations(&whole[..whole.len() - 4], |_| true);
    assert!(matches!(cut, Err(spirv::SpirvError::Instruction { .. })));
}
