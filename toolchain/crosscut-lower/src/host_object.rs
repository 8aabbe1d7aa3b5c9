//! The object that the link step adds to the host program: images, table, constructor.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crosscut_image::registration::{
    DESCRIPTOR_VERSION, HOST_OBJECTS, LAYOUT, REGISTER, UNREGISTER,
};
use crosscut_image::{Image, encode};

use crate::LowerError;
use crate::job::Job;
use crate::llvm::{Llvm, Module, TargetMachine};

/// The first byte of a program, and the one behind its last, as linkers call them.
const START: &str = "__ehdr_start";
const END: &str = "_end";

/// Writes the object for `images` and returns its path.
pub(crate) fn write(
    llvm: &Llvm,
    job: &Job,
    images: &[Image],
    host_symbols: &[String],
) -> Result<PathBuf, LowerError> {
    let machine = TargetMachine::new(llvm, &job.host_triple)?;
    let mut module = Module::from_text(llvm, &text(&encode(images), host_symbols))?;
    module.set_target(&machine);
    let object = module.emit(&machine)?;
    let path = job.output_dir.join("crosscut-images.o");
    fs::write(&path, object).map_err(|source| LowerError::Write { path: path.clone(), source })?;
    Ok(path)
}

/// The object as text. The table's offsets and the number of the layout are zero until the link step knows
/// them; they are writable data so that they stay bytes of the file, whatever the linker does with relocations,
/// and in a section that is in the file although they are zero, or no bytes at all.
fn text(images: &[u8], host_symbols: &[String]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "@images = internal constant [{} x i8] c\"{}\", section \".crosscut.images\", align 16",
        images.len(),
        escape(images)
    );
    for (number, symbol) in host_symbols.iter().enumerate() {
        let _ = writeln!(
            text,
            "@id.{number} = internal constant [{} x i8] c\"{}\", align 1",
            symbol.len(),
            escape(symbol.as_bytes())
        );
    }
    let objects: Vec<String> = host_symbols
        .iter()
        .enumerate()
        .map(|(number, symbol)| {
            format!("{{ i64, ptr, i64 }} {{ i64 0, ptr @id.{number}, i64 {} }}", symbol.len())
        })
        .collect();
    let _ = writeln!(
        text,
        "@{HOST_OBJECTS} = hidden global [{} x {{ i64, ptr, i64 }}] [{}], section \".data\", align 8",
        objects.len(),
        objects.join(", ")
    );
    // Linkers define where a program begins and ends; hidden, because it is this one that is meant, and
    // not the one that loads it.
    for (symbol, kind) in [
        (START, "external hidden constant i8"),
        (END, "external hidden global i8"),
        (LAYOUT, "hidden global i64 0, section \".data\", align 8"),
    ] {
        let _ = writeln!(text, "@{symbol} = {kind}");
    }
    let _ = writeln!(
        text,
        "@descriptor = internal constant {{ i64, ptr, i64, ptr, i64, ptr, ptr, ptr }} {{ i64 {DESCRIPTOR_VERSION}, \
         ptr @images, i64 {}, ptr @{HOST_OBJECTS}, i64 {}, ptr @{START}, ptr @{END}, ptr @{LAYOUT} }}, align 8",
        images.len(),
        host_symbols.len()
    );
    for (section, function, hook) in
        [(".init_array", "crosscut_load", REGISTER), (".fini_array", "crosscut_unload", UNREGISTER)]
    {
        // Hidden: a program and the libraries it loads each have a runtime of their own.
        let _ = writeln!(text, "declare hidden void @{hook}(ptr)");
        let _ = writeln!(
            text,
            "define internal void @{function}() {{\n  call void @{hook}(ptr @descriptor)\n  ret void\n}}"
        );
        // By section and not by LLVM's list, which without more options means the old `.ctors`.
        let _ = writeln!(
            text,
            "@{function}.entry = internal global ptr @{function}, section \"{section}\", align 8"
        );
    }
    text.push_str(
        "@llvm.used = appending global [2 x ptr] [ptr @crosscut_load.entry, \
         ptr @crosscut_unload.entry], section \"llvm.metadata\"\n",
    );
    text
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | 0..32 | 127.. => {
                let _ = write!(text, "\\{byte:02X}");
            }
            _ => text.push(char::from(byte)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_holds_images_table_and_constructor() {
        let text = text(b"a\"\x00", &["_RX".to_owned()]);
        assert!(text.contains("@images = internal constant [3 x i8] c\"a\\22\\00\""));
        assert!(text.contains(
            "@__crosscut_host_objects = hidden global [1 x { i64, ptr, i64 }] [{ i64, ptr, i64 } { i64 0, ptr @id.0, i64 3 }]"
        ));
        assert!(text.contains("@__crosscut_layout = hidden global i64 0"));
        assert!(text.contains("ptr @__ehdr_start, ptr @_end, ptr @__crosscut_layout }"));
        assert!(text.contains("call void @__crosscut_register(ptr @descriptor)"));
        assert!(text.contains("call void @__crosscut_unregister(ptr @descriptor)"));
    }
}
