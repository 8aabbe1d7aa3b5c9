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

/// Which crate a symbol belongs to: the first path segment of its name, also for methods and trait
/// implementations.
pub(crate) fn crate_of(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let name = format!("{name:#}");
    let path = name.trim_start_matches(['<', '&', '(', '[', '*']);
    let path = path.strip_prefix("mut ").or(path.strip_prefix("const ")).unwrap_or(path);
    let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    Some(path[..end].to_owned())
}

/// Whether a symbol is one of the standard library's crates.
pub(crate) fn is_of_std(symbol: &str) -> bool {
    crate_of(symbol).is_some_and(|name| matches!(name.as_str(), "core" | "alloc" | "std"))
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
