//! Sub-group sizes written into modules.

use crosscut_image::spirv::{SpirvError, check, with_sub_group_size};

const A: u32 = u32::from_le_bytes(*b"a\0\0\0");
const B: u32 = u32::from_le_bytes(*b"b\0\0\0");

fn module(version: u32, instructions: &[&[u32]]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, version, 0, 16, 0];
    for instruction in instructions {
        words.push((instruction.len() as u32) << 16 | instruction[0]);
        words.extend_from_slice(&instruction[1..]);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Two kernels, which have these modes; with these capabilities.
fn kernels(capabilities: &[u32], modes: &[[u32; 3]]) -> Vec<u8> {
    let capabilities: Vec<[u32; 2]> = capabilities.iter().map(|&number| [17, number]).collect();
    let modes: Vec<[u32; 4]> =
        modes.iter().map(|&[kernel, mode, x]| [16, kernel, mode, x]).collect();
    let mut all: Vec<&[u32]> = capabilities.iter().map(|it| &it[..]).collect();
    all.extend([&[14, 2, 2][..], &[15, 6, 3, A], &[15, 6, 4, B]]);
    all.extend(modes.iter().map(|it| &it[..]));
    all.extend([&[19, 1][..], &[33, 2, 1], &[54, 1, 3, 0, 2], &[56], &[54, 1, 4, 0, 2], &[56]]);
    module(0x0001_0200, &all)
}

#[test]
fn every_kernel_gets_the_mode_and_the_module_the_capability() {
    let changed = with_sub_group_size(&kernels(&[4, 6], &[]), 16).expect("well formed");
    assert_eq!(changed, kernels(&[58, 4, 6], &[[3, 35, 16], [4, 35, 16]]));
    let module = check(&changed).expect("still well formed");
    assert_eq!(module.entry_points, ["a", "b"]);
}

#[test]
fn another_size_replaces_the_one_that_was_there_and_other_modes_stay() {
    let before = kernels(&[6, 58], &[[3, 35, 8], [3, 30, 7]]);
    let changed = with_sub_group_size(&before, 32).expect("well formed");
    assert_eq!(changed, kernels(&[58, 6], &[[3, 35, 32], [4, 35, 32], [3, 30, 7]]));
    assert_eq!(with_sub_group_size(&changed, 32).expect("well formed"), changed);
}

#[test]
fn what_is_no_module_or_too_old_is_refused() {
    let old = with_sub_group_size(&module(0x0001_0000, &[]), 8);
    assert_eq!(old, Err(SpirvError::Version { found: 0x0001_0000 }));
    assert!(with_sub_group_size(&[1, 2, 3], 8).is_err());
    let mut cut = kernels(&[6], &[]);
    cut.truncate(cut.len() - 4);
    cut.extend([0; 4]);
    assert!(with_sub_group_size(&cut, 8).is_err());
}
