//! Enums, options, results and patterns.

use crosscut_language::map;

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Circle(f32),
    Rectangle { width: f32, height: f32 },
    Point,
    Tagged(u8, [u16; 3]),
}

impl Shape {
    fn of(seed: u32) -> Self {
        match seed % 5 {
            0 => Self::Circle(seed as f32 / 2.0),
            1 | 2 => Self::Rectangle { width: seed as f32, height: 0.25 },
            3 => Self::Point,
            _ => Self::Tagged(seed as u8, [1, seed as u16, 3]),
        }
    }

    fn area(self) -> Option<f32> {
        Some(match self {
            Self::Circle(radius) if radius > 3.0 => radius * radius * 3.0,
            Self::Circle(_) => 1.0,
            Self::Rectangle { width, height } => width * height,
            Self::Point => return None,
            Self::Tagged(tag, [_, middle, _]) => f32::from(tag) + f32::from(middle),
        })
    }
}

fn seeds() -> Vec<u32> {
    (0..300).step_by(7).collect()
}

#[test]
fn payloads_travel_by_value() {
    map(&seeds(), |seed| {
        let shape = Shape::of(seed);
        let shapes = [shape, Shape::of(seed + 1), Shape::Point, Shape::of(seed + 2)];
        let total: f32 = shapes.iter().filter_map(|shape| shape.area()).sum();
        let points = shapes.iter().filter(|&&shape| shape == Shape::Point).count();
        [
            shape.area().map_or(0, f32::to_bits),
            total.to_bits(),
            points as u32,
            matches!(shape, Shape::Tagged(..)).into(),
        ]
    });
}

#[test]
fn question_marks_leave_early() {
    fn half(x: u32) -> Option<u32> {
        x.is_multiple_of(2).then_some(x / 2)
    }
    fn quarter(x: u32) -> Option<u32> {
        half(half(x)?)
    }
    fn digit(x: u32) -> Result<u8, Fault> {
        let x = quarter(x).ok_or(Fault::Odd(x))?;
        let small = u8::try_from(x).map_err(|_| Fault::Large)?;
        if small > 50 { Err(Fault::Large) } else { Ok(small) }
    }
    #[derive(Clone, Copy)]
    enum Fault {
        Odd(u32),
        Large,
    }
    map(&seeds(), |seed| match digit(seed) {
        Ok(digit) => [0, u32::from(digit)],
        Err(Fault::Odd(x)) => [1, x],
        Err(Fault::Large) => [2, 0],
    });
}

#[test]
fn patterns_with_ranges_guards_and_bindings() {
    map(&seeds(), |seed| {
        let byte = seed as u8;
        let class = match byte {
            0 => 0,
            low @ 1..=9 => u32::from(low),
            b'0'..=b'9' => 100,
            b'a'..=b'z' | b'A'..=b'Z' => 200,
            other if other.is_power_of_two() => 300,
            128.. => 400,
            _ => 500,
        };
        let pair = match (byte & 1, byte >> 4) {
            (0, n @ (1 | 3 | 5)) => n,
            (1, 7..) => 70,
            (0, _) => 80,
            _ => 90,
        };
        let Some(rest) = byte.checked_sub(20) else { return [class, u32::from(pair), 999] };
        [class, u32::from(pair), u32::from(rest)]
    });
}

#[test]
fn options_combine() {
    map(&seeds(), |seed| {
        let a = (!seed.is_multiple_of(3)).then_some(seed);
        let b = seed.checked_sub(100);
        [
            a.zip(b).map_or(0, |(a, b)| a + b),
            a.or(b).unwrap_or_default(),
            a.xor(b).unwrap_or(5),
            a.filter(|x| x % 2 == 0).map_or_else(|| 1, |x| x / 2),
            a.and_then(|x| x.checked_mul(1 << 24)).unwrap_or(3),
            b.ok_or(9u32).unwrap_or_else(|fault| fault),
            u32::from(a > b),
            u32::from(a.is_some_and(|x| x > 50)),
        ]
    });
}

#[test]
fn small_options_and_niches() {
    use core::num::NonZeroU32;
    map(&seeds(), |seed| {
        let number = NonZeroU32::new(seed % 7);
        let truth = match seed % 3 {
            0 => None,
            n => Some(n == 1),
        };
        let nested: Option<Option<u8>> = (seed > 20).then(|| u8::try_from(seed).ok());
        let order = number.map(NonZeroU32::get).cmp(&Some(3));
        [
            number.map_or(0, |n| 100 / n.get()),
            truth.map_or(2, u32::from),
            nested.flatten().map_or(1000, u32::from),
            order.reverse() as i32 as u32,
            u32::from(nested.is_some()),
        ]
    });
}

#[test]
fn a_state_machine_without_recursion() {
    #[derive(Clone, Copy)]
    enum State {
        Start,
        Digits { value: u32, count: u8 },
        Done(u32),
        Failed,
    }
    map(&[*b"  12 ", *b"9x   ", *b"77777", *b"     "], |text| {
        let mut state = State::Start;
        for byte in text {
            state = match (state, byte) {
                (State::Start, b' ') => State::Start,
                (State::Start, b'0'..=b'9') => {
                    State::Digits { value: u32::from(byte - b'0'), count: 1 }
                }
                (State::Digits { value, count }, b'0'..=b'9') if count < 4 => {
                    State::Digits { value: value * 10 + u32::from(byte - b'0'), count: count + 1 }
                }
                (State::Digits { value, .. }, b' ') => State::Done(value),
                (done @ State::Done(_), b' ') => done,
                _ => State::Failed,
            };
        }
        match state {
            State::Start => 1_000_001,
            State::Digits { value, count } => value + u32::from(count) * 100_000,
            State::Done(value) => value,
            State::Failed => 1_000_002,
        }
    });
}

#[test]
fn discriminants_are_numbers() {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    #[repr(i16)]
    enum Level {
        Low = -300,
        Middle = 5,
        High = 30_000,
    }
    map(&seeds(), |seed| {
        let levels = [Level::Low, Level::Middle, Level::High, Level::Middle];
        let (a, b) = (levels[seed as usize % 4], levels[seed as usize / 4 % 4]);
        [i32::from(a as i16), (a as i16 as u8).into(), a.cmp(&b) as i32, i32::from(a.max(b) as i16)]
    });
}
