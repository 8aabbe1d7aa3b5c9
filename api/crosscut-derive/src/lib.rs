//! The macros of `crosscut` that `macro_rules!` cannot write: the derive macro for plain data that may live on a
//! device, and `device_println!`.
//!
//! What the first promises to the compiler, `DeviceData` and `DeviceCopy`, is checked by the code it
//! writes: the layout is fixed, every field is plain data itself, and there is no padding.

mod line;

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DataStruct, DeriveInput, Error, Result, parse_macro_input};

/// Lets a struct live in device memory.
///
/// The struct is `Clone + Copy` and `#[repr(C)]` or `#[repr(transparent)]`, its fields are plain
/// device data themselves, and no bytes lie between or behind them. It is not generic: only of one layout is that known.
///
/// ```
/// use crosscut::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
/// #[repr(C)]
/// struct Params { gain: f32, steps: u32 }
///
/// static PARAMS: DeviceGlobal<Params> = DeviceGlobal::new(Params { gain: 0.5, steps: 3 });
///
/// assert_eq!(Queue::new()?.read(&PARAMS)?, Params { gain: 0.5, steps: 3 });
/// # Ok::<(), crosscut::Error>(())
/// ```
#[proc_macro_derive(DeviceCopy)]
pub fn derive_device_copy(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Prints a line from a kernel: `device_println!("item {i} has {:.3}", x[i])`.
///
/// The text is that of [`println!`], with numbers, `bool` and `char` as values; widths and precisions are numbers in
/// the text. A kernel on a device hands over the raw values, and the line appears on standard output once the launch is
/// known to have completed, at the latest when it is waited for. On the host CPU it appears at once.
///
/// Lines are whole, and those of one item are in its order. A launch has room for 256 KiB of them; how
/// many lines more there were is said behind the last.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[0.5f32, 0.25])?;
/// queue.parallel_for(2, &x, |i, x| device_println!("item {i} has {:.3}", x[i]))?;
/// queue.wait()?;
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// What is no template of `println!`, or not only numbers, `bool` and `char`, does not compile:
/// ```compile_fail
/// crosscut::device_println!("{} {}", 1);
/// ```
/// ```compile_fail
/// crosscut::device_println!("{:?}", [1, 2]);
/// ```
#[proc_macro]
pub fn device_println(input: TokenStream) -> TokenStream {
    line::expand(input.into()).into()
}

/// Lets the checks name what is deprecated, if there is such: of the struct or a field, or of the type of one, which is
/// then allowed there. Otherwise nothing is allowed, as a crate may forbid that.
fn allowance(input: &DeriveInput, data: &DataStruct) -> Option<Tokens> {
    let is_about =
        |attribute: &Attribute| attribute.to_token_stream().to_string().contains("deprecated");
    let mut attributes = data.fields.iter().flat_map(|field| &field.attrs).chain(&input.attrs);
    let allowed = quote!(#[allow(deprecated, reason = "it is told where the struct is written")]);
    attributes.any(is_about).then_some(allowed)
}

fn expand(input: &DeriveInput) -> Result<Tokens> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(
            name.span(),
            "`DeviceCopy` is for structs: not every pattern of bits is a value of an enum or union",
        ));
    };
    if let Some(lifetime) = input.generics.lifetimes().next() {
        return Err(Error::new(
            lifetime.span(),
            "`DeviceCopy` is for values without references: keep the values themselves, or a position in a buffer",
        ));
    }
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "`DeviceCopy` cannot be derived for a generic struct, as its padding is not known here: write one struct for each \
             type, or use an array, `[T; 3]`; kernels may be generic over them",
        ));
    }
    if !has_fixed_layout(input)? {
        return Err(Error::new(
            name.span(),
            "`DeviceCopy` needs `#[repr(C)]` or `#[repr(transparent)]`: host and device must agree on the layout",
        ));
    }
    let types = data.fields.iter().map(|field| &field.ty).collect::<Vec<_>>();
    let members = data.fields.members().collect::<Vec<_>>();
    let bindings =
        (0..types.len()).map(|at| format_ident!("field_{at}", span = Span::mixed_site()));
    let bindings = bindings.collect::<Vec<_>>();
    let allowance = allowance(input, data);
    // By way of the very trait that is implemented below: whatever a path leads to in the user's scope, the two are one.
    let data = quote!(::crosscut::DeviceData);
    let checks = types.iter().map(|field| {
        // The error, if any, is shown at the field.
        quote_spanned! { field.span() => let _: fn() = <#field as #data>::crosscut_is_plain; }
    });
    let sizes = quote_spanned! { Span::call_site() =>
        <#name as #data>::CROSSCUT_SIZE == 0 #(+ <#types as #data>::CROSSCUT_SIZE)*
    };
    Ok(quote! {
        // Nothing is given a name here: the types of the fields may depend on whatever has one.
        #allowance
        const _: () = {
            #(#checks)*
            ::core::assert!(
                #sizes,
                "`DeviceCopy` needs a struct without padding: order the fields by size or add fields that fill the gaps",
            );
            // Again, by what the language itself has, as a program may have a `core` of its own.
            let () = [()][if #sizes { 0 } else { 1 }];
            // These fields are there, and no others: a macro behind this one may have changed what was written here. An
            // address is not taken for that of another type, as a reference would be; and with `@` a name is never that
            // of a constant.
            let _: fn(&#name) = |#name { #(#members: #bindings @ _),* }| {
                #(let _: *const #types = &raw const *#bindings;)*
            };
        };
        // SAFETY: checked above: every field is plain data and there is no padding between them, as it really is;
        // `Copy`, a supertrait of `DeviceCopy`, rules out anything to drop.
        unsafe impl ::crosscut::DeviceData for #name {
            type Host = Self;
            type Element = Self;
            const ATOMIC_WIDTH: usize = 0;
        }
        // SAFETY: plain fields have no interior mutability.
        unsafe impl ::crosscut::DeviceCopy for #name {}
    })
}

/// Whether the layout is that of C or of the only field; `packed` is refused.
fn has_fixed_layout(input: &DeriveInput) -> Result<bool> {
    let mut fixed = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") || meta.path.is_ident("transparent") {
                fixed = true;
            } else if meta.path.is_ident("packed") {
                return Err(meta.error("`DeviceCopy` cannot be derived for a packed struct"));
            }
            // `align(16)` and the like: what it pads, the size check finds.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<Tokens>()?;
            }
            Ok(())
        })?;
    }
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    /// What the derived code needs of the crate it is for.
    const CROSSCUT: &str = "
        pub unsafe trait DeviceData: Sized {
            type Host; type Element; const ATOMIC_WIDTH: usize; const CROSSCUT_SIZE: usize = size_of::<Self>();
            fn crosscut_is_plain() where Self: DeviceCopy {}
        }
        pub unsafe trait DeviceCopy: Copy + DeviceData {}
        macro_rules! plain { ($($t:ty)*) => {$(
            unsafe impl DeviceData for $t { type Host = $t; type Element = $t; const ATOMIC_WIDTH: usize = 0; }
            unsafe impl DeviceCopy for $t {}
        )*} }
        plain! { u8 u16 u32 }
    ";

    fn compiles(folder: &Path, name: &str, text: &str) -> bool {
        let file = folder.join(format!("{name}.rs"));
        std::fs::write(&file, text).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let mut command = Command::new(rustc);
        command.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "-Dwarnings"]);
        if name != "crosscut" {
            command.args(["--extern=crosscut", "-L."]);
        }
        command.arg(&file).current_dir(folder);
        command.output().unwrap().status.success()
    }

    #[test]
    fn fields_are_checked_as_they_are_and_not_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(compiles(folder, "crosscut", CROSSCUT));
        // What the derive sees, and what another macro makes of it.
        let both = |seen: &str, real: &str| {
            let derived = super::expand(&syn::parse_str(seen).unwrap()).unwrap();
            let text = format!("#[derive(Clone, Copy)] {real} {derived}");
            compiles(folder, "program", &text)
        };
        for same in [
            "#[repr(C)] pub struct S { pub a: u16, pub b: u16 }",
            "#[repr(C)] pub struct S(pub u16, #[deprecated] pub u8, pub u8);",
            "#[repr(C)] pub struct S {}",
            "#[repr(C)] pub struct S;",
        ] {
            assert!(both(same, same), "{same}");
        }
        let seen = "#[repr(C)] pub struct S { pub a: u16, pub b: u16 }";
        let one = "#[derive(Clone, Copy, PartialEq, Eq)] #[repr(u16)] pub enum One { A = 0 }
             impl std::ops::Deref for One { type Target = u16; fn deref(&self) -> &u16 { &7 } }";
        assert!(both(seen, &format!("{seen} {one}")), "nothing else is wrong with it");
        for real in [
            // A name that is bound is never taken for that of a constant.
            &format!(
                r#"#[repr(C)] pub struct S {{ pub a: One, pub b: u16 }}
                   #[allow(non_upper_case_globals, reason = "the name counts")]
                   pub const field_0: One = One::A; {one}"#
            ),
            "#[repr(C)] pub struct S { pub a: u16, pub b: [bool; 2] }",
            "#[repr(C)] pub struct S { pub a: u16, pub b: u8 }",
            "#[repr(C)] pub struct S { pub a: u16, pub b: u16, pub c: bool }",
            "#[repr(C, packed)] pub struct S { pub a: u16, pub b: u16 }",
            "#[repr(C)] pub struct S { pub a: u16, pub b: T }
             #[derive(Clone, Copy)] pub struct T(pub [bool; 2], pub ());
             impl std::ops::Deref for T { type Target = u16; fn deref(&self) -> &u16 { &7 } }",
        ] {
            assert!(!both(seen, real), "{real}");
        }
    }

    #[test]
    fn a_crate_may_forbid_lints() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(compiles(folder, "crosscut", CROSSCUT));
        let fields = ["{ pub a: u16, pub b: u16 }", "(pub u32);", "{}", ";"];
        for text in fields.map(|fields| format!("#[repr(C)] pub struct S {fields}")) {
            let derived = super::expand(&syn::parse_str(&text).unwrap()).unwrap();
            let lints = "#![forbid(deprecated, unused, warnings)]";
            let text = format!("{lints} #[derive(Clone, Copy)] {text} {derived}");
            assert!(compiles(folder, "program", &text), "{text}");
        }
    }

    #[test]
    fn types_are_checked_as_they_are_where_the_struct_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(compiles(folder, "crosscut", CROSSCUT));
        // A field whose type depends on what a name leads to, and is no plain one outside of derived code.
        let text = |name: &str| {
            let seen =
                format!("#[repr(C)] pub struct S {{ pub a: <() as Pick<{{ {name} }}>>::T }}");
            let derived = super::expand(&syn::parse_str(&seen).unwrap()).unwrap();
            format!(
                "pub const fn other<T>() -> usize {{ 0 }}
                 pub const fn plain<T>() -> usize {{ 1 }}
                 pub trait Pick<const N: usize> {{ type T: Copy; }}
                 impl Pick<0> for () {{ type T = u16; }}
                 impl Pick<1> for () {{ type T = bool; }}
                 #[derive(Clone, Copy)] {seen} {derived}"
            )
        };
        assert!(compiles(folder, "program", &text("other::<u8>()")));
        assert!(!compiles(folder, "program", &text("plain::<u8>()")));
    }

    #[test]
    fn padding_is_refused_whatever_core_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(compiles(folder, "crosscut", CROSSCUT));
        let own = "extern crate self as core;
             pub mod mem { pub const fn size_of<T>() -> usize { 0 } }
             #[macro_export] macro_rules! assert { ($($t:tt)*) => { () } }";
        for own in ["", own] {
            for (second, compiles_with) in [("u8", true), ("u16", false)] {
                let seen = format!("#[repr(C)] pub struct S {{ pub a: u8, pub b: {second} }}");
                let derived = super::expand(&syn::parse_str(&seen).unwrap()).unwrap();
                let text = format!("{own} #[derive(Clone, Copy)] {seen} {derived}");
                assert_eq!(compiles(folder, "program", &text), compiles_with, "{text}");
            }
        }
    }
}
