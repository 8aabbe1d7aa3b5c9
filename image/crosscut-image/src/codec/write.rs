//! The writing half. Each function has its twin of the same name in the reader.

use crate::{
    Global, Image, Kernel, PanicSite, Parameter, Property, PropertySet, SpecConstant, Target,
};

pub(super) fn body(images: &[Image]) -> Vec<u8> {
    let mut out = Vec::new();
    list(&mut out, images, image);
    out
}

fn image(out: &mut Vec<u8>, image: &Image) {
    out.push(match image.target {
        Target::Spirv64 => super::read::TARGET_SPIRV64,
    });
    bytes(out, &image.payload);
    // The globals go before the kernels that count into them, so that the reader can check.
    list(out, &image.globals, global);
    list(out, &image.kernels, kernel);
    list(out, &image.spec_constants, spec_constant);
    list(out, &image.panic_sites, panic_site);
    list(out, &image.property_sets, property_set);
}

fn global(out: &mut Vec<u8>, global: &Global) {
    text(out, &global.id);
    text(out, &global.display_name);
    out.extend_from_slice(&global.size.to_le_bytes());
    out.extend_from_slice(&global.align.to_le_bytes());
    out.extend_from_slice(&global.properties.to_le_bytes());
}

fn kernel(out: &mut Vec<u8>, kernel: &Kernel) {
    out.extend_from_slice(&kernel.key.to_le_bytes());
    text(out, &kernel.name);
    text(out, &kernel.display_name);
    out.push(kernel.dimensions);
    out.extend_from_slice(&kernel.captures_size.to_le_bytes());
    list(out, &kernel.parameters, parameter);
    out.push(u8::from(kernel.assumed.is_some()));
    if let Some(assumed) = &kernel.assumed {
        text(out, &assumed.name);
        list(out, &assumed.slots, number);
        list(out, &assumed.parameters, parameter);
    }
    list(out, &kernel.reads, number);
    list(out, &kernel.writes, number);
}

fn parameter(out: &mut Vec<u8>, parameter: &Parameter) {
    let (kind, value) = match *parameter {
        Parameter::Captures { word } => (super::read::PARAMETER_CAPTURES, word),
        Parameter::Address { slot } => (super::read::PARAMETER_ADDRESS, slot),
        Parameter::Length { slot } => (super::read::PARAMETER_LENGTH, slot),
        Parameter::Global { index } => (super::read::PARAMETER_GLOBAL, index),
        Parameter::Local { slot } => (super::read::PARAMETER_LOCAL, slot),
        Parameter::Scratch { bytes } => (super::read::PARAMETER_SCRATCH, bytes),
        Parameter::PanicRecord => (super::read::PARAMETER_PANIC_RECORD, 0),
        Parameter::Lines => (super::read::PARAMETER_LINES, 0),
    };
    out.push(kind);
    number(out, &value);
}

fn spec_constant(out: &mut Vec<u8>, constant: &SpecConstant) {
    text(out, &constant.id);
    text(out, &constant.display_name);
    number(out, &constant.offset);
    out.push(constant.width);
    out.extend_from_slice(&constant.default.to_le_bytes());
    number(out, &constant.number);
}

fn panic_site(out: &mut Vec<u8>, site: &PanicSite) {
    text(out, &site.message);
    text(out, &site.file);
    number(out, &site.line);
    number(out, &site.column);
}

fn property_set(out: &mut Vec<u8>, set: &PropertySet) {
    text(out, &set.name);
    list(out, &set.properties, property);
}

fn property(out: &mut Vec<u8>, property: &Property) {
    text(out, &property.name);
    bytes(out, &property.value);
}

fn list<T>(out: &mut Vec<u8>, elements: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.extend_from_slice(&(elements.len() as u64).to_le_bytes());
    for element in elements {
        write(out, element);
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    bytes(out, text.as_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn number(out: &mut Vec<u8>, number: &u32) {
    out.extend_from_slice(&number.to_le_bytes());
}
