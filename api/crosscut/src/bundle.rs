//! Kernel bundles: kernels built ahead of their launches.

use std::fmt;

use crosscut_device::{SpecConstant, SpecValue};
use crosscut_runtime::{BundledKernel, Specialization};

use crate::{Context, Result, specialize};

/// Kernels of this program, built for one context before anything is launched.
///
/// A launch builds its kernel at the first call, which takes a while on most devices. A bundle builds
/// kernels when it suits the program, all of them or those whose names a filter accepts, with values
/// for specialization constants if it is given some. Several bundles of the same kernels with different
/// values live side by side; all see the same device globals, and each has its own values of symbols.
///
/// Closures have no names of their own; theirs are those of the functions they are in:
/// `matmul::multiply::{closure#0}`.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::Bundle;
///
/// static FACTOR: SpecConstant<u32> = SpecConstant::new(1);
///
/// fn multiply(queue: &Queue, x: &mut Buffer<u32>, bundle: &Bundle) -> crosscut::Result<Event> {
///     queue.launch().use_bundle(bundle).for_each(x, (), |_, x, ()| *x *= FACTOR.get())
/// }
///
/// let queue = Queue::new()?;
/// let twice = Bundle::of(queue.context()).with(&FACTOR, 2).build()?;
/// let thrice = Bundle::of(queue.context()).with(&FACTOR, 3).build()?;
/// let mut x = queue.upload(&[1u32, 2, 3])?;
/// multiply(&queue, &mut x, &twice)?;
/// multiply(&queue, &mut x, &thrice)?;
/// assert_eq!(queue.download(&x)?, [6, 12, 18]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone)]
pub struct Bundle(crosscut_runtime::Bundle);

impl Bundle {
    /// A bundle to be built in this context.
    pub fn of(context: &Context) -> BundleBuilder<'_> {
        BundleBuilder { context, values: Specialization::new(), accept: Box::new(|_| true) }
    }

    /// Its kernels, in the order of their names: what each is called, how many dimensions it has,
    /// which device globals it reaches and which specialization constants it reads.
    ///
    /// On the host CPU kernels are part of the program, and what is known of them comes from its
    /// device images: a plain `cargo build` makes none, and the list is empty.
    ///
    /// ```
    /// use crosscut::{Bundle, Queue};
    ///
    /// let queue = Queue::new()?;
    /// for kernel in Bundle::of(queue.context()).build()?.kernels() {
    ///     println!("{}: {:?}", kernel.name, kernel.globals);
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn kernels(&self) -> &[BundledKernel] {
        self.0.kernels()
    }

    /// Whether a kernel of this name is inside.
    ///
    /// ```
    /// use crosscut::{Bundle, Queue};
    ///
    /// let queue = Queue::new()?;
    /// let bundle = Bundle::of(queue.context()).build()?;
    /// assert!(bundle.kernels().iter().all(|kernel| bundle.contains(&kernel.name)));
    /// println!("globals {:?}, constants {:?}", bundle.globals(), bundle.spec_constants());
    /// assert_eq!(bundle.context(), queue.context());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.kernels().iter().any(|kernel| kernel.name == name)
    }

    /// The names of all device globals that its kernels reach, in order, each once.
    #[must_use]
    pub fn globals(&self) -> Vec<&str> {
        each_once(self.kernels().iter().flat_map(|kernel| &kernel.globals))
    }

    /// The names of all specialization constants that its kernels read, in order, each once.
    #[must_use]
    pub fn spec_constants(&self) -> Vec<&str> {
        each_once(self.kernels().iter().flat_map(|kernel| &kernel.spec_constants))
    }

    /// The context its kernels were built in.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.context()
    }

    pub(crate) fn runtime(&self) -> &crosscut_runtime::Bundle {
        &self.0
    }
}

fn each_once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A bundle about to be built: see [`Bundle::of`].
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::Bundle;
///
/// static TILE: SpecConstant<u32> = SpecConstant::new(8);
///
/// let queue = Queue::new()?;
/// let bundle = Bundle::of(queue.context()).with(&TILE, 16).build()?;
/// let mut tile = queue.zeroed::<u32>(1)?;
/// queue.launch().use_bundle(&bundle).for_each(&mut tile, (), |_, tile, ()| *tile = TILE.get())?;
/// assert_eq!(queue.download(&tile)?, [16]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[must_use = "nothing is built before `build`"]
pub struct BundleBuilder<'a> {
    context: &'a Context,
    values: Specialization,
    accept: Box<Accept<'a>>,
}

/// Whether a kernel of this name belongs into a bundle.
type Accept<'a> = dyn Fn(&str) -> bool + 'a;

impl<'a> BundleBuilder<'a> {
    /// Gives a specialization constant its value in all kernels of the bundle.
    pub fn with<T: SpecValue>(mut self, constant: &'static SpecConstant<T>, value: T) -> Self {
        specialize::set(&mut self.values, constant, value);
        self
    }

    /// Asks for sub-groups of so many items in all kernels of the bundle, as
    /// [`Launch::sub_group_size`](crate::Launch::sub_group_size) does for one launch.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::Bundle;
    ///
    /// let queue = Queue::new()?;
    /// let mut sizes = queue.zeroed::<usize>(8)?;
    /// if let Some(&smallest) = queue.device().info().sub_group_sizes.first() {
    ///     let bundle = Bundle::of(queue.context()).sub_group_size(smallest).build()?;
    ///     queue.launch().use_bundle(&bundle).parallel_for(
    ///         NdRange::new(8, 8),
    ///         &mut sizes,
    ///         |item, size| *size = item.sub_group().max_size(),
    ///     )?;
    ///     assert!(queue.download(&sizes)?.iter().all(|size| *size == smallest));
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn sub_group_size(mut self, items: usize) -> Self {
        specialize::set_sub_group_size(&mut self.values, items);
        self
    }

    /// Takes only the kernels whose names are accepted.
    ///
    /// ```
    /// use crosscut::{Bundle, Queue};
    ///
    /// let queue = Queue::new()?;
    /// let builder = Bundle::of(queue.context()).kernels(|name| name.contains("multiply"));
    /// match builder.build() {
    ///     Ok(bundle) => println!("{} kernels", bundle.kernels().len()),
    ///     Err(error) => println!("{error}"), // none has such a name: the message lists some
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn kernels(mut self, accept: impl Fn(&str) -> bool + 'a) -> Self {
        self.accept = Box::new(accept);
        self
    }

    /// Builds the kernels, or loads what an earlier run built.
    ///
    /// # Errors
    /// No name is accepted although the program has kernels, the program was built without device
    /// images, the device lacks what a kernel needs, or the driver refuses one.
    pub fn build(self) -> Result<Bundle> {
        crosscut_runtime::Bundle::build(self.context, self.values, &*self.accept).map(Bundle)
    }
}

impl fmt::Debug for BundleBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleBuilder").field("values", &self.values).finish_non_exhaustive()
    }
}
