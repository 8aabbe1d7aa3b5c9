//! The devices there are, and which one is used by default.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use crosscut_adapter_api::{self as adapter, Absence, Adapter, Backend, CodeForm, DeviceInfo};
use crosscut_adapter_api::{DeviceKind, Feature};

use crate::cache::ProgramCache;
use crate::context::{self, Context};
use crate::selection::Chosen;
use crate::{Error, ErrorKind, registry};

/// The environment variables with a selector, the first one set counts.
const SELECTORS: [&str; 2] = ["CROSSCUT_DEVICE", "ONEAPI_DEVICE_SELECTOR"];

/// All adapters and their devices. A program has one; it lives until the process ends.
pub struct Runtime {
    pub(crate) adapters: Vec<Listed>,
    chosen: Option<Chosen>,
}

pub(crate) struct Listed {
    pub(crate) adapter: Arc<dyn Adapter>,
    cache: ProgramCache,
    /// Asked for once, and only if somebody wants to know: it loads the driver.
    devices: OnceLock<Result<Vec<Device>, Absence>>,
}

/// A device. Copies are the same device.
///
/// ```
/// use crosscut::{Backend, DeviceKind, Feature};
///
/// let device = crosscut::default_device()?;
/// println!("{} is {}, by {}", device.selector(), device.name(), device.info().vendor);
/// if device.backend() == Backend::Host {
///     assert_eq!((device.kind(), device.index()), (DeviceKind::Cpu, 0));
///     assert!(device.has(Feature::Fp64));
/// }
/// assert!(device.info().compute_units > 0);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    device: Arc<dyn adapter::Device>,
    backend: Backend,
    index: usize,
    /// The device it is a part of, and its number among the parts.
    whole: Option<(Device, usize)>,
    cache: ProgramCache,
    context: OnceLock<Context>,
    /// Where this is a part as its default context knows it: that context.
    known_to: Weak<context::Space>,
}

/// One driver interface, and what was found through it.
#[derive(Clone, Debug)]
pub struct BackendReport {
    /// Which one.
    pub backend: Backend,
    /// Its devices, in the driver's order.
    pub devices: Vec<Device>,
    /// Why there are none.
    pub absence: Option<Absence>,
}

impl Runtime {
    /// A runtime over these adapters, with the selector and the cache in the environment. No adapter
    /// is asked for anything yet.
    #[must_use]
    pub fn new(adapters: Vec<Arc<dyn Adapter>>) -> Self {
        Self::over(adapters, from_environment()).with_cache(ProgramCache::from_environment())
    }

    /// A runtime over these adapters with this selector, all devices for an empty one; it keeps no
    /// built programs between runs.
    #[must_use]
    pub fn with_selector(adapters: Vec<Arc<dyn Adapter>>, selector: &str) -> Self {
        let text = selector.trim().to_owned();
        Self::over(adapters, (!text.is_empty()).then(|| Chosen::new(SELECTORS[0], text)))
    }

    fn over(adapters: Vec<Arc<dyn Adapter>>, chosen: Option<Chosen>) -> Self {
        let cache = ProgramCache::off;
        let listed = |adapter| Listed { adapter, cache: cache(), devices: OnceLock::new() };
        Self { adapters: adapters.into_iter().map(listed).collect(), chosen }
    }

    /// The same, with built programs kept there between runs.
    #[must_use]
    pub fn with_cache(mut self, cache: ProgramCache) -> Self {
        for listed in &mut self.adapters {
            listed.cache = cache.clone();
        }
        self
    }

    /// The devices that the selector in the environment accepts; all without one.
    ///
    /// # Errors
    /// The selector cannot be read or accepts no device.
    pub fn devices(&self) -> Result<Vec<Device>, Error> {
        match &self.chosen {
            Some(chosen) => chosen.devices(self),
            None => Ok(self.adapters.iter().flat_map(Listed::found).cloned().collect()),
        }
    }

    /// The best device that can run this program's kernels, among those the selector accepts.
    ///
    /// # Errors
    /// The selector cannot be read, accepts no device, or accepts none that can run them.
    pub fn default_device(&self) -> Result<Device, Error> {
        // Without images only native code runs: no driver needs to be loaded to find that out.
        if self.chosen.is_none() && !registry::has_images() {
            let native =
                self.adapters.iter().filter(|listed| listed.adapter.backend() == Backend::Host);
            if let Some(device) = native.flat_map(Listed::found).next() {
                return Ok(device.clone());
            }
        }
        self.best_of(self.devices()?, registry::has_images())
    }

    /// The same for a program that has images, whatever this one has.
    ///
    /// # Errors
    /// As [`default_device`](Self::default_device).
    pub fn default_device_for_images(&self) -> Result<Device, Error> {
        self.best_of(self.devices()?, true)
    }

    /// The best of these that can run kernels of a program with or without images.
    pub(crate) fn best_of(&self, devices: Vec<Device>, has_images: bool) -> Result<Device, Error> {
        let mut refusal = None;
        let mut best: Option<(u8, Device)> = None;
        for device in devices {
            match device.can_run(has_images) {
                Ok(()) => {
                    let rank = device.rank();
                    if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                        best = Some((rank, device));
                    }
                }
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match (best, refusal) {
            (Some((_, device)), _) => Ok(device),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Err(self.no_device()),
        }
    }

    fn no_device(&self) -> Error {
        Error::new(ErrorKind::NoDevice, format!("there is no device\n{}", self.overview()))
    }

    /// The device with the highest score, among those that the environment's selector accepts and that
    /// can run this program's kernels; the first of several. One without a score is out.
    ///
    /// # Errors
    /// The selector cannot be read or accepts no device, or no device has a score.
    pub fn select<S: Ord>(
        &self,
        mut score: impl FnMut(&Device) -> Option<S>,
    ) -> Result<Device, Error> {
        let has_images = registry::has_images();
        let mut best: Option<(S, Device)> = None;
        for device in self.devices()? {
            if device.can_run(has_images).is_ok()
                && let Some(score) = score(&device)
                && best.as_ref().is_none_or(|(known, _)| score > *known)
            {
                best = Some((score, device));
            }
        }
        best.map(|(_, device)| device).ok_or_else(|| {
            Error::new(
                ErrorKind::NoDevice,
                format!("no device is what the program asks for\n{}", self.overview()),
            )
            .with_help("`cargo crosscut ls --verbose` tells what each can do")
        })
    }

    /// Every driver interface with its devices, or why it has none; whatever the selector says.
    #[must_use]
    pub fn backends(&self) -> Vec<BackendReport> {
        let report = |listed: &Listed| BackendReport {
            backend: listed.adapter.backend(),
            devices: listed.found().to_vec(),
            absence: listed.devices().as_ref().err().cloned(),
        };
        self.adapters.iter().map(report).collect()
    }

    /// The environment variable that chooses devices, and what it says.
    #[must_use]
    pub fn selector(&self) -> Option<(&'static str, &str)> {
        self.chosen.as_ref().map(Chosen::said)
    }

    /// What exists, and why the rest does not: one line per device or empty back end.
    pub(crate) fn overview(&self) -> String {
        let mut text = String::from("  there are:");
        for listed in &self.adapters {
            let backend = listed.adapter.backend();
            match listed.devices() {
                Ok(devices) => {
                    for device in devices {
                        let DeviceInfo { kind, name, .. } = device.info();
                        text += &format!("\n    {backend}:{} ({kind}) {name}", device.0.index);
                    }
                }
                Err(absence) => text += &format!("\n    {backend}: no device: {absence}"),
            }
        }
        text
    }
}

/// The selector in the environment; an empty one is none.
fn from_environment() -> Option<Chosen> {
    SELECTORS.iter().find_map(|&variable| {
        let text = std::env::var_os(variable)?.to_string_lossy().trim().to_owned();
        (!text.is_empty()).then(|| Chosen::new(variable, text))
    })
}

impl Inner {
    fn new(
        device: Arc<dyn adapter::Device>,
        backend: Backend,
        index: usize,
        whole: Option<(Device, usize)>,
        cache: ProgramCache,
    ) -> Self {
        let (context, known_to) = (OnceLock::new(), Weak::new());
        Self { device, backend, index, whole, cache, context, known_to }
    }
}

impl Listed {
    fn devices(&self) -> &Result<Vec<Device>, Absence> {
        self.devices.get_or_init(|| {
            let backend = self.adapter.backend();
            let listed = |(index, device)| {
                let (whole, cache) = (None, self.cache.clone());
                Device::new(Inner::new(device, backend, index, whole, cache))
            };
            let found = self.adapter.devices().inspect_err(|absence| {
                log::debug!("{backend}: no device: {absence}");
            })?;
            log::debug!("{backend}: {} devices", found.len());
            Ok(found.into_iter().enumerate().map(listed).collect())
        })
    }

    pub(crate) fn found(&self) -> &[Device] {
        self.devices().as_deref().unwrap_or_default()
    }
}

impl Device {
    /// Its own name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// What sort of device it is.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.info().kind
    }

    /// What the driver says about it.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        self.0.device.info()
    }

    /// Whether it can do this.
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.info().features.has(feature)
    }

    /// Which driver interface it was found through.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.0.backend
    }

    /// Its number among the devices of its back end, as selectors count; that of the whole, for a part.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// Where it is in the list: `opencl:0`, or `opencl:0.1` for a part of that.
    #[must_use]
    pub fn selector(&self) -> String {
        match &self.0.whole {
            None => format!("{}:{}", self.backend(), self.index()),
            Some((whole, part)) => format!("{}.{part}", whole.selector()),
        }
    }

    /// The numbers of the parts that lead to it, as selectors have them; none for a whole device.
    pub(crate) fn part_numbers(&self) -> Vec<usize> {
        let Some((whole, part)) = &self.0.whole else { return Vec::new() };
        let mut numbers = whole.part_numbers();
        numbers.push(*part);
        numbers
    }

    /// The device it is a part of.
    ///
    /// ```
    /// use crosscut::Feature;
    ///
    /// for device in crosscut::devices()?.iter().filter(|it| it.has(Feature::PartitionByCounts)) {
    ///     let parts = device.partition_by_counts(&[1])?;
    ///     assert_eq!(parts[0].parent(), Some(device));
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn parent(&self) -> Option<&Self> {
        self.0.whole.as_ref().map(|(whole, _)| whole)
    }

    /// A part of this device.
    pub(crate) fn part(&self, number: usize, device: Arc<dyn adapter::Device>) -> Self {
        let Inner { backend, index, ref cache, .. } = *self.0;
        let (whole, cache) = (Some((self.clone(), number)), cache.clone());
        Self::new(Inner::new(device, backend, index, whole, cache))
    }

    fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// This device as its default context is to know it. Each would keep the other for ever; so a part,
    /// which goes with its last user, is known to that context by a copy that does not keep it.
    pub(crate) fn as_known_to(&self, context: &Weak<context::Space>) -> Self {
        let Inner { ref device, backend, index, ref whole, ref cache, .. } = *self.0;
        if whole.is_none() {
            return self.clone();
        }
        let copy = Inner::new(Arc::clone(device), backend, index, whole.clone(), cache.clone());
        Self::new(Inner { known_to: Weak::clone(context), ..copy })
    }

    /// The context that queues use unless told otherwise.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let device = crosscut::default_device()?;
    /// assert_eq!(*Queue::on(&device)?.context(), device.default_context()?);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal to open the device.
    pub fn default_context(&self) -> Result<Context, Error> {
        // Not kept here, as it has this: see `as_known_to`.
        if let Some(context) = Context::upgrade(&self.0.known_to) {
            return Ok(context);
        }
        if let Some(context) = self.0.context.get() {
            return Ok(context.clone());
        }
        // The statics of the program are the globals of one device, the whole host.
        let context = Context::create_default(self, self.0.whole.is_none())?;
        // If another thread was faster, this one is closed again.
        Ok(self.0.context.get_or_init(|| context).clone())
    }

    /// A context of its own, with its own memory and device globals.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::new(10);
    ///
    /// let device = crosscut::default_device()?;
    /// let usual = Queue::on(&device)?;
    /// let apart = Queue::in_context(&device.create_context()?)?;
    /// usual.write(&LIMIT, &20)?;
    /// assert_eq!((usual.read(&LIMIT)?, apart.read(&LIMIT)?), (20, 10));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal to open the device.
    pub fn create_context(&self) -> Result<Context, Error> {
        Context::create(self)
    }

    pub(crate) fn adapter(&self) -> &dyn adapter::Device {
        &*self.0.device
    }

    /// Where programs built for it are kept.
    pub(crate) fn cache(&self) -> &ProgramCache {
        &self.0.cache
    }

    /// Whether it runs native code.
    pub(crate) fn is_native(&self) -> bool {
        self.info().code_forms.contains(&CodeForm::Native)
    }

    /// Whether kernels of a program with or without images can run on it, as far as that is known
    /// without trying.
    fn can_run(&self, has_images: bool) -> Result<(), Error> {
        let info = self.info();
        let name = format!("`{}` ({})", info.name, self.backend());
        if self.is_native() {
            Ok(())
        } else if info.code_forms.is_empty() {
            let why = info.code_forms_note.as_deref().unwrap_or("it takes no code Crosscut makes");
            Err(Error::new(ErrorKind::NoDevice, format!("{name} cannot run kernels: {why}"))
                .with_help("update its driver, or choose another device by CROSSCUT_DEVICE"))
        } else if has_images {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::NoDevice,
                format!("{name} was chosen, and this program has no device images"),
            )
            .with_help(
                "if it has kernels, build and run it with `cargo crosscut run`; programs without any, plain cargo \
                 builds and examples in documentation run on `host`",
            ))
        }
    }

    /// Larger is better. A CPU through a driver beats the plain host CPU: the program was built
    /// with images for it.
    fn rank(&self) -> u8 {
        match (self.info().kind, self.backend()) {
            (DeviceKind::Gpu, _) => 3,
            (DeviceKind::Cpu, Backend::Host) => 0,
            (DeviceKind::Cpu, _) => 1,
            _ => 2,
        }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.device, &other.0.device)
    }
}

impl Eq for Device {}

/// Its name and its back end: one CPU may be a device of several.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.backend())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("backend", &self.backend())
            .field("index", &self.index())
            .field("name", &self.info().name)
            .finish()
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}
