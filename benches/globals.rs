//! Device globals: writing and reading one, and a kernel in between.

use crosscut::prelude::*;

use crate::Result;
use crate::dpcpp::Dpcpp;
use crate::raw_opencl::Raw;
use crate::raw_opencl::globals::Variable;
use crate::rounds::Contender;

static CELL: DeviceGlobal<u32> = DeviceGlobal::zeroed();
static BLOCK: DeviceGlobal<[u32; BLOCK_LENGTH]> = DeviceGlobal::zeroed();

/// 4 KiB of them.
const BLOCK_LENGTH: usize = 1024;
/// How many links a chain has.
pub(crate) const LINKS: u32 = 1000;

const SOURCE: &str = "__global uint cells[1024];
__kernel void step(void) { cells[0] += 1; }";

/// What is done with a global.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Write 4 bytes and read them, waiting for both.
    Cell,
    /// The same with 4 KiB.
    Block,
    /// Write 4 bytes, have a kernel count them up, read them; [`LINKS`] times.
    Chain,
}

fn check(got: u32, expected: u32) -> Result<()> {
    if got == expected {
        Ok(())
    } else {
        Err("a global has another value than it was given".into())
    }
}

/// With Crosscut.
pub(crate) fn crosscut(queue: &Queue, work: Work) -> Contender<'_> {
    let mut round = 0u32;
    let mut block = [0u32; BLOCK_LENGTH];
    Contender::new(move || {
        round = round.wrapping_add(1);
        match work {
            Work::Cell => {
                queue.write(&CELL, &round)?;
                check(queue.read(&CELL)?, round)
            }
            Work::Block => {
                block[BLOCK_LENGTH - 1] = round;
                queue.write(&BLOCK, &block)?;
                queue.read_into(&BLOCK, &mut block)?;
                check(block[BLOCK_LENGTH - 1], round)
            }
            Work::Chain => (0..LINKS).try_for_each(|link| {
                queue.write(&CELL, &link)?;
                queue.single_task(CELL.exclusive(), |cell| *cell += 1)?;
                check(queue.read(&CELL)?, link + 1)
            }),
        }
    })
}

/// The same by hand.
pub(crate) struct ByHand<'a>(Variable<'a>);

impl<'a> ByHand<'a> {
    /// `None` where the driver has no calls for variables.
    pub(crate) fn new(raw: &'a Raw) -> Result<Option<Self>> {
        Ok(Variable::new(raw, SOURCE, c"cells", c"step")?.map(Self))
    }

    pub(crate) fn contender(&mut self, work: Work) -> Contender<'_> {
        let mut round = 0u32;
        let mut block = [0u32; BLOCK_LENGTH];
        Contender::new(move || {
            round = round.wrapping_add(1);
            match work {
                Work::Cell => {
                    self.0.set(&[round])?;
                    let mut got = [0];
                    self.0.get(&mut got)?;
                    check(got[0], round)
                }
                Work::Block => {
                    block[BLOCK_LENGTH - 1] = round;
                    self.0.set(&block)?;
                    self.0.get(&mut block)?;
                    check(block[BLOCK_LENGTH - 1], round)
                }
                Work::Chain => (0..LINKS).try_for_each(|link| {
                    self.0.set(&[link])?;
                    self.0.step()?;
                    let mut got = [0];
                    self.0.get(&mut got)?;
                    check(got[0], link + 1)
                }),
            }
        })
    }
}

/// The same with DPC++.
pub(crate) fn dpcpp(peer: &Dpcpp, work: Work) -> Contender<'_> {
    let mut round = 0u32;
    let mut block = [0u32; BLOCK_LENGTH];
    Contender::new(move || {
        round = round.wrapping_add(1);
        let mut got = [0];
        match work {
            Work::Cell => {
                peer.write(&[round])?;
                peer.read(&mut got)?;
                check(got[0], round)
            }
            Work::Block => {
                block[BLOCK_LENGTH - 1] = round;
                peer.write(&block)?;
                peer.read(&mut block)?;
                check(block[BLOCK_LENGTH - 1], round)
            }
            Work::Chain => (0..LINKS).try_for_each(|link| {
                peer.write(&[link])?;
                peer.step()?;
                peer.read(&mut got)?;
                check(got[0], link + 1)
            }),
        }
    })
}
