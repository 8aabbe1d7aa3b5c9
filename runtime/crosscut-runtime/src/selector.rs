//! Device selectors: the syntax of `ONEAPI_DEVICE_SELECTOR`.
//!
//! Terms are separated by `;`, each `backend:devices`; a term that begins with `!` discards.
//! Devices are a comma list of `*`, `cpu`, `gpu`, `acc`, `fpga` and numbers; a back end alone
//! means all its devices. Names are taken in any case.

use crosscut_adapter_api::{Backend, DeviceKind};

/// What the environment says which devices there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    accept: Vec<Term>,
    discard: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    backend: BackendPattern,
    devices: Vec<DevicePattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackendPattern {
    Any,
    One(Backend),
    /// A name the syntax knows and Crosscut has no adapter for: matches nothing.
    NotHere(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DevicePattern {
    Any,
    Kind(DeviceKind),
    Index(usize),
}

/// The back ends' names. `native_cpu` is what the same thing is called in DPC++.
const BACKENDS: &[(&str, BackendPattern)] = &[
    ("*", BackendPattern::Any),
    ("host", BackendPattern::One(Backend::Host)),
    ("native_cpu", BackendPattern::One(Backend::Host)),
    ("opencl", BackendPattern::One(Backend::OpenCl)),
    ("mock", BackendPattern::One(Backend::Mock)),
    ("level_zero", BackendPattern::NotHere("level_zero")),
    ("cuda", BackendPattern::NotHere("cuda")),
    ("hip", BackendPattern::NotHere("hip")),
];

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut selector = Self { accept: Vec::new(), discard: Vec::new() };
        for term in text.split(';').map(str::trim) {
            match term.strip_prefix('!') {
                _ if term.is_empty() => return Err("there is an empty term".into()),
                Some(term) => selector.discard.push(Term::parse(term.trim())?),
                None if !selector.discard.is_empty() => {
                    return Err(format!(
                        "`{term}` comes after a term that discards: put it before"
                    ));
                }
                None => selector.accept.push(Term::parse(term)?),
            }
        }
        Ok(selector)
    }

    /// The back ends that it asks for and Crosscut has no adapter for, each once.
    pub(crate) fn without_adapter(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for term in &self.accept {
            if let BackendPattern::NotHere(name) = term.backend
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    /// Whether any device of this back end may be accepted; if not, its driver is not even loaded.
    pub(crate) fn may_accept(&self, backend: Backend) -> bool {
        self.accept.is_empty() || self.accept.iter().any(|term| term.backend.matches(backend))
    }

    /// Whether this device is accepted; `index` counts the devices of its back end.
    pub(crate) fn accepts(&self, backend: Backend, kind: DeviceKind, index: usize) -> bool {
        let hit = |terms: &[Term]| terms.iter().any(|term| term.matches(backend, kind, index));
        (self.accept.is_empty() || hit(&self.accept)) && !hit(&self.discard)
    }
}

impl Term {
    fn parse(text: &str) -> Result<Self, String> {
        let (backend, devices) = text.split_once(':').unwrap_or((text, "*"));
        let name = backend.trim().to_ascii_lowercase();
        let Some(&(_, backend)) = BACKENDS.iter().find(|(known, _)| *known == name) else {
            if DevicePattern::parse(&name).is_ok() {
                return Err(format!("`{name}` is no back end: write `*:{name}` for any"));
            }
            let known: Vec<_> = BACKENDS.iter().map(|(name, _)| *name).collect();
            return Err(format!("`{name}` is no back end; there are {}", known.join(", ")));
        };
        let devices = devices.split(',').map(DevicePattern::parse).collect::<Result<_, _>>()?;
        Ok(Self { backend, devices })
    }

    fn matches(&self, backend: Backend, kind: DeviceKind, index: usize) -> bool {
        self.backend.matches(backend)
            && self.devices.iter().any(|device| match *device {
                DevicePattern::Any => true,
                DevicePattern::Kind(wanted) => wanted == kind,
                DevicePattern::Index(wanted) => wanted == index,
            })
    }
}

impl BackendPattern {
    fn matches(self, backend: Backend) -> bool {
        match self {
            Self::Any => true,
            Self::One(wanted) => wanted == backend,
            Self::NotHere(_) => false,
        }
    }
}

impl DevicePattern {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "*" => Ok(Self::Any),
            "cpu" => Ok(Self::Kind(DeviceKind::Cpu)),
            "gpu" => Ok(Self::Kind(DeviceKind::Gpu)),
            "acc" | "fpga" => Ok(Self::Kind(DeviceKind::Accelerator)),
            _ if text.contains('.') => {
                Err(format!("`{text}` asks for a part of a device, which is not supported yet"))
            }
            _ => text.parse().map(Self::Index).map_err(|_| {
                format!("`{text}` is no device; there are *, cpu, gpu, acc, fpga and numbers")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backend, DeviceKind, Selector};

    fn accepts(text: &str, backend: Backend, kind: DeviceKind, index: usize) -> bool {
        Selector::parse(text).unwrap().accepts(backend, kind, index)
    }

    #[test]
    fn a_back_end_alone_means_all_its_devices() {
        assert!(accepts("host", Backend::Host, DeviceKind::Cpu, 0));
        assert!(accepts("OpenCL", Backend::OpenCl, DeviceKind::Gpu, 7));
        assert!(!accepts("opencl", Backend::Host, DeviceKind::Cpu, 0));
        assert!(accepts("native_cpu", Backend::Host, DeviceKind::Cpu, 0));
    }

    #[test]
    fn kinds_indices_and_lists_are_told_apart() {
        assert!(accepts("opencl:gpu,1", Backend::OpenCl, DeviceKind::Cpu, 1));
        assert!(accepts("opencl:gpu,1", Backend::OpenCl, DeviceKind::Gpu, 0));
        assert!(!accepts("opencl:gpu,1", Backend::OpenCl, DeviceKind::Cpu, 0));
        assert!(accepts("*:acc", Backend::OpenCl, DeviceKind::Accelerator, 0));
        assert!(accepts("*:fpga", Backend::OpenCl, DeviceKind::Accelerator, 0));
    }

    #[test]
    fn a_discarding_term_takes_away() {
        assert!(!accepts("!opencl:cpu", Backend::OpenCl, DeviceKind::Cpu, 0));
        assert!(accepts("!opencl:cpu", Backend::Host, DeviceKind::Cpu, 0));
        assert!(!accepts("*:*;!opencl:0", Backend::OpenCl, DeviceKind::Gpu, 0));
    }

    #[test]
    fn names_of_other_implementations_are_known_and_match_nothing() {
        assert!(!accepts("level_zero:gpu", Backend::OpenCl, DeviceKind::Gpu, 0));
        let selector = Selector::parse("cuda:0;host;hip:gpu;cuda:1;!level_zero:*").unwrap();
        assert_eq!(selector.without_adapter(), ["cuda", "hip"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text| Selector::parse(text).unwrap_err();
        assert!(wrong("hots").contains("`hots` is no back end; there are *, host"));
        assert!(wrong("gpu").contains("write `*:gpu`"));
        assert!(wrong("opencl:x").contains("`x` is no device"));
        assert!(wrong("opencl:0.1").contains("part of a device"));
        assert!(wrong("host;").contains("empty term"));
        assert!(wrong("!host;opencl").contains("put it before"));
        assert!(wrong("opencl:-1").contains("`-1` is no device"));
    }
}
