//! Contexts of several devices.

use crosscut_adapter_api as adapter;

use crate::Error;
use crate::context::Context;
use crate::device::Device;
use crate::platform::of_one_platform;

impl Context {
    /// Opens devices together, for queues on the first unless they are told [otherwise](Self::on).
    ///
    /// Buffers of the context are used by queues on all of its devices, in the order that their borrows
    /// ask for; copying between devices is the driver's affair. Each device has its own instance of every
    /// device global.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::{Context, Feature};
    ///
    /// let device = crosscut::default_device()?;
    /// if device.has(Feature::PartitionEqually) {
    ///     let parts = device.partition_equally(1)?;
    ///     let context = Context::new(&parts)?;
    ///     let left = Queue::builder().in_context(&context).on(&parts[0]).build()?;
    ///     let right = Queue::builder().in_context(&context).on(&parts[1]).build()?;
    ///     let mut x = left.zeroed::<u32>(4)?;
    ///     left.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    ///     right.for_each(&mut x, (), |_, x, ()| *x *= 10)?; // waits for the other device
    ///     assert_eq!(left.download(&x)?, [0, 10, 20, 30]);
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no device, one is there twice, or they are not all of one platform; the driver's refusal.
    pub fn new(devices: &[Device]) -> Result<Self, Error> {
        let Some((first, others)) = devices.split_first() else {
            return Err(Error::invalid("a context without a device", "name at least one device"));
        };
        for (at, device) in devices.iter().enumerate() {
            if devices[..at].contains(device) {
                return Err(Error::invalid(
                    format!("{} is there twice among the devices of a context", shown(device)),
                    "name each device once",
                ));
            }
        }
        if others.is_empty() {
            return Self::create(first);
        }
        let one = first.adapter().as_joinable().ok_or_else(|| apart(first, &others[0]))?;
        let joins = |other: &Device| {
            let joinable = other.adapter().as_joinable().filter(|_| of_one_platform(first, other));
            joinable.is_some_and(|joinable| one.can_join(joinable))
        };
        if let Some(stranger) = others.iter().find(|other| !joins(other)) {
            return Err(apart(first, stranger));
        }
        let others: Vec<&dyn adapter::Joinable> =
            others.iter().filter_map(|other| other.adapter().as_joinable()).collect();
        let opened = one.create_contexts(&others).map_err(|error| {
            let names: Vec<String> = devices.iter().map(shown).collect();
            Error::driver(format!("opening {} together", names.join(" and ")), error)
        })?;
        Ok(Self::over(opened, false, |_| devices.into()))
    }

    /// The same context, for queues on this one of its devices.
    ///
    /// ```
    /// use crosscut::Context;
    /// use crosscut::prelude::*;
    ///
    /// let device = crosscut::default_device()?;
    /// let context = Context::new(&[device])?;
    /// for device in context.devices() {
    ///     let there = context.on(device)?;
    ///     assert_eq!((there.device(), &there), (device, &context));
    ///     Queue::in_context(&there)?.single_task((), |()| ())?.wait()?;
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is none of them.
    pub fn on(&self, device: &Device) -> Result<Self, Error> {
        match self.devices().iter().position(|member| member == device) {
            Some(index) => Ok(self.at(index)),
            None => {
                let names: Vec<String> = self.devices().iter().map(shown).collect();
                Err(Error::invalid(
                    format!(
                        "{} is not in the context, which has {}",
                        shown(device),
                        names.join(" and ")
                    ),
                    "name it among the devices when the context is made, or use one of those",
                ))
            }
        }
    }
}

fn shown(device: &Device) -> String {
    format!("`{} {}`", device.selector(), device.name())
}

fn apart(one: &Device, other: &Device) -> Error {
    let platform = |device: &Device| match &*device.info().platform {
        "" => device.backend().to_string(),
        name => name.to_owned(),
    };
    let why = match of_one_platform(one, other) {
        true => "their driver does not open them together".to_owned(),
        false => format!("they are of `{}` and of `{}`", platform(one), platform(other)),
    };
    Error::invalid(
        format!("{} and {} cannot share a context: {why}", shown(one), shown(other)),
        "make a context for each, and bring data over with `queue.copy`",
    )
}
