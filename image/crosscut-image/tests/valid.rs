//! The closer look: what is valid passes, and what compilers in drivers would crash on does not.

use crosscut_image::spirv::{check, interfaces, specialise, validate};
use proptest::collection::vec;
use proptest::prelude::*;

/// One instruction: its number and its operands.
type Line = (u32, Vec<u32>);

const ADD: usize = 14;

/// `kernel void k(global uint *p) { if (*p < 7) *p += 7; }`
fn sample() -> Vec<Line> {
    vec![
        (17, vec![6]),
        (17, vec![4]),
        (14, vec![2, 2]),
        (15, vec![6, 20, u32::from_le_bytes(*b"k\0\0\0")]),
        (5, vec![21, u32::from_le_bytes(*b"p\0\0\0")]),
        (71, vec![21, 38, 5]),
        (19, vec![1]),
        (21, vec![2, 32, 0]),
        (32, vec![3, 5, 2]),
        (33, vec![4, 1, 3]),
        (43, vec![2, 5, 7]),
        (54, vec![1, 20, 0, 4]),
        (55, vec![3, 21]),
        (248, vec![22]),
        // Replaced by the block below.
        (0, vec![]),
        (253, vec![]),
        (56, vec![]),
    ]
}

/// The sample with this in its block.
fn with(body: &[Line]) -> Vec<u8> {
    let mut lines = sample();
    lines.splice(ADD..=ADD, body.iter().cloned());
    module(&lines)
}

fn module(lines: &[Line]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0200, 0, 40, 0];
    for (opcode, operands) in lines {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend(operands);
    }
    words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
}

fn load_add_store() -> Vec<Line> {
    vec![(61, vec![2, 30, 21, 2, 4]), (128, vec![2, 31, 30, 5]), (62, vec![21, 31, 2, 4])]
}

fn fault(bytes: &[u8]) -> String {
    check(bytes).expect("the shape is right");
    validate(bytes).err().map_or("valid".to_owned(), |error| error.to_string())
}

#[test]
fn a_valid_module_passes_and_says_what_its_kernel_takes() {
    let bytes = with(&load_add_store());
    assert_eq!(validate(&bytes), Ok(()));
    assert_eq!(interfaces(&bytes).unwrap()[0].parameters.len(), 1);
}

#[test]
fn bodies_that_are_not_valid_are_refused_with_their_reason() {
    let cases: &[(&[Line], &str)] = &[
        (&[(128, vec![2, 31, 30, 5])], "names an id that nothing defines"),
        (&[(128, vec![2, 31, 5, 39])], "names an id that nothing defines"),
        (&[(128, vec![2, 31, 5, 40])], "names an id beyond the bound"),
        (&[(128, vec![2, 31, 5, 2])], "takes for a value what is none"),
        (&[(128, vec![5, 31, 5, 5])], "has a result of something that is no type"),
        (&[(128, vec![2, 5, 5, 5])], "defines an id a second time"),
        (&[(128, vec![2, 31, 5])], "has too few operands"),
        (&[(128, vec![2, 31, 5, 5, 5])], "has too many operands"),
        (&[(129, vec![2, 31, 5, 5])], "has an operand of another type"),
        (&[(128, vec![2, 31, 31, 5])], "uses a value that comes later"),
        (&[(61, vec![3, 30, 21])], "has an operand of another type"),
        (&[(61, vec![2, 30, 5])], "takes for an address what is none"),
        (&[(61, vec![2, 30, 21, 2, 3])], "means nothing in a kernel"),
        (&[(62, vec![21, 21])], "has an operand of another type"),
        (&[(113, vec![2, 31, 5])], "changes no width"),
        (&[(249, vec![20]), (248, vec![23])], "that is no block of its function"),
        (&[(245, vec![2, 31, 5, 22])], "takes values from other blocks"),
        (&[(254, vec![5]), (248, vec![23])], "has an operand of another type"),
        (&[(253, vec![])], "is outside any block"),
        (&[(19, vec![31])], "comes after what it must come before"),
        (&[(12, vec![2, 31, 5, 0, 5])], "is of no set of instructions"),
        (&[(57, vec![2, 31, 5])], "calls what is no function"),
        (&[(252, vec![])], "is no instruction of a kernel"),
        (&[(146, vec![2, 31, 5, 5])], "is no instruction of a kernel"),
        (&[(224, vec![5, 5, 21])], "has an operand of another type"),
        (&[(148, vec![2, 31, 5, 5])], "has an operand of another type"),
        (&[(149, vec![2, 31, 5, 5])], "has an operand of another type"),
        (&[(6000, vec![])], "is no instruction of a kernel"),
    ];
    for (body, expected) in cases {
        let fault = fault(&with(body));
        assert!(fault.contains(expected), "{body:?}: {fault}");
    }
}

#[test]
fn declarations_that_are_not_valid_are_refused() {
    let replaced = |at: usize, line: Line| {
        let mut lines = sample();
        lines[at] = line;
        module(&lines)
    };
    let cases: &[(usize, Line, &str)] = &[
        (3, (15, vec![6, 20, u32::from_le_bytes(*b"k(\0\0")]), "a name that no compiler gives"),
        (3, (15, vec![6, 20, u32::from_le_bytes(*b"1k\0\0")]), "a name that no compiler gives"),
        (4, (5, vec![21, 0x6161_6161]), "means nothing in a kernel"),
        (4, (5, vec![20, u32::from_le_bytes(*b"k(\0\0")]), "a name that no compiler gives"),
        (5, (71, vec![21, 38, 99]), "means nothing in a kernel"),
        (5, (71, vec![5, 38, 5]), "says of a parameter what it cannot be"),
        (5, (71, vec![21, 11, 28]), "decorates no variable"),
        (5, (74, vec![5, 21]), "decorates by what is no group of decorations"),
        (7, (21, vec![2, 31, 0]), "is a number that no device has"),
        (8, (32, vec![3, 99, 2]), "is an address of memory that there is not"),
        (8, (32, vec![3, 5, 1]), "is made of what is no data"),
        (9, (33, vec![4, 1, 1]), "is made of what is no data"),
        (10, (52, vec![2, 5, 6, 7]), "computes what is no constant"),
        (10, (52, vec![2, 5, 128, 7]), "has too few operands"),
        (10, (52, vec![2, 5, 128, 7, 7]), "names an id that nothing defines"),
        (10, (52, vec![2, 5, 128, 2, 2]), "takes for a value what is none"),
        (10, (43, vec![2, 5, 7, 7]), "has a value of another width than its type"),
        (12, (55, vec![2, 21]), "says of a parameter what it cannot be"),
        (12, (0, vec![]), "names an id that nothing defines"),
    ];
    for (at, line, expected) in cases {
        let fault = fault(&replaced(*at, line.clone()));
        assert!(fault.contains(expected), "{line:?}: {fault}");
    }
    let mut constant = sample();
    constant[8] = (32, vec![3, 0, 2]);
    constant[ADD] = (62, vec![21, 5, 2, 4]);
    assert!(fault(&module(&constant)).contains("writes where one only reads"));
    let elsewhere = interfaces(&replaced(8, (32, vec![3, 1, 2]))).unwrap_err().to_string();
    assert!(elsewhere.contains("memory that no kernel is given"), "{elsewhere}");
}

#[test]
fn a_value_is_used_only_where_every_way_leads_through_its_block() {
    let with_branch = |last: Line| {
        let mut lines = sample();
        let body = [
            (170, vec![6, 30, 5, 5]),
            (250, vec![30, 23, 24]),
            (248, vec![23]),
            (128, vec![2, 31, 5, 5]),
            (249, vec![24]),
            (248, vec![24]),
            last,
        ];
        lines.splice(ADD..=ADD, body);
        lines.insert(11, (20, vec![6]));
        fault(&module(&lines))
    };
    let missing = "uses a value that is not there on every way to it";
    assert!(with_branch((128, vec![2, 32, 31, 5])).contains(missing));
    assert!(with_branch((245, vec![2, 32, 31, 22, 5, 23])).contains(missing));
    assert_eq!(with_branch((245, vec![2, 32, 31, 23, 5, 22])), "valid");
    assert_eq!(with_branch((154, vec![6, 32, 30])), "valid");
}

#[test]
fn functions_of_opencl_have_the_arguments_they_take() {
    let with_call = |call: Vec<u32>| {
        let mut lines = sample();
        lines.splice(ADD..=ADD, [(12, call)]);
        // The set of instructions is 7, a float is 8, and 9 is a constant of it.
        lines.insert(11, (43, vec![8, 9, 0]));
        lines.insert(11, (22, vec![8, 32]));
        let name =
            b"OpenCL.std\0\0".as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        lines.insert(2, (11, std::iter::once(7).chain(name).collect()));
        fault(&module(&lines))
    };
    assert_eq!(with_call(vec![8, 30, 7, 26, 9, 9, 9]), "valid");
    assert!(with_call(vec![8, 30, 7, 26, 9, 9]).contains("another number of arguments"));
    assert!(with_call(vec![8, 30, 7, 26, 9, 5, 9]).contains("has an operand of another type"));
    assert!(with_call(vec![2, 30, 7, 61, 5]).contains("has an operand of another type"));
}

#[test]
fn constants_computed_from_constants_are_valid() {
    let mut lines = sample();
    lines.insert(11, (52, vec![2, 6, 128, 5, 5]));
    assert_eq!(validate(&module(&lines)), Ok(()));
}

proptest! {
    #[test]
    fn mutated_modules_do_not_panic(
        changes in vec((any::<prop::sample::Index>(), 0..48u32), 1..8),
        bits in any::<u32>(),
    ) {
        let mut bytes = with(&load_add_store());
        for (at, value) in changes {
            let at = 20 + 4 * at.index(bytes.len() / 4 - 5);
            let value = if value > 44 { bits } else { value };
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let _ = validate(&bytes);
        let _ = interfaces(&bytes);
        let _ = specialise(&bytes, &[(0, 1)].into());
    }

    #[test]
    fn random_instructions_do_not_panic(
        lines in vec((0..420u32, vec(0..42u32, 0..7)), 0..12),
    ) {
        let _ = validate(&with(&lines));
        let _ = validate(&module(&lines));
        let _ = interfaces(&module(&lines));
    }
}
