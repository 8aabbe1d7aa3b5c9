//! Programs: linked, loaded, asked for kernels and variables, launched.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crosscut_adapter_cuda::abi::{self, DevicePointer, Handle, JitOption, Status};

use crate::checked::{Answer, answer, bytes, misuse, text};
use crate::context::{Here, here};
use crate::driver::{GENERATIONS, MOST_GROUPS, MOST_ITEMS, MOST_ITEMS_OF, SHARED_MEMORY};
use crate::live::Live;
use crate::memory::{self, Sort};
use crate::ptx::{self, Launch, Program};
use crate::stream::{Lent, Stream};

static MODULES: Live<Module> = Live::new("module");
static FUNCTIONS: Live<Function> = Live::new("function");
static LINKS: Live<Link> = Live::new("link");

/// Ends the process if a context that is released has left something of these.
pub(crate) fn none_of(call: &str, context: usize) {
    MODULES.none_of(call, context);
    FUNCTIONS.none_of(call, context);
    LINKS.none_of(call, context);
}

/// Forgets what there is of a context that was lost.
pub(crate) fn forget(context: usize) {
    MODULES.forget(context);
    FUNCTIONS.forget(context);
    LINKS.forget(context);
}

/// What a device's own code begins with here: the form's sign, and that no real device has it. After it
/// come the length of the text, and the text.
const SIGN: &[u8] = b"\x7fELF fake device code\0";

/// A loaded program.
pub(crate) struct Module {
    program: Arc<Program>,
    variables: Vec<DevicePointer>,
    /// How many launches of it are not over.
    launches: Arc<AtomicUsize>,
}

/// A kernel of a module.
struct Function {
    module: usize,
    number: usize,
}

/// Where a call writes what it does not like.
struct Log {
    place: Lent,
    room: usize,
}

// SAFETY: the address is used while its owner is in a call, or keeps it as CUDA's rules say.
unsafe impl Sync for Log {}

impl Log {
    /// The log that options ask for.
    fn of(call: &str, count: u32, options: *mut JitOption, values: *mut *mut c_void) -> Self {
        let mut log = Self { place: Lent(std::ptr::null_mut()), room: 0 };
        for at in 0..count as usize {
            if options.is_null() || values.is_null() {
                misuse(call, "fewer options than announced");
            }
            // SAFETY: by CUDA's rules there are as many options as are announced.
            let option = unsafe { options.wrapping_add(at).read() };
            // SAFETY: as above.
            let value = unsafe { values.wrapping_add(at).read() };
            match option {
                abi::CU_JIT_ERROR_LOG_BUFFER => log.place = Lent(value),
                abi::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => log.room = value.addr(),
                _ => misuse(call, &format!("unknown option {option}")),
            }
        }
        log
    }

    /// Writes a line, and is the code for it.
    fn refuse(&self, line: &str) -> Status {
        let place = self.place.pointer();
        if !place.is_null() && self.room > 0 {
            let length = line.len().min(self.room - 1);
            // SAFETY: by CUDA's rules there is as much room as the options say.
            unsafe { std::ptr::copy_nonoverlapping(line.as_ptr(), place, length) };
            // SAFETY: as above.
            unsafe { place.wrapping_add(length).write(0) };
        }
        abi::CUDA_ERROR_INVALID_PTX
    }
}

/// A link in progress.
struct Link {
    log: Log,
    code: std::sync::OnceLock<Vec<u8>>,
}

pub(crate) fn link_create(
    call: &str,
    count: u32,
    options: *mut JitOption,
    values: *mut *mut c_void,
    place: *mut Handle,
) -> Answer {
    let here = here(call)?;
    let log = Log::of(call, count, options, values);
    answer(call, place, LINKS.add(here, Link { log, code: std::sync::OnceLock::new() }))
}

/// What `cuLinkAddData_v2` takes beside the options.
pub(crate) struct Input {
    pub(crate) sort: u32,
    pub(crate) data: *mut c_void,
    pub(crate) size: usize,
    pub(crate) name: *const c_char,
}

pub(crate) fn link_add(call: &str, link: Handle, input: Input, options: u32) -> Answer {
    let here = here(call)?;
    let link = LINKS.get(call, here, link);
    if input.sort != abi::CU_JIT_INPUT_PTX || options != 0 {
        misuse(call, "only PTX is linked here, without options");
    }
    text(call, input.name);
    let Some((0, ptx)) = bytes(call, input.data.cast(), input.size).split_last() else {
        misuse(call, "the text does not end with a zero byte");
    };
    let Ok(ptx) = std::str::from_utf8(ptx) else { misuse(call, "the text is no text") };
    let program = ptx::read(ptx).map_err(|fault| link.log.refuse(&fault))?;
    let generation = GENERATIONS[here.device()];
    if program.target > generation {
        let line = format!("code for sm_{} on a device of sm_{generation}", program.target);
        return Err(link.log.refuse(&line));
    }
    let length = (ptx.len() as u64).to_le_bytes();
    if link.code.set([SIGN, &length, ptx.as_bytes()].concat()).is_err() {
        misuse(call, "there is a program already");
    }
    Ok(())
}

pub(crate) fn link_complete(
    call: &str,
    link: Handle,
    place: *mut *mut c_void,
    size: *mut usize,
) -> Answer {
    let link = LINKS.get(call, here(call)?, link);
    let Some(code) = link.code.get() else { misuse(call, "there is no program") };
    answer(call, size, code.len())?;
    // It lives as long as the link.
    answer(call, place, code.as_ptr().cast_mut().cast())
}

pub(crate) fn link_destroy(call: &str, link: Handle) -> Answer {
    LINKS.remove(call, here(call)?, link);
    Ok(())
}

pub(crate) fn load(
    call: &str,
    place: *mut Handle,
    code: *const c_void,
    count: u32,
    options: *mut JitOption,
    values: *mut *mut c_void,
) -> Answer {
    let here = here(call)?;
    let log = Log::of(call, count, options, values);
    // Nobody says how long it is: a byte after the other, until one is another.
    let byte = |at: usize| bytes(call, code.cast::<u8>().wrapping_add(at), 1)[0];
    if !(0..SIGN.len()).all(|at| byte(at) == SIGN[at]) {
        return Err(abi::CUDA_ERROR_INVALID_IMAGE);
    }
    let length = u64::from_le_bytes(std::array::from_fn(|at| byte(SIGN.len() + at)));
    let ptx = bytes(call, code.cast::<u8>().wrapping_add(SIGN.len() + 8), length as usize);
    let ptx = std::str::from_utf8(ptx).map_err(|_| abi::CUDA_ERROR_INVALID_IMAGE)?;
    let program = Arc::new(ptx::read(ptx).map_err(|fault| log.refuse(&fault))?);
    let mut variables = Vec::new();
    for variable in &program.variables {
        let size = variable.bytes.len().max(1);
        let start =
            memory::allocate(here, Sort::Variable, size).ok_or(abi::CUDA_ERROR_OUT_OF_MEMORY)?;
        let first: *mut u8 = std::ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: as many bytes were just allocated, and nobody else knows them.
        unsafe {
            std::ptr::copy_nonoverlapping(variable.bytes.as_ptr(), first, variable.bytes.len())
        };
        variables.push(start);
    }
    let module = Module { program, variables, launches: Arc::default() };
    answer(call, place, MODULES.add(here, module))
}

pub(crate) fn unload(call: &str, handle: Handle) -> Answer {
    let here = here(call)?;
    let module = MODULES.remove(call, here, handle);
    if module.launches.load(Ordering::SeqCst) > 0 {
        misuse(call, "a kernel of it runs");
    }
    FUNCTIONS.remove_where(|function| function.module == handle.addr());
    for variable in &module.variables {
        memory::free(call, here, *variable, &[Sort::Variable]);
    }
    Ok(())
}

pub(crate) fn get_function(
    call: &str,
    place: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Answer {
    let here = here(call)?;
    let (kernels, name) = (&MODULES.get(call, here, module).program, text(call, name));
    let number = kernels.kernels.iter().position(|kernel| kernel.name == name);
    let number = number.ok_or(abi::CUDA_ERROR_NOT_FOUND)?;
    answer(call, place, FUNCTIONS.add(here, Function { module: module.addr(), number }))
}

pub(crate) fn get_global(
    call: &str,
    place: *mut DevicePointer,
    size: *mut usize,
    module: Handle,
    name: *const c_char,
) -> Answer {
    let module = MODULES.get(call, here(call)?, module);
    let (variables, name) = (&module.program.variables, text(call, name));
    let number = variables.iter().position(|variable| variable.name == name);
    let number = number.ok_or(abi::CUDA_ERROR_NOT_FOUND)?;
    answer(call, size, variables[number].bytes.len())?;
    answer(call, place, module.variables[number])
}

fn module_of(call: &str, here: Here, function: &Function) -> Arc<Module> {
    MODULES.get(call, here, std::ptr::without_provenance_mut(function.module))
}

pub(crate) fn function_attribute(
    call: &str,
    place: *mut i32,
    attribute: i32,
    function: Handle,
) -> Answer {
    let here = here(call)?;
    let function = FUNCTIONS.get(call, here, function);
    if attribute != abi::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK {
        return Err(abi::CUDA_ERROR_INVALID_VALUE);
    }
    let module = module_of(call, here, &function);
    let most = module.program.kernels[function.number].most_items.unwrap_or(MOST_ITEMS);
    answer(call, place, most.min(MOST_ITEMS) as i32)
}

/// The sizes of a launch.
pub(crate) struct Sizes {
    pub(crate) groups: [u32; 3],
    pub(crate) items: [u32; 3],
    pub(crate) shared: u32,
}

pub(crate) fn launch(
    call: &str,
    function: Handle,
    sizes: Sizes,
    stream: Handle,
    values: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    let here = here(call)?;
    if !extra.is_null() {
        misuse(call, "parameters are given one by one here");
    }
    let function = FUNCTIONS.get(call, here, function);
    let module = module_of(call, here, &function);
    let kernel = &module.program.kernels[function.number];
    let Sizes { groups, items, shared } = sizes;
    let shared = shared as usize;
    let most = kernel.most_items.unwrap_or(MOST_ITEMS).min(MOST_ITEMS);
    let fits = (0..3).all(|at| {
        (1..=MOST_GROUPS[at]).contains(&groups[at]) && (1..=MOST_ITEMS_OF[at]).contains(&items[at])
    });
    let product: u64 = items.iter().map(|items| u64::from(*items)).product();
    if !fits || product > most.into() || kernel.shared + shared > SHARED_MEMORY {
        return Err(abi::CUDA_ERROR_INVALID_VALUE);
    }
    let end = kernel.parameters.last().map_or(0, |last| last.offset + last.size);
    let mut parameters = vec![0; end];
    for (at, parameter) in kernel.parameters.iter().enumerate() {
        if values.is_null() {
            misuse(call, "there are no parameters");
        }
        // SAFETY: by CUDA's rules there is a value for each parameter.
        let value = unsafe { values.wrapping_add(at).read() };
        let value = bytes(call, value.cast::<u8>().cast_const(), parameter.size);
        parameters[parameter.offset..][..parameter.size].copy_from_slice(value);
    }
    let launch = Launch {
        program: Arc::clone(&module.program),
        kernel: function.number,
        variables: module.variables.clone(),
        groups,
        items,
        parameters,
        shared,
    };
    let launches = Arc::clone(&module.launches);
    launches.fetch_add(1, Ordering::SeqCst);
    Stream::get(call, here, stream).push(move || {
        // What is lost runs nothing more.
        if here.intact().is_ok()
            && let Err(fault) = ptx::run(&launch)
        {
            here.lose(fault);
        }
        launches.fetch_sub(1, Ordering::SeqCst);
    });
    Ok(())
}
