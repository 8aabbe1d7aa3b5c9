//! Images survive the way through their bytes, and nothing else passes for images.

use crosscut_image::{
    AssumedKernel, DecodeError, FORMAT_VERSION, Global, Image, Kernel, MAGIC, PanicSite, Parameter,
    Property, PropertySet, SpecConstant, Target, decode, encode, global_properties,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

const HEADER_SIZE: usize = 28;

fn sample() -> Image {
    let global = |id: &str, properties| Global {
        id: id.into(),
        display_name: format!("letters::{id}"),
        size: 104,
        align: 4,
        properties,
    };
    let globals = vec![
        global("COUNTS", global_properties::DEFAULT),
        global("HITS", global_properties::IMAGE_SCOPE),
    ];
    Image {
        target: Target::Spirv64,
        payload: vec![3, 2, 35, 7],
        kernels: vec![Kernel {
            key: 0x0123_4567_89ab_cdef,
            name: "k0".into(),
            display_name: "letters::main::{closure#0}".into(),
            dimensions: 1,
            captures_size: 12,
            parameters: vec![
                Parameter::Captures { word: 1 },
                Parameter::Address { slot: 0 },
                Parameter::Length { slot: 0 },
                Parameter::Global { index: 1 },
                Parameter::PanicRecord,
            ],
            assumed: Some(AssumedKernel {
                name: "k0_assumed".into(),
                slots: vec![0],
                parameters: vec![Parameter::Address { slot: 0 }],
            }),
            reads: vec![0, 1],
            writes: vec![1],
        }],
        property_sets: PropertySet::device_globals(&globals).into_iter().collect(),
        globals,
        spec_constants: vec![SpecConstant {
            id: "TILE".into(),
            display_name: "letters::TILE".into(),
            offset: 8,
            width: 4,
            default: 16,
            number: 2,
        }],
        panic_sites: vec![PanicSite {
            message: "index out of bounds: the len is {0} but the index is {1}".into(),
            file: "src/main.rs".into(),
            line: 12,
            column: 34,
        }],
    }
}

/// The error for `images` as [`encode`] writes them.
fn refusal(image: Image) -> DecodeError {
    decode(&encode(&[image])).expect_err("must be refused")
}

/// A body with the header it needs to reach the checks behind the checksum.
fn with_header(body: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(xxh3_64(body).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn the_sample_survives_a_round_trip() {
    let images = [sample(), sample()];
    assert_eq!(decode(&encode(&images)).as_deref(), Ok(&images[..]));
}

#[test]
fn no_images_are_images_too() {
    assert_eq!(decode(&encode(&[])), Ok(vec![]));
}

#[test]
fn every_flip_of_one_bit_is_refused() {
    let bytes = encode(&[sample()]);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            assert!(decode(&flipped).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = encode(&[sample()]);
    for length in 0..bytes.len() {
        assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn every_truncation_with_a_right_checksum_is_refused() {
    let body = &encode(&[sample()])[HEADER_SIZE..];
    for length in 0..body.len() {
        assert!(decode(&with_header(&body[..length])).is_err(), "{length} bytes");
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    let mut bytes = encode(&[sample()]);
    bytes[8] = 9;
    assert_eq!(decode(&bytes), Err(DecodeError::Version { found: 9 }));
}

#[test]
fn a_byte_too_many_is_refused() {
    let mut bytes = encode(&[sample()]);
    let body = bytes.len() - HEADER_SIZE;
    bytes.push(0);
    let stated = body as u64;
    assert_eq!(decode(&bytes), Err(DecodeError::Length { stated, found: body + 1 }));
    let offset = HEADER_SIZE + body;
    let with_checksum = with_header(&bytes[HEADER_SIZE..]);
    assert_eq!(decode(&with_checksum), Err(DecodeError::Trailing { offset }));
}

#[test]
fn a_count_beyond_the_bytes_is_refused_before_it_is_allocated() {
    let error = decode(&with_header(&u64::MAX.to_le_bytes()));
    assert_eq!(
        error,
        Err(DecodeError::Count { what: "images", count: u64::MAX, offset: HEADER_SIZE })
    );
}

#[test]
fn a_length_beyond_the_bytes_is_refused() {
    let mut body = encode(&[sample()])[HEADER_SIZE..].to_vec();
    // After the number of images and the target: the payload's length.
    body[9..17].copy_from_slice(&u64::MAX.to_le_bytes());
    let error = decode(&with_header(&body));
    let offset = HEADER_SIZE + 9;
    assert_eq!(error, Err(DecodeError::Truncated { what: "an image's payload", offset }));
}

#[test]
fn a_name_that_is_not_utf8_is_refused() {
    let mut body = encode(&[sample()])[HEADER_SIZE..].to_vec();
    let at = body.windows(6).position(|bytes| bytes == b"COUNTS").expect("the sample has it");
    body[at] = 0xff;
    assert!(matches!(
        decode(&with_header(&body)),
        Err(DecodeError::Text { what: "a global's id", .. })
    ));
}

#[test]
fn an_unknown_target_is_refused() {
    let mut body = encode(&[sample()])[HEADER_SIZE..].to_vec();
    body[8] = 200;
    let error = decode(&with_header(&body)).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "an image's target at byte 36 is 200, not a target this runtime knows"
    );
}

#[test]
fn a_parameter_beyond_the_globals_is_refused() {
    let mut image = sample();
    image.kernels[0].parameters[3] = Parameter::Global { index: 2 };
    assert!(matches!(refusal(image), DecodeError::Index { index: 2, count: 2, .. }));
}

#[test]
fn a_read_set_beyond_the_globals_is_refused() {
    let mut image = sample();
    image.kernels[0].reads = vec![2];
    assert!(matches!(refusal(image), DecodeError::Index { what: "a kernel's read set", .. }));
}

#[test]
fn a_write_set_out_of_order_or_with_repeats_is_refused() {
    for writes in [vec![1, 0], vec![1, 1]] {
        let mut image = sample();
        image.kernels[0].writes = writes;
        assert!(matches!(refusal(image), DecodeError::Value { what: "a kernel's write set", .. }));
    }
}

#[test]
fn four_dimensions_are_refused() {
    let mut image = sample();
    image.kernels[0].dimensions = 4;
    assert!(matches!(
        refusal(image),
        DecodeError::Value { what: "a kernel's dimensions", value: 4, .. }
    ));
}

#[test]
fn an_alignment_that_is_no_power_of_two_is_refused() {
    for align in [0, 3] {
        let mut image = sample();
        image.globals[0].align = align;
        assert!(matches!(refusal(image), DecodeError::Value { what: "a global's alignment", .. }));
    }
}

prop_compose! {
    fn any_global()(
        id in any::<String>(),
        display_name in any::<String>(),
        size in any::<u64>(),
        align in 0_u32..64,
        properties in 0..=global_properties::ALL,
    ) -> Global {
        Global { id, display_name, size, align: 1 << align, properties }
    }
}

fn any_parameter(globals: u32) -> BoxedStrategy<Parameter> {
    let without_globals = prop_oneof![
        any::<u32>().prop_map(|word| Parameter::Captures { word }),
        any::<u32>().prop_map(|slot| Parameter::Address { slot }),
        any::<u32>().prop_map(|slot| Parameter::Length { slot }),
        Just(Parameter::PanicRecord),
        Just(Parameter::Lines),
    ];
    if globals == 0 {
        return without_globals.boxed();
    }
    let global = (0..globals).prop_map(|index| Parameter::Global { index });
    prop_oneof![4 => without_globals, 1 => global].boxed()
}

fn any_global_set(globals: u32) -> impl Strategy<Value = Vec<u32>> {
    btree_set(0..globals.max(1), 0..=globals as usize).prop_map(|set| set.into_iter().collect())
}

prop_compose! {
    fn any_assumed(globals: u32)(
        name in any::<String>(),
        slots in vec(any::<u32>(), 0..4),
        parameters in vec(any_parameter(globals), 0..6),
    ) -> AssumedKernel {
        AssumedKernel { name, slots, parameters }
    }
}

prop_compose! {
    fn any_kernel(globals: u32)(
        key in any::<u64>(),
        name in any::<String>(),
        display_name in any::<String>(),
        dimensions in 0_u8..=3,
        captures_size in any::<u32>(),
        parameters in vec(any_parameter(globals), 0..6),
        assumed in option::of(any_assumed(globals)),
        reads in any_global_set(globals),
        writes in any_global_set(globals),
    ) -> Kernel {
        Kernel {
            key, name, display_name, dimensions, captures_size, parameters, assumed, reads, writes,
        }
    }
}

prop_compose! {
    fn any_panic_site()(
        message in any::<String>(),
        file in any::<String>(),
        line in any::<u32>(),
        column in any::<u32>(),
    ) -> PanicSite {
        PanicSite { message, file, line, column }
    }
}

prop_compose! {
    fn any_spec_constant()(
        id in any::<String>(),
        display_name in any::<String>(),
        offset in any::<u32>(),
        width in prop::sample::select(&[1u8, 2, 4, 8][..]),
        default in any::<u64>(),
        number in any::<u32>(),
    ) -> SpecConstant {
        SpecConstant { id, display_name, offset, width, default, number }
    }
}

fn any_property_set() -> impl Strategy<Value = PropertySet> {
    let property = (any::<String>(), vec(any::<u8>(), 0..20))
        .prop_map(|(name, value)| Property { name, value });
    (any::<String>(), vec(property, 0..3))
        .prop_map(|(name, properties)| PropertySet { name, properties })
}

fn any_image() -> impl Strategy<Value = Image> {
    vec(any_global(), 0..4).prop_flat_map(|globals| {
        let count = u32::try_from(globals.len()).expect("at most three");
        (
            vec(any::<u8>(), 0..100),
            vec(any_kernel(count), 0..4),
            Just(globals),
            vec(any_spec_constant(), 0..3),
            vec(any_panic_site(), 0..3),
            vec(any_property_set(), 0..3),
        )
            .prop_map(
                |(payload, kernels, globals, spec_constants, panic_sites, property_sets)| Image {
                    target: Target::Spirv64,
                    payload,
                    kernels,
                    globals,
                    spec_constants,
                    panic_sites,
                    property_sets,
                },
            )
    })
}

proptest! {
    #[test]
    fn any_images_survive_a_round_trip(images in vec(any_image(), 0..3)) {
        prop_assert_eq!(decode(&encode(&images)), Ok(images));
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&bytes).is_err());
        // With a right header most of them get further.
        let _ = decode(&with_header(&bytes));
    }

    /// What is accepted is exactly what the writer writes: no two byte strings mean the same.
    #[test]
    fn mutated_bodies_are_refused_or_canonical(
        image in any_image(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut body = encode(&[image])[HEADER_SIZE..].to_vec();
        for (at, value) in changes {
            let at = at.index(body.len());
            body[at] = value;
        }
        let bytes = with_header(&body);
        if let Ok(images) = decode(&bytes) {
            prop_assert_eq!(encode(&images), bytes);
        }
    }
}
