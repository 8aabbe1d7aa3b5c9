//! Kernel bundles: kernels of this program, built ahead with values of specialization constants.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use crate::context::Context;
use crate::global::Globals;
use crate::home::Home;
use crate::host_task;
use crate::program::{Loaded, targets};
use crate::registry::{self, Found};
use crate::specialization::Specialization;
use crate::worker;
use crate::{Error, ErrorKind, sub_group_size};

/// Kernels of this program, ready to be launched in one context, on all of its devices. Copies are the
/// same bundle.
#[derive(Clone)]
pub struct Bundle(Arc<Inner>);

struct Inner {
    values: Specialization,
    kernels: Vec<BundledKernel>,
    /// For each device of the context.
    members: Vec<Member>,
    /// The keys of kernels that were left out.
    refused: HashSet<u64>,
    // Last: memory is given back while the context is still there.
    context: Context,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.context.is_native() {
            self.members.iter().for_each(|member| member.symbols.retire());
        } else if host_task::inside_any() {
            // Memory waits for the commands that use it, which may be behind that task.
            let (members, context) = (std::mem::take(&mut self.members), self.context.clone());
            let _ = worker::run(Box::new(move || {
                drop(members);
                drop(context);
            }));
        }
    }
}

/// What a bundle has for one device of its context.
#[derive(Default)]
struct Member {
    /// By key. On the host CPU, where kernels are native code, there is nothing to load.
    loaded: HashMap<u64, Option<Arc<Loaded>>>,
    /// The values that its kernels have of symbols.
    symbols: Globals,
}

/// What a bundle tells about one of its kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundledKernel {
    /// Its name for people: `saxpy::main::{closure#0}`.
    pub name: String,
    /// The dimensions of its index space; 0 for a single task.
    pub dimensions: u8,
    /// The names of the device globals that it reaches, in order.
    pub globals: Vec<String>,
    /// The names of the specialization constants that it reads, in order.
    pub spec_constants: Vec<String>,
}

impl BundledKernel {
    fn of(found: &Found) -> Self {
        let (image, kernel) = (&found.image, &found.image.kernels[found.kernel]);
        let in_order = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        Self {
            name: kernel.display_name.clone(),
            dimensions: kernel.dimensions,
            globals: in_order(image.globals.iter().map(|global| &*global.display_name).collect()),
            spec_constants: in_order(
                image.spec_constants.iter().map(|constant| &*constant.display_name).collect(),
            ),
        }
    }
}

impl Bundle {
    /// Builds every kernel of the program whose name `accept` likes, for every device of the context.
    ///
    /// # Errors
    /// It likes none although there are some, a device cannot run one of them, or the driver refuses.
    pub fn build(
        context: &Context,
        values: Specialization,
        accept: &dyn Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let generation = registry::generation();
        let mut refused = HashSet::new();
        let mut known = HashSet::new();
        let (mut kernels, mut members) = (Vec::new(), Vec::new());
        for context in context.on_each() {
            let (accepted, left) = choose(&context, accept)?;
            refused.extend(left);
            for found in &accepted {
                if known.insert(found.key()) {
                    kernels.push(BundledKernel::of(found));
                }
            }
            members.push(Member::load(&context, &accepted, &values, generation)?);
        }
        kernels.sort_by(|one, other| one.name.cmp(&other.name));
        let context = context.clone();
        Ok(Self(Arc::new(Inner { values, kernels, members, refused, context })))
    }

    /// Its kernels by name, in order.
    ///
    /// On the host CPU they are those of the device images that the program brought, if any.
    #[must_use]
    pub fn kernels(&self) -> &[BundledKernel] {
        &self.0.kernels
    }

    /// The context its kernels were built in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The values its kernels were built with.
    pub(crate) fn values(&self) -> &Specialization {
        &self.0.values
    }

    /// The values that its kernels have of symbols on the device of this context, its own.
    pub(crate) fn symbols(&self, context: &Context) -> &Globals {
        &self.0.members[context.index()].symbols
    }

    /// The kernel of this key, `None` where it is native code; `name` is for messages.
    pub(crate) fn get(
        &self,
        context: &Context,
        key: u64,
        name: fn() -> &'static str,
    ) -> Result<Option<&Arc<Loaded>>, Error> {
        context.owns(&self.0.context, "the bundle")?;
        match self.0.members[context.index()].loaded.get(&key) {
            Some(kernel) => Ok(kernel.as_ref()),
            // Native code that no image has a name of: nobody could have left it out.
            None if context.is_native() && !self.0.refused.contains(&key) => Ok(None),
            None => Err(Error::invalid(
                format!("kernel `{}` is not in the bundle", name()),
                "build the bundle with a filter that accepts it, or launch without `use_bundle`",
            )),
        }
    }
}

/// The kernels that `accept` likes, of those that the context's device could run, and the keys of the
/// others.
fn choose(
    context: &Context,
    accept: &dyn Fn(&str) -> bool,
) -> Result<(Vec<Found>, Vec<u64>), Error> {
    let all = match context.is_native() {
        // Names are all that is wanted: what no device could load is no reason to fail here.
        true => registry::kernels(None).unwrap_or_default(),
        false => registry::kernels(Some(&targets(context)))?,
    };
    if all.is_empty() && !context.is_native() {
        return Err(Error::new(
            ErrorKind::KernelNotSupported,
            "this program has no kernels with device images",
        )
        .with_help("build with `cargo crosscut build`; plain cargo builds run on `host`"));
    }
    let (accepted, others): (Vec<&Found>, Vec<&Found>) =
        all.iter().partition(|found| accept(found.display_name()));
    if accepted.is_empty() && !all.is_empty() {
        let names: Vec<&str> = all.iter().take(8).map(Found::display_name).collect();
        return Err(Error::invalid(
            format!("a bundle without kernels: none of this program's {} is accepted", all.len()),
            format!("they are called `{}`", names.join("`, `")),
        ));
    }
    Ok((accepted.into_iter().cloned().collect(), others.into_iter().map(Found::key).collect()))
}

impl Member {
    /// Builds these kernels for the context's device.
    fn load(
        context: &Context,
        accepted: &[Found],
        values: &Specialization,
        generation: u64,
    ) -> Result<Self, Error> {
        let mut made = Self::default();
        if let (Some(size), Some(found)) = (values.sub_group_size(), accepted.first()) {
            let kernel = &found.image.kernels[found.kernel];
            sub_group_size::check(context.device(), size, &kernel.display_name)?;
        }
        if context.is_native() {
            made.loaded.extend(accepted.iter().map(|found| (found.key(), None)));
            return Ok(made);
        }
        let place = context.inner();
        for found in accepted {
            let home = Home::with(context, &made.symbols);
            let kernel = place.kernels.get_found(home, found, values, generation)?;
            made.loaded.insert(found.key(), Some(kernel));
        }
        Ok(made)
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.0.kernels.iter().map(|kernel| &kernel.name).collect();
        f.debug_struct("Bundle").field("kernels", &names).finish_non_exhaustive()
    }
}
