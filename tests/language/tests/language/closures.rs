//! Closures, functions, generics and traits.

use core::hint::black_box;

use crosscut::prelude::*;
use crosscut_language::{agree, map};

fn numbers() -> Vec<i32> {
    (-20..20).map(|i| i * 13).collect()
}

#[test]
fn closures_call_closures() {
    map(&numbers(), |x| {
        let add = |n| move |x: i32| x + n;
        let twice = |f: &dyn Fn(i32) -> i32, x| f(f(x));
        let mut calls = 0;
        let mut counted = |x: i32| {
            calls += 1;
            x * calls
        };
        let (one, two) = (counted(x), counted(x));
        [add(3)(x), twice(&add(5), x), one, two, (|| x - 1)()]
    });
}

#[test]
fn functions_are_values() {
    fn triple(x: i32) -> i32 {
        x.wrapping_mul(3)
    }
    fn apply(f: impl Fn(i32) -> i32, x: i32) -> i32 {
        f(x) + 1
    }
    fn compose<A, B, C>(f: impl Fn(A) -> B, g: impl Fn(B) -> C) -> impl Fn(A) -> C {
        move |x| g(f(x))
    }
    map(&numbers(), |x| {
        [
            apply(triple, x),
            apply(i32::abs, x),
            compose(triple, i32::signum)(x),
            Some(x).map(i64::from).map_or(0, |x| x as i32),
        ]
    });
}

trait Measure {
    const SCALE: u32;
    fn measure(&self) -> u32;
    fn scaled(&self) -> u32 {
        self.measure() * Self::SCALE
    }
}

impl Measure for u32 {
    const SCALE: u32 = 2;
    fn measure(&self) -> u32 {
        *self + 1
    }
}

impl<T: Measure, const N: usize> Measure for [T; N] {
    const SCALE: u32 = N as u32;
    fn measure(&self) -> u32 {
        self.iter().map(T::scaled).sum()
    }
}

impl<A: Measure, B: Measure> Measure for (A, B) {
    const SCALE: u32 = A::SCALE + B::SCALE;
    fn measure(&self) -> u32 {
        self.0.measure() ^ self.1.measure()
    }
}

#[test]
fn traits_dispatch_statically() {
    map(&[1u32, 5, 100], |x| {
        [x.scaled(), [x; 3].scaled(), [[x, 2]; 2].scaled(), (x, [x; 4]).scaled()]
    });
}

#[test]
fn const_generics_unroll() {
    fn polynomial<const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
        coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
    }
    fn sized<const N: usize, const UP: bool>(x: u32) -> u32 {
        let shifted = [0; N].len() as u32;
        if UP { x << shifted } else { x >> shifted }
    }
    map(&[0u32, 1, 7, 1000], |x| {
        let value = polynomial([1.0, 0.5, 0.25], x as f32) + polynomial([2.0], 1.0);
        [value.to_bits(), sized::<3, true>(x), sized::<2, false>(x)]
    });
}

/// The same generic kernel at two types: in release builds the host merges their code.
fn doubled<T>(queue: &Queue, data: &[T]) -> crosscut::Result<Vec<T>>
where
    T: DeviceCopy + core::ops::Add<Output = T>,
{
    let mut data = queue.upload(data)?;
    queue.for_each(&mut data, (), |_, x, ()| *x = *x + *x)?;
    queue.download(&data)
}

#[test]
fn one_generic_kernel_at_two_types_is_two_kernels() {
    let plus = agree(|queue| doubled(queue, &[1u32, 2, 3]));
    let minus = agree(|queue| doubled(queue, &[-1i32, -2, 30]));
    let floats = agree(|queue| doubled(queue, &[0.5f32, 1e30]));
    assert_eq!((plus, minus, floats), (vec![2, 4, 6], vec![-2, -4, 60], vec![1.0, 2e30]));
}

#[test]
fn equal_closures_are_two_kernels() {
    let both = agree(|queue| {
        let mut x = queue.upload(&[1u32, 2])?;
        let mut y = queue.upload(&[10u32, 20])?;
        queue.for_each(&mut x, (), |_, x, ()| *x += 1)?;
        queue.for_each(&mut y, (), |_, x, ()| *x += 1)?;
        Ok([queue.download(&x)?, queue.download(&y)?].concat())
    });
    assert_eq!(both, [2, 3, 11, 21]);
}

#[test]
fn captures_of_every_shape_arrive() {
    #[derive(Clone, Copy)]
    struct Settings {
        gain: f64,
        name: [u8; 5],
        level: Option<i16>,
        limits: (u8, u64),
    }
    let settings = Settings { gain: 0.75, name: *b"hello", level: Some(-3), limits: (9, 1 << 40) };
    let (flag, letter, small, empty) = (true, 'ß', -7i8, ());
    map(&[0u64, 1, 2, 3, 4], move |i| {
        let () = empty;
        [
            (settings.gain * i as f64).to_bits(),
            settings.name[i as usize].into(),
            settings.level.map_or(0, |level| level as u64),
            settings.limits.1 + u64::from(settings.limits.0),
            u64::from(flag),
            u64::from(letter),
            small as u64,
        ]
    });
}

#[test]
fn large_captures_arrive() {
    let table: [u64; 30] = core::array::from_fn(|i| (i as u64 + 1) * 0x0101_0101_0101);
    let odd: [u8; 13] = core::array::from_fn(|i| i as u8 * 19);
    map(&(0..30).collect::<Vec<u64>>(), move |i| {
        table[i as usize] ^ u64::from(odd[i as usize % 13])
    });
}

#[test]
fn black_boxes_are_transparent() {
    map(&numbers(), |x| {
        let y = black_box(x);
        black_box(y + 1) * black_box(2)
    });
}

#[test]
fn trait_objects_that_the_optimiser_sees_through_are_fine() {
    trait Animal {
        fn legs(&self) -> i32;
    }
    struct Dog;
    struct Bird(i32);
    impl Animal for Dog {
        fn legs(&self) -> i32 {
            4
        }
    }
    impl Animal for Bird {
        fn legs(&self) -> i32 {
            2 + self.0
        }
    }
    map(&numbers(), |x| {
        let bird = Bird(x);
        let animals: [&dyn Animal; 2] = [&Dog, &bird];
        animals[0].legs() + animals[1].legs()
    });
}

#[test]
fn operators_of_our_own() {
    #[derive(Clone, Copy, PartialEq, PartialOrd)]
    struct Mod7(u32);
    impl core::ops::Add for Mod7 {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Self((self.0 + other.0) % 7)
        }
    }
    impl core::ops::MulAssign<u32> for Mod7 {
        fn mul_assign(&mut self, factor: u32) {
            self.0 = self.0 * factor % 7;
        }
    }
    impl core::iter::Sum for Mod7 {
        fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
            all.fold(Self(0), |a, b| a + b)
        }
    }
    map(&[0u32, 5, 6, 13], |x| {
        let mut a = Mod7(x % 7);
        a *= 3;
        let sum: Mod7 = [a, Mod7(4), a].into_iter().sum();
        [a.0, sum.0, u32::from(a < sum), u32::from(a == sum)]
    });
}
