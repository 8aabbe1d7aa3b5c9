//! Programs with kernels: images and the places of device globals come into whatever is linked.

use std::path::Path;

use crate::workspace::{Workspace, manifest, text, works};

const CHECK: &str =
    "registrar::check(&[kernels::first::used(), kernels::second::used()]); println!(\"checked\")";

/// `app` → `kernels` → the real device crate; `numbers` knows nothing of devices, and the kernels
/// call it.
fn with_kernels(main: &str, rest: &str) -> Workspace {
    let device = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../device/crosscut-device");
    let device = format!("crosscut-device = {{ path = {:?} }}\n", device.display().to_string());
    let members = format!(
        "{rest}\n[workspace]\nmembers = [\"kernels\", \"numbers\", \"registrar\"]\n\
         [dependencies]\nkernels = {{ path = \"kernels\" }}\n\
         registrar = {{ path = \"registrar\" }}\n{device}\
         [profile.stripped]\ninherits = \"release\"\nstrip = true\n\
         [profile.thin]\ninherits = \"release\"\nlto = \"thin\"\n\
         [profile.fat]\ninherits = \"release\"\nlto = \"fat\"\n"
    );
    let kernels = format!("[dependencies]\nnumbers = {{ path = \"../numbers\" }}\n{device}");
    Workspace::new(&[
        ("Cargo.toml", &manifest("app", &members)),
        ("src/main.rs", main),
        ("registrar/Cargo.toml", &manifest("registrar", "")),
        ("registrar/src/lib.rs", include_str!("fixture/registrar.rs")),
        ("numbers/Cargo.toml", &manifest("numbers", "")),
        ("numbers/src/lib.rs", "#[inline(never)] pub fn odd(x: usize) -> u32 { x as u32 | 1 }"),
        ("kernels/Cargo.toml", &manifest("kernels", &kernels)),
        ("kernels/src/lib.rs", include_str!("fixture/kernels.rs")),
    ])
}

fn main_with(body: &str) -> String {
    format!("fn main() {{ {body} }}\n")
}

#[test]
fn device_globals_are_found_in_every_kind_of_build() {
    let workspace = with_kernels(&main_with(CHECK), "");
    for profile in ["dev", "release", "stripped", "thin", "fat"] {
        let output = works(&mut workspace.crosscut(&["run", "-q", "--profile", profile]));
        assert_eq!(text(&output.stdout), "checked\n", "{profile}");
    }
    let stripped = std::fs::read(workspace.path("target/crosscut/stripped/app")).unwrap();
    let symbol = b"__crosscut_host_objects";
    assert!(!stripped.windows(symbol.len()).any(|window| window == symbol));
}

#[test]
fn tests_and_examples_have_device_code_of_their_own() {
    let workspace = with_kernels("fn main() {}", "");
    workspace.write("tests/outside.rs", &format!("#[test] fn outside() {{ {CHECK} }}"));
    workspace.write("examples/show.rs", &main_with(CHECK));
    works(&mut workspace.crosscut(&["test", "-q"]));
    let output = works(&mut workspace.crosscut(&["run", "-q", "--example", "show"]));
    assert_eq!(text(&output.stdout), "checked\n");
}

#[test]
fn a_shared_library_registers_when_it_is_loaded() {
    // Both have a registrar of their own, and only the library has kernels.
    let main = "#[link(name = \"dl\")] unsafe extern \"C\" {\
            fn dlopen(name: *const std::ffi::c_char, flags: i32) -> *mut u8;\
            fn dlsym(library: *mut u8, name: *const std::ffi::c_char) -> *mut u8;\
        }\
        fn main() { unsafe {\
            let name = std::ffi::CString::new(std::env::args().nth(1).unwrap()).unwrap();\
            let library = dlopen(name.as_ptr(), 2);\
            assert!(!library.is_null());\
            let check = dlsym(library, c\"check\".as_ptr());\
            assert!(!check.is_null());\
            std::mem::transmute::<*mut u8, extern \"C\" fn()>(check)();\
        } }";
    let workspace = with_kernels(main, "[lib]\ncrate-type = [\"cdylib\"]\n");
    let library = format!("#[unsafe(no_mangle)] pub extern \"C\" fn check() {{ {CHECK} }}");
    workspace.write("src/lib.rs", &library);
    works(&mut workspace.crosscut(&["build", "-q"]));
    let file = workspace.path("target/crosscut/debug/libapp.so");
    let run = ["run", "-q", "--", file.to_str().unwrap()];
    let output = works(&mut workspace.crosscut(&run));
    assert_eq!(text(&output.stdout), "checked\n");
}

#[test]
fn a_target_directory_that_was_moved_is_not_taken_for_good() {
    let workspace = with_kernels(&main_with(CHECK), "");
    works(&mut workspace.crosscut(&["build", "-q", "--target-dir", "one"]));
    std::fs::rename(workspace.path("one"), workspace.path("two")).unwrap();
    workspace.write("src/main.rs", &format!("// changed\n{}", main_with(CHECK)));
    let output = works(&mut workspace.crosscut(&["run", "-q", "--target-dir", "two"]));
    assert_eq!(text(&output.stdout), "checked\n");
}

#[test]
fn a_crate_is_compiled_for_devices_once_a_kernel_calls_it() {
    let workspace = with_kernels(&main_with(CHECK), "");
    works(&mut workspace.crosscut(&["build", "-q"]));
    assert_eq!(workspace.find("device/numbers-").len(), 2, "its record and its bitcode");
    assert_eq!(workspace.find("device/registrar-").len(), 1, "its record only");
}

/// Gives `numbers` a number that is known when it is compiled.
fn with_a_number_of_the_environment(workspace: &Workspace) {
    let source = "const NUMBER: u32 = match u32::from_str_radix(env!(\"NUMBER\"), 10) {\
            Ok(number) => number, Err(_) => panic!() };\
        #[inline(never)] pub fn odd(x: usize) -> u32 { x as u32 | NUMBER }";
    workspace.write("numbers/src/lib.rs", source);
}

const BUILD_SCRIPT: &str = "fn main() { println!(\"cargo::rustc-env=NUMBER=1111111111\") }";

/// Which of two numbers a build with `NUMBER=1222222222` has in its device code.
fn number_on_the_device(workspace: &Workspace) -> Vec<u32> {
    let dump = ["build", "-q", "--dump-after", "link", "--dump-dir", "dumps"];
    works(workspace.crosscut(&dump).env("NUMBER", "1222222222"));
    let code = std::fs::read_to_string(workspace.path("dumps/link.ll")).unwrap();
    [1111111111, 1222222222].into_iter().filter(|it| code.contains(&it.to_string())).collect()
}

#[test]
fn a_variable_of_a_build_script_counts_for_more_than_the_users_on_devices_too() {
    let workspace = with_kernels(&main_with(CHECK), "");
    with_a_number_of_the_environment(&workspace);
    workspace.write("numbers/build.rs", BUILD_SCRIPT);
    assert_eq!(number_on_the_device(&workspace), [1111111111]);
}

#[test]
fn a_variable_of_the_linked_crates_build_script_is_not_that_of_others() {
    let workspace = with_kernels(&main_with(CHECK), "");
    with_a_number_of_the_environment(&workspace);
    workspace.write("build.rs", BUILD_SCRIPT);
    assert_eq!(number_on_the_device(&workspace), [1222222222]);
}

#[test]
fn what_a_check_compiles_for_macros_has_its_record_when_kernels_call_it() {
    // Without debug information on either side, macros and the program share `numbers`.
    let more = "[profile.dev]\ndebug = 0\n[dependencies.derive]\npath = \"derive\"";
    let workspace = with_kernels(&main_with(CHECK), more);
    let derive = "[lib]\nproc-macro = true\n[dependencies]\nnumbers = { path = \"../numbers\" }\n";
    workspace.write("derive/Cargo.toml", &manifest("derive", derive));
    let source = "#[proc_macro] pub fn none(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\
        let _ = numbers::odd(1); Default::default() }";
    workspace.write("derive/src/lib.rs", source);
    works(&mut workspace.crosscut(&["check", "-q"]));
    let made = workspace.find("deps/libnumbers-");
    let output = works(&mut workspace.crosscut(&["run", "-q"]));
    assert_eq!(text(&output.stdout), "checked\n");
    let mut libraries = workspace.find("deps/libnumbers-");
    libraries.retain(|file| file.extension().is_some_and(|extension| extension == "rlib"));
    assert_eq!(libraries.len(), 1, "they are not shared any more: {libraries:?}");
    assert!(made.contains(&libraries[0]), "the check has not made it: {made:?}");
}

#[test]
fn a_static_library_is_built_with_a_warning_that_it_has_no_device_code() {
    let workspace = with_kernels("fn main() {}", "[lib]\ncrate-type = [\"staticlib\"]\n");
    let library = format!("#[unsafe(no_mangle)] pub extern \"C\" fn check() {{ {CHECK} }}");
    workspace.write("src/lib.rs", &library);
    let warning = "warning: `app` is a static library, which gets no device code: its kernels run on the \
        host CPU only\n |\n = help: set `crate-type = [\"cdylib\"]`, or link the kernels into a Rust \
        program\n\n";
    // The second time nothing is compiled, and cargo says again what was said.
    for _ in 0..2 {
        let output = works(&mut workspace.crosscut(&["build", "--lib"]));
        let stderr = text(&output.stderr);
        assert_eq!(stderr.matches(warning).count(), 1, "{warning}is not once in\n{stderr}");
        assert!(stderr.contains("warning: `app` (lib) generated 1 warning\n"), "{stderr}");
    }
    let shared = "[lib]\ncrate-type = [\"cdylib\", \"staticlib\"]\n";
    let manifest = std::fs::read_to_string(workspace.path("Cargo.toml")).unwrap();
    let manifest = manifest.replace("[lib]\ncrate-type = [\"staticlib\"]\n", shared);
    workspace.write("Cargo.toml", &manifest);
    let output = works(&mut workspace.crosscut(&["build", "-q", "--lib"]));
    assert_eq!(text(&output.stderr), "", "the shared library has device code");
}

#[test]
fn a_dump_is_written_also_where_nothing_else_has_changed() {
    let workspace = with_kernels(&main_with(CHECK), "");
    works(&mut workspace.crosscut(&["build", "-q"]));
    let dump = ["build", "-q", "--dump-after", "optimise", "--dump-dir", "dumps"];
    works(&mut workspace.crosscut(&dump));
    assert_ne!(workspace.find("/dumps/"), [""; 0].map(std::path::PathBuf::from));
}

/// A kernel that calls through a pointer it cannot know.
const REJECTED: &str = "use crosscut_device::hooks;\n\
    #[inline(never)]\n\
    fn entry() {\n\
    \x20   hooks::__crosscut_kernel(9, 1, 0);\n\
    \x20   let address = hooks::__crosscut_argument_address(0).cast::<fn()>();\n\
    \x20   let function = unsafe { address.read() };\n\
    \x20   function();\n\
    }\n\
    fn main() { std::hint::black_box((entry as fn(), registrar::check as fn(&[usize]))); }\n";

#[test]
fn a_kernel_that_cannot_be_is_an_error_in_rustcs_look() {
    let workspace = with_kernels(REJECTED, "");
    let output = workspace.crosscut(&["build", "-q"]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.contains("--> src/main.rs:7:5\n"), "{stderr}");
    assert!(stderr.contains("7 |     function();\n  |     ^^^^^^^^^^"), "{stderr}");
    assert!(stderr.contains("= help: "), "{stderr}");
    assert!(!stderr.contains("linking with"), "{stderr}");
    assert!(
        stderr.ends_with("error: could not compile `app` (bin \"app\") due to 1 previous error\n"),
        "{stderr}"
    );
}

#[test]
fn programs_that_read_cargos_messages_get_the_error_too() {
    let workspace = with_kernels(REJECTED, "");
    let build = ["build", "-q", "--message-format=json"];
    let output = workspace.crosscut(&build).output().unwrap();
    let messages: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let errors: Vec<&serde_json::Value> = messages
        .iter()
        .map(|message| &message["message"])
        .filter(|message| message["level"] == "error" && !message["spans"][0].is_null())
        .collect();
    assert_eq!(errors.len(), 1, "{messages:#?}");
    assert_eq!(errors[0]["spans"][0]["file_name"], "src/main.rs");
    assert_eq!(errors[0]["spans"][0]["line_start"], 7);
}

#[test]
fn a_missing_llvm_is_an_error_that_says_how_to_get_it() {
    let workspace = with_kernels(&main_with(CHECK), "");
    let mut build = workspace.crosscut(&["build", "-q"]);
    let output = build.env(crosscut_lower::LIBRARY_VARIABLE, "/does/not/exist").output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr.contains(&format!("LLVM {}", crosscut_lower::LLVM_MAJOR)), "{stderr}");
    assert!(stderr.contains("= help: "), "{stderr}");
    assert!(!stderr.contains("linking with"), "{stderr}");
}
