//! Draws the Mandelbrot set, and writes it as a picture: `mandelbrot [FILE.ppm]`.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::path::PathBuf;

use crosscut::prelude::*;

const WIDTH: usize = 960;
const HEIGHT: usize = 640;
const MOST_STEPS: u32 = 500;

/// How long a point stays near the origin, up to a limit.
fn steps([a, b]: [f32; 2]) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..MOST_STEPS {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + a, 2.0 * x * y + b);
    }
    MOST_STEPS
}

/// The point behind a pixel.
fn point([row, column]: [usize; 2]) -> [f32; 2] {
    [column as f32 / WIDTH as f32 * 3.0 - 2.25, row as f32 / HEIGHT as f32 * 2.0 - 1.0]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new()?;
    let mut picture = queue.zeroed::<[u8; 3]>(WIDTH * HEIGHT)?;
    queue.parallel_for([HEIGHT, WIDTH], &mut picture, |at, pixel| {
        let steps = steps(point(at));
        if steps < MOST_STEPS {
            // Three waves of different length make a colour.
            let wave = |length: f32| (128.0 - 127.0 * (steps as f32 / length).cos()) as u8;
            *pixel = [wave(23.0), wave(17.0), wave(9.0)];
        }
    })?;
    let pixels = queue.download(&picture)?;

    let inside = pixels.iter().filter(|pixel| **pixel == [0; 3]).count();
    let area = inside as f64 / pixels.len() as f64 * 6.0;
    assert!((1.45..1.6).contains(&area), "the set's area is about 1.5066, not {area}");

    let file = std::env::args_os()
        .nth(1)
        .map_or_else(|| std::env::temp_dir().join("crosscut-mandelbrot.ppm"), PathBuf::from);
    let head = format!("P6 {WIDTH} {HEIGHT} 255\n");
    std::fs::write(&file, [head.as_bytes(), pixels.as_flattened()].concat())?;
    println!("{}: area {area:.3}, {}", queue.device(), file.display());
    Ok(())
}
