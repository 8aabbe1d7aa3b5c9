//! A part of PTX: what the kernels of tests need, read and run.
//!
//! `token` cuts text into words, `read` makes a [`Program`] of them, `instruction` reads one instruction,
//! `value` computes, `run` runs a kernel. What is not known is refused when it is read, by its line.

mod instruction;
mod read;
mod run;
mod token;
mod value;

pub(crate) use read::read;
pub(crate) use run::{Launch, run};

use instruction::Instruction;

/// A module of PTX.
#[derive(Debug)]
pub(crate) struct Program {
    /// The generation it asks for: 70 of `sm_70`.
    pub(crate) target: u32,
    pub(crate) variables: Vec<Variable>,
    pub(crate) kernels: Vec<Kernel>,
}

/// A variable in global memory.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// What it holds when the module is loaded.
    pub(crate) bytes: Vec<u8>,
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// The bytes of each parameter, in order.
    pub(crate) parameters: Vec<Parameter>,
    /// The most items of a group that it was compiled for.
    pub(crate) most_items: Option<u32>,
    /// The bytes of shared memory beside the launch's own, which comes after it.
    pub(crate) shared: usize,
    registers: usize,
    instructions: Vec<Instruction>,
}

/// A parameter of an entry.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}
