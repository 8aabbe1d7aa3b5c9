//! What cargo says about the workspace.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Result;
use crate::checkout::{cargo, output};

/// The packages of the workspace.
pub(crate) struct Workspace {
    pub(super) packages: BTreeMap<String, Package>,
}

#[derive(Default)]
pub(super) struct Package {
    /// What its code or build script uses. Tests may use more.
    pub(super) dependencies: Vec<String>,
    examples: Vec<String>,
}

impl Workspace {
    pub(crate) fn read() -> Result<Self> {
        let arguments = ["metadata", "--no-deps", "--format-version", "1"];
        Self::parse(&output(cargo().args(arguments))?)
            .ok_or_else(|| "cargo metadata has another form than expected".into())
    }

    fn parse(metadata: &str) -> Option<Self> {
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let packages = metadata["packages"].as_array()?.iter().map(|package| {
            let dependencies = package["dependencies"].as_array()?.iter();
            let dependencies = dependencies
                .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
                .map(|dependency| dependency["name"].as_str().map(str::to_owned))
                .collect::<Option<_>>()?;
            let examples = package["targets"].as_array()?.iter();
            let examples = examples
                .filter(|target| target["kind"][0] == "example")
                .map(|target| target["name"].as_str().map(str::to_owned))
                .collect::<Option<_>>()?;
            Some((package["name"].as_str()?.to_owned(), Package { dependencies, examples }))
        });
        Some(Self { packages: packages.collect::<Option<_>>()? })
    }

    /// The names of a package's examples; there is at least one.
    pub(crate) fn examples(&self, package: &str) -> Result<Vec<String>> {
        match self.packages.get(package) {
            Some(package) if !package.examples.is_empty() => Ok(package.examples.clone()),
            _ => Err(format!("package {package} has no examples")),
        }
    }
}

#[cfg(test)]
impl Workspace {
    /// A workspace of packages and what they depend on.
    pub(super) fn of(packages: &[(&str, &[&str])]) -> Self {
        let package = |dependencies: &[&str]| Package {
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            examples: Vec::new(),
        };
        let packages = packages.iter().map(|(name, uses)| ((*name).to_owned(), package(uses)));
        Self { packages: packages.collect() }
    }
}
