//! What a peer does in place of a program with many device globals: from its start to the result of
//! one kernel. The benchmark starts itself again for it, so that loading and opening count.

use std::ffi::CString;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dpcpp::Dpcpp;
use crate::raw_opencl::Raw;
use crate::{MANY, PER_KERNEL, Result};

/// The first argument of a program that is to be a peer.
const ROLE: &str = "--as-peer";

/// Who does it instead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// The raw API, from the driver's own binary of the program.
    RawOpencl,
    /// DPC++, which compiles the program at run time and has its cache on.
    Dpcpp,
}

impl Peer {
    pub(crate) const ALL: [Self; 2] = [Self::RawOpencl, Self::Dpcpp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RawOpencl => "raw OpenCL",
            Self::Dpcpp => "DPC++",
        }
    }

    /// What its kernel finds: the sum of the initial values of its globals. DPC++'s compiler at run time has none, so
    /// its program writes one of them.
    pub(crate) fn sum(self) -> usize {
        match self {
            Self::RawOpencl => (MANY - PER_KERNEL..MANY).sum(),
            Self::Dpcpp => MANY - 1,
        }
    }

    /// A command that does it on that device; `place` is where files may lie.
    pub(crate) fn command(self, device: &str, place: &Path) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([ROLE, self.name(), device]).arg(place);
        command.env("SYCL_CACHE_PERSISTENT", "1").env("SYCL_CACHE_DIR", place.join("dpcpp-cache"));
        Ok(command)
    }
}

/// Is a peer, if the arguments say so; answers whether they did.
pub(crate) fn be_peer(arguments: &[String]) -> Result<bool> {
    let [role, name, device, place] = arguments else { return Ok(false) };
    if role != ROLE {
        return Ok(false);
    }
    let place = Path::new(place);
    let sum = if name == Peer::RawOpencl.name() {
        raw_opencl(device, place)?
    } else {
        dpcpp(device, place)?
    };
    println!("{sum}");
    Ok(true)
}

/// Where a peer keeps what its later starts need not make again: another place for another form of this benchmark.
fn kept(place: &Path, name: &str, extension: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    include_str!("starts.rs").hash(&mut hasher);
    place.join(format!("{name}-{:016x}.{extension}", hasher.finish()))
}

/// The kernel that all of them run: the last one.
fn kernel() -> String {
    format!("k{}", MANY / PER_KERNEL - 1)
}

fn raw_opencl(device: &str, place: &Path) -> Result<u32> {
    let raw = Raw::open(device)?;
    let (file, name) = (kept(place, "raw-opencl", "bin"), CString::new(kernel())?);
    let kernel = if file.exists() {
        raw.kernel_of_binary(&fs::read(file)?, &name)?
    } else {
        let text = text(
            "",
            |number| format!("__global uint G{number} = {number};"),
            |kernel| format!("__kernel void k{kernel}(__global float *y)"),
        )?;
        let built = raw.kernel_with(&text, &name, c"-cl-std=CL3.0")?;
        fs::write(file, raw.binary(&built)?)?;
        built
    };
    // The sum is exact as a float.
    let memory = raw.upload(&[0.0])?;
    raw.set_memory(&kernel, 0, &memory)?;
    raw.run(&kernel, 1)?;
    Ok(raw.download(&memory, 1)?[0] as u32)
}

fn dpcpp(device: &str, place: &Path) -> Result<u32> {
    let dpcpp = Dpcpp::load()?.ok_or("DPC++ is not installed")?;
    let file = kept(place, "dpcpp", "cpp");
    if !file.exists() {
        let head = "#include <sycl/sycl.hpp>\n\
                    namespace experimental = sycl::ext::oneapi::experimental;\n";
        let text = text(
            head,
            |number| format!("experimental::device_global<uint32_t> G{number};"),
            |kernel| {
                format!(
                    "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(experimental::single_task_kernel)\n\
                     void k{kernel}(uint32_t *y)"
                )
            },
        )?;
        fs::write(&file, text)?;
    }
    let last = MANY - 1;
    let global = (&*format!("G{last}"), last as u32);
    dpcpp.start(device, &fs::read_to_string(file)?, global, &kernel())
}

/// The peer's program: as many globals, and kernels that each add up some of them.
fn text(
    head: &str,
    global: impl Fn(usize) -> String,
    signature: impl Fn(usize) -> String,
) -> Result<String> {
    let mut text = String::from(head);
    for number in 0..MANY {
        writeln!(text, "{}", global(number))?;
    }
    for kernel in 0..MANY / PER_KERNEL {
        let globals = kernel * PER_KERNEL..(kernel + 1) * PER_KERNEL;
        let sum: Vec<String> = globals.map(|number| format!("G{number}")).collect();
        writeln!(text, "{} {{ *y = {}; }}", signature(kernel), sum.join(" + "))?;
    }
    Ok(text)
}
