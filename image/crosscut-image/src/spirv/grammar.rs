//! How many words of which kind each instruction has.
//!
//! One letter per operand: `T` the type of the result, `R` the result, `i` an id, `l` a literal word. As
//! the last letter: `I` any number of ids, `L` any number of words, `o` an id or nothing, `s` a text.

/// The operands of an instruction, `None` for one that no kernel has.
pub(super) fn operands(opcode: u32) -> Option<&'static str> {
    Some(match opcode {
        // Module.
        0 | 317 => "",
        1 => "TR",
        2 | 4 | 10 | 330 => "s",
        3 => "llL",
        5 => "is",
        6 => "ils",
        7 | 11 => "Rs",
        8 => "ill",
        12 => "TRilI",
        14 => "ll",
        // Its ids come after its name.
        15 => "liL",
        16 | 331 => "ilL",
        17 => "l",
        // Types.
        19 | 20 | 26 | 34..=37 | 322 | 327 => "R",
        21 => "Rll",
        22 => "RlL",
        23 | 24 => "Ril",
        25 => "RiL",
        27 | 29 => "Ri",
        28 => "Rii",
        30 => "RI",
        31 => "Rs",
        32 => "Rli",
        33 => "RiI",
        38 => "Rl",
        39 => "il",
        // Constants.
        41 | 42 | 46 | 48 | 49 => "TR",
        43 | 50 => "TRlL",
        44 | 51 => "TRI",
        45 | 323 => "TRlll",
        // What follows the number of another instruction are the operands of that: see `cut`.
        OP_SPEC_CONSTANT_OP => "TRlL",
        // Functions and memory.
        54 => "TRli",
        55 => "TR",
        56 => "",
        57 => "TRiI",
        59 => "TRlo",
        61 => "TRiL",
        62 | 63 => "iiL",
        64 => "iiiL",
        65 | 66 => "TRiI",
        67 | 70 => "TRiiI",
        // Decorations.
        71 => "ilL",
        72 => "illL",
        73 => "R",
        74 => "iI",
        75 => "iL",
        332 => "ilI",
        // Composites and images.
        77 => "TRii",
        78 => "TRiii",
        79 => "TRiiL",
        80 => "TRI",
        81 => "TRiL",
        82 => "TRiiL",
        83 | 400 => "TRi",
        86 => "TRii",
        88 => "TRiilL",
        95 | 98 => "TRiiL",
        99 => "iiiL",
        100..=102 | 104 | 106 | 107 => "TRi",
        103 | 105 => "TRii",
        // Conversions and arithmetic.
        109..=115 | 117..=122 | 124 | 126 | 127 => "TRi",
        123 => "TRil",
        128..=141 | 148..=152 => "TRii",
        // Truth and comparison.
        154..=160 | 168 => "TRi",
        161..=167 | 170..=191 | 401..=403 => "TRii",
        169 => "TRiii",
        // Bits.
        194..=199 => "TRii",
        200 | 204 | 205 => "TRi",
        201 => "TRiiii",
        202 | 203 => "TRiii",
        // Barriers and atomics.
        224 => "iii",
        225 => "ii",
        227 | 232 | 233 | 318 => "TRiii",
        228 => "iiii",
        229 | 234..=242 => "TRiiii",
        230 | 231 => "TRiiiiii",
        319 => "iii",
        // Control flow.
        245 => "TRI",
        246 => "iilL",
        247 => "il",
        248 => "R",
        249 | 254 => "i",
        250 => "iiiL",
        251 => "iiL",
        253 | 255 => "",
        256 | 257 => "il",
        // Groups.
        259 => "TRiiiiii",
        260 => "iii",
        261 | 262 => "TRii",
        263 => "TRiii",
        264..=271 => "TRili",
        321 => "TRi",
        333 => "TRi",
        334..=336 | 339 => "TRii",
        337 => "TRiii",
        338 | 340 | 345..=348 => "TRiii",
        341 | 343 | 344 => "TRii",
        342 => "TRili",
        349..=364 => "TRilio",
        365 | 366 => "TRiii",
        _ => return None,
    })
}

/// Checks the words of an instruction that are neither ids nor results: texts end where they must, and
/// numbers that choose something choose something that kernels have.
///
/// # Errors
/// Says what is wrong.
pub(super) fn check_literals(opcode: u32, operands: &[u32]) -> Result<(), &'static str> {
    let rest = |from: usize| operands.get(from..).unwrap_or_default();
    let fits = match opcode {
        2 | 4 | 10 | 330 => is_text(operands),
        5 | 7 | 11 | 31 => is_text(rest(1)),
        6 => is_text(rest(2)),
        3 => operands[0] <= 12,
        16 | 331 => is_execution_mode(rest(1)),
        54 => operands[2] < 0x10 || operands[2] == 0x1_0000,
        61 => is_memory_access(rest(3)),
        62 => is_memory_access(rest(2)),
        71 => is_decoration(rest(1)),
        72 => is_decoration(rest(2)),
        264..=271 => operands[3] <= 2,
        _ => true,
    };
    if fits { Ok(()) } else { Err("has an operand that means nothing in a kernel") }
}

/// Whether words are one text, which ends in the last of them.
fn is_text(words: &[u32]) -> bool {
    let Some((last, before)) = words.split_last() else { return false };
    let ends = |word: &u32| word.to_le_bytes().contains(&0);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    ends(last) && !before.iter().any(ends) && std::str::from_utf8(&bytes).is_ok()
}

/// Whether words say how memory is accessed: a mask, and the alignment if it has one.
fn is_memory_access(words: &[u32]) -> bool {
    match *words {
        [] => true,
        [mask] => mask & !5 == 0,
        [mask, alignment] => mask & !7 == 0 && mask & 2 != 0 && alignment.is_power_of_two(),
        // The lists of aliases that extensions add.
        [mask, ..] => (0x1_0000..0x8_0000).contains(&mask) && mask & 0xfff8 == 0,
    }
}

fn is_execution_mode(words: &[u32]) -> bool {
    match *words {
        [17 | 18 | 38 | 39, x, y, z] => x != 0 && y != 0 && z != 0,
        [30 | 35 | 36 | 37, _] => true,
        [31 | 33 | 34] => true,
        [mode, ..] => (4446..7000).contains(&mode),
        [] => false,
    }
}

fn is_decoration(words: &[u32]) -> bool {
    match *words {
        [10 | 19..=26 | 28 | 42 | 4469 | 4470] => true,
        [1 | 27 | 45..=47, _] => true,
        [11, built_in] => matches!(built_in, 24..=43 | 4416..7000),
        [38, attribute] => attribute <= 7 || attribute == 5940,
        [39, mode] => mode <= 3,
        [40, flags] => flags < 0x20 || flags & !0x7_001f == 0,
        [41, ref linkage @ ..] => {
            linkage.split_last().is_some_and(|(kind, name)| *kind <= 2 && is_text(name))
        }
        [44, alignment] => alignment.is_power_of_two(),
        [number, ..] => (5000..7000).contains(&number),
        [] => false,
    }
}

/// The numbers from which on instructions belong to extensions, about which nothing is known here.
pub(super) const FIRST_OF_EXTENSIONS: u32 = 4160;

/// What is computed from constants when their values are known.
pub(super) const OP_SPEC_CONSTANT_OP: u32 = 52;

/// Whether an instruction can be computed from constants.
fn is_constant_operation(opcode: u32) -> bool {
    matches!(
        opcode,
        65..=67 | 70 | 79 | 81 | 82 | 109..=115 | 117 | 120..=122 | 124 | 126..=141 | 164..=179 | 194..=200
    )
}

/// Cuts the operands of an instruction after its grammar: what each word is, by its letter. `None` for
/// an instruction that no kernel has.
///
/// # Errors
/// There are too few words, or too many.
pub(super) fn cut(opcode: u32, operands: &[u32]) -> Option<Result<Vec<u8>, &'static str>> {
    let pattern = self::operands(opcode)?;
    let (OP_SPEC_CONSTANT_OP, Some(&inner)) = (opcode, operands.get(2)) else {
        return Some(cut_after(pattern, operands.len()));
    };
    let pattern = self::operands(inner).filter(|_| is_constant_operation(inner));
    let letters = pattern.ok_or("computes what is no constant").and_then(|pattern| {
        let mut letters = cut_after(pattern, operands.len() - 1)?;
        letters.insert(2, b'l');
        Ok(letters)
    });
    Some(letters)
}

fn cut_after(pattern: &str, words: usize) -> Result<Vec<u8>, &'static str> {
    let mut letters = Vec::with_capacity(words);
    for letter in pattern.bytes() {
        match letter {
            b'I' => letters.resize(words.max(letters.len()), b'i'),
            b'L' | b's' => letters.resize(words.max(letters.len()), b'l'),
            b'o' if letters.len() < words => letters.push(b'i'),
            b'o' => {}
            letter => letters.push(letter),
        }
    }
    match letters.len() {
        length if length == words => Ok(letters),
        length if length > words => Err("has too few operands"),
        _ => Err("has too many operands"),
    }
}
