//! Which crates a symbol may come from.

/// Whether the crate is named anywhere in this mangled symbol.
///
/// Both of rustc's forms write an identifier behind its length (`8arrayvec`); the older one also has
/// paths inside an identifier (`_$LT$arrayvec..ArrayVec`). More crates may answer yes than define
/// the symbol; the one that defines it always does, for a symbol has the path of its definition.
pub(crate) fn mentions(symbol: &str, crate_name: &str) -> bool {
    if !symbol.starts_with("_R") && !symbol.starts_with("_ZN") {
        return false;
    }
    let before = |at: usize| symbol[..at].chars().next_back();
    symbol.match_indices(crate_name).any(|(at, _)| {
        let after = symbol[at + crate_name.len()..].chars().next();
        let length = crate_name.len().to_string();
        // In the newer form a `_` parts the length from a name that begins with a digit or `_`.
        let front = symbol[..at].strip_suffix('_').unwrap_or(&symbol[..at]);
        front.ends_with(&length)
            || symbol[..at].ends_with(&length)
            || (after == Some('.') && !before(at).is_some_and(|c| c.is_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_found_in_both_forms_of_symbols() {
        for symbol in [
            "_RNvCs1234_7library3sum",
            "_RNvMNtCs1_7library3vecINtB2_3VecfE3dot",
            "_RINvNtCsab_4core3mem4swapNtCs9_7library1TECs2_3app",
            "_ZN7library3sum17h0123456789abcdefE",
            "_ZN62_$LT$library..Vec$u20$as$u20$core..ops..Add$GT$3add17h0123456789abcdefE",
        ] {
            assert!(mentions(symbol, "library"), "{symbol}");
            assert!(!mentions(symbol, "lib"), "{symbol}");
            assert!(!mentions(symbol, "brary"), "{symbol}");
        }
    }

    #[test]
    fn a_plain_symbol_mentions_nobody() {
        assert!(!mentions("sinf", "sinf"));
        assert!(!mentions("7library", "library"));
    }
}
