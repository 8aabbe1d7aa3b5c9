//! The database of device globals against a model: programs come and go, contexts on two devices are
//! made and dropped, globals are copied, filled, reset and changed by kernels, in any order.
//!
//! The model: every context has one value of every global, which starts as the initial value and
//! stays across unloading and loading again; what goes beyond the end changes nothing. Every bundle has
//! one value of every symbol, for the commands that use the bundle.
//!
//! A case is a short life of a program: it begins without programs and with one context, and ends with
//! a look at all globals of all contexts. Each has its own seed, which a failure prints:
//! `CROSSCUT_MODEL_SEED=n` runs that case alone, `CROSSCUT_MODEL_CASES=n` so many. Optimised, 100,000 run.

mod program;

use std::collections::HashMap;
use std::time::Instant;

use crosscut_adapter_mock::Mock;
use crosscut_image::registration::{DESCRIPTOR_VERSION, Descriptor, Extent, HostObject};
use crosscut_image::{Global, Image, Parameter, Target, encode, global_properties};
use crosscut_runtime::{
    __crosscut_register, __crosscut_unregister, Bundle, Context, Device, ErrorKind, GlobalHandle,
    GlobalIn, Queue, Specialization, Variant,
};
use program::{device, download, kernel, launch, launch_variant, set_word, upload, word};

/// How many cases run if the environment does not say.
const CASES: u64 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };
/// The most steps of a case.
const STEPS: usize = 24;
const PROGRAMS: usize = 4;
/// The sizes of each program's globals, in words.
const WORDS: [usize; 4] = [1, 2, 5, 3];
/// So many of them are in the program's table; the last is known by where the program lies, as one that
/// no kernel names.
const LISTED: usize = 3;
/// Which of them is a symbol's.
const SYMBOL: usize = 1;

fn properties(global: usize) -> u64 {
    let scope = if global == SYMBOL { global_properties::BUNDLE_SCOPE } else { 0 };
    global_properties::DEFAULT | scope
}

/// A program in memory: its table, and its statics behind it.
struct Program {
    descriptor: *const Descriptor,
    globals: Vec<(GlobalHandle, Vec<u64>)>,
    key: fn() -> u64,
}

fn make(number: usize, key: fn() -> u64) -> Program {
    // Storage and initial value of each, one after the other.
    let initial: Vec<Vec<u64>> = (WORDS.iter().enumerate())
        .map(|(global, words)| {
            (0..*words).map(move |word| (100 * number + 10 * global + word) as u64)
        })
        .map(Iterator::collect)
        .collect();
    let storage: Vec<u64> = initial.iter().flat_map(|value| value.repeat(2)).collect();
    let table_words = LISTED * size_of::<HostObject>() / 8;
    let block = vec![0u64; table_words].into_iter().chain(storage).collect::<Vec<_>>().leak();
    let end = block.as_ptr_range().end.cast::<u8>();
    let start = block.as_mut_ptr().cast::<u8>();
    start.expose_provenance();
    let (mut globals, mut objects, mut listed) = (Vec::new(), Vec::new(), Vec::new());
    let mut offset = table_words * 8;
    for (global, value) in initial.into_iter().enumerate() {
        let (id, size) = (format!("program{number}::G{global}"), value.len() * 8);
        // SAFETY: storage and initial bytes lie there, leaked, aligned to 8.
        let handle = unsafe {
            GlobalHandle::new(start.wrapping_add(offset), size, 8, 0, properties(global))
        };
        globals.push((handle, value));
        if global < LISTED {
            listed.push(Global {
                id: id.clone(),
                display_name: id.clone(),
                size: size as u64,
                align: 8,
                properties: properties(global),
            });
            let id = id.leak();
            let (id, id_length) = (id.as_ptr(), id.len() as u64);
            objects.push(HostObject { offset: i64::try_from(offset).unwrap(), id, id_length });
        }
        offset += 2 * size;
    }
    // SAFETY: the block begins with room for the table, aligned for it.
    unsafe { start.cast::<HostObject>().copy_from(objects.as_ptr(), objects.len()) };
    let indices: Vec<u32> = (0..).take(LISTED).collect();
    let parameters = indices.iter().map(|&index| Parameter::Global { index }).collect();
    let mut bump = kernel(key(), &format!("bump_{number}"), parameters);
    (bump.reads, bump.writes) = (indices.clone(), indices);
    let image = Image {
        target: Target::Spirv64,
        payload: program::spirv(),
        kernels: vec![bump],
        globals: listed,
        spec_constants: vec![],
        panic_sites: vec![],
        property_sets: vec![],
    };
    let images = encode(&[image]).leak();
    let descriptor = Box::leak(Box::new(Descriptor {
        version: DESCRIPTOR_VERSION,
        images: images.as_ptr(),
        images_length: images.len() as u64,
        objects: start.cast_const().cast(),
        objects_length: LISTED as u64,
        extent: Extent { start, end, layout: Box::leak(Box::new(1 + number as u64)) },
    }));
    Program { descriptor, globals, key }
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn of(seed: u64) -> Self {
        // Neighbouring seeds begin far from each other, and none at zero.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// A context, perhaps with a bundle, and what its globals should hold.
struct Opened {
    queue: Queue,
    /// By whether it is the bundle's value, by program and by number.
    values: HashMap<(bool, usize, usize), Vec<u64>>,
    /// With the programs whose kernels are inside.
    bundle: Option<(Bundle, [bool; PROGRAMS])>,
}

impl Opened {
    /// Another bundle instead of the one that is there, if programs are loaded to make it of.
    fn change_bundle(&mut self, registered: [bool; PROGRAMS]) {
        self.bundle = registered.contains(&true).then(|| {
            let values = Specialization::new();
            // The kernel of the other test in here is not on these devices.
            let accept = |name: &str| name != "test::bump_last";
            (Bundle::build(self.queue.context(), values, &accept).unwrap(), registered)
        });
        self.values.retain(|(bundled, ..), _| !bundled);
    }
}

fn open(devices: &[Device], numbers: &mut Numbers) -> Opened {
    let device = &devices[numbers.below(devices.len())];
    let context: Context = device.create_context().unwrap();
    Opened { queue: Queue::new(&context).unwrap(), values: HashMap::new(), bundle: None }
}

fn read<'a>(queue: &Queue, global: impl Into<GlobalIn<'a>>) -> Vec<u64> {
    let global = global.into();
    let mut value = vec![0; global.size() / 8];
    let (target, size) = (value.as_mut_ptr().cast(), global.size());
    // SAFETY: as many bytes are writable there.
    unsafe { queue.copy_from_global(global, 0, target, size, &[]) }.unwrap();
    value
}

/// One step on one global of a context; the model takes the same.
fn step(opened: &mut Opened, program: &Program, number: usize, numbers: &mut Numbers) {
    let which = numbers.below(WORDS.len());
    let (handle, initial) = &program.globals[which];
    let Opened { queue, values, bundle } = opened;
    // Half of the commands use the bundle, if there is one.
    let bundle = bundle.as_ref().filter(|_| numbers.below(2) == 0);
    let global = &handle.under(bundle.map(|(bundle, _)| bundle));
    let key = |which| (bundle.is_some() && which == SYMBOL, number, which);
    let model = values.entry(key(which)).or_insert_with(|| initial.clone());
    match numbers.below(10) {
        0 | 1 => {
            let start = numbers.below(WORDS[which]);
            let count = 1 + numbers.below(WORDS[which] - start);
            let words: Vec<u64> = (0..count).map(|_| numbers.below(1 << 20) as u64).collect();
            let source = words.as_ptr().cast();
            // SAFETY: as many bytes are readable there.
            unsafe { queue.copy_to_global(*global, 8 * start, source, 8 * count, &[]) }.unwrap();
            model[start..start + count].copy_from_slice(&words);
        }
        2 => {
            let pattern = (numbers.below(1 << 20) as u64).to_ne_bytes();
            queue.fill_global(*global, 0, &pattern, WORDS[which], &[]).unwrap();
            model.fill(u64::from_ne_bytes(pattern));
        }
        3 => {
            queue.reset_global(*global, &[]).unwrap();
            model.clone_from(initial);
        }
        4 => {
            let words = vec![7u64; WORDS[which] + 1];
            let offset = 8 * numbers.below(2);
            let (source, size) = (words.as_ptr().cast(), 8 * words.len());
            // SAFETY: as many bytes are readable there.
            let refused = unsafe { queue.copy_to_global(*global, offset, source, size, &[]) };
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
        }
        5 => {
            match bundle {
                None => drop(launch(queue, program.key, 1, &[]).unwrap()),
                Some((bundle, programs)) => {
                    let variant = Variant::Of(bundle);
                    let launched = launch_variant(queue, program.key, 1, &[], &[], variant);
                    assert_eq!(launched.is_ok(), programs[number]);
                    if launched.is_err() {
                        return;
                    }
                }
            }
            for (which, (_, initial)) in program.globals.iter().enumerate().take(LISTED) {
                let value = values.entry(key(which));
                value.or_insert_with(|| initial.clone())[0] += 1;
            }
        }
        6 => {
            let words: Vec<u64> = model.iter().map(|word| word ^ 0xFF).collect();
            let buffer = upload(queue, &words);
            let (size, buffer) = (global.size(), (&buffer, 0));
            // SAFETY: nobody takes the bytes for atomics.
            unsafe { queue.copy_buffer_to_global(*global, 0, buffer, size, &[]) }.unwrap();
            *model = words;
        }
        7 => {
            let mut buffer = upload(queue, &[0; 5]);
            queue.copy_global_to_buffer(*global, 0, &mut buffer, global.size(), &[]).unwrap();
            assert_eq!(download(queue, &buffer).unwrap()[..model.len()], *model);
        }
        _ => assert_eq!(read(queue, *global), *model, "global {which} of program {number}"),
    }
}

/// The programs, and which of them are loaded.
struct Loaded<'a> {
    programs: &'a [Program],
    registered: [bool; PROGRAMS],
}

impl Loaded<'_> {
    fn change(&mut self, number: usize) {
        let descriptor = self.programs[number].descriptor;
        if self.registered[number] {
            __crosscut_unregister(descriptor);
        } else {
            // SAFETY: everything it points at was leaked.
            unsafe { __crosscut_register(descriptor) };
        }
        self.registered[number] = !self.registered[number];
    }

    /// Loads all, or none.
    fn set_all(&mut self, registered: bool) {
        for number in 0..PROGRAMS {
            if self.registered[number] != registered {
                self.change(number);
            }
        }
    }
}

fn run_case(seed: u64, devices: &[Device], loaded: &mut Loaded<'_>) {
    let mut numbers = Numbers::of(seed);
    let mut opened: Vec<Opened> = vec![open(devices, &mut numbers)];
    for _ in 0..4 + numbers.below(STEPS - 4) {
        let (at, number) = (numbers.below(opened.len()), numbers.below(PROGRAMS));
        match numbers.below(20) {
            0 if opened.len() < 4 => opened.push(open(devices, &mut numbers)),
            1 if opened.len() > 1 => {
                opened.swap_remove(at);
            }
            2..5 => loaded.change(number),
            5 => opened[at].change_bundle(loaded.registered),
            _ if !loaded.registered[number] => loaded.change(number),
            _ => step(&mut opened[at], &loaded.programs[number], number, &mut numbers),
        }
    }
    // In the end all are what the model says.
    loaded.set_all(true);
    for opened in &opened {
        let bundle = opened.bundle.as_ref().map(|(bundle, _)| bundle);
        for ((bundled, number, which), value) in &opened.values {
            let global = loaded.programs[*number].globals[*which].0;
            let found = read(&opened.queue, global.under(bundle.filter(|_| *bundled)));
            assert_eq!(found, *value, "global {which} of program {number}");
        }
    }
    drop(opened);
    loaded.set_all(false);
}

fn number_in_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Says which case failed, if one does.
struct Announced(u64);

impl Drop for Announced {
    #[allow(clippy::print_stderr, reason = "a failure says how to see it again")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see it again: CROSSCUT_MODEL_SEED={}", self.0);
        }
    }
}

#[test]
fn every_context_has_one_value_of_every_global_whatever_comes_and_goes() {
    let keys: [fn() -> u64; PROGRAMS] = [|| 9000, || 9001, || 9002, || 9003];
    let programs: Vec<Program> =
        keys.into_iter().enumerate().map(|(number, key)| make(number, key)).collect();
    let mocks = [Mock::new(), Mock::new()];
    for mock in &mocks {
        for number in 0..PROGRAMS {
            mock.define_kernel(&format!("bump_{number}"), |launch| {
                for argument in 0..LISTED {
                    set_word(launch, argument, 0, word(launch, argument, 0) + 1);
                }
            });
        }
    }
    let devices: Vec<Device> = mocks.iter().map(device).collect();
    let mut loaded = Loaded { programs: &programs, registered: [false; PROGRAMS] };
    let seeds = match number_in_environment("CROSSCUT_MODEL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number_in_environment("CROSSCUT_MODEL_CASES").unwrap_or(CASES),
    };
    for seed in seeds {
        let _announced = Announced(seed);
        run_case(seed, &devices, &mut loaded);
        for mock in &mocks {
            mock.clear_log();
        }
    }
}

#[test]
fn ten_thousand_globals_are_registered_and_found_in_little_time() {
    const GLOBALS: usize = 10_000;
    let block = vec![0u64; GLOBALS * (size_of::<HostObject>() / 8 + 2)].leak();
    let start = block.as_mut_ptr().cast::<u8>();
    start.expose_provenance();
    let mut globals = Vec::new();
    for number in 0..GLOBALS {
        let id = format!("scale::G{number}");
        globals.push(Global {
            id: id.clone(),
            display_name: id.clone(),
            size: 8,
            align: 8,
            properties: global_properties::DEFAULT,
        });
        let offset = GLOBALS * size_of::<HostObject>() + 16 * number;
        let (offset, id) = (i64::try_from(offset).unwrap(), id.leak());
        let object = HostObject { offset, id: id.as_ptr(), id_length: id.len() as u64 };
        // SAFETY: the block begins with room for that many objects.
        unsafe { start.cast::<HostObject>().wrapping_add(number).write(object) };
    }
    let last = u32::try_from(GLOBALS - 1).unwrap();
    let mut bump = kernel(9100, "bump_last", vec![Parameter::Global { index: last }]);
    (bump.reads, bump.writes) = (vec![last], vec![last]);
    let image = Image {
        target: Target::Spirv64,
        payload: program::spirv(),
        kernels: vec![bump],
        globals,
        spec_constants: vec![],
        panic_sites: vec![],
        property_sets: vec![],
    };
    let images = encode(&[image]).leak();
    let descriptor = Box::leak(Box::new(Descriptor {
        version: DESCRIPTOR_VERSION,
        images: images.as_ptr(),
        images_length: images.len() as u64,
        objects: start.cast_const().cast(),
        objects_length: GLOBALS as u64,
        extent: Extent::UNKNOWN,
    }));
    let mock = Mock::new();
    mock.define_kernel("bump_last", |launch| set_word(launch, 0, 0, word(launch, 0, 0) + 1));
    let queue = program::queue(&device(&mock));
    let begin = Instant::now();
    // SAFETY: everything it points at was leaked.
    unsafe { __crosscut_register(descriptor) };
    launch(&queue, || 9100, 1, &[]).unwrap();
    // Unoptimised, on a busy machine; a quadratic way would take minutes.
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    for number in [0, GLOBALS / 2, GLOBALS - 1] {
        let address = start.wrapping_add(GLOBALS * size_of::<HostObject>() + 16 * number);
        // SAFETY: storage and initial bytes lie there, leaked, aligned to 8.
        let global = unsafe { GlobalHandle::new(address, 8, 8, 0, global_properties::DEFAULT) };
        let expected = u64::from(number == GLOBALS - 1);
        assert_eq!(read(&queue, global), [expected]);
    }
    __crosscut_unregister(descriptor);
}
