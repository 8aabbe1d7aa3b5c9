//! `device_println!`: brings the template of a line, which may name values, into the form that devices print, in
//! which every placeholder stands for the next value.
//!
//! `"{i}: {0:.2} {x}", y, x = 3` becomes `"{}: {:.2} {}"` with the values `i`, `y` and `3`.

use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, LitStr, Result, Token};

/// A value behind the template.
struct Value {
    name: Option<Ident>,
    value: Expr,
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let named = input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
        let name = if named {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            Some(name)
        } else {
            None
        };
        Ok(Self { name, value: input.parse()? })
    }
}

/// What the macro stands for. Anything but a text at the front is left to rustc to refuse.
pub(crate) fn expand(input: Tokens) -> Tokens {
    let parser = |input: ParseStream<'_>| {
        if input.is_empty() {
            return Ok((LitStr::new("", Span::call_site()), Vec::new()));
        }
        let text = input.parse::<LitStr>()?;
        if input.is_empty() {
            return Ok((text, Vec::new()));
        }
        input.parse::<Token![,]>()?;
        let values = Punctuated::<Value, Token![,]>::parse_terminated(input)?;
        Ok((text, values.into_iter().collect()))
    };
    match parser.parse2(input.clone()) {
        Ok((text, values)) => line(&text, &values),
        Err(error) => error.into_compile_error(),
    }
}

fn line(text: &LitStr, values: &[Value]) -> Tokens {
    let template = text.value();
    let mut line = Line {
        text: String::new(),
        span: text.span(),
        values,
        captured: Vec::new(),
        next: 0,
        order: Vec::new(),
    };
    let mut rest = template.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        line.text.push_str(before);
        let doubled = from.starts_with("{{") || from.starts_with("}}");
        match end_of(from) {
            Some(end) if !doubled && from.starts_with('{') => {
                line.placeholder(&from[1..end]);
                rest = &from[end + 1..];
            }
            // Two of them are one in the text; a single one is for rustc to refuse.
            _ => {
                let length = if doubled { 2 } else { 1 };
                line.text.push_str(&from[..length]);
                rest = &from[length..];
            }
        }
    }
    line.text.push_str(rest);
    line.tokens()
}

/// Where the placeholder that a text begins with ends. A brace behind its colon may be a fill: the runtime looks for the same end.
fn end_of(placeholder: &str) -> Option<usize> {
    let brace = placeholder.find('}')?;
    let Some(colon) = placeholder[..brace].find(':') else { return Some(brace) };
    let mut options = placeholder[colon + 1..].chars();
    match (options.next(), options.next()) {
        (Some(_), Some('<' | '^' | '>')) => {
            let behind = placeholder.len() - options.as_str().len();
            options.as_str().find('}').map(|at| behind + at)
        }
        _ => Some(brace),
    }
}

/// A line on its way.
struct Line<'a> {
    text: String,
    span: Span,
    values: &'a [Value],
    /// What the template names and nobody gave a value: variables at the call.
    captured: Vec<Ident>,
    /// The value of the next placeholder that says nothing.
    next: usize,
    /// Which value each placeholder is: first those behind the template, then the captured ones.
    order: Vec<usize>,
}

impl Line<'_> {
    /// Adds what stands between braces.
    fn placeholder(&mut self, inside: &str) {
        let (name, form) = match inside.split_once(':') {
            Some((name, form)) => (name.trim(), Some(form)),
            None => (inside.trim(), None),
        };
        let number = if name.is_empty() {
            self.next += 1;
            Some(self.next - 1).filter(|number| *number < self.values.len())
        } else if name.bytes().all(|letter| letter.is_ascii_digit()) {
            name.parse().ok().filter(|number| *number < self.values.len())
        } else {
            self.named(name)
        };
        let Some(number) = number else {
            // No name, or no such value: rustc says so.
            self.text.push_str(&format!("{{{inside}}}"));
            return;
        };
        self.order.push(number);
        match form {
            Some(form) => self.text.push_str(&format!("{{:{form}}}")),
            None => self.text.push_str("{}"),
        }
    }

    /// The number of the value with this name.
    fn named(&mut self, name: &str) -> Option<usize> {
        let is = |ident: &Ident| ident.unraw() == name;
        if let Some(place) = self.values.iter().position(|it| it.name.as_ref().is_some_and(is)) {
            return Some(place);
        }
        if let Some(place) = self.captured.iter().position(is) {
            return Some(self.values.len() + place);
        }
        let mut letters = name.chars();
        let is_name = letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
            && letters.all(|letter| letter == '_' || letter.is_alphanumeric());
        if !is_name || name == "_" || Ident::parse_any.parse_str(name).is_err() {
            return None;
        }
        // A keyword is a variable's name in this form alone.
        let is_raw = syn::parse_str::<Ident>(name).is_err()
            && !matches!(name, "self" | "Self" | "super" | "crate");
        let make = if is_raw { Ident::new_raw } else { Ident::new };
        // Found where the text was written, as rustc does.
        self.captured.push(make(name, self.span));
        Some(self.values.len() + self.captured.len() - 1)
    }

    /// Every value is computed once. Those that no placeholder stands for stay behind the others: rustc complains of
    /// them.
    fn tokens(self) -> Tokens {
        let given = self.values.iter().map(|it| it.value.to_token_stream());
        let all: Vec<Tokens> =
            given.chain(self.captured.iter().map(ToTokens::to_token_stream)).collect();
        let name = |number: usize| format_ident!("value_{number}", span = Span::mixed_site());
        let names = (0..all.len()).map(name);
        let unused = (0..all.len()).filter(|number| !self.order.contains(number));
        let used: Vec<Ident> = self.order.iter().copied().chain(unused).map(name).collect();
        let text = LitStr::new(&self.text, self.span);
        quote! {
            match (#(&(#all),)*) {
                (#(#names,)*) => ::crosscut::__device_println!(#text #(, *#used)*),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(input: &str) -> String {
        expand(input.parse().unwrap()).to_string()
    }

    /// What the values are, and what is printed in which order.
    fn made(values: &str, printed: &str) -> String {
        let count = values.matches(',').count();
        let names: String = (0..count).map(|number| format!("value_{number} ,")).collect();
        let text = format!(
            "match ({values}) {{ ({names}) => ::crosscut::__device_println!({printed}), }}"
        );
        text.parse::<Tokens>().unwrap().to_string()
    }

    #[test]
    fn values_come_in_their_order() {
        assert_eq!(
            expanded("\"{} {:.2}\", i, x[i]"),
            made("&(i), &(x[i]),", "\"{} {:.2}\", *value_0, *value_1")
        );
        assert_eq!(expanded("\"{{}} }}\","), made("", "\"{{}} }}\""));
        assert_eq!(
            expanded("\"{:}^9}{{{x:ß<3}\", i"),
            made("&(i), &(x),", "\"{:}^9}{{{:ß<3}\", *value_0, *value_1")
        );
        assert_eq!(expanded(""), made("", "\"\""));
    }

    #[test]
    fn values_may_be_numbered_beside_those_in_order() {
        assert_eq!(
            expanded("\"{1} {} {0} {}\", a, b"),
            made("&(a), &(b),", "\"{} {} {} {}\", *value_1, *value_0, *value_0, *value_1")
        );
    }

    #[test]
    fn names_are_those_given_or_variables() {
        assert_eq!(
            expanded("\"{i}: {0:.2} {x} {i:?}\", y, x = 3"),
            made(
                "&(y), &(3), &(i),",
                "\"{}: {:.2} {} {:?}\", *value_2, *value_0, *value_1, *value_2"
            )
        );
    }

    #[test]
    fn keywords_name_raw_variables() {
        assert_eq!(
            expanded("\"{type} {self}\""),
            made("&(r#type), &(self),", "\"{} {}\", *value_0, *value_1")
        );
        assert_eq!(expanded("\"{type}\", r#type = 1"), made("&(1),", "\"{}\", *value_0"));
    }

    #[test]
    fn what_is_wrong_is_left_to_rustc() {
        // One value too many, one too few, no such value, no name, a single brace.
        assert_eq!(expanded("\"x\", i"), made("&(i),", "\"x\", *value_0"));
        assert_eq!(expanded("\"{} {}\", i"), made("&(i),", "\"{} {}\", *value_0"));
        for text in ["{a.b}", "{x²}", "{\u{345}}", "{ 1a }", "{99999999999999999999}"] {
            assert_eq!(expanded(&format!("{text:?}")), made("", &format!("{text:?}")), "{text}");
        }
        for text in ["{i} {}", "{} {i}"] {
            let verbatim = text.replace("{i}", "{}");
            assert_eq!(
                expanded(&format!("{text:?}")),
                made("&(i),", &format!("{verbatim:?}, *value_0"))
            );
        }
        assert_eq!(expanded("\"{1}\", a"), made("&(a),", "\"{1}\", *value_0"));
        assert_eq!(expanded("\"{\""), made("", "\"{\""));
        assert!(expanded("x").contains("compile_error"));
    }
}
