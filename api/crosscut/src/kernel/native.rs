//! Panics of native kernels become results.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crosscut_device::place;
use crosscut_runtime::NativePanic;

/// What the panic hook saw last on this thread, inside a kernel.
struct Report {
    message: String,
    file: String,
    line: u32,
    column: u32,
}

thread_local! {
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Makes panics inside kernels silent: they are told as errors. Others go where they went before.
pub(crate) fn install_panic_hook() {
    static INSTALLED: Once = Once::new();
    // Where a panic ends the process nobody is left to be told: it is printed as usual. And the
    // hook of a thread that is panicking cannot be changed.
    if cfg!(panic = "abort") || std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            if place::inside_kernel() {
                report(info);
            } else {
                previous(info);
            }
        }));
    });
}

fn report(info: &PanicHookInfo<'_>) {
    let (file, line, column) = info.location().map_or_else(Default::default, |place| {
        (place.file().to_owned(), place.line(), place.column())
    });
    let report = Report { message: message(info.payload()), file, line, column };
    // Where the thread is at its end and the place is gone, `told` knows the message from the
    // payload. A second panic in here would end the process.
    let _ = REPORT.try_with(|place| {
        if let Ok(mut place) = place.try_borrow_mut() {
            *place = Some(report);
        }
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic with a value that is no text".to_owned(),
    }
}

/// Runs a loop over items from `first`, which keeps the index of the item that unwound in its
/// argument, and turns the unwinding into a result.
#[inline(always)]
pub(super) fn catch(
    first: usize,
    run: impl FnOnce(&mut usize) -> Result<(), NativePanic>,
) -> Result<(), NativePanic> {
    let mut at = first;
    match catch_unwind(AssertUnwindSafe(|| run(&mut at))) {
        Ok(outcome) => outcome,
        Err(payload) => Err(told(at, payload)),
    }
}

#[cold]
fn told(at: usize, payload: Box<dyn Any + Send>) -> NativePanic {
    let report = REPORT.try_with(|place| place.try_borrow_mut().ok()?.take()).ok().flatten();
    let message = message(&*payload);
    // The report is of another panic where a kernel caught one itself and this one came without
    // the hook, by `resume_unwind`.
    let report = report.filter(|report| report.message == message).unwrap_or_else(|| Report {
        // Without the hook, or with another in its place, the place is not known.
        message,
        file: String::new(),
        line: 0,
        column: 0,
    });
    // Dropping a payload can itself panic, with a payload of which the same is true: one panic too
    // many to tell, and none may unwind from here, because others still work on this launch.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        core::mem::forget(second);
    }
    let Report { message, file, line, column } = report;
    NativePanic { item: at as u64, message, file, line, column }
}
