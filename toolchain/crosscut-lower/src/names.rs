//! Symbols and what people call them.

use crate::ir::unescape;

/// A symbol's name for people: demangled, without the hashes of crates. That of a part of a static ends
/// with the part's offset: `pairs::PAIR+8`.
pub(crate) fn display(symbol: &str) -> String {
    match symbol.rsplit_once('+') {
        Some((whole, offset)) => format!("{:#}+{offset}", rustc_demangle::demangle(whole)),
        None => format!("{:#}", rustc_demangle::demangle(symbol)),
    }
}

/// The symbol that a name of LLVM's assembly stands for: `@f`, or `@"a b"` with escapes.
pub(crate) fn symbol(name: &str) -> String {
    let plain = name.strip_prefix('@').unwrap_or(name);
    if plain.starts_with('"') {
        return String::from_utf8_lossy(&unescape(plain)).into_owned();
    }
    plain.to_owned()
}

/// A kernel's name for people: that of its closure, which is the last thing its entry is generic over.
pub(crate) fn kernel(entry: &str) -> String {
    let mut name = display(entry);
    // The entry, and the types of Crosscut's own that wrap the closure.
    while name.starts_with("crosscut::") || name.starts_with("<crosscut::") {
        let Some(inner) = last_argument(&name) else { break };
        name = inner.to_owned();
    }
    name
}

/// The last generic argument of a path: `B<C>` of `a::<A, B<C>>`.
fn last_argument(name: &str) -> Option<&str> {
    let inner = name[name.find('<')? + 1..].strip_suffix('>')?;
    let mut depth = 0usize;
    let mut from = 0;
    for (at, letter) in inner.char_indices() {
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            // An arrow closes nothing.
            '>' if inner[..at].ends_with('-') => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => from = at + 1,
            _ => {}
        }
    }
    Some(inner[from..].trim())
}

/// Which crate a symbol belongs to: the one with its code. Of a method that is the implementation's, whatever it is for.
pub(crate) fn crate_of(symbol: &str) -> Option<String> {
    crate_of_path(symbol).or_else(|| first_segment(symbol))
}

/// The crate that the path of a symbol begins with, unless that is a default method of a trait or refers back.
///
/// rustc's mangling writes outer things first: `N` and a letter for what is nested in the path behind them, `I` for an
/// instance, `X` or `M` for an implementation, by where it stands, and `C` for the crate.
fn crate_of_path(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_R")?;
    loop {
        let (kind, inner) = rest.split_at_checked(1)?;
        rest = match kind {
            "N" => inner.get(1..)?,
            "I" => inner,
            "X" | "M" => without_disambiguator(inner)?,
            "C" => {
                let name = without_disambiguator(inner)?;
                // Of a name in other letters this is not the name, but no other crate's either.
                let name = name.strip_prefix('u').unwrap_or(name);
                let digits = name.find(|letter: char| !letter.is_ascii_digit())?;
                let (length, name) = name.split_at(digits);
                let name = name.strip_prefix('_').unwrap_or(name);
                return name.get(..length.parse().ok()?).map(str::to_owned);
            }
            _ => return None,
        };
    }
}

/// What is behind `s..._`, if that comes first.
fn without_disambiguator(text: &str) -> Option<&str> {
    match text.strip_prefix('s') {
        Some(numbered) => numbered.split_once('_').map(|split| split.1),
        None => Some(text),
    }
}

/// The crate of the first segment of a name; for a default method of a trait that of the trait.
fn first_segment(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let name = format!("{name:#}");
    // Implementations are written like this, too.
    let of_trait = is_default_method(symbol).then(|| defaulted_trait(&name)).flatten();
    let path = of_trait.unwrap_or(&name);
    let path = path.trim_start_matches(['<', '&', '(', '[', '*']);
    let path = path.strip_prefix("mut ").or(path.strip_prefix("const ")).unwrap_or(path);
    let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    Some(path[..end].to_owned())
}

/// Whether a symbol is a default method of a trait, or something in one: `Y` behind what is outside of it.
fn is_default_method(symbol: &str) -> bool {
    let Some(mut rest) = symbol.strip_prefix("_R") else { return false };
    loop {
        rest = match rest.split_at_checked(1) {
            Some(("N", inner)) => inner.get(1..).unwrap_or_default(),
            Some(("I", inner)) => inner,
            first => return first.is_some_and(|first| first.0 == "Y"),
        };
    }
}

/// `C` of `<A<B> as C>::f`.
fn defaulted_trait(name: &str) -> Option<&str> {
    let inner = name.strip_prefix('<')?;
    let mut depth = 0usize;
    for (at, letter) in inner.char_indices() {
        match letter {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if inner[..at].ends_with('-') => {}
            '>' if depth == 0 => return None,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && inner[at..].starts_with(" as ") => return Some(&inner[at + 4..]),
            _ => {}
        }
    }
    None
}

/// Whether a symbol is one of the standard library's crates.
pub(crate) fn is_of_std(symbol: &str) -> bool {
    crate_of(symbol).is_some_and(|name| matches!(name.as_str(), "core" | "alloc" | "std"))
}

/// Whether a symbol of `core` is an instance of something generic, or of a type's: where that is only declared, its code
/// is that of some crate.
pub(crate) fn is_generic_of_core(symbol: &str) -> bool {
    crate_of(symbol).is_some_and(|name| name == "core") && is_instance(symbol)
}

/// Whether what a symbol names has generic arguments, or is a type's.
pub(crate) fn is_instance(symbol: &str) -> bool {
    display(symbol).contains('<')
}

/// The path of a function without its generic arguments: `core::panicking::assert_failed`.
pub(crate) fn path_of(symbol: &str) -> String {
    let name = display(symbol);
    let (mut path, mut depth) = (String::new(), 0usize);
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            letter if depth == 0 => path.push(letter),
            _ => {}
        }
    }
    path.trim_end_matches("::").replace("::::", "::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_shown_as_its_path() {
        let symbol = "_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check";
        assert_eq!(display(symbol), "core::panicking::panic_bounds_check");
        assert!(is_of_std(symbol));
        assert_eq!(crate_of("memcpy"), None);
    }

    #[test]
    fn a_method_belongs_to_the_crate_of_its_implementation() {
        for (symbol, of) in [
            // <core::option::Option<u32> as p::Fail>::fail, in p; and a closure in it.
            ("_RNvXCsgbTIekHar5R_1pINtNtCsgEmfK2I1SDS_4core6option6OptionmENtB2_4Fail4fail", "p"),
            (
                "_RNCNvXs2_CsgbTIekHar5R_1pINtNtCsgEmfK2I1SDS_4core6option6OptionmENtB5_4Fail4fail0",
                "p",
            ),
            // <u32 as p::Fail>::fail, of the trait itself.
            ("_RNvYmNtCsgbTIekHar5R_1p4Fail4fail", "p"),
            // <core::option::Option<u32>>::unwrap, in core, for p.
            ("_RNvMNtCsgEmfK2I1SDS_4core6optionINtB2_6OptionmE6unwrapCsgbTIekHar5R_1p", "core"),
            ("_RINvNtCsgEmfK2I1SDS_4core3mem7size_ofmECsgbTIekHar5R_1p", "core"),
            // <größe::T as core::ops::index::Index<usize>>::index, in a crate that is none of the others.
            (
                "_RNvXCs2yZgbTIekHar_u9gre_6ka8iNtB2_1TINtNtNtCsgEmfK2I1SDS_4core3ops5index5IndexjE5index",
                "gre_6ka8i",
            ),
        ] {
            assert_eq!(crate_of(symbol).as_deref(), Some(of), "{}", display(symbol));
        }
    }

    #[test]
    fn a_symbol_that_llvm_writes_in_quotes_is_the_one_of_the_program() {
        assert_eq!(symbol("@_RNvC1a1G"), "_RNvC1a1G");
        assert_eq!(symbol("@\"odd name \\22x\\22\""), "odd name \"x\"");
    }

    #[test]
    fn a_kernel_is_called_by_its_closure() {
        let name = "crosscut::entry::<usize, crosscut::Slice<f32>, crosscut::Direct<saxpy::saxpy<f32>::{closure#0}>>";
        assert_eq!(last_argument(name), Some("crosscut::Direct<saxpy::saxpy<f32>::{closure#0}>"));
        assert_eq!(kernel(name), "saxpy::saxpy<f32>::{closure#0}");
    }

    #[test]
    fn generic_arguments_are_no_part_of_a_path() {
        let symbol = "_RINvNtCsgEmfK2I1SDS_4core3mem7size_ofNCNvCsgbTIekHar5R_1p7kernels0EBD_";
        assert_eq!(path_of(symbol), "core::mem::size_of");
    }
}
