//! Bodies that attract one another. Two buffers take turns; energy tells whether the result can be true.
//!
//! `CROSSCUT_TRACE=nbody.json cargo crosscut run --release --example nbody` writes a timeline for
//! <https://ui.perfetto.dev>.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Body {
    position: [f32; 3],
    mass: f32,
    velocity: [f32; 3],
    /// Device data has no padding bytes.
    unused: f32,
}

const BODIES: usize = 512;
const STEPS: usize = 20;
const STEP: f32 = 1e-3;
/// Keeps bodies that come close from being thrown out.
const SOFTENING: f32 = 0.05;

/// A ball of bodies at rest, the same at every run.
fn bodies() -> Vec<Body> {
    let mut state = 0x2545_f491_u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut body = || Body {
        position: [random(), random(), random()],
        mass: 1.0 / BODIES as f32,
        velocity: [0.0; 3],
        unused: 0.0,
    };
    (0..BODIES).map(|_| body()).collect()
}

/// What pulls at `position`.
fn acceleration(position: [f32; 3], bodies: &[Body]) -> [f32; 3] {
    let mut sum = [0.0; 3];
    for other in bodies {
        let [x, y, z] = [0, 1, 2].map(|k| other.position[k] - position[k]);
        let distance = (x * x + y * y + z * z + SOFTENING * SOFTENING).sqrt();
        let pull = other.mass / (distance * distance * distance);
        sum = [sum[0] + pull * x, sum[1] + pull * y, sum[2] + pull * z];
    }
    sum
}

fn energy(bodies: &[Body]) -> f64 {
    let mut energy = 0.0;
    for (i, one) in bodies.iter().enumerate() {
        let speed: f32 = one.velocity.iter().map(|v| v * v).sum();
        energy += f64::from(one.mass * speed) / 2.0;
        for other in &bodies[..i] {
            let d = [0, 1, 2].map(|k| one.position[k] - other.position[k]);
            let square = d.iter().map(|d| d * d).sum::<f32>() + SOFTENING * SOFTENING;
            energy -= f64::from(one.mass * other.mass / square.sqrt());
        }
    }
    energy
}

pub(crate) fn main() -> crosscut::Result<()> {
    // `RUST_LOG=crosscut=debug` tells of devices and programs; without it nothing is printed.
    env_logger::init();
    let queue = Queue::new()?;
    println!("{}", queue.device());

    let start = bodies();
    let mut now = queue.upload(&start)?;
    let mut next = queue.zeroed::<Body>(BODIES)?;
    for _ in 0..STEPS {
        queue.for_each(&mut next, &now, |i, next, bodies| {
            let mut body = bodies[i];
            let pull = acceleration(body.position, bodies);
            for (k, pull) in pull.into_iter().enumerate() {
                body.velocity[k] += STEP * pull;
                body.position[k] += STEP * body.velocity[k];
            }
            *next = body;
        })?;
        std::mem::swap(&mut now, &mut next);
    }
    let end = queue.download(&now)?;

    let (before, after) = (energy(&start), energy(&end));
    println!("energy {before:.6} became {after:.6} after {STEPS} steps of {BODIES} bodies");
    assert_ne!(start, end, "nothing moved");
    assert!((after - before).abs() < 1e-3 * before.abs(), "energy came from nowhere");
    Ok(())
}
