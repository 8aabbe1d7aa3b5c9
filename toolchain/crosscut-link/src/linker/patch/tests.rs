use std::path::PathBuf;
use std::process::Command;

use super::*;

/// A program in which the array has the shape that the lowering gives it, and which checks at run
/// time that the offsets lead to the statics.
const PROGRAM: &str = r#"
#[repr(C)]
struct HostObject { offset: i64, id: *const u8, id_length: u64 }
unsafe impl Sync for HostObject {}
#[unsafe(no_mangle)]
static mut __crosscut_host_objects: [HostObject; 4] = [
    HostObject { offset: 0, id: b"a".as_ptr(), id_length: 1 },
    HostObject { offset: 0, id: b"b".as_ptr(), id_length: 1 },
    HostObject { offset: 0, id: b"c".as_ptr(), id_length: 1 },
    HostObject { offset: -1, id: b"d".as_ptr(), id_length: 1 },
];
#[unsafe(no_mangle)]
static mut __crosscut_layout: u64 = 1;
#[unsafe(no_mangle)]
static mut FIRST: [u64; 4] = [7; 4];
#[unsafe(no_mangle)]
static mut SECOND: [u64; 400] = [0; 400];
fn main() {
    let array = &raw mut __crosscut_host_objects;
    let base = array as *const u8;
    let (first, second) = (&raw mut FIRST as *const u8, &raw mut SECOND as *const u8);
    for (index, expected) in [first, second, second.wrapping_add(16)].into_iter().enumerate() {
        let offset = unsafe { (&raw const (*array)[index].offset).read_volatile() };
        assert_eq!(base.wrapping_offset(offset as isize), expected, "{index}");
    }
    assert_eq!(unsafe { (&raw const (*array)[3].offset).read_volatile() }, 0);
    assert!(unsafe { (&raw const __crosscut_layout).read_volatile() } > 1);
}
"#;

fn compile(folder: &Path, options: &[&str]) -> PathBuf {
    compile_text(folder, PROGRAM, options)
}

fn compile_text(folder: &Path, program: &str, options: &[&str]) -> PathBuf {
    let source = folder.join("program.rs");
    fs::write(&source, program).unwrap();
    let output = folder.join("program");
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let status = Command::new(rustc)
        .args(["--edition", "2024"])
        .arg(&source)
        .arg("-o")
        .arg(&output)
        .args(options)
        .status()
        .unwrap();
    assert!(status.success());
    output
}

fn symbols() -> Vec<String> {
    ["FIRST", "SECOND", "SECOND+16", "NOWHERE"].map(String::from).to_vec()
}

#[test]
fn offsets_lead_to_the_statics_wherever_the_program_is_loaded() {
    for options in [&["-C", "opt-level=0"][..], &["-O"], &["-C", "relocation-model=static"]] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), options);
        assert!(!Command::new(&program).output().unwrap().status.success(), "{options:?}");
        run(&program, &symbols()).unwrap();
        assert!(Command::new(&program).status().unwrap().success(), "{options:?}");
    }
}

#[test]
fn a_stripped_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &["-C", "strip=symbols"]);
    assert!(matches!(run(&program, &symbols()), Err(PatchError::Missing(HOST_OBJECTS))));
}

#[test]
fn an_array_longer_than_its_section_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), &[]);
    let many = vec![String::from("FIRST"); 1_000_000];
    assert!(matches!(run(&program, &many), Err(PatchError::ArrayOutside)));
}

#[test]
fn what_is_not_a_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text");
    fs::write(&file, "not a program").unwrap();
    assert!(matches!(run(&file, &symbols()), Err(PatchError::Format(_))));
}

/// The number of the layout that a program has once it is complete.
fn layout_of(program: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let output = compile_text(folder.path(), program, &["-C", "opt-level=0"]);
    let bytes = fs::read(output).unwrap();
    let patches = patches(&bytes, &symbols()).unwrap();
    u64::from_le_bytes(patches.last().unwrap().1)
}

#[test]
fn the_number_of_a_layout_is_that_of_the_statics_and_not_of_the_code() {
    let number = layout_of(PROGRAM);
    assert_ne!(number, 0);
    let other_code = PROGRAM.replace("fn main() {", "fn main() { println!(\"hello\");");
    assert_eq!(layout_of(&other_code), number);
    let other_name = PROGRAM.replace("FIRST", "FRONT");
    let first_kept = other_name.replace(
        "static mut FRONT: [u64; 4]",
        "static mut FRONT: [u64; 4] = [7; 4];\n#[unsafe(no_mangle)]\nstatic mut FIRST: [u64; 4]",
    );
    for other in [other_name, first_kept, PROGRAM.replace("400", "500")] {
        assert_ne!(layout_of(&other), number);
    }
}

#[test]
fn the_number_of_a_layout_is_also_that_of_statics_in_sections_of_the_users() {
    let with = |name: &str| {
        let other = "#[unsafe(no_mangle)]\n#[unsafe(link_section = \".mine\")]\nstatic mut THIRD: u64 = 3;\nfn main() { std::hint::black_box(&raw const THIRD);";
        PROGRAM.replace("fn main() {", &other.replace("THIRD", name))
    };
    assert_ne!(layout_of(&with("THIRD")), layout_of(&with("OTHER")));
}
