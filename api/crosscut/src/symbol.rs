//! Symbols: what queues do with them.

use crosscut_device::{DeviceCopy, DeviceData, Space, Symbol};

use crate::kernel::{Bindings, KernelArg, Lent};
use crate::{Event, HostElement, Launch, Queue, Result};

impl Queue {
    /// Copies the host's value of a symbol to this queue's device, after the kernels that use it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static GV: Symbol<i32> = Symbol::new(42);
    ///
    /// let queue = Queue::new()?;
    /// GV.set_host(7);
    /// assert_eq!(queue.copy_from_symbol(&GV)?, 42); // not told yet
    /// queue.update_device(&GV)?;
    /// assert_eq!(queue.copy_from_symbol(&GV)?, 7);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn update_device<T: DeviceData, S: Space>(
        &self,
        symbol: &'static Symbol<T, S>,
    ) -> Result<Event> {
        self.launch().update_device(symbol)
    }

    /// Copies this device's value of a symbol to the host's, after the kernels that write it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static GV: Symbol<[i32; 2]> = Symbol::new([1, 2]);
    ///
    /// let queue = Queue::new()?;
    /// queue.copy_to_symbol(&GV, &[3, 4])?;
    /// assert_eq!((GV.host(), queue.copy_from_symbol(&GV)?), ([1, 2], [3, 4]));
    /// queue.fill_symbol(&GV, &5)?;
    /// queue.update_host(&GV)?;
    /// assert_eq!(GV.host(), [5, 5]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A kernel panicked, or the driver refuses.
    pub fn update_host<T: DeviceData, S: Space>(
        &self,
        symbol: &'static Symbol<T, S>,
    ) -> Result<()> {
        self.launch().update_host(symbol)
    }

    /// Sets this device's value of a symbol; the host's stays as it is.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn copy_to_symbol<T: DeviceData, S: Space>(
        &self,
        symbol: &'static Symbol<T, S>,
        value: &T::Host,
    ) -> Result<Event> {
        self.launch().copy_to_symbol(symbol, value)
    }

    /// This device's value of a symbol; the host's stays as it is.
    ///
    /// # Errors
    /// A kernel panicked, or the driver refuses.
    pub fn copy_from_symbol<T: DeviceData, S: Space>(
        &self,
        symbol: &'static Symbol<T, S>,
    ) -> Result<T::Host> {
        self.launch().copy_from_symbol(symbol)
    }

    /// Sets every element of this device's value of a symbol.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn fill_symbol<T: DeviceData, S: Space>(
        &self,
        symbol: &'static Symbol<T, S>,
        value: &HostElement<T>,
    ) -> Result<Event> {
        self.launch().fill_symbol(symbol, value)
    }
}

/// Copies of symbols, with options.
///
/// ```
/// use crosscut::prelude::*;
/// static GV: Symbol<[i32; 2]> = Symbol::new([1, 2]);
///
/// let queue = Queue::builder().out_of_order().build()?;
/// let event = queue.single_task((), |()| ())?;
/// let launch = || queue.launch().after(&event);
/// launch().copy_to_symbol(&GV, &[3, 4])?;
/// launch().update_host(&GV)?;
/// assert_eq!(GV.host(), [3, 4]);
/// launch().fill_symbol(&GV, &0)?;
/// assert_eq!(launch().copy_from_symbol(&GV)?, [0, 0]);
/// launch().update_device(&GV)?;
/// assert_eq!(launch().copy_from_symbol(&GV)?, [3, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
impl Launch<'_> {
    /// [`Queue::update_device`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn update_device<T: DeviceData, S: Space>(
        self,
        symbol: &'static Symbol<T, S>,
    ) -> Result<Event> {
        let value = symbol.host();
        self.write(symbol.any_global(), &value)
    }

    /// [`Queue::update_host`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn update_host<T: DeviceData, S: Space>(self, symbol: &'static Symbol<T, S>) -> Result<()> {
        let value = self.read(symbol.any_global())?;
        symbol.set_host(value);
        Ok(())
    }

    /// [`Queue::copy_to_symbol`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_to_symbol<T: DeviceData, S: Space>(
        self,
        symbol: &'static Symbol<T, S>,
        value: &T::Host,
    ) -> Result<Event> {
        self.write(symbol.any_global(), value)
    }

    /// [`Queue::copy_from_symbol`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_from_symbol<T: DeviceData, S: Space>(
        self,
        symbol: &'static Symbol<T, S>,
    ) -> Result<T::Host> {
        self.read(symbol.any_global())
    }

    /// [`Queue::fill_symbol`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn fill_symbol<T: DeviceData, S: Space>(
        self,
        symbol: &'static Symbol<T, S>,
        value: &HostElement<T>,
    ) -> Result<Event> {
        self.fill_global(symbol.any_global(), .., value)
    }
}

impl<K, T: DeviceCopy, S: Space> KernelArg<K> for &'static Symbol<T, S> {
    type Shape = Lent<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        KernelArg::<K>::bind(self.any_global(), bindings)
    }
}
