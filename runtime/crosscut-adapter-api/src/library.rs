//! Finding a driver's library, which systems keep under several names.

use std::error::Error;

/// The first of `names` that `open` opens, with its name.
///
/// # Errors
/// What the system says of each, where it says anything.
pub fn first_library<L, E: Error>(
    names: &[&'static str],
    mut open: impl FnMut(&'static str) -> Result<L, E>,
) -> Result<(&'static str, L), String> {
    let mut refusals = Vec::new();
    for &name in names {
        match open(name) {
            Ok(library) => return Ok((name, library)),
            // The system's own words are the cause of the error, if it has one.
            Err(refusal) => refusals.push(match refusal.source() {
                Some(words) => words.to_string(),
                None => refusal.to_string(),
            }),
        }
    }
    Err(refusals.join("; "))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// An error as a loader has it: what it could not do, and the system's words as its cause.
    #[derive(Debug)]
    struct Refusal(Option<fmt::Error>);

    impl fmt::Display for Refusal {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot open")
        }
    }

    impl Error for Refusal {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.0.as_ref().map(|cause| cause as _)
        }
    }

    #[test]
    fn the_first_that_opens_is_taken_and_no_other_is_opened() {
        let mut tried = Vec::new();
        let found = first_library(&["best", "good", "old"], |name| {
            tried.push(name);
            if name == "good" { Ok(7) } else { Err(Refusal(None)) }
        });
        assert_eq!(found, Ok(("good", 7)));
        assert_eq!(tried, ["best", "good"]);
    }

    #[test]
    fn where_none_opens_the_systems_words_on_each_are_told() {
        let found = first_library(&["a", "b"], |name| {
            Err::<(), _>(Refusal((name == "b").then_some(fmt::Error)))
        });
        assert_eq!(found, Err(format!("cannot open; {}", fmt::Error)));
    }
}
