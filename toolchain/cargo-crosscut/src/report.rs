//! What there is, as `ls --json` writes it. `docs/tools.md` has the schema; `doctor` reads it back.

use crosscut_runtime::{BackendReport, Device, Runtime};
use serde::{Deserialize, Serialize};

/// The version of the schema: grows when a member changes its meaning or goes.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) schema: u32,
    pub(crate) selector: Option<SelectorReport>,
    pub(crate) backends: Vec<Backend>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SelectorReport {
    pub(crate) variable: String,
    pub(crate) text: String,
    pub(crate) error: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Backend {
    pub(crate) name: String,
    pub(crate) devices: Vec<DeviceReport>,
    pub(crate) absence: Option<Absence>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Absence {
    pub(crate) reason: String,
    pub(crate) help: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeviceReport {
    pub(crate) selector: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) vendor: String,
    pub(crate) version: String,
    pub(crate) driver_version: String,
    pub(crate) platform: Platform,
    pub(crate) accepted: bool,
    pub(crate) default: bool,
    pub(crate) code_forms: Vec<String>,
    pub(crate) code_forms_note: Option<String>,
    pub(crate) memory_bytes: u64,
    pub(crate) largest_allocation_bytes: u64,
    pub(crate) compute_units: u32,
    pub(crate) address_bits: u32,
    pub(crate) limits: Limits,
    pub(crate) features: Vec<String>,
    pub(crate) sub_group_sizes: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Platform {
    pub(crate) name: String,
    pub(crate) vendor: String,
    pub(crate) version: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) work_group_size: usize,
    pub(crate) work_item_sizes: [usize; 3],
    pub(crate) local_memory_bytes: u64,
    pub(crate) sub_groups: usize,
    pub(crate) argument_bytes: usize,
    pub(crate) sub_devices: usize,
}

/// Asks every driver.
pub(crate) fn gather(runtime: &Runtime) -> Report {
    let accepted = runtime.devices();
    let default = runtime.default_device_for_images().ok();
    let selector = runtime.selector().map(|(variable, text)| SelectorReport {
        variable: variable.to_owned(),
        text: text.to_owned(),
        error: accepted.as_ref().err().map(|error| first_line(error.message())),
    });
    let accepted = accepted.unwrap_or_default();
    let backend = |report: &BackendReport| Backend {
        name: report.backend.name().to_owned(),
        devices: report
            .devices
            .iter()
            .flat_map(|device| with_parts(device, &accepted))
            .map(|device| {
                describe(device, accepted.contains(device), default.as_ref() == Some(device))
            })
            .collect(),
        absence: report
            .absence
            .as_ref()
            .map(|absence| Absence { reason: absence.reason.clone(), help: absence.help.clone() }),
    };
    Report { schema: SCHEMA, selector, backends: runtime.backends().iter().map(backend).collect() }
}

/// A device, and behind it those of its parts that the selector asks for.
fn with_parts<'a>(
    device: &'a Device,
    accepted: &'a [Device],
) -> impl Iterator<Item = &'a Device> + 'a {
    let place = |device: &Device| (device.backend(), device.index());
    let parts =
        accepted.iter().filter(move |part| part.parent().is_some() && place(part) == place(device));
    std::iter::once(device).chain(parts)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn describe(device: &Device, accepted: bool, default: bool) -> DeviceReport {
    let info = device.info();
    DeviceReport {
        selector: device.selector(),
        name: info.name.clone(),
        kind: info.kind.name().to_owned(),
        vendor: info.vendor.clone(),
        version: info.version.clone(),
        driver_version: info.driver_version.clone(),
        platform: Platform {
            name: info.platform.clone(),
            vendor: info.platform_vendor.clone(),
            version: info.platform_version.clone(),
        },
        accepted,
        default,
        code_forms: info.code_forms.iter().map(|form| form.name().to_owned()).collect(),
        code_forms_note: info.code_forms_note.clone(),
        memory_bytes: info.memory_size,
        largest_allocation_bytes: info.largest_allocation,
        compute_units: info.compute_units,
        address_bits: info.address_bits,
        limits: Limits {
            work_group_size: info.limits.work_group_size,
            work_item_sizes: info.limits.work_item_sizes,
            local_memory_bytes: info.limits.local_memory,
            sub_groups: info.limits.sub_groups,
            argument_bytes: info.limits.argument_bytes,
            sub_devices: info.limits.sub_devices,
        },
        features: info.features.iter().map(|feature| feature.name().to_owned()).collect(),
        sub_group_sizes: info.sub_group_sizes.clone(),
    }
}
