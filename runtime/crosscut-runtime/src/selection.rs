//! The devices, and parts of devices, that the selector in the environment accepts.

use std::sync::OnceLock;

use crate::device::{Device, Listed, Runtime};
use crate::selector::{Place, Selector};
use crate::{Error, ErrorKind};

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
        let selector = Selector::parse(text).map_err(|why| {
            Error::new(
                ErrorKind::NoDevice,
                format!("{variable}=`{text}` cannot be read: {why}\n{}", of.overview()),
            )
            .with_help(format!(
                "set {variable} to one of these, for example `host` or `opencl:cpu`"
            ))
        })?;
        let mut search = Search { selector: &selector, accepted: Vec::new(), notes: Vec::new() };
        let asked = of.adapters.iter().filter(|it| selector.may_accept(it.adapter.backend()));
        for device in asked.flat_map(Listed::found) {
            search.look_at(device, &mut Vec::new());
        }
        if search.accepted.is_empty() {
            let mut overview = of.overview();
            let missing = selector.without_adapter().into_iter();
            let missing =
                missing.map(|name| format!("{name}: no device: Crosscut cannot use {name} yet"));
            for note in search.notes.into_iter().chain(missing) {
                overview += &format!("\n    {note}");
            }
            return Err(Error::new(
                ErrorKind::NoDevice,
                format!("{variable}=`{text}` accepts no device\n{overview}"),
            )
            .with_help(format!("unset {variable}, or set it to one of these")));
        }
        Ok(search.accepted)
    }
}

struct Search<'a> {
    selector: &'a Selector,
    accepted: Vec<Device>,
    /// Which parts there were where parts were asked for: what to say if none is accepted.
    notes: Vec<String>,
}

impl Search<'_> {
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
