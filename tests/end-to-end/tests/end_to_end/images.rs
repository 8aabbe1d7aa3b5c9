//! The device images inside linked programs.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;

use crosscut_image::{Image, Kernel, decode};
use object::{Object, ObjectSection};

use crate::lab::{Workspace::Programs, lab};

/// Where the images lie in a program's file; `None` if it has none.
fn section(program: &[u8]) -> Option<Range<usize>> {
    let file = object::File::parse(program).expect("a program");
    let (start, length) = file.section_by_name(".crosscut.images")?.file_range()?;
    Some(start as usize..(start + length) as usize)
}

fn images(program: &Path) -> Vec<Image> {
    let bytes = fs::read(program).expect("a program");
    let range = section(&bytes).expect("images");
    decode(&bytes[range]).expect("images as they are written")
}

/// The kernels with this in their name.
fn kernels<'a>(images: &'a [Image], part: &str) -> Vec<&'a Kernel> {
    let kernels = images.iter().flat_map(|image| &image.kernels);
    kernels.filter(|kernel| kernel.display_name.contains(part)).collect()
}

#[test]
fn kernels_that_the_host_takes_for_one_are_two_on_the_device() {
    let Some(lab) = lab() else { return };
    lab.crosscut(Programs, &["build", "--quiet", "--release", "-p", "probe"]).works();
    let images = images(&lab.made("release/probe"));
    for part in ["equal_bodies", "generic"] {
        let kernels = kernels(&images, part);
        let keys: BTreeSet<u64> = kernels.iter().map(|kernel| kernel.key).collect();
        assert_eq!((kernels.len(), keys.len()), (2, 2), "{part}: {kernels:#?}");
    }
    for device in ["host", "opencl:cpu"] {
        let run = lab.probe("release", "twins").device(device);
        assert_eq!(run.works(), "[1, 3, 5]\n[0, -2147483648]\n", "{device}");
    }
}

#[test]
fn an_image_says_what_its_kernel_needs() {
    let Some(lab) = lab() else { return };
    let images = images(&lab.made("debug/probe"));
    let keys: BTreeSet<u64> = kernels(&images, "").iter().map(|kernel| kernel.key).collect();
    assert_eq!(keys.len(), kernels(&images, "").len());
    let image = |part: &str| {
        let found = |image: &&Image| image.kernels[0].display_name.contains(part);
        images.iter().find(found).expect("an image")
    };
    let threads = image("threads::share");
    let names: Vec<_> = threads.globals.iter().map(|global| global.display_name.as_str()).collect();
    assert_eq!(names, ["probe::threads::SUM"]);
    assert_eq!(
        (&threads.kernels[0].reads[..], &threads.kernels[0].writes[..]),
        (&[0][..], &[0][..])
    );
    assert_eq!((threads.globals[0].size, threads.globals[0].align), (4, 4));
    let panics = image("panics::overflow");
    assert_eq!(panics.globals, []);
    let places: Vec<_> =
        panics.panic_sites.iter().map(|site| (&site.file[..], site.line)).collect();
    assert!(places.contains(&("probe/src/panics.rs", 29)), "{places:?}");
}

#[test]
fn damaged_images_are_an_error_on_the_device_and_nothing_to_the_host() {
    let Some(lab) = lab() else { return };
    let whole = fs::read(lab.made("debug/probe")).expect("a program");
    let range = section(&whole).expect("images");
    let folder = tempfile::tempdir().expect("a folder");
    // Every field of the header, and a sample of the rest.
    let header = [0, 7, 8, 11, 12, 19, 20, 27];
    let step = (range.len() - 28) / 9;
    let body = (0..9).map(|part| 28 + part * step).chain([range.len() - 1]);
    for position in header.into_iter().chain(body) {
        let mut damaged = whole.clone();
        damaged[range.start + position] ^= 1 << (position % 8);
        let file = folder.path().join(format!("probe-{position}"));
        fs::write(&file, damaged).expect("a program");
        fs::set_permissions(
            &file,
            fs::metadata(lab.made("debug/probe")).expect("a file").permissions(),
        )
        .expect("permissions");
        let host = lab.program(&file, &["count"]).device("host");
        assert_eq!(host.works(), "1000\n", "byte {position}");
        let done = lab.program(&file, &["count"]).device("opencl:cpu").run();
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "byte {position}");
        let why = done.stderr.strip_prefix("Error: corrupt device image: ");
        let why = why.and_then(|rest| rest.split_once('\n'));
        let Some((why, help)) = why else { panic!("byte {position}: {}", done.stderr) };
        assert_eq!(help, "  help: rebuild with `cargo crosscut build`\n", "byte {position}");
        assert!(!why.is_empty(), "byte {position}");
        fs::remove_file(&file).expect("it was there");
    }
}

#[test]
fn a_program_without_kernels_has_no_images_and_works() {
    let Some(lab) = lab() else { return };
    for (arguments, output) in [(&[][..], "[1, 2, 3]\n"), (&["--no-default-features"], "")] {
        let run = [&["run", "--quiet", "-p", "plain"], arguments].concat();
        assert_eq!(lab.crosscut(Programs, &run).works(), output);
        let program = fs::read(lab.made("debug/plain")).expect("a program");
        assert_eq!(section(&program), None, "{arguments:?}");
    }
}
