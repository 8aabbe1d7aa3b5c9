//! Saves the state of a computation to a file, and goes on from there on another device.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;
use crosscut::{Named, Snapshot};

static STEP: DeviceGlobal<u32> = DeviceGlobal::zeroed();
static FIELD: DeviceGlobal<[u64; 16]> = DeviceGlobal::new([1; 16]);

/// What is saved, by name: the names stay when the program changes.
const STATE: &[Named] = &[("step", &STEP), ("field", &FIELD)];

fn advance(queue: &Queue, steps: u32) -> crosscut::Result<()> {
    queue.single_task((STEP.exclusive(), FIELD.exclusive()), move |(step, field)| {
        for _ in 0..steps {
            for i in 1..field.len() {
                field[i] = (field[i] + field[i - 1]) % 1_000_003;
            }
            *step += 1;
        }
    })?;
    Ok(())
}

fn main() -> crosscut::Result<()> {
    let file = std::env::temp_dir().join(format!("crosscut-checkpoint-{}", std::process::id()));
    let first = Queue::new()?;
    advance(&first, 100)?;
    first.snapshot(STATE)?.save(&file)?;
    advance(&first, 100)?;

    // Another context stands for another device, another run, another machine.
    let second = Queue::in_context(&first.device().create_context()?)?;
    second.restore(STATE, &Snapshot::load(&file)?)?;
    assert_eq!(second.read(&STEP)?, 100);
    advance(&second, 100)?;
    assert_eq!(second.read(&FIELD)?, first.read(&FIELD)?);
    println!("{}: step {}, the same both ways", second.device(), second.read(&STEP)?);
    // The file is ours, and nobody is the worse for it if it stays.
    let _ = std::fs::remove_file(&file);
    Ok(())
}
