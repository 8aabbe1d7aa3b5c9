//! Symbols and what people call them.

/// A symbol's name for people: demangled, without the hashes of crates.
pub(crate) fn display(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
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
    fn generic_arguments_are_no_part_of_a_path() {
        let symbol = "_RINvNtCsgEmfK2I1SDS_4core3mem7size_ofNCNvCsgbTIekHar5R_1p7kernels0EBD_";
        assert_eq!(path_of(symbol), "core::mem::size_of");
    }
}
