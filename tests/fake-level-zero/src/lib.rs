//! A Level Zero driver without a device: what stands in for hardware in tests.
//!
//! The real loader loads this library, named by `ZE_ENABLE_ALT_DRIVERS`, and finds one device of the
//! kind GPU. Its memory is the host's, its compiler and its cores are those of an OpenCL driver for the
//! CPU. It does what a good driver does, and is strict where a driver may be lenient:
//!
//! - Every call is checked: null pointers, types of structures, handles that are gone, objects that are
//!   destroyed while something uses them, copies that leave their allocation, contexts that are
//!   destroyed before what was made of them. A call that is wrong is named, and ends the process.
//! - Commands of a list run in the worst order that their events and barriers allow: the newest first.
//! - Ticks of its clock are long, and its counters begin again two seconds after the start.
//! - It fills with short patterns only, and suggests groups that divide nothing.
//! - It fails to say how far commands are where a test asks it to, by `crosscut_fake_answer_queries`.
//!
//! `table` is what the loader asks for; `driver`, `memory`, `event`, `module`, `kernel` and `list` have the
//! calls; `live` knows which handles there are; `opencl` is what runs below; `spirv` reads what a module
//! says about itself.

mod checked;
mod driver;
mod event;
mod kernel;
mod list;
mod live;
mod memory;
mod module;
mod opencl;
mod spirv;
mod table;
