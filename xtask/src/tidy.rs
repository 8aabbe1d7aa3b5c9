//! The architecture and the habits that a machine can check.
//!
//! - `edges`: which crate may depend on which.
//! - `documents`: what `ARCHITECTURE.md` and the folders' `README.md` must hold.
//! - `examples`: every public function of the Rust API is in an example.
//! - `sources`: length of files, exceptions without reasons, paths of one machine.
//!
//! Each check returns its faults, so that one run shows all of them.

mod documents;
mod edges;
mod examples;
mod sources;
pub(crate) mod workspace;

use workspace::Workspace;

use crate::Result;

pub(crate) fn run() -> Result {
    let faults = faults()?;
    if faults.is_empty() {
        println!("tidy");
        return Ok(());
    }
    Err(format!("{} things are not tidy\n  {}", faults.len(), faults.join("\n  ")))
}

fn faults() -> Result<Vec<String>> {
    let workspace = Workspace::read()?;
    let files = sources::read_all()?;
    let mut faults = edges::check(&workspace);
    faults.extend(edges::check_tree()?);
    faults.extend(documents::check(&workspace)?);
    faults.extend(sources::check(&files));
    faults.extend(examples::check(&files));
    Ok(faults)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(super::faults(), Ok(vec![]));
    }
}
