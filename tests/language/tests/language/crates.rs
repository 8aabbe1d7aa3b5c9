//! Published crates, unchanged, inside kernels.

use crosscut_language::{map, map_within};

fn seeds() -> Vec<u32> {
    (0..40).map(|i| i * 2_654_435 + 1).collect()
}

#[test]
fn glam_turns_vectors() {
    use glam::{Mat3, Vec2, Vec3};
    map_within(8, &[[1.0f32, 2.0, 3.0], [-0.5, 4.0, 0.0], [10.0, -3.0, 0.25]], |v| {
        let v = Vec3::from_array(v);
        let normal = v.normalize();
        let turned = Mat3::from_rotation_z(0.5) * v + Vec3::new(1.0, 0.0, -1.0).cross(v);
        let flat = Vec2::new(v.x, v.y).perp().lerp(Vec2::ONE, 0.25);
        [
            normal.x,
            normal.y,
            normal.z,
            turned.x,
            turned.y,
            turned.z,
            flat.x,
            flat.y,
            v.dot(normal),
            v.length(),
        ]
    });
}

#[test]
fn num_complex_iterates() {
    use num_complex::Complex32;
    map(&[[0.1f32, 0.2], [-0.75, 0.1], [0.3, 0.6], [-2.0, 0.0]], |[re, im]| {
        let c = Complex32::new(re, im);
        let mut z = Complex32::new(0.0, 0.0);
        let mut count = 0u32;
        while z.norm_sqr() <= 4.0 && count < 200 {
            z = z * z + c;
            count += 1;
        }
        [count, z.conj().im.is_sign_negative().into(), (c / Complex32::new(0.5, 2.0)).re.to_bits()]
    });
}

#[test]
fn libm_computes_in_plain_rust() {
    map(&[0.1f64, 1.0, -2.5, 30.0, 700.0], |x| {
        [
            libm::sin(x),
            libm::exp(x),
            libm::cbrt(x),
            libm::tanh(x),
            libm::log1p(x.abs()),
            libm::erf(x),
        ]
        .map(f64::to_bits)
    });
}

#[test]
fn rand_pcg_draws_the_same_numbers() {
    use rand_core::{Rng, SeedableRng};
    map(&seeds(), |seed| {
        let mut small = rand_pcg::Pcg32::seed_from_u64(seed.into());
        let mut large = rand_pcg::Pcg64Mcg::seed_from_u64(seed.into());
        [u64::from(small.next_u32()), small.next_u64(), large.next_u64(), large.next_u64()]
    });
}

#[test]
fn arrayvec_grows_without_a_heap() {
    use arrayvec::ArrayVec;
    map(&seeds(), |seed| {
        let mut digits = ArrayVec::<u8, 16>::new();
        let mut rest = seed;
        while rest > 0 {
            digits.push((rest % 10) as u8);
            rest /= 10;
        }
        digits.reverse();
        let last = digits.pop().unwrap_or(0);
        digits.retain(|digit| *digit % 2 == 0);
        digits.insert(0, 9);
        [
            digits.len() as u32,
            last.into(),
            digits.iter().fold(0, |all, &digit| all * 10 + u32::from(digit)),
        ]
    });
}

#[test]
fn half_converts() {
    use half::{bf16, f16};
    map(&[0.0f32, 1.0, -2.5, 65504.0, 65520.0, 1e-7, 3.14159, f32::INFINITY, 6e-8], |x| {
        [
            f16::from_f32_const(x).to_bits().into(),
            f16::from_f32_const(x).to_f32_const().to_bits(),
            bf16::from_f32(x).to_bits().into(),
            (bf16::from_f32(x) + bf16::ONE).to_f32().to_bits(),
        ]
    });
}

#[test]
fn half_computes_in_buffers_and_globals() {
    use crosscut::prelude::*;
    use half::{bf16, f16};
    static SCALE: DeviceGlobal<[f16; 2]> = DeviceGlobal::new([f16::from_f32_const(0.5), f16::ONE]);
    crosscut_language::agree(|queue| {
        let x: Vec<f16> = (0..50).map(|i| f16::from_f32(i as f32 * 0.37 - 9.0)).collect();
        let x = queue.upload(&x)?;
        let mut y = queue.zeroed::<[f16; 3]>(50)?;
        queue.for_each(&mut y, &x, |i, y, x| {
            let [scale, one] = SCALE.get();
            let b = bf16::from_f32(x[i].to_f32()) * bf16::from_f32(1.5);
            *y = [
                x[i] * scale + one,
                (x[i] / f16::from_f32(3.0)).max(-one),
                f16::from_f32(b.to_f32()),
            ];
        })?;
        Ok(queue.download(&y)?.concat().into_iter().map(f16::to_bits).collect())
    });
}

#[test]
fn fixed_counts_in_fractions() {
    use fixed::types::{I16F16, U8F8};
    map(&[0i32, 1, -5, 100, 77], |n| {
        let x = I16F16::from_num(n) / 3 + I16F16::lit("0.125");
        let small = U8F8::saturating_from_num(n);
        [
            x.to_bits(),
            (x * x).to_bits(),
            x.floor().to_num::<i32>(),
            small.to_bits().into(),
            x.wrapping_mul_int(1000).to_bits(),
        ]
    });
}
