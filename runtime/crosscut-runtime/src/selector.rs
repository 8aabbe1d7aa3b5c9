//! Device selectors: the syntax of `ONEAPI_DEVICE_SELECTOR`.
//!
//! Terms are separated by `;`, each `backend:devices`; a term that begins with `!` discards.
//! Devices are a comma list of `*`, `cpu`, `gpu`, `acc`, `fpga` and numbers; a back end alone
//! means all its devices. Names are taken in any case. What follows a point is a part of the
//! device before it: a number or `*`, and parts have parts.

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
    /// A name the syntax knows and this build has no adapter for: matches nothing.
    NotHere(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DevicePattern {
    whole: WholePattern,
    /// From the largest part inwards; none for the device itself.
    parts: Vec<PartPattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WholePattern {
    Any,
    Kind(DeviceKind),
    Index(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartPattern {
    Any,
    Number(usize),
}

/// Where a device, or a part of one, is among all there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) backend: Backend,
    pub(crate) kind: DeviceKind,
    /// The number of the whole device among those of its back end.
    pub(crate) index: usize,
    /// The numbers of the parts, from the largest inwards; none for the device itself.
    pub(crate) parts: &'a [usize],
}

/// The back ends' names. `native_cpu` is what the same thing is called in DPC++.
const BACKENDS: &[(&str, BackendPattern)] = &[
    ("*", BackendPattern::Any),
    ("host", BackendPattern::One(Backend::Host)),
    ("native_cpu", BackendPattern::One(Backend::Host)),
    ("opencl", BackendPattern::One(Backend::OpenCl)),
    ("mock", BackendPattern::One(Backend::Mock)),
    ("level_zero", BackendPattern::One(Backend::LevelZero)),
    ("cuda", BackendPattern::One(Backend::Cuda)),
    ("hip", BackendPattern::NotHere("hip")),
];

impl Selector {
    /// Reads a selector; there are adapters for the back ends `here`.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(crate) fn parse(text: &str, here: &[Backend]) -> Result<Self, String> {
        let mut selector = Self { accept: Vec::new(), discard: Vec::new() };
        for term in text.split(';').map(str::trim) {
            match term.strip_prefix('!') {
                _ if term.is_empty() => return Err("there is an empty term".into()),
                Some(term) => selector.discard.push(Term::parse(term.trim(), here)?),
                None if !selector.discard.is_empty() => {
                    return Err(format!(
                        "`{term}` comes after a term that discards: put it before"
                    ));
                }
                None => selector.accept.push(Term::parse(term, here)?),
            }
        }
        // Parts are there for whoever asks for them: otherwise such a term would silently do nothing.
        let names_parts = |terms: &[Term]| {
            terms.iter().any(|term| term.devices.iter().any(|device| !device.parts.is_empty()))
        };
        if names_parts(&selector.discard) && !names_parts(&selector.accept) {
            return Err("it discards parts of devices and accepts none: \
                        put a term before that does, such as `opencl:0.*`"
                .into());
        }
        Ok(selector)
    }

    /// The back ends that it asks for and this build has no adapter for, each once.
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

    /// Whether the device or part at this place is accepted.
    pub(crate) fn accepts(&self, place: Place<'_>) -> bool {
        let accepted = match self.accept.is_empty() {
            true => place.parts.is_empty(),
            false => self.accept.iter().any(|term| term.names(place)),
        };
        accepted && !self.discards(place)
    }

    /// Whether parts of what is at this place may be accepted; if not, it is not even cut.
    pub(crate) fn may_accept_parts_of(&self, place: Place<'_>) -> bool {
        self.accept.iter().any(|term| term.names_parts_of(place)) && !self.discards(place)
    }

    /// Whoever discards a device discards its parts.
    pub(crate) fn discards(&self, place: Place<'_>) -> bool {
        self.discard.iter().any(|term| {
            (0..=place.parts.len())
                .any(|depth| term.names(Place { parts: &place.parts[..depth], ..place }))
        })
    }
}

impl Term {
    fn parse(text: &str, here: &[Backend]) -> Result<Self, String> {
        let (backend, devices) = text.split_once(':').unwrap_or((text, "*"));
        let name = backend.trim().to_ascii_lowercase();
        let Some(&(known, backend)) = BACKENDS.iter().find(|(known, _)| *known == name) else {
            if DevicePattern::parse(&name).is_ok() {
                return Err(format!("`{name}` is no back end: write `*:{name}` for any"));
            }
            return Err(match similar(&name, here) {
                Some(meant) => format!("`{name}` is no back end; did you mean `{meant}`?"),
                None => format!("`{name}` is no back end; {}", backends(here)),
            });
        };
        let backend =
            if backend.is_any_of(here) { backend } else { BackendPattern::NotHere(known) };
        let devices = devices.split(',').map(DevicePattern::parse).collect::<Result<_, _>>()?;
        Ok(Self { backend, devices })
    }

    fn names(&self, place: Place<'_>) -> bool {
        let depth = place.parts.len();
        self.devices_around(place).any(|device| device.parts.len() == depth)
    }

    fn names_parts_of(&self, place: Place<'_>) -> bool {
        let depth = place.parts.len();
        self.devices_around(place).any(|device| device.parts.len() > depth)
    }

    /// The patterns that agree with this place as far as both go.
    fn devices_around(&self, place: Place<'_>) -> impl Iterator<Item = &DevicePattern> {
        let here = self.backend.matches(place.backend);
        self.devices.iter().filter(move |device| here && device.agrees(place))
    }
}

/// The names there are, and those that mean something without being there.
fn backends(here: &[Backend]) -> String {
    let names = |among: &dyn Fn(BackendPattern) -> bool| {
        let names = BACKENDS.iter().filter(|(_, backend)| among(*backend)).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let there = names(&|backend| backend.is_any_of(here));
    // Nobody who does not bring the test device means it.
    let test_device = BackendPattern::One(Backend::Mock);
    let not_here = names(&|backend| !backend.is_any_of(here) && backend != test_device);
    match not_here.is_empty() {
        true => format!("there are {there}"),
        false => format!("there are {there}; this build has no adapter for {not_here}"),
    }
}

/// The back end that is here and is called almost like that.
fn similar(name: &str, here: &[Backend]) -> Option<&'static str> {
    let there = BACKENDS.iter().filter(|(_, backend)| backend.is_any_of(here));
    // One letter in three may be wrong; letters that changed places count as one.
    let typos = there.map(|(known, _)| (strsim::osa_distance(name, known), *known));
    typos.filter(|(typos, known)| *typos <= known.len() / 3).min().map(|(_, known)| known)
}

impl BackendPattern {
    /// Whether it can match any of these.
    fn is_any_of(self, backends: &[Backend]) -> bool {
        self == Self::Any || backends.iter().any(|&backend| self.matches(backend))
    }

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
        let mut numbers = text.split('.');
        let whole = match numbers.next().unwrap_or_default() {
            "*" => WholePattern::Any,
            "cpu" => WholePattern::Kind(DeviceKind::Cpu),
            "gpu" => WholePattern::Kind(DeviceKind::Gpu),
            "acc" | "fpga" => WholePattern::Kind(DeviceKind::Accelerator),
            number => number.parse().map(WholePattern::Index).map_err(|_| {
                format!("`{text}` is no device; there are *, cpu, gpu, acc, fpga and numbers")
            })?,
        };
        let part = |number: &str| match number {
            "*" => Ok(PartPattern::Any),
            _ => number.parse().map(PartPattern::Number).map_err(|_| {
                format!("`{text}` is no part of a device; after a point comes * or a number")
            }),
        };
        Ok(Self { whole, parts: numbers.map(part).collect::<Result<_, _>>()? })
    }

    fn agrees(&self, place: Place<'_>) -> bool {
        let whole = match self.whole {
            WholePattern::Any => true,
            WholePattern::Kind(wanted) => wanted == place.kind,
            WholePattern::Index(wanted) => wanted == place.index,
        };
        whole
            && self.parts.iter().zip(place.parts).all(|(part, number)| match part {
                PartPattern::Any => true,
                PartPattern::Number(wanted) => wanted == number,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{Backend, DeviceKind, Place, Selector};

    const HERE: [Backend; 2] = [Backend::Host, Backend::OpenCl];

    fn parse(text: &str) -> Result<Selector, String> {
        Selector::parse(text, &HERE)
    }

    fn accepts(text: &str, backend: Backend, kind: DeviceKind, index: usize) -> bool {
        parse(text).unwrap().accepts(Place { backend, kind, index, parts: &[] })
    }

    /// The first of OpenCL's devices, a CPU, or a part of it.
    fn place(parts: &[usize]) -> Place<'_> {
        Place { backend: Backend::OpenCl, kind: DeviceKind::Cpu, index: 0, parts }
    }

    fn accepts_part(text: &str, parts: &[usize]) -> bool {
        parse(text).unwrap().accepts(place(parts))
    }

    #[test]
    fn a_number_after_the_point_is_that_part_and_not_the_whole() {
        for text in ["opencl:0.1", "OpenCL:CPU.1", "*:*.1", "opencl:0.*", "opencl:7, 0.1"] {
            assert!(accepts_part(text, &[1]), "{text}");
            assert!(!accepts_part(text, &[]), "{text}");
            assert!(!accepts_part(text, &[1, 0]), "{text}");
        }
        assert!(!accepts_part("opencl:0.1", &[0]));
        assert!(!accepts_part("opencl:1.1", &[1]));
        assert!(!accepts_part("opencl:gpu.1", &[1]));
        assert!(!accepts_part("host:0.1", &[1]));
        assert!(accepts_part("opencl:0.1.*", &[1, 5]));
    }

    #[test]
    fn parts_are_only_accepted_where_somebody_asks_for_them() {
        let cuts = |text, parts: &[usize]| parse(text).unwrap().may_accept_parts_of(place(parts));
        assert!(cuts("opencl:0.1", &[]) && cuts("opencl:0.1.2", &[1]));
        assert!(!cuts("opencl:0.1", &[1]) && !cuts("opencl:0.1.2", &[0]));
        assert!(!cuts("opencl:0", &[]) && !cuts("opencl:1.*", &[]) && !cuts("!opencl:1", &[]));
        assert!(!cuts("*:*.*;!opencl:cpu", &[]));
        assert!(!accepts_part("!opencl:1", &[0]) && !accepts_part("opencl", &[0]));
    }

    #[test]
    fn a_discarding_term_takes_a_part_or_a_device_with_its_parts() {
        assert!(accepts_part("opencl:0.*;!opencl:0.1", &[0]));
        assert!(!accepts_part("opencl:0.*;!opencl:0.1", &[1]));
        assert!(!accepts_part("opencl:0.*;!opencl:0", &[1]));
        assert!(!accepts_part("opencl:0.*.*;!opencl:0.1", &[1, 0]));
        assert!(accepts_part("opencl:0,0.*;!opencl:0.1", &[]));
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
        let selector = parse("cuda:0;host;hip:gpu;cuda:1;!level_zero:*").unwrap();
        assert_eq!(selector.without_adapter(), ["cuda", "hip"]);
    }

    #[test]
    fn a_back_end_without_an_adapter_in_this_build_is_known_and_matches_nothing() {
        assert_eq!(parse("mock;opencl:cpu").unwrap().without_adapter(), ["mock"]);
        assert_eq!(parse("*;native_cpu").unwrap().without_adapter(), [""; 0]);
        let selector = Selector::parse("native_cpu;mock", &[Backend::Mock]).unwrap();
        assert_eq!(selector.without_adapter(), ["native_cpu"]);
        assert!(!selector.may_accept(Backend::Host) && selector.may_accept(Backend::Mock));
        let wrong = Selector::parse("x", &[Backend::Mock]).unwrap_err();
        assert!(wrong.contains("there are *, mock; this build has no adapter for host"), "{wrong}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text| parse(text).unwrap_err();
        for (text, meant) in [("hots", "host"), ("openc", "opencl"), ("Open-CL:cpu", "opencl")] {
            let why = wrong(text);
            assert!(why.ends_with(&format!("is no back end; did you mean `{meant}`?")), "{why}");
        }
        for text in ["test", "ho", "os", "levelzero"] {
            assert!(wrong(text).contains("is no back end; there are"), "{text}");
        }
        assert!(wrong(":cpu").contains("`` is no back end; there are"));
        assert_eq!(
            wrong("vulkan"),
            "`vulkan` is no back end; there are *, host, native_cpu, opencl; this build has no adapter for \
             level_zero, cuda, hip"
        );
        assert!(wrong("gpu").contains("write `*:gpu`"));
        assert!(wrong("opencl:x").contains("`x` is no device"));
        assert!(wrong("opencl:0.x").contains("`0.x` is no part of a device; after a point"));
        assert!(wrong("opencl:0.").contains("`0.` is no part of a device"));
        assert!(wrong("opencl:0..1").contains("`0..1` is no part of a device"));
        assert!(wrong("opencl:0.-1").contains("`0.-1` is no part of a device"));
        assert!(wrong("opencl:.1").contains("`.1` is no device"));
        assert!(wrong("0.1").contains("write `*:0.1`"));
        assert!(wrong("!opencl:0.1").contains("accepts none"));
        assert!(wrong("opencl:0;!opencl:0.1").contains("such as `opencl:0.*`"));
        assert!(wrong("host;").contains("empty term"));
        assert!(wrong("!host;opencl").contains("put it before"));
        assert!(wrong("opencl:-1").contains("`-1` is no device"));
    }
}
