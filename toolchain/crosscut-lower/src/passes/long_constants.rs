//! Spells constants with very many elements so that SPIR-V can say them.
//!
//! Expects kernels in device form, on their way to the SPIR-V writer.
//! Leaves no array of bytes, array or struct with more elements than [`MOST`]: they are in groups, and
//! bytes are in words of eight. Every byte stays where it is.
//!
//! `[20000 x i8] c"..."` becomes `[2500 x i64] [...]`, and an array of 20000 numbers
//! `<{ [1024 x i64], ... [1024 x i64], [544 x i64] }> <{ ... }>`.

use super::initializers::{Initializer, Value};
use crate::ir::{Ir, Item, Kind};

/// What a struct of SPIR-V may have at most, by its table of limits. Constants of arrays may have four times
/// as many, because an instruction is at most 65,535 words long; one bound for both is simpler.
const MOST: usize = 16_383;

/// How many elements are in a group.
const GROUP: usize = 1024;

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    for item in ir.items.iter_mut().filter(|item| may_be_long(item)) {
        if let Some(mut initializer) = Initializer::parse(&item.lines[0])
            && shorten(&mut initializer.value)
        {
            let line = initializer.print();
            item.lines[0] = line;
        }
    }
}

/// An element takes at least one character, so most variables need not be read.
fn may_be_long(item: &Item) -> bool {
    item.kind == Kind::Variable && item.lines[0].len() > MOST
}

/// Puts elements into groups where there are too many. True if there were.
fn shorten(value: &mut Value<'_>) -> bool {
    match value {
        Value::Plain { .. } => false,
        Value::Bytes(bytes) => {
            let long = bytes.len() > MOST;
            if long {
                *value = words(bytes);
                shorten(value);
            }
            long
        }
        Value::List(elements) => {
            let mut changed = false;
            for element in elements.iter_mut() {
                changed |= shorten(element);
            }
            while elements.len() > MOST {
                changed = true;
                let mut ungrouped = std::mem::take(elements).into_iter();
                while ungrouped.len() > 0 {
                    elements.push(Value::List(ungrouped.by_ref().take(GROUP).collect()));
                }
            }
            changed
        }
    }
}

/// Bytes as little-endian words, with the bytes that fill none behind them.
fn words(bytes: &[u8]) -> Value<'static> {
    let (whole, rest) = bytes.as_chunks::<8>();
    let word = |word: &[u8; 8]| Value::Plain {
        kind: "i64".into(),
        text: i64::from_le_bytes(*word).to_string().into(),
    };
    let words = Value::List(whole.iter().map(word).collect());
    if rest.is_empty() { words } else { Value::List(vec![words, Value::Bytes(rest.to_vec())]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(line: &str) -> String {
        let mut ir = Ir::parse(line);
        run(&mut ir);
        ir.items[0].lines[0].clone()
    }

    #[test]
    fn bytes_become_words_in_groups_with_the_rest_behind() {
        let line = format!(
            "@B = constant [131091 x i8] c\"{}abc\", align 1",
            "\\01\\00\\00\\00\\00\\00\\00\\80".repeat(16386)
        );
        let line = shortened(&line);
        let groups = "[1024 x i64], ".repeat(16);
        let kind = format!("@B = constant <{{ <{{ {groups}[2 x i64] }}>, [3 x i8] }}> <{{");
        assert!(line.starts_with(&kind), "{}", &line[..400]);
        assert!(line.ends_with("[2 x i64] [i64 -9223372036854775807, i64 -9223372036854775807] }>, [3 x i8] c\"\\61\\62\\63\" }>, align 1"));
    }

    #[test]
    fn structs_of_many_fields_become_arrays_of_smaller_ones() {
        let (kinds, values) =
            (vec!["ptr, [8 x i8]"; 10240], vec!["ptr @a, [8 x i8] c\"aaaabbbb\""; 10240]);
        let line = shortened(&format!(
            "@T = constant <{{ {} }}> <{{ {} }}>, align 8",
            kinds.join(", "),
            values.join(", ")
        ));
        assert!(
            line.starts_with("@T = constant [20 x <{ ptr, [8 x i8], ptr, "),
            "{}",
            &line[..200]
        );
        assert_eq!(line.matches("ptr @a").count(), 10240);
    }

    #[test]
    fn what_spir_v_can_say_is_left_as_it_is() {
        let short = format!("@B = constant [16383 x i8] c\"{}\", align 1", "a".repeat(16383));
        assert_eq!(shortened(&short), short);
        let zero = "@Z = global [100000 x i8] zeroinitializer, align 1";
        assert_eq!(shortened(zero), zero);
    }
}
