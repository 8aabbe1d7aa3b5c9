//! Runs generated kernels natively, on the host device and on every other, and says where they differ.

#[allow(
    warnings,
    arithmetic_overflow,
    overflowing_literals,
    unconditional_panic,
    reason = "what random code does, nobody would write"
)]
mod kernels;
#[allow(dead_code, unused_imports, reason = "no kernel calls everything")]
mod support;

use std::cell::RefCell;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicI16, AtomicI64, AtomicU8, AtomicU32};

use crosscut::prelude::*;
use support::{Cells, Out};

const ITEMS: usize = 64;
const CELLS: usize = 6;

/// A generated kernel.
pub struct Case {
    pub number: usize,
    pub start: fn() -> Box<dyn Native>,
    pub launch: fn(&Queue, &[u64], &[u8]) -> crosscut::Result<Answers>,
    pub group: Option<(Stage, LaunchGroups)>,
    pub ulps: [u32; 4],
}

/// A kernel by plain calls, with its device globals as plain values.
pub trait Native {
    /// The answer for one item.
    fn item(&self, i: usize, inputs: &[u64], cells: &Cells<'_>) -> Out;
    /// A word for each of the globals, once all items have run.
    fn left(&self) -> Vec<u64>;
}

/// One without device globals.
pub struct Plain(pub fn(usize, &[u64], &Cells<'_>) -> Out);

impl Native for Plain {
    fn item(&self, i: usize, inputs: &[u64], cells: &Cells<'_>) -> Out {
        (self.0)(i, inputs, cells)
    }

    fn left(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// What an item of a group gives next.
pub type Stage = fn(usize, &[u64], &Cells<'_>, &[u64], u64) -> u64;
/// Launches a stage in groups.
pub type LaunchGroups = fn(&Queue, &[u64]) -> crosscut::Result<(Vec<u64>, Vec<i64>)>;

/// Items of a group.
const GROUP: usize = 16;
/// How often the items of a group tell one another what they have.
const ROUNDS: usize = 3;

/// Launches a stage in groups, whose items exchange what they have through local memory, round by round.
pub fn launch_groups<F>(
    queue: &Queue,
    inputs: &[u64],
    stage: F,
) -> crosscut::Result<(Vec<u64>, Vec<i64>)>
where
    F: Fn(usize, &[u64], &Cells<'_>, &[u64], u64) -> u64 + Copy + Send + 'static,
{
    let inputs = queue.upload(inputs)?;
    let mut outs = queue.zeroed::<u64>(ITEMS)?;
    let (c8, c16) = (queue.zeroed::<AtomicU8>(CELLS)?, queue.zeroed::<AtomicI16>(CELLS)?);
    let (c32, c64) = (queue.zeroed::<AtomicU32>(CELLS)?, queue.zeroed::<AtomicI64>(CELLS)?);
    queue
        .parallel_for(
            NdRange::new(ITEMS, GROUP),
            (&inputs, &mut outs, &c8, &c16, &c32, &c64, Local::new(GROUP)),
            move |item, (inputs, out, c8, c16, c32, c64, mut tile)| {
                let i = item.global();
                let cells = Cells { c8, c16, c32, c64 };
                let mut value = inputs[i];
                for _ in 0..ROUNDS {
                    let shared = tile.share(&item, value);
                    value = stage(i, inputs, &cells, &shared, value);
                }
                *out = value;
            },
        )?
        .wait()?;
    let mut cells: Vec<i64> = queue.download(&c8)?.into_iter().map(i64::from).collect();
    cells.extend(queue.download(&c16)?.into_iter().map(i64::from));
    cells.extend(queue.download(&c32)?.into_iter().map(i64::from));
    cells.extend(queue.download(&c64)?);
    Ok((queue.download(&outs)?, cells))
}

/// The same by plain calls, group by group and round by round.
fn reference_groups(stage: Stage, inputs: &[u64]) -> (Vec<u64>, Vec<i64>) {
    let (c8, c16) = (<[AtomicU8; CELLS]>::default(), <[AtomicI16; CELLS]>::default());
    let (c32, c64) = (<[AtomicU32; CELLS]>::default(), <[AtomicI64; CELLS]>::default());
    let mut values = inputs.to_vec();
    for _ in 0..ROUNDS {
        let shared = values.clone();
        for (i, value) in values.iter_mut().enumerate() {
            let group = &shared[i / GROUP * GROUP..][..GROUP];
            let cells = Cells { c8: &c8, c16: &c16, c32: &c32, c64: &c64 };
            *value = stage(i, inputs, &cells, group, *value);
        }
    }
    let mut cells: Vec<i64> = c8.into_iter().map(|c| c.into_inner().into()).collect();
    cells.extend(c16.into_iter().map(|c| i64::from(c.into_inner())));
    cells.extend(c32.into_iter().map(|c| i64::from(c.into_inner())));
    cells.extend(c64.into_iter().map(AtomicI64::into_inner));
    (values, cells)
}

/// What a launch leaves behind: an answer per item, the cells, and a word for each device global.
#[derive(Debug)]
pub struct Answers {
    outs: Vec<Out>,
    cells: Vec<i64>,
    globals: Vec<u64>,
}

/// The buffers of a launch.
pub struct Memory {
    pub inputs: Buffer<u64>,
    pub mask: Buffer<u8>,
    pub outs: Buffer<Out>,
    pub c8: Buffer<AtomicU8>,
    pub c16: Buffer<AtomicI16>,
    pub c32: Buffer<AtomicU32>,
    pub c64: Buffer<AtomicI64>,
}

impl Memory {
    pub fn new(queue: &Queue, inputs: &[u64], mask: &[u8]) -> crosscut::Result<Self> {
        Ok(Self {
            inputs: queue.upload(inputs)?,
            mask: queue.upload(mask)?,
            outs: queue.zeroed(inputs.len())?,
            c8: queue.zeroed(CELLS)?,
            c16: queue.zeroed(CELLS)?,
            c32: queue.zeroed(CELLS)?,
            c64: queue.zeroed(CELLS)?,
        })
    }

    pub fn answers(&self, queue: &Queue, globals: Vec<u64>) -> crosscut::Result<Answers> {
        let mut cells: Vec<i64> = queue.download(&self.c8)?.into_iter().map(i64::from).collect();
        cells.extend(queue.download(&self.c16)?.into_iter().map(i64::from));
        cells.extend(queue.download(&self.c32)?.into_iter().map(i64::from));
        cells.extend(queue.download(&self.c64)?);
        Ok(Answers { outs: queue.download(&self.outs)?, cells, globals })
    }
}

/// Launches a kernel for the items that are not masked.
pub fn launch<F>(queue: &Queue, inputs: &[u64], mask: &[u8], kernel: F) -> crosscut::Result<Answers>
where
    F: Fn(usize, &[u64], &Cells<'_>) -> Out + Copy + Send + 'static,
{
    let mut memory = Memory::new(queue, inputs, mask)?;
    let Memory { inputs, mask, outs, c8, c16, c32, c64 } = &mut memory;
    queue
        .for_each(
            outs,
            (&*inputs, &*mask, &*c8, &*c16, &*c32, &*c64),
            move |i, out, (inputs, mask, c8, c16, c32, c64)| {
                if mask[i] == 0 {
                    *out = kernel(i, inputs, &Cells { c8, c16, c32, c64 });
                }
            },
        )?
        .wait()?;
    memory.answers(queue, Vec::new())
}

/// A panic: file, line, column, message.
type Panic = (String, u32, u32, String);

thread_local! {
    /// `Some` while a kernel runs natively outside of any launch.
    static SEEN: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

fn install_hook() {
    let others = take_hook();
    set_hook(Box::new(move |info| {
        let told = SEEN.with_borrow_mut(|seen| {
            let Some(seen) = seen else { return false };
            let place = info.location().expect("a panic has a place");
            let text = info.payload_as_str().unwrap_or("no text").to_owned();
            *seen = (place.file().to_owned(), place.line(), place.column(), text);
            true
        });
        if !told {
            others(info);
        }
    }));
}

/// The answers by plain calls: the reference.
fn reference(case: &Case, inputs: &[u64]) -> (Answers, Vec<Option<Panic>>) {
    let (c8, c16) = (<[AtomicU8; CELLS]>::default(), <[AtomicI16; CELLS]>::default());
    let (c32, c64) = (<[AtomicU32; CELLS]>::default(), <[AtomicI64; CELLS]>::default());
    let mut outs = Vec::new();
    let mut panics = Vec::new();
    let zero = Out { words: [0; 4], narrow: [0.0; 2], wide: [0.0; 2] };
    let native = (case.start)();
    // Twice: what an item did to cells and globals before it panicked does not count, because it is masked later.
    for pass in 0..2 {
        let scratch_native = (case.start)();
        let scratch = (
            <[AtomicU8; CELLS]>::default(),
            <[AtomicI16; CELLS]>::default(),
            <[AtomicU32; CELLS]>::default(),
            <[AtomicI64; CELLS]>::default(),
        );
        for i in 0..ITEMS {
            if pass == 0 {
                let cells =
                    Cells { c8: &scratch.0, c16: &scratch.1, c32: &scratch.2, c64: &scratch.3 };
                SEEN.set(Some(Default::default()));
                let answer = catch_unwind(AssertUnwindSafe(|| scratch_native.item(i, inputs, &cells)));
                let seen = SEEN.take().expect("set above");
                outs.push(*answer.as_ref().unwrap_or(&zero));
                panics.push(answer.is_err().then_some(seen));
            } else if panics[i].is_none() {
                native.item(i, inputs, &Cells { c8: &c8, c16: &c16, c32: &c32, c64: &c64 });
            }
        }
    }
    let mut cells: Vec<i64> = c8.into_iter().map(|c| c.into_inner().into()).collect();
    cells.extend(c16.into_iter().map(|c| i64::from(c.into_inner())));
    cells.extend(c32.into_iter().map(|c| i64::from(c.into_inner())));
    cells.extend(c64.into_iter().map(AtomicI64::into_inner));
    (Answers { outs, cells, globals: native.left() }, panics)
}

/// Runs one kernel everywhere; an error is the first difference.
fn run(case: &Case, inputs: &[u64], targets: &[(String, Queue)]) -> Result<(), String> {
    let (expected, panics) = reference(case, inputs);
    let mask: Vec<u8> = panics.iter().map(|panic| panic.is_some().into()).collect();
    for (name, queue) in targets {
        if mask.contains(&1) {
            must_panic(case, inputs, queue, &panics).map_err(|what| format!("{name}: {what}"))?;
        }
        let found = (case.launch)(queue, inputs, &mask).map_err(|e| format!("{name}: {e}"))?;
        compare(&expected, &found, case.ulps).map_err(|what| format!("{name}: {what}"))?;
    }
    if let Some((stage, launch)) = case.group {
        let expected = reference_groups(stage, inputs);
        for (name, queue) in targets {
            let found = launch(queue, inputs).map_err(|e| format!("{name}, in groups: {e}"))?;
            if found != expected {
                return Err(format!("{name}, in groups: expected {expected:?}, found {found:?}"));
            }
        }
    }
    Ok(())
}

/// With no item masked, one of those that panic must be told.
fn must_panic(
    case: &Case,
    inputs: &[u64],
    queue: &Queue,
    panics: &[Option<Panic>],
) -> Result<(), String> {
    let error = match (case.launch)(queue, inputs, &[0; ITEMS]) {
        Ok(_) => return Err("no panic".into()),
        Err(error) => error,
    };
    let Some(found) = error.kernel_panic() else { return Err(error.to_string()) };
    let item = usize::try_from(found.linear_item).expect("an index");
    let Some(Some((file, line, column, text))) = panics.get(item) else {
        return Err(format!("item {item} panics: {found:?}"));
    };
    let place = (&found.file, found.line, found.column);
    if place != (file, *line, *column) {
        return Err(format!("item {item} panics at {place:?} and not at {line}:{column}"));
    }
    // Devices leave out most values, or word them otherwise.
    let has_values = text.contains(|c: char| c.is_ascii_digit()) || text.contains("left");
    if !has_values && found.message != *text {
        return Err(format!("item {item} says `{}` and not `{text}`", found.message));
    }
    Ok(())
}

fn compare(expected: &Answers, found: &Answers, ulps: [u32; 4]) -> Result<(), String> {
    for (item, (expected, found)) in expected.outs.iter().zip(&found.outs).enumerate() {
        let exact = expected.words == found.words;
        let narrow = (0..2).all(|n| {
            let (a, b) = (f64::from(expected.narrow[n]), f64::from(found.narrow[n]));
            near(a, b, place_f32(expected.narrow[n]), place_f32(found.narrow[n]), ulps[n])
        });
        let wide = (0..2).all(|n| {
            let (a, b) = (expected.wide[n], found.wide[n]);
            near(a, b, place_f64(a), place_f64(b), ulps[2 + n])
        });
        if !(exact && narrow && wide) {
            return Err(format!("item {item}: expected {expected:?}, found {found:?}, ulps {ulps:?}"));
        }
    }
    if expected.cells != found.cells {
        return Err(format!("cells: expected {:?}, found {:?}", expected.cells, found.cells));
    }
    if expected.globals != found.globals {
        let (expected, found) = (&expected.globals, &found.globals);
        return Err(format!("globals: expected {expected:?}, found {found:?}"));
    }
    Ok(())
}

fn near(a: f64, b: f64, place_a: i64, place_b: i64, ulps: u32) -> bool {
    (a.is_nan() && b.is_nan())
        || (!a.is_nan() && !b.is_nan() && place_a.abs_diff(place_b) <= u64::from(ulps))
}

/// Numbers in order: neighbours are one apart.
fn place_f32(x: f32) -> i64 {
    let bits = x.to_bits().cast_signed();
    i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
}

fn place_f64(x: f64) -> i64 {
    let bits = x.to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// Small numbers, the ends of ranges, floating-point numbers, and noise.
fn inputs() -> Vec<u64> {
    let mut inputs: Vec<u64> = vec![0, 1, 2, 3, 7, 10, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535];
    inputs.extend([u32::MAX as u64, i32::MIN as u64, u64::MAX, i64::MIN as u64, i64::MAX as u64]);
    inputs.extend([1.0f32, -2.5, 1e-40, 3.4e38, 0.1, f32::NAN].map(|x| u64::from(x.to_bits())));
    inputs.extend([1.0f64, -2.5, 1e-310, 1e300, 0.1, f64::INFINITY].map(f64::to_bits));
    let mut state = 1u64;
    while inputs.len() < ITEMS {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        inputs.push((state ^ state >> 29) >> (state >> 58));
    }
    inputs
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the driver reads");
}

fn main() {
    let skipped: Vec<usize> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let mut targets: Vec<(String, Queue)> = Vec::new();
    for device in crosscut::devices().expect("there is always the host") {
        let queue = Queue::on(&device).expect("a queue");
        targets.push((device.backend().to_string(), queue));
    }
    install_hook();
    say(&format!("devices {}", targets.len()));
    let inputs = inputs();
    for case in kernels::CASES.iter().filter(|case| !skipped.contains(&case.number)) {
        say(&format!("begin {}", case.number));
        match run(case, &inputs, &targets) {
            Ok(()) => say(&format!("same {}", case.number)),
            Err(difference) => {
                say(&format!("differs {} {}", case.number, difference.replace('\n', " ")));
            }
        }
    }
    say("end");
}
