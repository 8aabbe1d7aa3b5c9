//! y += a * x over many floats: memory bound once nothing else is in the way.

use crosscut::prelude::*;
use rayon::prelude::*;

use crate::Result;
use crate::raw_opencl::{Kernel, Memory, Raw};
use crate::rounds::Contender;

/// So small that any number of runs keeps y finite.
const A: f32 = 1e-9;

const SOURCE: &str = "__kernel void saxpy(__global float *y, __global const float *x, float a) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}";

fn x(length: usize) -> Vec<f32> {
    (0..length).map(|i| (i % 7) as f32).collect()
}

fn y(length: usize) -> Vec<f32> {
    (0..length).map(|i| (i % 5) as f32).collect()
}

/// What every contender must have computed after its first run.
fn check(got: &[f32]) -> Result<()> {
    let right = |(i, &got): (usize, &f32)| {
        (f64::from(got) - (i % 5) as f64 - f64::from(A) * (i % 7) as f64).abs() < 1e-6
    };
    match got.iter().enumerate().all(right) {
        true => Ok(()),
        false => Err("saxpy computed something else".into()),
    }
}

/// On a device, with Crosscut.
pub(crate) struct Crosscut<'a> {
    queue: &'a Queue,
    x: Buffer<f32>,
    y: Buffer<f32>,
}

impl<'a> Crosscut<'a> {
    pub(crate) fn new(queue: &'a Queue, length: usize) -> Result<Self> {
        let mut it = Self { queue, x: queue.upload(&x(length))?, y: queue.upload(&y(length))? };
        it.run()?;
        check(&queue.download(&it.y)?)?;
        Ok(it)
    }

    /// As users write it: `x[i]` is checked, because nothing says that x is as long as y.
    fn run(&mut self) -> Result<()> {
        let a = A;
        self.queue.for_each(&mut self.y, &self.x, move |i, y, x| *y += a * x[i])?.wait()?;
        Ok(())
    }

    pub(crate) fn contender(&mut self) -> Contender<'_> {
        Contender::new(|| self.run())
    }
}

/// On the host, with rayon.
pub(crate) struct Rayon {
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Rayon {
    pub(crate) fn new(length: usize) -> Self {
        Self { x: x(length), y: y(length) }
    }

    /// Without an index, so without checks: the best that rayon can do.
    pub(crate) fn zipped(&mut self) -> Contender<'_> {
        Contender::new(|| {
            self.y.par_iter_mut().zip(&self.x).for_each(|(y, x)| *y += A * x);
            Ok(())
        })
    }

    /// With an index, as the kernel has it.
    pub(crate) fn indexed(&mut self) -> Contender<'_> {
        Contender::new(|| {
            let x = &self.x[..];
            self.y.par_iter_mut().enumerate().for_each(|(i, y)| *y += A * x[i]);
            Ok(())
        })
    }
}

/// On an OpenCL device, by hand, from OpenCL C.
pub(crate) struct ByHand<'a> {
    raw: &'a Raw,
    kernel: Kernel,
    length: usize,
    // The kernel's arguments.
    _memories: [Memory<'a>; 2],
}

impl<'a> ByHand<'a> {
    pub(crate) fn new(raw: &'a Raw, length: usize) -> Result<Self> {
        let memories = [raw.upload(&y(length))?, raw.upload(&x(length))?];
        let kernel = raw.kernel(SOURCE, c"saxpy")?;
        for (index, memory) in (0..).zip(&memories) {
            raw.set_memory(&kernel, index, memory)?;
        }
        raw.set_float(&kernel, 2, A)?;
        raw.run(&kernel, length)?;
        check(&raw.download(&memories[0], length)?)?;
        Ok(Self { raw, kernel, length, _memories: memories })
    }

    pub(crate) fn contender(&mut self) -> Contender<'_> {
        Contender::new(|| self.raw.run(&self.kernel, self.length))
    }
}
