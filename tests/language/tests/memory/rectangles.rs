//! Rectangles of buffers: beside kernels, and from device to device.

use crosscut::Result;
use crosscut_language::{agree, targets};

#[test]
fn kernels_wait_for_copies_of_rectangles_and_are_waited_for() {
    let seen = agree(|queue| {
        let mut image = queue.zeroed::<u16>(6 * 7)?.shaped([6, 7])?;
        queue.for_each(&mut image, (), |[y, x], pixel, ()| *pixel = (10 * y + x) as u16)?;
        let mut tile = queue.zeroed::<u16>(6)?.shaped([2, 3])?;
        queue.copy(&image.part([3..5, 4..7])?, &mut tile.part_mut([0..2, 0..3])?)?;
        queue.for_each(&mut tile, (), |_, pixel, ()| *pixel += 100)?;
        queue.fill(&mut image.part_mut([0..6, 0..1])?, 999)?;
        queue.copy(&tile, &mut image.part_mut([0..2, 1..4])?)?;
        let mut turned = queue.zeroed::<u16>(42)?.shaped([7, 6])?;
        queue.for_each(&mut turned, &image, |[y, x], pixel, image| *pixel = image[[x, y]])?;
        queue.download(&turned.part([0..4, 0..2])?)
    });
    assert_eq!(seen, [999, 999, 134, 144, 135, 145, 136, 146]);
}

#[test]
fn rows_of_many_sizes_are_filled_and_read_back() {
    for (width, left, right) in [(1, 0, 1), (3, 1, 2), (64, 0, 63), (64, 0, 64), (129, 7, 120)] {
        let seen = agree(|queue| {
            let mut x = queue.zeroed::<[f32; 3]>(9 * width)?.shaped([9, width])?;
            queue.fill(&mut x.part_mut([2..8, left..right])?, [0.5, -1.0, 2.0])?;
            queue.download(&x)
        });
        for (at, value) in seen.iter().enumerate() {
            let (y, x) = (at / width, at % width);
            let inside = (2..8).contains(&y) && (left..right).contains(&x);
            assert_eq!(*value, if inside { [0.5, -1.0, 2.0] } else { [0.0; 3] }, "{y}, {x}");
        }
    }
}

#[test]
fn rectangles_go_from_every_device_to_every_other() {
    let targets = &targets();
    for (from, to) in targets.iter().flat_map(|a| targets.iter().map(move |b| (a, b))) {
        let run = || -> Result<Vec<i64>> {
            let values: Vec<i64> = (0..2000).collect();
            let x = from.queue.upload(&values)?.shaped([2, 20, 50])?;
            let mut y = to.queue.zeroed::<i64>(2 * 10 * 30)?.shaped([2, 10, 30])?;
            let (source, mut target) =
                (x.part([0..2, 3..9, 10..20])?, y.part_mut([0..2, 4..10, 0..10])?);
            to.queue.copy(&source, &mut target)?;
            to.queue.download(&y)
        };
        let seen = run().unwrap_or_else(|error| panic!("{} to {}: {error}", from.name, to.name));
        for (at, value) in seen.into_iter().enumerate() {
            let (z, y, x) = (at / 300, at / 30 % 10, at % 30);
            let expected = if y >= 4 && x < 10 { 1000 * z + 50 * (y - 1) + 10 + x } else { 0 };
            assert_eq!(value, expected as i64, "{} to {}: {z}, {y}, {x}", from.name, to.name);
        }
    }
}
