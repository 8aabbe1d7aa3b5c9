//! A device without hardware: records every call and fails on demand.
//!
//! A test makes a [`Mock`], gives the runtime its adapter interface, and then
//! - reads what was asked of the driver ([`Mock::log`]),
//! - makes a call fail ([`Mock::fail`]),
//! - says what a kernel does ([`Mock::define_kernel`]),
//! - keeps commands from running until told ([`Mock::hold`], [`Mock::release`]).
//!
//! Files are named as in the other adapters; `log` has the calls, `engine` what runs commands.
//!
//! Invariants:
//! - Commands run one at a time, in the order of submission: that meets every order one may ask
//!   for. A held command touches nothing before it is released.
//! - Memory that is freed while a held command uses it is reported as [`Call::FreedInUse`], and that
//!   command never runs: a fault of the runtime is found without undefined behaviour here.

mod context;
mod device;
mod engine;
mod event;
mod log;
mod memory;
mod program;
mod queue;
mod variable;

use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{
    Absence, Adapter, Backend, CodeForm, Device, DeviceInfo, DeviceKind, DriverError, Feature,
    Features, KernelGroups, Limits,
};

use device::MockDevice;
use engine::Engine;
pub use log::{Call, Operation, RecordedArgument};
pub use memory::View;
pub use program::{Launch, Resolved};

/// The adapter, and a test's handle on everything it made. Clones share all of it.
#[derive(Clone)]
pub struct Mock {
    engine: Arc<Engine>,
    devices: Arc<[DeviceInfo]>,
}

/// What sort of memory the mock pretends to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MockMemory {
    /// All memory has a device address, host-visible memory a host address too.
    #[default]
    Unified,
    /// All memory has a device address, none has a host address.
    DeviceOnly,
    /// Memory objects: no addresses, and offsets of arguments are multiples of 128.
    Objects,
}

impl MockMemory {
    /// The features without those that this sort of memory has not.
    fn without_missing(self, features: Features) -> Features {
        let missing: &[Feature] = match self {
            Self::Unified => &[],
            Self::DeviceOnly => &[Feature::UsmHost, Feature::UsmShared, Feature::UsmSystem],
            Self::Objects => {
                &[Feature::UsmDevice, Feature::UsmHost, Feature::UsmShared, Feature::UsmSystem]
            }
        };
        missing.iter().fold(features, |features, &feature| features.without(feature))
    }
}

/// What a mock is asked to be.
#[derive(Clone, Debug)]
pub struct MockOptions {
    /// Its devices. Without any, the adapter is absent.
    pub devices: Vec<DeviceInfo>,
    /// What sort of memory they have.
    pub memory: MockMemory,
}

impl Default for MockOptions {
    fn default() -> Self {
        Self { devices: vec![Mock::device_info()], memory: MockMemory::Unified }
    }
}

impl Default for Mock {
    fn default() -> Self {
        Self::new()
    }
}

impl Mock {
    /// One device with unified memory.
    #[must_use]
    pub fn new() -> Self {
        Self::with(MockOptions::default())
    }

    /// What `options` say.
    #[must_use]
    pub fn with(mut options: MockOptions) -> Self {
        for device in &mut options.devices {
            device.features = options.memory.without_missing(device.features);
        }
        Self { engine: Arc::new(Engine::new(options.memory)), devices: options.devices.into() }
    }

    /// What the device of [`Mock::new`] says about itself; a start for other devices.
    #[must_use]
    pub fn device_info() -> DeviceInfo {
        DeviceInfo {
            name: "mock".to_owned(),
            vendor: "crosscut".to_owned(),
            platform: "mock".to_owned(),
            platform_vendor: "crosscut".to_owned(),
            platform_version: env!("CARGO_PKG_VERSION").to_owned(),
            version: "mock".to_owned(),
            driver_version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: DeviceKind::Accelerator,
            code_forms: vec![CodeForm::Spirv64],
            code_forms_note: None,
            memory_size: 1 << 30,
            largest_allocation: 1 << 28,
            compute_units: 4,
            address_bits: 64,
            limits: Limits {
                work_group_size: 256,
                work_item_sizes: [256; 3],
                local_memory: 1 << 16,
                sub_groups: 32,
                argument_bytes: 1024,
                sub_devices: 4,
            },
            features: Feature::ALL.iter().copied().collect(),
            sub_group_sizes: vec![8, 16],
        }
    }

    /// All calls so far, the first one first.
    #[must_use]
    pub fn log(&self) -> Vec<Call> {
        self.engine.log()
    }

    /// Forgets the calls so far.
    pub fn clear_log(&self) {
        self.engine.clear_log();
    }

    /// Makes the `nth` call of `operation` from now on fail with `error`; 0 is the next one.
    pub fn fail(&self, operation: Operation, nth: usize, error: DriverError) {
        self.engine.fail(operation, nth, error);
    }

    /// Says what kernels of this name do. Programs have no others.
    pub fn define_kernel(&self, name: &str, run: impl Fn(&Launch<'_>) + Send + Sync + 'static) {
        self.engine.define_kernel(name, Arc::new(run));
    }

    /// Says in which work-groups a kernel runs, from the next time on that it is looked up.
    pub fn limit_groups(&self, kernel: &str, groups: KernelGroups) {
        self.engine.limit_groups(kernel, groups);
    }

    /// Gives programs a variable of this name for the host. With one, the mock takes SPIR-V that names
    /// variables; without any, it is a driver that knows no names of variables.
    pub fn define_variable(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.engine.define_variable(name, bytes.into());
    }

    /// What a variable holds now.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = self.engine.variable(name)?;
        Some(bytes.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Keeps commands submitted from now on from running.
    pub fn hold(&self) {
        self.engine.hold();
    }

    /// Runs what was held, and lets commands run again.
    pub fn release(&self) {
        self.engine.release(None);
    }

    /// Runs what was held in an order that depends on `seed`: any that the events which commands wait
    /// for, and queues in order, allow. Then lets commands run again.
    pub fn release_shuffled(&self, seed: u64) {
        self.engine.release(Some(seed));
    }

    /// Has every held command fail, and lets commands run again: what a device does that stops and is
    /// started anew.
    pub fn lose_device(&self) {
        self.engine.lose_held();
    }

    /// Pretends that the process has begun to end: from now on the host must not touch the memory that
    /// it shares with the device, and may not [visit](crosscut_adapter_api::Memory::visit_on_host) it.
    pub fn begin_exit(&self) {
        self.engine.end();
    }

    /// How many allocations are alive.
    #[must_use]
    pub fn live_allocations(&self) -> usize {
        self.engine.live_allocations()
    }
}

impl Adapter for Mock {
    fn backend(&self) -> Backend {
        Backend::Mock
    }

    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence> {
        let failed = self.engine.record(Operation::Devices, || Call::Devices);
        if let Err(error) = failed {
            let help = "the test asked for this".to_owned();
            return Err(Absence { reason: error.to_string(), help });
        }
        if self.devices.is_empty() {
            return Err(Absence {
                reason: "the mock has no device".to_owned(),
                help: "give it one in its options".to_owned(),
            });
        }
        let list = self.devices.iter().map(|info| {
            let device = MockDevice { engine: Arc::clone(&self.engine), info: info.clone() };
            Arc::new(device) as Arc<dyn Device>
        });
        Ok(list.collect())
    }
}
