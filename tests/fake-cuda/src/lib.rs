//! A CUDA driver without a device: what stands in for hardware in tests.
//!
//! Tests put this library where the system looks first, under the name of CUDA's own. It has two devices
//! of the kind GPU, a new one and an old one without unified addresses. Their memory is the host's; their
//! kernels are PTX, which an interpreter runs. It does what a good driver does, and is strict where a
//! driver may be lenient:
//!
//! - Every call is checked: null pointers, contexts that are not current on the thread, handles that are
//!   gone or of another context, copies that leave their allocation, memory that is freed and programs that
//!   are unloaded while something uses them, contexts that are released before what was made of them. A
//!   call that is wrong is named, and ends the process.
//! - Each stream is a thread: what is not waited for is not there yet.
//! - Memory is aligned as CUDA promises and not more, and is full of rubbish at first.
//! - A kernel that leaves its memory loses its context, with CUDA's codes.
//! - PTX that the interpreter does not know is refused, by the line and the instruction.
//!
//! `table` has the entry points; `driver`, `context`, `memory`, `stream`, `event` and `module` have the
//! calls; `live` knows which handles there are; `ptx` reads and runs kernels.

mod checked;
mod context;
mod driver;
mod event;
mod live;
mod memory;
mod module;
mod ptx;
mod stream;
mod table;
