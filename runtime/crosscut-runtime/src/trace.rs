//! `CROSSCUT_TRACE=out.json`: a timeline of everything that queues do, for Perfetto and its like.
//!
//! Tracing stands between the runtime and the adapters: a context that is made while it is on is
//! [wrapped](wrap), and so are its queues and their events. A run without it has no wrapper and pays
//! for one load of an atomic where a kernel is given its name. What each file holds:
//!
//! - `writer`: the file, in the trace event format;
//! - `context`: builds;
//! - `queue`: submitting and waiting, on the tracks of the host's threads;
//! - `execution`: when commands ran, on the tracks of queues and devices.
//!
//! A wrapper forwards every method of the traits in `crosscut-adapter-api`; the conformance suite runs
//! through it, so that a program behaves the same with and without.

mod context;
mod execution;
mod queue;
mod writer;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::{self as adapter, Feature};

use crate::device::Device;
use writer::Writer;

/// The variable with the file's name; `%p` in it stands for the number of the process.
const VARIABLE: &str = "CROSSCUT_TRACE";

/// Known to be off. Anything else is found out by looking.
static OFF: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What the thread is about to build or launch.
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[inline]
fn writer() -> Option<&'static Writer> {
    if OFF.load(Ordering::Relaxed) { None } else { look_for_writer() }
}

#[cold]
fn look_for_writer() -> Option<&'static Writer> {
    static WRITER: OnceLock<Option<Writer>> = OnceLock::new();
    let writer = WRITER.get_or_init(|| Writer::create(&std::env::var_os(VARIABLE)?)).as_ref();
    if writer.is_none() {
        OFF.store(true, Ordering::Relaxed);
    }
    writer
}

/// The context itself, or if there is to be a trace, one that also writes it.
pub(crate) fn wrap(
    context: Arc<dyn adapter::Context>,
    device: &Device,
) -> Arc<dyn adapter::Context> {
    let Some(writer) = writer() else { return context };
    let process = writer.device(&format!("{} {}", device.selector(), device.name()));
    let measures = device.has(Feature::QueueProfiling);
    Arc::new(context::Traced { inner: context, writer, process, measures })
}

/// A context that writes what it does to `file`, whatever the environment says: for the test that holds
/// the wrapper to what every adapter promises. `None` if there can be no such file.
#[doc(hidden)]
#[must_use]
pub fn traced_to(
    file: &std::path::Path,
    inner: Arc<dyn adapter::Context>,
    info: &adapter::DeviceInfo,
) -> Option<Arc<dyn adapter::Context>> {
    // Wrappers hold their writer for as long as the process lives.
    let writer: &'static Writer = Box::leak(Box::new(Writer::create(file.as_os_str())?));
    let (process, measures) =
        (writer.device(&info.name), info.features.has(Feature::QueueProfiling));
    Some(Arc::new(context::Traced { inner, writer, process, measures }))
}

/// Gives what this thread builds or launches a name for people, until dropped.
#[inline]
#[must_use]
pub(crate) fn name(name: impl FnOnce() -> String) -> Option<Named> {
    writer()?;
    // A thread that is ending has no place for it.
    NAME.try_with(|place| place.replace(Some(name()))).ok()?;
    Some(Named(()))
}

/// See [`name`].
pub(crate) struct Named(());

impl Drop for Named {
    fn drop(&mut self) {
        // A thread that is ending has no name to take back.
        let _ = NAME.try_with(|name| name.take());
    }
}

fn current_name() -> Option<String> {
    NAME.try_with(|name| name.borrow().clone()).ok().flatten()
}

/// Notes what this thread does until dropped; for what no adapter hears of.
#[must_use]
pub(crate) fn span(category: &'static str, name: impl FnOnce() -> String) -> Option<Span> {
    let writer = writer()?;
    Some(Span { writer, category, name: name(), begin: writer.now() })
}

/// See [`span`].
pub(crate) struct Span {
    writer: &'static Writer,
    category: &'static str,
    name: String,
    begin: writer::Time,
}

impl Drop for Span {
    fn drop(&mut self) {
        let Self { writer, category, name, begin } = self;
        writer.on_this_thread(category, name, *begin, writer.now(), "");
    }
}
