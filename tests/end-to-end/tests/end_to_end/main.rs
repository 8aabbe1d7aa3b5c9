//! Whole programs: real cargo, real compiler, real driver, processes of their own.

#![allow(missing_docs, reason = "a test's name is its documentation")]

mod absent;
mod command;
mod exits;
mod images;
mod input;
mod lab;
mod level_zero;
mod outside;
mod selector;
