//! Built programs on disk: what a driver is asked for with and without them. The driver is the mock,
//! and a run of a program is a runtime of its own.

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crosscut_adapter_api::{DeviceInfo, DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, MockOptions, Operation};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, Error, ProgramCache, Queue, Runtime};
use program::{bind, download, kernel, launch, queue, register, set_word, spirv, upload, word};

/// How the program came to the device in one run.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Built,
    Loaded,
    /// Loading was tried, in vain.
    BuiltAfterRefusal,
}
use Way::{Built, BuiltAfterRefusal, Loaded};

/// One kernel in one image, under this key.
fn register_increment(key: u64) {
    register(vec![kernel(key, "increment", vec![Address { slot: 0 }])], 0);
}

fn mock(info: DeviceInfo) -> Mock {
    let mock = Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() });
    mock.define_kernel("increment", |launch| set_word(launch, 0, 0, word(launch, 0, 0) + 1));
    mock
}

fn open(mock: &Mock, cache: &ProgramCache) -> Queue {
    let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
    queue(&runtime.with_cache(cache.clone()).devices().unwrap().remove(0))
}

/// Runs the kernel of this key twice and looks at the result.
fn run_on(mock: &Mock, cache: &ProgramCache, key: fn() -> u64) -> Result<Way, Error> {
    let queue = open(mock, cache);
    let x = upload(&queue, &[40]);
    for _ in 0..2 {
        launch(&queue, key, 1, &[bind(&x, Access::Write)])?;
    }
    assert_eq!(download(&queue, &x).unwrap(), [42]);
    let ways: Vec<Call> = mock
        .log()
        .into_iter()
        .filter(|call| {
            matches!(
                call,
                Call::Build { .. }
                    | Call::BuildBinary { .. }
                    | Call::Failed(Operation::BuildBinary)
            )
        })
        .collect();
    Ok(match ways[..] {
        [Call::Build { .. }] => Built,
        [Call::BuildBinary { .. }] => Loaded,
        [Call::Failed(_), Call::Build { .. }] => BuiltAfterRefusal,
        _ => panic!("{ways:?}"),
    })
}

fn run(cache: &ProgramCache, key: fn() -> u64) -> Way {
    run_on(&mock(Mock::device_info()), cache, key).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect()
}

fn refusal(call: &'static str) -> DriverError {
    DriverError { kind: DriverErrorKind::Build, call, code: -42, log: None }
}

#[test]
fn the_second_run_builds_nothing() {
    register_increment(100);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 100), Built);
    assert_eq!(files(place.path()).len(), 1);
    for _ in 0..3 {
        assert_eq!(run(&cache, || 100), Loaded);
    }
    // The same code in another program is the same program.
    register_increment(101);
    assert_eq!(run(&cache, || 101), Loaded);
    assert_eq!(files(place.path()).len(), 1);
}

#[test]
fn another_device_driver_or_cache_is_built_for_anew() {
    register_increment(110);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path().join("one"), 1 << 20);
    let key: fn() -> u64 = || 110;
    assert_eq!(run(&cache, key), Built);
    let updated = DeviceInfo { driver_version: "next".into(), ..Mock::device_info() };
    assert_eq!(run_on(&mock(updated.clone()), &cache, key).unwrap(), Built);
    assert_eq!(run_on(&mock(updated), &cache, key).unwrap(), Loaded);
    assert_eq!(run(&cache, key), Loaded);
    assert_eq!(run(&ProgramCache::at(place.path().join("two"), 1 << 20), key), Built);
    assert_eq!(run(&ProgramCache::off(), key), Built);
}

#[test]
fn a_file_with_any_byte_flipped_is_built_anew_and_replaced() {
    register_increment(120);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 120), Built);
    let file = files(place.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x40;
        fs::write(&file, &flipped).unwrap();
        assert_eq!(run(&cache, || 120), Built, "byte {at}");
        assert_eq!(fs::read(&file).unwrap(), whole, "byte {at}");
    }
    assert_eq!(run(&cache, || 120), Loaded);
}

#[test]
fn a_file_cut_anywhere_is_built_anew_and_replaced() {
    register_increment(130);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 130), Built);
    let file = files(place.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(run(&cache, || 130), Built, "cut to {length} bytes");
        assert_eq!(fs::read(&file).unwrap(), whole, "cut to {length} bytes");
    }
}

/// Runs the kernel of this key, which must not take long.
#[cfg(unix)]
fn run_in_time(cache: &ProgramCache, key: fn() -> u64) -> Way {
    let (cache, (done, ended)) = (cache.clone(), mpsc::channel());
    std::thread::spawn(move || done.send(run(&cache, key)));
    ended.recv_timeout(Duration::from_secs(60)).expect("nobody waits for the other end of a pipe")
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    register_increment(135);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("cache");
    let cache = ProgramCache::at(&folder, 1 << 20);
    assert_eq!(run(&cache, || 135), Built);
    let file = files(&folder).remove(0);
    let put_pipe = || {
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
    };
    put_pipe();
    assert_eq!(run_in_time(&cache, || 135), Built);
    assert_eq!(run_in_time(&cache, || 135), Loaded, "the pipe was replaced");
    // And where others may have put it, nothing is touched.
    put_pipe();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(run_in_time(&cache, || 135), Built);
    assert!(!fs::metadata(&file).unwrap().is_file());
}

#[test]
fn a_file_larger_than_the_cache_may_be_is_built_anew_and_replaced() {
    register_increment(136);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 136), Built);
    let file = files(place.path()).remove(0);
    let whole = fs::read(&file).unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_len(2 << 30).unwrap();
    assert_eq!(run(&cache, || 136), Built);
    assert_eq!(fs::read(&file).unwrap(), whole);
    // Whatever it says of itself.
    let small = ProgramCache::at(place.path(), whole.len() as u64 - 1);
    assert_eq!(run(&small, || 136), Built);
    assert_eq!(files(place.path()), [""; 0].map(PathBuf::from));
}

#[test]
fn a_binary_that_the_driver_refuses_is_removed_and_the_program_built() {
    register_increment(140);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 140), Built);
    let refusing = mock(Mock::device_info());
    refusing.fail(Operation::BuildBinary, 0, refusal("mockBuildBinary"));
    // It cannot be asked for its bytes either: what is gone then was removed, not replaced.
    refusing.fail(Operation::Binary, 0, refusal("mockBinary"));
    assert_eq!(run_on(&refusing, &cache, || 140).unwrap(), BuiltAfterRefusal);
    assert_eq!(files(place.path()), [""; 0].map(PathBuf::from));
    assert_eq!(run(&cache, || 140), Built);
    assert_eq!(run(&cache, || 140), Loaded);
}

#[test]
fn a_binary_without_the_kernel_is_removed_and_the_program_built() {
    register_increment(145);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    assert_eq!(run(&cache, || 145), Built);
    let mock = mock(Mock::device_info());
    mock.fail(Operation::Kernel, 0, refusal("mockKernel"));
    let queue = open(&mock, &cache);
    let x = upload(&queue, &[1]);
    launch(&queue, || 145, 1, &[bind(&x, Access::Write)]).unwrap();
    assert_eq!(download(&queue, &x).unwrap(), [2]);
    let log = mock.log();
    assert!(log.iter().any(|call| matches!(call, Call::BuildBinary { .. })), "{log:?}");
    assert!(log.iter().any(|call| *call == Call::Build { length: spirv().len() }), "{log:?}");
}

#[test]
fn a_program_that_cannot_be_built_is_an_error_with_and_without_a_cache() {
    register_increment(150);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    for cache in [&cache, &ProgramCache::off()] {
        let mock = mock(Mock::device_info());
        mock.fail(Operation::Build, 0, refusal("mockBuild"));
        let error = run_on(&mock, cache, || 150).unwrap_err();
        assert_eq!((error.driver_call(), error.driver_code()), (Some("mockBuild"), Some(-42)));
    }
    assert_eq!(files(place.path()), [""; 0].map(PathBuf::from));
}

#[test]
fn without_a_place_for_files_programs_are_built_and_run() {
    register_increment(160);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let nowhere = ["/dev/null/cache".into(), file.clone(), file.join("below")];
    for path in nowhere {
        let cache = ProgramCache::at(path, 1 << 20);
        assert_eq!(run(&cache, || 160), Built);
        assert_eq!(run(&cache, || 160), Built);
    }
    // And where a program is larger than all the cache may be.
    let cache = ProgramCache::at(place.path().join("small"), 100);
    assert_eq!(run(&cache, || 160), Built);
    assert_eq!(run(&cache, || 160), Built);
}

#[test]
fn only_what_is_launched_is_built_or_loaded() {
    register_increment(170);
    let place = tempfile::tempdir().unwrap();
    let cache = ProgramCache::at(place.path(), 1 << 20);
    let mock = mock(Mock::device_info());
    let queue = open(&mock, &cache);
    upload(&queue, &[1]);
    queue.wait().unwrap();
    assert_eq!(files(place.path()), [""; 0].map(PathBuf::from));
    assert!(!mock.log().iter().any(|call| matches!(call, Call::Build { .. })));
}
