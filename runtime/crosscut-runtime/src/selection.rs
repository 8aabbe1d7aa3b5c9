//! The devices, and parts of devices, that a selector accepts: the environment's, or one in code.

use std::sync::OnceLock;

use crosscut_adapter_api::Backend;

use crate::device::{Device, Listed, Runtime};
use crate::selector::{Place, Selector};
use crate::{Error, ErrorKind, registry};

/// A selector, and where it came from.
pub(crate) struct Chosen {
    variable: &'static str,
    text: String,
    /// Found once: parts are devices of their own each time a device is cut, and everybody who asks
    /// for the selected one must get the same, with the same default context.
    devices: OnceLock<Result<Vec<Device>, Error>>,
}

impl Chosen {
    pub(crate) fn new(variable: &'static str, text: String) -> Self {
        Self { variable, text, devices: OnceLock::new() }
    }

    /// The variable, and what it says.
    pub(crate) fn said(&self) -> (&'static str, &str) {
        (self.variable, &self.text)
    }

    /// The devices of `of` that it accepts, at least one; always asked with the same runtime.
    pub(crate) fn devices(&self, of: &Runtime) -> Result<Vec<Device>, Error> {
        self.devices.get_or_init(|| self.find(of)).clone()
    }

    fn find(&self, of: &Runtime) -> Result<Vec<Device>, Error> {
        let Self { variable, text, .. } = self;
        let said = format!("{variable}=`{text}`");
        let selector = Selector::parse(text, &of.backends_here()).map_err(|why| {
            unreadable(of, &said, &why)
                .with_help(format!("set {variable} to {}", what_is_there(&of.all_devices())))
        })?;
        let mut search = Search { selector: &selector, accepted: Vec::new(), notes: Vec::new() };
        search.look_at_all(of);
        search.finish(of, &said).map_err(|error| {
            let there = what_is_there(&of.all_devices());
            error.with_help(format!("unset {variable}, or set it to {there}"))
        })
    }
}

impl Runtime {
    /// The best device that this selector accepts and that can run this program's kernels, among those
    /// that the environment's selector accepts. Parts of devices are cut anew by each call, unless the
    /// environment asked for them.
    ///
    /// # Errors
    /// A selector cannot be read, no device is accepted by both, or none of those can run the kernels.
    pub fn select_by_text(&self, text: &str) -> Result<Device, Error> {
        let text = text.trim();
        let said = format!("the selector `{text}`");
        // What the environment's selector discards is no way out.
        let help = || format!("pass {}", what_is_there(&self.devices().unwrap_or_default()));
        let selector = Selector::parse(text, &self.backends_here())
            .map_err(|why| unreadable(self, &said, &why).with_help(help()))?;
        let mut search = Search { selector: &selector, accepted: Vec::new(), notes: Vec::new() };
        match self.selector() {
            None => search.look_at_all(self),
            Some((variable, chosen)) => {
                let left = self.devices()?;
                let names: Vec<String> = left.iter().map(Device::selector).collect();
                search.notes.push(format!("{variable}=`{chosen}` leaves {}", names.join(", ")));
                left.iter().for_each(|device| search.look_at_left(device));
            }
        }
        let or_more = || {
            let variable = self.selector().map(|(variable, _)| variable);
            variable.map(|it| format!(", or have {it} accept more devices")).unwrap_or_default()
        };
        let accepted =
            search.finish(self, &said).map_err(|error| error.with_help(help() + &or_more()))?;
        self.best_of(accepted, registry::has_images())
    }

    /// All devices, whatever the environment's selector says.
    fn all_devices(&self) -> Vec<Device> {
        self.adapters.iter().flat_map(Listed::found).cloned().collect()
    }

    /// The back ends that there are adapters for.
    fn backends_here(&self) -> Vec<Backend> {
        self.adapters.iter().map(|listed| listed.adapter.backend()).collect()
    }
}

/// How to call what is there: the first of these devices of each back end.
fn what_is_there(devices: &[Device]) -> String {
    let mut first: Vec<&Device> = Vec::new();
    for device in devices {
        if first.iter().all(|known| known.backend() != device.backend()) {
            first.push(device);
        }
    }
    let names: Vec<String> = first.iter().map(|it| format!("`{}`", it.selector())).collect();
    match names.is_empty() {
        true => "what is there".into(),
        false => format!("what is there, for example {}", names.join(" or ")),
    }
}

fn unreadable(of: &Runtime, said: &str, why: &str) -> Error {
    Error::new(ErrorKind::NoDevice, format!("{said} cannot be read: {why}\n{}", of.overview()))
}

struct Search<'a> {
    selector: &'a Selector,
    accepted: Vec<Device>,
    /// Which parts there were where parts were asked for: what to say if none is accepted.
    notes: Vec<String>,
}

impl Search<'_> {
    /// Looks at all devices of the back ends that the selector asks for.
    fn look_at_all(&mut self, of: &Runtime) {
        let asked = of.adapters.iter().filter(|it| self.selector.may_accept(it.adapter.backend()));
        for device in asked.flat_map(Listed::found) {
            self.look_at(device, &mut Vec::new());
        }
    }

    /// Looks at a device that another selector has left. A part goes by its own name and by that of
    /// the whole: it is all of it that there is.
    fn look_at_left(&mut self, device: &Device) {
        let (backend, kind, index) = (device.backend(), device.kind(), device.index());
        let mut parts = device.part_numbers();
        let own = Place { backend, kind, index, parts: &parts };
        let by_whole = self.selector.accepts(Place { parts: &[], ..own });
        if !parts.is_empty() && by_whole && !self.selector.discards(own) {
            self.accepted.push(device.clone());
        } else {
            self.look_at(device, &mut parts);
        }
    }

    /// What was accepted; `said` is who asked.
    fn finish(self, of: &Runtime, said: &str) -> Result<Vec<Device>, Error> {
        if !self.accepted.is_empty() {
            return Ok(self.accepted);
        }
        let mut overview = of.overview();
        let missing = self.selector.without_adapter().into_iter();
        let missing =
            missing.map(|name| format!("{name}: no device: this build has no adapter for {name}"));
        for note in self.notes.into_iter().chain(missing) {
            overview += &format!("\n    {note}");
        }
        Err(Error::new(ErrorKind::NoDevice, format!("{said} accepts no device\n{overview}")))
    }

    /// Looks at a device, and at its parts if they are asked for; `parts` are the numbers that lead to
    /// it. Ends, because parts have fewer compute units than what they are parts of.
    fn look_at(&mut self, device: &Device, parts: &mut Vec<usize>) {
        let (backend, kind, index) = (device.backend(), device.kind(), device.index());
        let place = Place { backend, kind, index, parts };
        if self.selector.accepts(place) {
            self.accepted.push(device.clone());
        }
        if !self.selector.may_accept_parts_of(place) {
            return;
        }
        let name = device.selector();
        match device.smallest_parts() {
            Ok(cut) => {
                let last = cut.len().saturating_sub(1);
                self.notes.push(format!("{name} has the parts {name}.0 to {name}.{last}"));
                for (number, part) in cut.iter().enumerate() {
                    parts.push(number);
                    self.look_at(part, parts);
                    parts.pop();
                }
            }
            Err(error) => {
                // Its first line has the driver's words; what follows is help for other callers.
                let why = error.to_string();
                let why = why.lines().next().unwrap_or_default();
                log::debug!("{name} has no parts: {why}");
                self.notes.push(format!("{name} has no parts: {why}"));
            }
        }
    }
}
