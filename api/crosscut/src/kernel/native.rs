//! Panics of native kernels become results.

use std::any::Any;
use std::cell::RefCell;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind, set_hook, take_hook};
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
    /// The newest, and the one before it: a kernel that unwinds may panic, and catch that.
    static REPORTS: RefCell<[Option<Report>; 2]> = const { RefCell::new([None, None]) };
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
            if !place::inside_kernel() {
                previous(info);
            } else if !ends_the_process(info) {
                report(info);
            } else {
                // Nobody will be told of them any more.
                print_reports();
                previous(info);
            }
        }));
    });
}

/// Whether a panic is the last one, as far as can be told. `core`'s own place says so where a panic leaves what must not
/// unwind, a destructor that runs while another one does for example; and these texts, of checks of `unsafe` code.
fn ends_the_process(info: &PanicHookInfo<'_>) -> bool {
    const TEXTS: [&str; 4] = [
        "unsafe precondition(s) violated",
        "misaligned pointer dereference",
        "null pointer dereference occurred",
        "trying to construct an enum from an invalid value",
    ];
    let is_cores = |place: &Location<'_>| place.file().ends_with("core/src/panicking.rs");
    let text = message(info.payload());
    info.location().is_some_and(is_cores) || TEXTS.iter().any(|start| text.starts_with(start))
}

#[cold]
fn print_reports() {
    let _ = REPORTS.try_with(|reports| {
        let Ok(reports) = reports.try_borrow() else { return };
        for Report { message, file, line, column } in reports.iter().rev().flatten() {
            let _ = writeln!(
                std::io::stderr(),
                "a kernel panicked at {file}:{line}:{column}: {message}"
            );
        }
    });
}

fn report(info: &PanicHookInfo<'_>) {
    let (file, line, column) = info.location().map_or_else(Default::default, |place| {
        (place.file().to_owned(), place.line(), place.column())
    });
    let report = Report { message: message(info.payload()), file, line, column };
    // Where the thread is at its end and the place is gone, `told` knows the message from the
    // payload. A second panic in here would end the process.
    let _ = REPORTS.try_with(|reports| {
        if let Ok(mut reports) = reports.try_borrow_mut() {
            reports.rotate_right(1);
            reports[0] = Some(report);
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
    let reports =
        REPORTS.try_with(|reports| Some(std::mem::take(&mut *reports.try_borrow_mut().ok()?)));
    let reports = reports.ok().flatten().unwrap_or_default();
    let message = message(&*payload);
    // They are of other panics where a kernel caught these itself and this one came without the
    // hook, by `resume_unwind`.
    let report = reports.into_iter().flatten().find(|report| report.message == message);
    let report = report.unwrap_or_else(|| Report {
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
