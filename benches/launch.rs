//! An empty kernel, and waiting for it: what a launch costs.

use crosscut::prelude::*;

use crate::Result;
use crate::raw_opencl::{Kernel, Raw};
use crate::rounds::Contender;

const SOURCE: &str = "__kernel void nothing(void) {}";

/// Crosscut's launch.
pub(crate) fn crosscut(queue: &Queue) -> Contender<'_> {
    Contender::new(|| {
        queue.parallel_for(1, (), |_, ()| ())?.wait()?;
        Ok(())
    })
}

/// The same by hand.
pub(crate) struct ByHand<'a> {
    raw: &'a Raw,
    kernel: Kernel,
}

impl<'a> ByHand<'a> {
    pub(crate) fn new(raw: &'a Raw) -> Result<Self> {
        Ok(Self { raw, kernel: raw.kernel(SOURCE, c"nothing")? })
    }

    pub(crate) fn contender(&mut self) -> Contender<'_> {
        Contender::new(|| self.raw.run(&self.kernel, 1))
    }
}
