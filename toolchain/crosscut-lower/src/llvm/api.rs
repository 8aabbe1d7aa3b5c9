//! LLVM's C functions that we use, found in the shared library at run time.
//!
//! Nothing of LLVM is needed to build this crate. The declarations follow LLVM 22's `llvm-c`
//! headers; [`Api::load`] refuses a library of another major version, whose functions may differ.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::PathBuf;

use libloading::Library;

/// The LLVM major version whose C interface is declared here, and whose bitcode rustc writes.
pub const LLVM_MAJOR: u32 = 22;

/// The environment variable that names the library, for machines that keep it elsewhere.
pub const LIBRARY_VARIABLE: &str = "CROSSCUT_LLVM";

/// An LLVM object seen from here: only ever a pointer.
#[repr(C)]
pub(crate) struct Opaque {
    _private: [u8; 0],
}

/// Any `LLVM...Ref`.
pub(crate) type Ref = *mut Opaque;

/// Why LLVM cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No library of that name.
    #[error(
        "LLVM {LLVM_MAJOR} is needed to make device code, and its library was not found: {}",
        tried.join("; ")
    )]
    Missing {
        /// What the loader said of each name that was tried.
        tried: Vec<String>,
    },
    /// A library of another version.
    #[error("LLVM {LLVM_MAJOR} is needed to make device code, but {library} is LLVM {found}")]
    WrongMajor {
        /// The library's name or path.
        library: String,
        /// Its version.
        found: String,
    },
    /// A library without a function that LLVM has.
    #[error("{library} is not a usable LLVM: it has no function `{function}`")]
    Incomplete {
        /// The library's name or path.
        library: String,
        /// The function.
        function: &'static str,
    },
}

impl LoadError {
    /// What the user can do.
    #[must_use]
    pub fn help(&self) -> String {
        format!(
            "install it (Debian: `apt-get install libllvm{LLVM_MAJOR}`), or set {LIBRARY_VARIABLE} \
             to the path of libLLVM.so.{LLVM_MAJOR}.1"
        )
    }
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// The functions, each under its C name.
        #[allow(non_snake_case, reason = "the names are LLVM's")]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the functions valid.
            _library: Library,
        }

        impl Api {
            #[allow(non_snake_case, reason = "the names are LLVM's")]
            fn from_library(library: Library, name: &str) -> Result<Self, LoadError> {
                $(
                    // SAFETY: the declaration follows LLVM 22's headers, and the version was
                    // checked by the caller; the pointer is used only while `library` is loaded.
                    let $name = *unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            concat!(stringify!($name), "\0").as_bytes(),
                        )
                    }
                    .map_err(|_| LoadError::Incomplete {
                        library: name.into(),
                        function: stringify!($name),
                    })?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}

type TargetInitializer = unsafe extern "C" fn();
type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);

functions! {
    LLVMContextCreate: fn() -> Ref;
    LLVMContextSetDiagnosticHandler: fn(Ref, Option<extern "C" fn(Ref, *mut c_void)>, *mut c_void);
    LLVMGetDiagInfoDescription: fn(Ref) -> *mut c_char;
    LLVMGetDiagInfoSeverity: fn(Ref) -> c_int;
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ref;
    LLVMGetBufferStart: fn(Ref) -> *const c_char;
    LLVMGetBufferSize: fn(Ref) -> usize;
    LLVMDisposeMemoryBuffer: fn(Ref);
    LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMParseBitcodeInContext2: fn(Ref, Ref, *mut Ref) -> c_int;
    LLVMGetBitcodeModuleInContext2: fn(Ref, Ref, *mut Ref) -> c_int;
    LLVMModuleCreateWithNameInContext: fn(*const c_char, Ref) -> Ref;
    LLVMDisposeModule: fn(Ref);
    LLVMPrintModuleToString: fn(Ref) -> *mut c_char;
    LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> c_int;
    LLVMLinkModules2: fn(Ref, Ref) -> c_int;
    LLVMSetTarget: fn(Ref, *const c_char);
    LLVMSetDataLayout: fn(Ref, *const c_char);
    LLVMStripModuleDebugInfo: fn(Ref) -> c_int;
    LLVMGetFirstFunction: fn(Ref) -> Ref;
    LLVMGetNextFunction: fn(Ref) -> Ref;
    LLVMGetFirstGlobal: fn(Ref) -> Ref;
    LLVMGetNextGlobal: fn(Ref) -> Ref;
    LLVMGetNamedFunction: fn(Ref, *const c_char) -> Ref;
    LLVMGetNamedGlobal: fn(Ref, *const c_char) -> Ref;
    LLVMGetValueName2: fn(Ref, *mut usize) -> *const c_char;
    LLVMIsDeclaration: fn(Ref) -> c_int;
    LLVMSetLinkage: fn(Ref, c_int);
    LLVMGetLinkage: fn(Ref) -> c_int;
    LLVMGetFirstUse: fn(Ref) -> Ref;
    LLVMGetNextUse: fn(Ref) -> Ref;
    LLVMGetUser: fn(Ref) -> Ref;
    LLVMIsACallInst: fn(Ref) -> Ref;
    LLVMIsAInvokeInst: fn(Ref) -> Ref;
    LLVMGetInstructionParent: fn(Ref) -> Ref;
    LLVMGetBasicBlockParent: fn(Ref) -> Ref;
    LLVMRunPasses: fn(Ref, *const c_char, Ref, Ref) -> Ref;
    LLVMCreatePassBuilderOptions: fn() -> Ref;
    LLVMDisposePassBuilderOptions: fn(Ref);
    LLVMGetErrorMessage: fn(Ref) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: fn(
        Ref,
        *const c_char,
        *const c_char,
        *const c_char,
        c_int,
        c_int,
        c_int,
    ) -> Ref;
    LLVMDisposeTargetMachine: fn(Ref);
    LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    LLVMCopyStringRepOfTargetData: fn(Ref) -> *mut c_char;
    LLVMDisposeTargetData: fn(Ref);
    LLVMParseCommandLineOptions: fn(c_int, *const *const c_char, *const c_char);
    LLVMTargetMachineEmitToMemoryBuffer: fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;
}

/// The code generators we use: the device's, and those of hosts that Crosscut runs on.
const TARGETS: &[&str] = &["SPIRV", "X86", "AArch64"];

impl Api {
    /// Loads LLVM and makes its code generators known.
    pub(crate) fn load() -> Result<Self, LoadError> {
        let (library, name) = open()?;
        version(&library, &name)?;
        for target in TARGETS {
            initialize(&library, target);
        }
        Self::from_library(library, &name)
    }
}

/// Opens the library that the user named, or the first of its usual names.
fn open() -> Result<(Library, String), LoadError> {
    let candidates: Vec<PathBuf> = match std::env::var_os(LIBRARY_VARIABLE) {
        Some(path) if !path.is_empty() => vec![path.into()],
        _ => [
            "libLLVM.so.22.1",
            "libLLVM-22.so",
            "/usr/lib/llvm-22/lib/libLLVM.so.22.1",
            "libLLVM.dylib",
        ]
        .iter()
        .map(PathBuf::from)
        .collect(),
    };
    let mut tried = Vec::new();
    for candidate in candidates {
        // SAFETY: loading LLVM runs its static constructors, which only set up its own tables. A
        // path named by the user is the user's to choose, as with any program that loads plugins.
        match unsafe { Library::new(&candidate) } {
            Ok(library) => return Ok((library, candidate.display().to_string())),
            // The loader's own words begin with the name.
            Err(error) => tried.push(match std::error::Error::source(&error) {
                Some(words) => words.to_string(),
                None => format!("{}: {error}", candidate.display()),
            }),
        }
    }
    Err(LoadError::Missing { tried })
}

/// Looks for LLVM without making use of it: the library's name, and its version.
///
/// # Errors
/// Why there is none that can be used.
pub fn find_llvm() -> Result<(String, String), LoadError> {
    let (library, name) = open()?;
    let version = version(&library, &name)?;
    let api = Api::from_library(library, &name)?;
    // Its static tables are not made to be taken down.
    std::mem::forget(api);
    Ok((name, version))
}

/// The version, if it is the right one.
fn version(library: &Library, name: &str) -> Result<String, LoadError> {
    let incomplete = || {
        // SAFETY: the symbol is only looked for.
        match unsafe { library.get::<TargetInitializer>(b"LLVMContextCreate\0") } {
            Ok(_) => {
                LoadError::WrongMajor { library: name.into(), found: "15 or older".to_owned() }
            }
            Err(_) => LoadError::Incomplete { library: name.into(), function: "LLVMGetVersion" },
        }
    };
    // SAFETY: `LLVMGetVersion` has had this signature since it was added in LLVM 16.
    let get_version =
        unsafe { library.get::<GetVersion>(b"LLVMGetVersion\0") }.map_err(|_| incomplete())?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three pointers are to live integers of the type that the function writes.
    unsafe { get_version(&raw mut major, &raw mut minor, &raw mut patch) };
    let found = format!("{major}.{minor}.{patch}");
    if major != LLVM_MAJOR {
        return Err(LoadError::WrongMajor { library: name.into(), found });
    }
    Ok(found)
}

/// Makes one code generator known; a library built without it is left as it is.
fn initialize(library: &Library, target: &str) {
    for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter"] {
        let name = format!("LLVMInitialize{target}{part}\0");
        // SAFETY: every function of this family takes nothing, returns nothing, and only registers
        // static tables.
        if let Ok(initialize) = unsafe { library.get::<TargetInitializer>(name.as_bytes()) } {
            // SAFETY: as above.
            unsafe { initialize() };
        }
    }
}
