//! What `cargo crosscut --help` says.

pub(crate) const TEXT: &str = "\
cargo, with device code: kernels written as Rust closures also run on GPUs and other devices

Usage: cargo crosscut COMMAND [OPTIONS] [ARGUMENTS OF CARGO]

Commands:
  build, b   Compile the package and put device code for its kernels into it
  run, r     The same, then run it
  test, t    The same for tests, then run them
  bench      The same for benchmarks, then run them
  check, c   What `cargo check` does; device code is looked at when it is linked
  clean      Remove what these commands made
  ls         List the devices that programs can use, and why there are no others
  doctor     Look whether everything is there that these commands and programs need

Options:
      --dump-after NAME  Write the device code as it is after this pass of the lowering, as text;
                         any word that is none gets the list of them
      --dump-dir DIR     Where to write it [default: `deps/device/NAME-HASH.lowered` beside the
                         program, `device/NAME-HASH.lowered` beside an example; the next link empties it]
  -h, --help             Print this
  -V, --version          Print the version

All other arguments are cargo's: `cargo crosscut build --help` lists them. Plain `cargo build`
works too; kernels then run on the host CPU only. The two do not disturb each other: device builds
have the folder `crosscut` in the target directory for their own.

Environment of the programs that are made:
  CROSSCUT_DEVICE      Which device kernels run on: `host`, `opencl:gpu`, `opencl:cpu`
  CROSSCUT_TRACE       A file for a timeline of what queues and devices did, for ui.perfetto.dev
  CROSSCUT_CACHE       `0`: do not keep what drivers compile for the next run
  CROSSCUT_CACHE_DIR   Where to keep it [default: `crosscut` in the user's folder for caches]
  CROSSCUT_CACHE_SIZE  How many bytes of it, with `K`, `M` or `G` if you like [default: 512M]

Examples:
  cargo crosscut run --release --example letters
  CROSSCUT_DEVICE=opencl:cpu cargo crosscut test
  cargo crosscut ls --verbose
";

/// What stands before cargo's own words on one of its subcommands.
pub(crate) const BEFORE_CARGO: &str = "\
`cargo crosscut` puts device code into what this command of cargo's makes. CROSSCUT_DEVICE says which device
programs run on, as in CROSSCUT_DEVICE=opencl:cpu; `cargo crosscut --help` tells of that and of --dump-after.

";
