//! DPC++, where `cargo xtask setup --peers` has installed it: the other peer on OpenCL devices.
//!
//! Its run time has a C++ interface and nothing else, so its side of the work is a file of C++,
//! which the machine's own compiler makes into a library here.

use std::ffi::{CStr, CString, c_char};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;

use crate::Result;

const SOURCE: &str = include_str!("dpcpp/peer.cpp");
/// Compilers that are tried, best first.
const COMPILERS: [&str; 4] = ["clang++-22", "clang++", "g++", "c++"];

/// Declares the table, and loads it by name.
macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty,)*) => {
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Api {
            fn load(library: &'static Library) -> Result<Self> {
                Ok(Self {
                    $(
                        // SAFETY: the type is the one that `peer.cpp` gives this name.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

api! {
    peer_reason: fn() -> *const c_char,
    peer_open: fn(*const c_char) -> i32,
    peer_launch: fn(u32) -> i32,
    peer_step: fn() -> i32,
    peer_write: fn(*const u32, usize) -> i32,
    peer_read: fn(*mut u32, usize) -> i32,
    peer_start: fn(*const c_char, *const c_char, *const c_char, u32, *const c_char, *mut u32) -> i32,
}

/// DPC++'s run time, loaded. There is one in a process, and it is used from one thread.
pub(crate) struct Dpcpp(Api);

impl Dpcpp {
    /// Loads it; `None` where it is not installed.
    pub(crate) fn load() -> Result<Option<Self>> {
        let folder = match std::env::var_os("CROSSCUT_DPCPP") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../.crosscut/dpcpp"),
        };
        if !folder.join("lib/libsycl.so").exists() {
            return Ok(None);
        }
        let library = build(&folder.canonicalize()?)?;
        // SAFETY: the initialisers of DPC++'s libraries ask nothing of whoever loads them.
        let library = unsafe { Library::new(library) }?;
        // Never unloaded: its threads outlive what is done with it.
        Ok(Some(Self(Api::load(Box::leak(Box::new(library)))?)))
    }

    /// Compiles the kernels of the cases for the device of this name.
    pub(crate) fn open(&self, device: &str) -> Result<()> {
        let device = CString::new(device)?;
        // SAFETY: the name ends with a zero.
        self.check(unsafe { (self.0.peer_open)(device.as_ptr()) })
    }

    /// Launches an empty kernel so often, and waits. As all that follow, after `open`.
    pub(crate) fn launch(&self, times: u32) -> Result<()> {
        // SAFETY: asks for nothing but that the peer is open.
        self.check(unsafe { (self.0.peer_launch)(times) })
    }

    /// Has a kernel count up the cell.
    pub(crate) fn step(&self) -> Result<()> {
        // SAFETY: as above.
        self.check(unsafe { (self.0.peer_step)() })
    }

    /// Writes the cell, if it is one number, or else the block.
    pub(crate) fn write(&self, from: &[u32]) -> Result<()> {
        // SAFETY: so many numbers are readable; the call waits for the copy.
        self.check(unsafe { (self.0.peer_write)(from.as_ptr(), from.len()) })
    }

    /// Reads the cell, if it is one number, or else the block.
    pub(crate) fn read(&self, to: &mut [u32]) -> Result<()> {
        // SAFETY: so many numbers are writable; the call waits for the copy.
        self.check(unsafe { (self.0.peer_read)(to.as_mut_ptr(), to.len()) })
    }

    /// Builds a program of that text, writes one of its globals and runs a kernel of it; needs no `open`.
    pub(crate) fn start(
        &self,
        device: &str,
        text: &str,
        (global, value): (&str, u32),
        kernel: &str,
    ) -> Result<u32> {
        let texts = [device, text, global, kernel].map(CString::new);
        let [device, text, global, kernel] = texts;
        let (device, text, global, kernel) = (device?, text?, global?, kernel?);
        let mut result = 0;
        // SAFETY: the texts end with zeros, and there is room for the number.
        let code = unsafe {
            (self.0.peer_start)(
                device.as_ptr(),
                text.as_ptr(),
                global.as_ptr(),
                value,
                kernel.as_ptr(),
                &raw mut result,
            )
        };
        self.check(code)?;
        Ok(result)
    }

    fn check(&self, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: asks for nothing.
        let reason = unsafe { (self.0.peer_reason)() };
        // SAFETY: a text that ends with a zero; it stays until the next call, and is copied here.
        let reason = unsafe { CStr::from_ptr(reason) };
        Err(format!("DPC++: {}", reason.to_string_lossy()).into())
    }
}

/// Makes the library, unless it is there from the same text and folder.
fn build(folder: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    (SOURCE, folder).hash(&mut hasher);
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = place.join(format!("dpcpp-{:016x}.so", hasher.finish()));
    if library.exists() {
        return Ok(library);
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("dpcpp/peer.cpp");
    let unfinished = library.with_extension("unfinished");
    let mut path_of_libraries = std::ffi::OsString::from("-Wl,-rpath,");
    path_of_libraries.push(folder.join("lib"));
    for compiler in COMPILERS {
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-isystem"]);
        command.arg(folder.join("include")).arg(&source).arg("-L").arg(folder.join("lib"));
        command.args(["-lsycl", "-o"]).arg(&unfinished).arg(&path_of_libraries);
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot run {compiler}: {error}").into()),
            Ok(output) if output.status.success() => {
                std::fs::rename(&unfinished, &library)?;
                return Ok(library);
            }
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{compiler} does not build DPC++'s side:\n{text}").into());
            }
        }
    }
    Err(format!("DPC++'s side needs a C++ compiler: none of {}", COMPILERS.join(", ")).into())
}
