//! Ranges of one to three dimensions.

use crosscut::prelude::*;
use crosscut_language::agree;

#[test]
fn one_dimension() {
    agree(|queue| {
        let mut out = queue.zeroed::<u64>(1000)?;
        queue.parallel_for(1000, &mut out, |i, out| *out = (i * i) as u64)?;
        queue.download(&out)
    });
}

#[test]
fn two_dimensions() {
    let cells = agree(|queue| {
        let mut out = queue.zeroed::<[u32; 2]>(7 * 13)?;
        queue.parallel_for([7, 13], &mut out, |[y, x], out| *out = [y as u32, x as u32])?;
        queue.download(&out)
    });
    assert_eq!(cells[13 + 2], [1, 2]);
}

#[test]
fn three_dimensions() {
    let cells = agree(|queue| {
        let mut out = queue.zeroed::<[u32; 3]>(3 * 5 * 4)?;
        queue.parallel_for([3, 5, 4], &mut out, |index, out| *out = index.map(|i| i as u32))?;
        queue.download(&out)
    });
    assert_eq!(cells[2 * 20 + 3 * 4 + 1], [2, 3, 1]);
}

#[test]
fn neighbours_in_two_dimensions() {
    agree(|queue| {
        let input = queue.upload(&(0..8 * 9).map(|i| (i * 37 % 101) as f32).collect::<Vec<_>>())?;
        let mut out = queue.zeroed::<f32>(8 * 9)?;
        queue.parallel_for([8, 9], (&input, &mut out), |[y, x], (input, out)| {
            let at = |dy: isize, dx: isize| {
                let (y, x) = (y.checked_add_signed(dy)?, x.checked_add_signed(dx)?);
                (y < 8 && x < 9).then(|| input[y * 9 + x])
            };
            let around = [at(-1, 0), at(1, 0), at(0, -1), at(0, 1)];
            *out = around.iter().flatten().sum::<f32>() / around.iter().flatten().count() as f32;
        })?;
        queue.download(&out)
    });
}

#[test]
fn several_buffers_and_values_at_once() {
    agree(|queue: &Queue| {
        let (a, b) = (queue.upload(&[1u8, 2, 3])?, queue.upload(&[0.5f64, 0.25, 0.125])?);
        let (mut c, mut d) = (queue.zeroed::<f64>(3)?, queue.zeroed::<u16>(3)?);
        let offset = 3i8;
        queue.parallel_for(3, (&a, &b, &mut c, &mut d), move |i, (a, b, c, d)| {
            *c = f64::from(a[i]) * b[i] + f64::from(offset);
            *d = u16::from(a[2 - i]) << 4;
        })?;
        let c = queue.download(&c)?.into_iter().map(f64::to_bits);
        Ok(c.chain(queue.download(&d)?.into_iter().map(u64::from)).collect())
    });
}
