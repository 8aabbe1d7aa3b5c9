//! The folder under damage, limits, and many processes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use super::entry;
use super::folder::Folder;
use super::key::Key;

const NO_LIMIT: u64 = u64::MAX;

/// Where a child process is to work, and how long: see `child`.
const CHILD_FOLDER: &str = "CROSSCUT_TEST_CACHE_FOLDER";
const CHILD_ROUNDS: &str = "CROSSCUT_TEST_CACHE_ROUNDS";

/// How many writers work at once where they are killed, and how many are killed in all.
const WRITERS: usize = 4;
const KILLS: usize = 500;

/// How many keys the processes fight over.
const KEYS: u64 = 6;

fn folder(place: &tempfile::TempDir) -> Folder {
    Folder::new(place.path().join("made").join("when needed"), NO_LIMIT)
}

fn names(folder: &Folder) -> Vec<String> {
    let list = fs::read_dir(folder.path()).unwrap();
    list.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

fn set_age(file: &Path, age: Duration) {
    let file = File::options().append(true).open(file).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

fn age(file: &Path) -> Duration {
    fs::metadata(file).unwrap().modified().unwrap().elapsed().unwrap_or_default()
}

/// The one binary that belongs to a key: some 8 to 50 KiB.
fn binary_of(number: u64) -> Vec<u8> {
    let mut binary = vec![0; 8_192 * (number as usize + 1)];
    for (at, byte) in (number..).zip(&mut binary) {
        *byte = (at ^ (at >> 7) ^ (at >> 13)) as u8;
    }
    binary
}

#[test]
fn what_is_stored_is_loaded() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let (one, two) = (Key::of_test(1), Key::of_test(2));
    assert_eq!(folder.load(&one), None);
    folder.store(&one, b"one");
    folder.store(&two, b"two");
    folder.store(&two, b"two again");
    assert_eq!(folder.load(&one).as_deref(), Some(&b"one"[..]));
    assert_eq!(folder.load(&two).as_deref(), Some(&b"two again"[..]));
    assert_eq!(names(&folder).len(), 2);
    folder.remove(&one);
    assert_eq!(folder.load(&one), None);
}

#[test]
fn a_damaged_file_is_removed_and_can_be_stored_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let key = Key::of_test(1);
    folder.store(&key, b"binary");
    let whole = fs::read(folder.file(&key)).unwrap();
    let damaged = [&whole[..whole.len() - 1], &whole[..3], &[], &[0; 300]];
    for bytes in damaged {
        fs::write(folder.file(&key), bytes).unwrap();
        assert_eq!(folder.load(&key), None);
        assert_eq!(names(&folder), [""; 0]);
        folder.store(&key, b"binary");
        assert_eq!(folder.load(&key).as_deref(), Some(&b"binary"[..]));
    }
    // A whole entry under the name of another.
    let other = Key::of_test(2);
    fs::rename(folder.file(&key), folder.file(&other)).unwrap();
    assert_eq!(folder.load(&other), None);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn where_nothing_can_be_written_nothing_happens() {
    let place = tempfile::tempdir().unwrap();
    let in_the_way = place.path().join("file");
    fs::write(&in_the_way, "").unwrap();
    let key = Key::of_test(1);
    for path in [in_the_way.clone(), in_the_way.join("below")] {
        let folder = Folder::new(path, NO_LIMIT);
        folder.store(&key, b"binary");
        assert_eq!(folder.load(&key), None);
        folder.remove(&key);
    }
    // Something else has the name of the entry.
    let folder = folder(&place);
    fs::create_dir_all(folder.file(&key)).unwrap();
    folder.store(&key, b"binary");
    assert_eq!(folder.load(&key), None);
    assert_eq!(names(&folder), [key.to_string()]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_only_readable_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let (there, new) = (Key::of_test(1), Key::of_test(2));
    folder.store(&there, b"binary");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o500)).unwrap();
    // Nobody is kept from writing as root; all else holds for root too.
    let writable = File::create(folder.path().join("probe")).is_ok();
    folder.store(&new, b"new");
    assert_eq!(folder.load(&there).as_deref(), Some(&b"binary"[..]));
    assert_eq!(folder.load(&new).is_some(), writable);
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_is_made_for_its_owner_alone_and_one_that_others_can_change_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let key = Key::of_test(1);
    folder.store(&key, b"binary");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(folder.path()), mode(&folder.file(&key))), (0o700, 0o600));
    for (open, used) in [(0o777, false), (0o770, false), (0o755, true)] {
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(open)).unwrap();
        assert_eq!(folder.load(&key).is_some(), used, "{open:o}");
        folder.store(&Key::of_test(2), b"binary");
        assert_eq!(names(&folder).len(), 1 + usize::from(used), "{open:o}");
    }
    // Only who may do everything can give files away.
    for place in [folder.file(&key), folder.path().to_owned()] {
        let given = std::os::unix::fs::chown(&place, Some(1), None).is_ok();
        assert_eq!(folder.load(&key).is_none(), given, "{}", place.display());
    }
}

#[test]
fn a_disk_that_fills_up_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let key = Key::of_test(1);
    folder.store(&key, b"before");
    let full = folder.put(&key, 100, |file| {
        file.write_all(b"half of it")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(names(&folder), [key.to_string()]);
    assert_eq!(folder.load(&key).as_deref(), Some(&b"before"[..]));
}

#[test]
fn the_size_limit_evicts_what_was_used_least_recently() {
    let place = tempfile::tempdir().unwrap();
    let entry = entry::HEADER_LENGTH as u64 + 100;
    let folder = Folder::new(place.path().to_owned(), 3 * entry);
    let keys: Vec<Key> = (0..5).map(Key::of_test).collect();
    let days = |days: u64| Duration::from_hours(24 * days);
    for (key, age) in keys.iter().zip([days(3), days(5), days(4)]) {
        folder.store(key, &[0; 100]);
        set_age(&folder.file(key), age);
    }
    // Using the oldest makes it the newest.
    assert!(folder.load(&keys[1]).is_some());
    folder.store(&keys[3], &[0; 100]);
    let there = |keys: &[Key]| keys.iter().map(|key| folder.file(key).exists()).collect::<Vec<_>>();
    assert_eq!(there(&keys), [true, true, false, true, false]);
    folder.store(&keys[4], &[0; 100]);
    assert_eq!(there(&keys), [false, true, false, true, true]);
    // What is larger than the limit is not written, and costs nobody its place.
    folder.store(&keys[0], &vec![0; 3 * entry as usize]);
    assert_eq!(there(&keys), [false, true, false, true, true]);
    // One of the size of the limit takes all of it.
    folder.store(&keys[0], &vec![0; 3 * entry as usize - entry::HEADER_LENGTH]);
    assert_eq!(there(&keys), [true, false, false, false, false]);
}

#[test]
fn use_is_noted_once_a_day() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let key = Key::of_test(1);
    folder.store(&key, b"binary");
    let hours = Duration::from_hours;
    set_age(&folder.file(&key), hours(23));
    folder.load(&key).unwrap();
    assert!(age(&folder.file(&key)) > hours(22));
    set_age(&folder.file(&key), hours(25));
    folder.load(&key).unwrap();
    assert!(age(&folder.file(&key)) < hours(1));
}

#[test]
fn files_given_up_are_swept_and_strange_ones_left() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().to_owned(), 2000);
    let key = Key::of_test(1);
    let strange = ["letter.txt".into(), format!("{key}.tmp"), format!("{key}.bak"), "0".repeat(63)];
    let (old, young) = (format!("{key}.{:016x}.tmp", 1), format!("{key}.{:016x}.tmp", 2));
    for name in strange.iter().chain([&old, &young]) {
        let path = place.path().join(name);
        fs::write(&path, [0; 1500]).unwrap();
        set_age(&path, Duration::from_mins(if *name == young { 59 } else { 61 }));
    }
    folder.store(&key, b"binary");
    let mut left = names(&folder);
    left.sort();
    let mut expected = strange.to_vec();
    expected.extend([young, key.to_string()]);
    expected.sort();
    assert_eq!(left, expected);
}

/// Not a test of its own: what the processes do that the tests below start. Whatever they find is
/// right, or they fail.
#[test]
fn child() {
    let Some(place) = std::env::var_os(CHILD_FOLDER) else { return };
    let rounds: u64 = std::env::var(CHILD_ROUNDS).unwrap().parse().unwrap();
    // Not enough for all of them: eviction is part of the fight.
    let folder = Folder::new(place.into(), 100_000);
    let mut random = u64::from(std::process::id()) << 20 | 1;
    for _ in 0..rounds {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let number = random % KEYS;
        let key = Key::of_test(number);
        match folder.load(&key) {
            Some(found) => assert!(found == binary_of(number), "a wrong binary for {number}"),
            None => folder.store(&key, &binary_of(number)),
        }
        if random >> 60 == 0 {
            folder.remove(&key);
        }
    }
}

fn start(folder: &Folder, rounds: u64) -> Child {
    start_by(Command::new(std::env::current_exe().unwrap()), folder, rounds)
}

/// Starts a child by a command that ends in the path of this program.
fn start_by(mut command: Command, folder: &Folder, rounds: u64) -> Child {
    command
        .args(["--exact", "cache::tests::child"])
        .env(CHILD_FOLDER, folder.path())
        .env(CHILD_ROUNDS, rounds.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The system ends a process by a signal that writes more to a file than `ulimit -f` allows.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_does_not_end_the_process() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let children: Vec<Child> = (0..3)
        .map(|_| {
            let mut shell = Command::new("sh");
            // 24 blocks of 512 bytes: only the smallest binary fits.
            shell.args(["-c", "ulimit -f 24; exec \"$@\"", "sh"]);
            shell.arg(std::env::current_exe().unwrap());
            start_by(shell, &folder, 100)
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(check_all(&folder) <= 1);
    assert!(names(&folder).iter().all(|name| !name.contains('.')), "{:?}", names(&folder));
}

/// How many keys have their binary; none has another one's, and no damaged file was found.
fn check_all(folder: &Folder) -> usize {
    let there = (0..KEYS).filter(|number| {
        let key = Key::of_test(*number);
        let before = folder.file(&key).exists();
        let found = folder.load(&key);
        assert_eq!(before, found.is_some(), "a damaged file had the name of an entry");
        found.is_some_and(|found| {
            assert!(found == binary_of(*number), "a wrong binary for {number}");
            true
        })
    });
    there.count()
}

#[test]
fn eight_processes_at_once_find_what_is_right() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let children: Vec<Child> = (0..8).map(|_| start(&folder, 150)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(check_all(&folder) > 0);
    assert!(names(&folder).iter().all(|name| !name.contains('.')), "{:?}", names(&folder));
}

#[test]
fn writers_killed_at_any_moment_leave_what_is_right() {
    let place = tempfile::tempdir().unwrap();
    let folder = folder(&place);
    let (mut random, mut entries) = (88_172_645_463_325_252_u64, 0);
    for _ in 0..KILLS / WRITERS {
        let children: Vec<Child> = (0..WRITERS).map(|_| start(&folder, u64::MAX)).collect();
        for mut child in children {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::thread::sleep(Duration::from_micros(random % 12_000));
            // On Unix the signal that cannot be caught.
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success(), "the child came to an end by itself");
        }
        entries += check_all(&folder);
    }
    assert!(entries > 0, "no child lived long enough to write");
    // Every file that was given up is known as such, and goes in time.
    for name in names(&folder) {
        set_age(&folder.path().join(name), Duration::from_hours(2));
    }
    folder.store(&Key::of_test(KEYS), b"one more");
    assert!(names(&folder).iter().all(|name| !name.contains('.')), "{:?}", names(&folder));
}
