//! What must not compile does not, and says why.

#[test]
fn wrong_programs_are_refused_with_a_reason() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
