//! An empty kernel: what a launch costs that is waited for, and one of many that are not.

use crosscut::prelude::*;

use crate::Result;
use crate::dpcpp::Dpcpp;
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

/// How many launches are made before anybody waits.
const MANY: u32 = 10_000;

/// Many launches with Crosscut, and one wait.
pub(crate) fn crosscut_many(queue: &Queue) -> Contender<'_> {
    Contender::new(|| {
        for _ in 0..MANY {
            queue.parallel_for(1, (), |_, ()| ())?;
        }
        queue.wait()?;
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

    pub(crate) fn many(&mut self) -> Contender<'_> {
        Contender::new(|| {
            (0..MANY).try_for_each(|_| self.raw.launch(&self.kernel, 1))?;
            self.raw.finish()
        })
    }
}

/// The same with DPC++.
pub(crate) fn dpcpp(peer: &Dpcpp) -> Contender<'_> {
    Contender::new(|| peer.launch(1))
}

/// Many launches with DPC++, and one wait.
pub(crate) fn dpcpp_many(peer: &Dpcpp) -> Contender<'_> {
    Contender::new(|| peer.launch(MANY))
}
