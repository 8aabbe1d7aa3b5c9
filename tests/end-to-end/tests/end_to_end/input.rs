//! Input that makes no sense, or hardly; panics; threads: the same on every device, in debug and
//! release.

use crate::lab::{Lab, Workspace::Programs, lab};

/// What `probe` prints for `what`, by device and profile; it is the same for all.
fn everywhere(what: &str) -> Option<String> {
    let lab = lab()?;
    lab.crosscut(Programs, &["build", "--quiet", "--release", "-p", "probe"]).works();
    let first = printed(lab, "debug", "host", what);
    for (profile, device) in
        [("debug", "opencl:cpu"), ("release", "host"), ("release", "opencl:cpu")]
    {
        assert_eq!(printed(lab, profile, device, what), first, "{profile} on {device}");
    }
    Some(first)
}

/// Without the numbers of closures, which only device code has.
fn printed(lab: &Lab, profile: &str, device: &str, what: &str) -> String {
    let text = lab.probe(profile, what).device(device).works();
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("{closure#") {
        plain = plain + before + "{{closure}}";
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[test]
fn an_allocation_that_is_too_large_is_an_error_and_the_queue_stays_usable() {
    let Some(lab) = lab() else { return };
    for device in ["host", "opencl:cpu"] {
        let text = lab.probe("debug", "large").device(device).works();
        let (head, rest) = text.split_once('\n').expect("lines");
        let (largest, name) = head
            .strip_prefix("at most ")
            .and_then(|head| head.split_once(" on "))
            .expect("what the device says");
        let more = largest.parse::<u64>().expect("a number") + 1;
        assert_eq!(
            rest,
            format!(
                "{more} bytes in one piece, and `{name}` gives at most {largest}\n\
                 \x20 help: use several smaller buffers\n\
                 18446744073709551615 elements of 8 bytes are more than memory has\n\
                 \x20 help: make a smaller buffer\n\
                 18446744073709551615 bytes in one piece, and `{name}` gives at most {largest}\n\
                 Ok([1, 2, 3])\n"
            )
        );
    }
}

#[test]
fn a_range_that_differs_from_a_buffer_is_refused_if_it_writes_and_checked_if_it_reads() {
    let Some(text) = everywhere("lengths") else { return };
    assert_eq!(
        text,
        "a range of 3 items over a `&mut` buffer of 4 elements\n\
         \x20 help: make both equal: `for_each` takes the range from a buffer, and `slice_mut` a part of a longer one\n\
         a range of 5 items over a `&mut` buffer of 4 elements\n\
         \x20 help: make both equal: `for_each` takes the range from a buffer, and `slice_mut` a part of a longer one\n\
         [1, 2]\n\
         [1, 2, 3, 4, 9, 9]\n\
         kernel `probe::input::lengths::{{closure}}` panicked at probe/src/input.rs:31:62 in item 4: \
         index out of bounds: the len is 4 but the index is 4\n"
    );
}

#[test]
fn empty_ranges_and_buffers_are_fine() {
    let Some(text) = everywhere("empty") else { return };
    assert_eq!(text, "[]\n[0, 10]\n[5, 10]\n");
}

#[test]
fn a_panic_in_one_of_a_million_items_is_an_error_with_its_place_and_item() {
    let Some(text) = everywhere("panic") else { return };
    assert_eq!(
        text,
        "kernel `probe::panics::one_in_a_million::{{closure}}` panicked at probe/src/panics.rs:11:19 \
         in item 777777: attempt to divide by zero\n\
         499999500000\n\
         kernel `probe::panics::one_in_a_million::{{closure}}` panicked at probe/src/panics.rs:20:9 \
         in item [12, 34, 56] (linear index 123456): not this one\n"
    );
}

#[test]
fn a_panic_nobody_waits_for_is_told_by_the_next_who_waits() {
    let Some(text) = everywhere("unheard") else { return };
    assert_eq!(
        text,
        "kernel `probe::panics::unheard::{{closure}}` panicked at probe/src/panics.rs:40:54 \
         in item 1: index out of bounds: the len is 2 but the index is 2\n[1, 2]\n"
    );
}

#[test]
fn both_sides_of_an_assertion_are_told_that_a_crate_without_kernels_asserts_too() {
    let Some(text) = everywhere("compared") else { return };
    let told: Vec<&str> = text.lines().collect();
    let sides = |at: usize| (told[at], told[at + 1]);
    assert_eq!(
        [sides(1), sides(4), sides(7), sides(10)],
        [
            ("  left: 'b'", " right: 'c'"),
            ("  left: -2", " right: -2"),
            ("  left: 98", " right: 99"),
            ("  left: 24.5", " right: 0.5"),
        ],
        "{text}"
    );
}

#[test]
fn overflow_is_checked_where_the_profile_checks_it() {
    let Some(lab) = lab() else { return };
    lab.crosscut(Programs, &["build", "--quiet", "--release", "-p", "probe"]).works();
    for device in ["host", "opencl:cpu"] {
        assert_eq!(
            printed(lab, "debug", device, "overflow"),
            "kernel `probe::panics::overflow::{{closure}}` panicked at probe/src/panics.rs:29:65 \
             in item 0: attempt to add with overflow\n"
        );
        assert_eq!(printed(lab, "release", device, "overflow"), "[4]\n");
    }
}

#[test]
fn two_threads_share_a_queue() {
    let Some(text) = everywhere("threads") else { return };
    assert_eq!(text, "245000\n10245000\n10000\n");
}
