//! Programs from SPIR-V, with kernels launched by name.

use std::collections::BTreeMap;
use std::fmt;

mod memory;
mod parameter;

use crosscut_device::{DeviceCopy, DeviceData};
use crosscut_runtime::{
    Extent, SpirvArgument, SpirvConstant, SpirvKernel, SpirvProgram, ValueKind,
};

use crate::kernel::Range;
pub use parameter::ProgramParameter;

use crate::{Context, Error, Event, Launch, Local, Result};

/// A program from SPIR-V that some other compiler made, built for one context.
///
/// The module is checked before any driver sees it, and every launch is checked against what the
/// kernel takes: the number of arguments, buffer or value, their sizes.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::{CodeForm, Program};
///
/// // From `y[i] += FACTOR * x[i]`, where FACTOR is specialization constant 0 and starts as 2.
/// let module = std::fs::read("src/program/multiply_add.spv").expect("the file is there");
/// for device in crosscut::devices()? {
///     if !device.info().code_forms.contains(&CodeForm::Spirv64) {
///         continue;
///     }
///     let queue = Queue::on(&device)?;
///     let program = Program::from_spirv(queue.context(), &module)?;
///     assert!(program.kernels().eq(["multiply_add"]) && program.context() == queue.context());
///     let kernel = program.kernel("multiply_add")?;
///     let x = queue.upload(&[1u32, 2])?;
///     let mut y = queue.upload(&[30u32, 40])?;
///     // SAFETY: it reads x[i] and writes y[i] for each of the two items.
///     unsafe { queue.launch().run(&kernel, 2, (&x, &mut y)) }?;
///     assert_eq!(queue.download(&y)?, [32, 44]);
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// The host CPU runs native code and takes no SPIR-V.
#[derive(Clone)]
pub struct Program(SpirvProgram);

impl Program {
    /// Builds a module; its specialization constants have their defaults.
    ///
    /// # Errors
    /// The bytes are no well-formed module for OpenCL, it has no kernel or needs what the device lacks,
    /// the device takes no SPIR-V, or the driver refuses it.
    pub fn from_spirv(context: &Context, module: &[u8]) -> Result<Self> {
        Self::spirv(context, module).build()
    }

    /// A module to be built, with values for its specialization constants.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::{CodeForm, Program};
    ///
    /// let module = std::fs::read("src/program/multiply_add.spv").expect("the file is there");
    /// for device in crosscut::devices()? {
    ///     if device.info().code_forms.contains(&CodeForm::Spirv64) {
    ///         let queue = Queue::on(&device)?;
    ///         let program = Program::spirv(queue.context(), &module).with(0, 10u32).build()?;
    ///         let x = queue.upload(&[1u32, 2])?;
    ///         let mut y = queue.upload(&[3u32, 4])?;
    ///         // SAFETY: it reads x[i] and writes y[i] for each of the two items.
    ///         unsafe { queue.launch().run(&program.kernel("multiply_add")?, 2, (&x, &mut y)) }?;
    ///         assert_eq!(queue.download(&y)?, [13, 24]);
    ///     }
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn spirv<'a>(context: &'a Context, module: &'a [u8]) -> ProgramBuilder<'a> {
        ProgramBuilder { context, module, values: BTreeMap::new() }
    }

    /// The names of its kernels, in the module's order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.0.kernels()
    }

    /// A kernel by its name.
    ///
    /// # Errors
    /// There is none of that name; the message has the others.
    pub fn kernel(&self, name: &str) -> Result<ProgramKernel> {
        self.0.kernel(name).map(ProgramKernel)
    }

    /// The context it was built in.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.context()
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.kernels().collect();
        f.debug_struct("Program").field("kernels", &names).finish_non_exhaustive()
    }
}

/// A program about to be built: see [`Program::spirv`].
///
/// ```
/// use crosscut::{CodeForm, Program};
///
/// let module = std::fs::read("src/program/multiply_add.spv").expect("the file is there");
/// for device in crosscut::devices()? {
///     if device.info().code_forms.contains(&CodeForm::Spirv64) {
///         let context = &device.default_context()?;
///         Program::spirv(context, &module).with(0, 3u32).build()?;
///         let error = Program::spirv(context, &module).with(9, 3u32).build().expect_err("no such one");
///         assert!(error.message().contains("no specialization constant 9"));
///     }
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
#[must_use = "nothing is built before `build`"]
#[derive(Debug)]
pub struct ProgramBuilder<'a> {
    context: &'a Context,
    module: &'a [u8],
    values: BTreeMap<u32, SpirvConstant>,
}

impl ProgramBuilder<'_> {
    /// Gives the specialization constant with this number (its `SpecId`) a value.
    pub fn with(mut self, number: u32, value: impl SpecNumber) -> Self {
        let (bits, size) = value.bits();
        self.values.insert(number, SpirvConstant { bits, size });
        self
    }

    /// Builds it.
    ///
    /// # Errors
    /// As [`Program::from_spirv`]; the module has no constant of that number, or of another type.
    pub fn build(self) -> Result<Program> {
        SpirvProgram::build(self.context, self.module, &self.values).map(Program)
    }
}

/// A kernel of a [`Program`].
///
/// ```
/// use crosscut::{CodeForm, Program};
///
/// let module = std::fs::read("src/program/multiply_add.spv").expect("the file is there");
/// for device in crosscut::devices()? {
///     if device.info().code_forms.contains(&CodeForm::Spirv64) {
///         let program = Program::from_spirv(&device.default_context()?, &module)?;
///         let kernel = program.kernel("multiply_add")?;
///         assert_eq!((kernel.name(), kernel.arguments()), ("multiply_add", 2));
///     }
/// }
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone)]
pub struct ProgramKernel(SpirvKernel);

impl ProgramKernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// How many arguments it takes.
    #[must_use]
    pub fn arguments(&self) -> usize {
        self.0.arguments()
    }

    /// What it takes, in order, as far as the module tells.
    ///
    /// ```no_run
    /// use crosscut::{Program, Queue};
    ///
    /// let queue = Queue::new()?;
    /// let module = std::fs::read("saxpy.spv").expect("the file is there");
    /// let program = Program::from_spirv(queue.context(), &module)?;
    /// for name in program.kernels() {
    ///     let kernel = program.kernel(name)?;
    ///     let takes: Vec<String> = kernel.parameters().map(|it| it.to_string()).collect();
    ///     println!("{name}({})", takes.join(", "));
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = ProgramParameter> {
        self.0.parameters().iter().map(ProgramParameter::of)
    }
}

impl fmt::Debug for ProgramKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramKernel").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Launch<'_> {
    /// Runs a kernel of a [`Program`] once for every index of `range`. In the kernel the last
    /// dimension of `range` is dimension 0: the fastest.
    ///
    /// Arguments are those of [`ProgramArg`], in a tuple if there are several.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::{CodeForm, Program};
    ///
    /// let module = std::fs::read("src/program/multiply_add.spv").expect("the file is there");
    /// for device in crosscut::devices()? {
    ///     if device.info().code_forms.contains(&CodeForm::Spirv64) {
    ///         let queue = Queue::on(&device)?;
    ///         let kernel = Program::from_spirv(queue.context(), &module)?.kernel("multiply_add")?;
    ///         let (x, mut y) = (queue.upload(&[5u32])?, queue.zeroed::<u32>(1)?);
    ///         // SAFETY: it reads x[0] and writes y[0].
    ///         unsafe { queue.launch().run(&kernel, 1, (&x, &mut y)) }?;
    ///         // SAFETY: nothing runs.
    ///         let error = unsafe { queue.launch().run(&kernel, 1, &x) }.expect_err("it takes two");
    ///         assert_eq!(queue.download(&y)?, [10]);
    ///     }
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The arguments are not those that the kernel takes, something is of another context, the range is
    /// too large, or the driver refuses.
    ///
    /// # Safety
    /// With these arguments and this range the kernel reads and writes inside its buffers only, and writes
    /// none that is passed by shared reference. Nobody but its author can know.
    pub unsafe fn run<R: Range>(
        self,
        kernel: &ProgramKernel,
        range: R,
        arguments: impl ProgramArgs,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        if self.has_sub_group_size() {
            return Err(Error::invalid(
                "a kernel of a SPIR-V program is launched with a size of sub-groups",
                "compile the module for that size: `OpExecutionMode` with `SubgroupSize`",
            ));
        }
        if !self.is_plain() {
            return Err(Error::invalid(
                "a kernel of a SPIR-V program is launched with a bundle or a `SpecConstant`",
                "give the values to the program: `Program::spirv(context, module).with(number, value)`",
            ));
        }
        let mut list = Vec::new();
        arguments.bind(&mut list);
        let (dimensions, size) = (R::DIMENSIONS.max(1), range.size());
        let extent = Extent { dimensions, size, group: range.group() };
        // SAFETY: the caller's promise; what is bound for writing is borrowed mutably.
        unsafe { self.queue().runtime().launch_spirv(&kernel.0, extent, &list, self.events()) }
    }
}

/// What may be passed to a kernel of a [`Program`]: `&Buffer<T>` and `&mut Buffer<T>` of any shape, parts of
/// them and [`Usm`](crate::Usm) for addresses of global memory, [`Local`] for those of work-group memory, numbers, and [`ByValue`] for vectors and
/// structs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a SPIR-V kernel",
    label = "not an argument",
    note = "pass `&buffer`, `&mut buffer`, `buffer.slice(a..b)?`, `Local::new(n)`, a number, `ByValue(value)`, or a tuple of up to twelve of them"
)]
pub trait ProgramArg {
    /// Adds what the runtime must know.
    #[doc(hidden)]
    fn argument<'a>(self) -> SpirvArgument<'a>
    where
        Self: 'a;
}

impl<T: DeviceData> ProgramArg for Local<T> {
    fn argument<'a>(self) -> SpirvArgument<'a>
    where
        Self: 'a,
    {
        let (element, align) = (size_of::<T>(), align_of::<T>());
        SpirvArgument::Local { size: self.length().saturating_mul(element), element, align }
    }
}

/// A vector, array or struct for a kernel of a [`Program`]: `ByValue([1.0f32, 2.0])` is a `float2`.
#[derive(Clone, Copy, Debug)]
pub struct ByValue<T: DeviceCopy>(pub T);

impl<T: DeviceCopy> ProgramArg for ByValue<T> {
    fn argument<'a>(self) -> SpirvArgument<'a>
    where
        Self: 'a,
    {
        let start = std::ptr::from_ref(&self.0).cast::<u8>();
        // SAFETY: plain data has no padding: all its bytes are there to be read.
        let bytes = unsafe { std::slice::from_raw_parts(start, size_of::<T>()) };
        SpirvArgument::Value { bytes: bytes.into(), kind: ValueKind::Composite }
    }
}

/// A number for a specialization constant of a module.
pub trait SpecNumber: Sealed {}

/// The part of [`SpecNumber`] that is nobody's business.
#[doc(hidden)]
pub trait Sealed {
    /// Its bits and its bytes.
    fn bits(self) -> (u64, u8);
}

impl SpecNumber for bool {}

impl Sealed for bool {
    fn bits(self) -> (u64, u8) {
        (u64::from(self), 0)
    }
}

macro_rules! numbers {
    ($kind:ident: $($number:ty as $bits:ty),*) => {$(
        impl ProgramArg for $number {
            fn argument<'a>(self) -> SpirvArgument<'a>
            where
                Self: 'a,
            {
                let bytes = self.to_ne_bytes().into();
                SpirvArgument::Value { bytes, kind: ValueKind::$kind }
            }
        }

        impl SpecNumber for $number {}

        impl Sealed for $number {
            fn bits(self) -> (u64, u8) {
                (u64::from(<$bits>::from_ne_bytes(self.to_ne_bytes())), size_of::<$number>() as u8)
            }
        }
    )*};
}

numbers! { Integer: u8 as u8, i8 as u8, u16 as u16, i16 as u16, u32 as u32, i32 as u32, u64 as u64, i64 as u64 }
numbers! { Float: f32 as u32, f64 as u64 }
#[cfg(feature = "half")]
numbers! { Float: half::f16 as u16 }

/// The arguments of one launch: one [`ProgramArg`], a tuple of them, or `()`.
pub trait ProgramArgs {
    /// Adds them in order.
    #[doc(hidden)]
    fn bind<'a>(self, list: &mut Vec<SpirvArgument<'a>>)
    where
        Self: 'a;
}

impl<A: ProgramArg> ProgramArgs for A {
    fn bind<'a>(self, list: &mut Vec<SpirvArgument<'a>>)
    where
        Self: 'a,
    {
        list.push(self.argument());
    }
}

macro_rules! sizes {
    ($($number:ty)*) => {$(
        impl ProgramArg for $number {
            fn argument<'a>(self) -> SpirvArgument<'a>
            where
                Self: 'a,
            {
                let bytes = self.to_ne_bytes().into();
                SpirvArgument::Value { bytes, kind: ValueKind::Integer }
            }
        }
    )*};
}

sizes! { usize isize }

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: ProgramArg),*> ProgramArgs for ($($name,)*) {
            #[allow(non_snake_case, unused_variables, reason = "types and values share their names")]
            fn bind<'a>(self, list: &mut Vec<SpirvArgument<'a>>)
            where
                Self: 'a,
            {
                let ($($name,)*) = self;
                $(list.push($name.argument());)*
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
