//! From text to a program.

use std::collections::HashMap;

use super::instruction::{Instruction, Names};
use super::token::{Cursor, Fault};
use super::value::Type;
use super::{Kernel, Parameter, Program, Variable};

/// Reads a module.
pub(crate) fn read(text: &str) -> Result<Program, Fault> {
    let mut text = Cursor::new(text);
    let mut reader =
        Reader { target: 0, variables: Vec::new(), kernels: Vec::new(), shared: Vec::new() };
    if text.peek() != ".version" {
        return Err(text.fault("no `.version`"));
    }
    while !text.peek().is_empty() {
        reader.directive(&mut text)?;
    }
    let variables = reader.variables.into_iter().map(|(_, variable)| variable).collect();
    Ok(Program { target: reader.target, variables, kernels: reader.kernels })
}

struct Reader<'a> {
    target: u32,
    variables: Vec<(&'a str, Variable)>,
    kernels: Vec<Kernel>,
    /// Variables in shared memory and their sizes; `None` is the launch's own.
    shared: Vec<(&'a str, Declared)>,
}

/// A variable as it is declared.
#[derive(Clone, Copy)]
struct Declared {
    align: usize,
    element: Type,
    /// `None`: as many as there is room for.
    count: Option<usize>,
}

impl<'a> Reader<'a> {
    fn directive(&mut self, text: &mut Cursor<'a>) -> Result<(), Fault> {
        while matches!(text.peek(), ".visible" | ".extern" | ".weak") {
            text.next();
        }
        match text.peek() {
            ".version" | ".target" | ".address_size" => {
                text.next();
                if let Some(generation) = text.next().strip_prefix("sm_") {
                    self.target = generation.parse().map_err(|_| text.fault("no generation"))?;
                }
                while text.takes(",") {
                    text.next();
                }
                Ok(())
            }
            ".global" => {
                text.next();
                let (name, declared) = declaration(text)?;
                let count = declared.count.ok_or_else(|| text.fault("no size"))?;
                let mut bytes = vec![0; count * declared.element.size];
                if text.takes("=") {
                    initialise(text, declared.element, &mut bytes)?;
                }
                text.expect(";")?;
                self.variables.push((name, Variable { name: name.to_owned(), bytes }));
                Ok(())
            }
            ".shared" => {
                text.next();
                let declared = declaration(text)?;
                text.expect(";")?;
                self.shared.push(declared);
                Ok(())
            }
            ".entry" => {
                text.next();
                self.kernel(text)
            }
            _ => Err(text.fault("an unknown directive")),
        }
    }

    fn kernel(&mut self, text: &mut Cursor<'a>) -> Result<(), Fault> {
        let name = text.next().to_owned();
        let mut names = Names {
            registers: HashMap::new(),
            labels: HashMap::new(),
            parameters: HashMap::new(),
            variables: self
                .variables
                .iter()
                .enumerate()
                .map(|(at, (name, _))| (*name, at))
                .collect(),
            shared: HashMap::new(),
        };
        let (mut parameters, mut end) = (Vec::new(), 0_usize);
        if text.takes("(") {
            while !text.takes(")") {
                text.expect(".param")?;
                let (name, declared) = declaration(text)?;
                let count = declared.count.ok_or_else(|| text.fault("no size"))?;
                let size = count * declared.element.size;
                let offset = end.next_multiple_of(declared.align);
                parameters.push(Parameter { offset, size });
                names.parameters.insert(name, offset);
                end = offset + size;
                text.takes(",");
            }
        }
        let mut most_items = None;
        while matches!(text.peek(), ".maxntid" | ".reqntid") {
            text.next();
            let mut product = text.size()?;
            while text.takes(",") {
                product = product.saturating_mul(text.size()?);
            }
            most_items = u32::try_from(product).ok();
        }
        text.expect("{")?;
        let mut shared = self.shared.clone();
        let body = body(text, &mut names, &mut shared)?;
        let size = place_shared(&shared, &mut names);
        // Only now all labels are known.
        let mut instructions = Vec::new();
        for (guard, name, mut operands) in body {
            instructions.push(Instruction { guard, work: names.work(name, &mut operands)? });
        }
        let registers = names.registers.len();
        self.kernels.push(Kernel {
            name,
            parameters,
            most_items,
            shared: size,
            registers,
            instructions,
        });
        Ok(())
    }
}

/// An instruction that is not read yet: its guard, its name and a cursor at its operands.
type Unread<'a> = (Option<(usize, bool)>, &'a str, Cursor<'a>);

/// Reads declarations and labels of a kernel, and finds its instructions.
fn body<'a>(
    text: &mut Cursor<'a>,
    names: &mut Names<'a>,
    shared: &mut Vec<(&'a str, Declared)>,
) -> Result<Vec<Unread<'a>>, Fault> {
    let mut found = Vec::new();
    while !text.takes("}") {
        if text.peek().is_empty() {
            return Err(text.fault("the kernel does not end"));
        }
        if text.takes(".reg") {
            registers(text, names)?;
        } else if text.takes(".shared") {
            shared.push(declaration(text)?);
            text.expect(";")?;
        } else if text.peek_second() == ":" {
            names.labels.insert(text.next(), found.len());
            text.next();
        } else {
            let mut guard = None;
            if text.takes("@") {
                let wanted = !text.takes("!");
                let Some(register) = names.registers.get(text.peek()) else {
                    return Err(text.fault("no predicate"));
                };
                guard = Some((*register, wanted));
                text.next();
            }
            let name = text.next();
            found.push((guard, name, text.clone_here()));
            while !text.takes(";") {
                if matches!(text.next(), "" | "}" | "{") {
                    return Err(text.fault("an instruction does not end"));
                }
            }
        }
    }
    Ok(found)
}

/// `.b32 %r<5>, %a;` after `.reg`.
fn registers(text: &mut Cursor<'_>, names: &mut Names<'_>) -> Result<(), Fault> {
    let known = text.peek() == ".pred"
        || text.peek().strip_prefix('.').is_some_and(|name| Type::named(name).is_some());
    if !known {
        return Err(text.fault("an unknown type"));
    }
    text.next();
    loop {
        let name = text.next();
        let mut add = |name: String| {
            let number = names.registers.len();
            names.registers.entry(name).or_insert(number);
        };
        if text.takes("<") {
            (0..text.size()?).for_each(|number| add(format!("{name}{number}")));
            text.expect(">")?;
        } else {
            add(name.to_owned());
        }
        if !text.takes(",") {
            return text.expect(";");
        }
    }
}

/// `.align 8 .b8 name[16]`, and what parameters say about pointers.
fn declaration<'a>(text: &mut Cursor<'a>) -> Result<(&'a str, Declared), Fault> {
    let (mut align, mut element) = (None, None);
    while text.peek().starts_with('.') {
        match text.next() {
            ".align" => align = Some(text.size()?.max(1)),
            ".ptr" | ".global" | ".shared" => {}
            name => match Type::named(&name[1..]) {
                Some(found) => element = Some(found),
                None => return Err(text.fault(&format!("unknown `{name}`"))),
            },
        }
    }
    let Some(element) = element else { return Err(text.fault("no type")) };
    let name = text.next();
    let mut count = Some(1);
    if text.takes("[") {
        count = if text.peek() == "]" { None } else { Some(text.size()?) };
        text.expect("]")?;
    }
    // The alignment of a pointer's target says nothing about the parameter.
    let align = align.filter(|_| count != Some(1)).unwrap_or(element.size);
    Ok((name, Declared { align, element, count }))
}

/// `41` or `{1, 2}` after `=`.
fn initialise(text: &mut Cursor<'_>, element: Type, bytes: &mut [u8]) -> Result<(), Fault> {
    let mut places = bytes.chunks_mut(element.size);
    let several = text.takes("{");
    loop {
        let value = text.number()?.to_le_bytes();
        let Some(place) = places.next() else {
            return Err(text.fault("more values than elements"));
        };
        place.copy_from_slice(&value[..element.size]);
        if !several {
            return Ok(());
        }
        if !text.takes(",") {
            return text.expect("}");
        }
    }
}

/// Gives the variables in shared memory their places; the launch's own come after all others.
fn place_shared<'a>(shared: &[(&'a str, Declared)], names: &mut Names<'a>) -> usize {
    let mut end = 0_usize;
    for (name, declared) in shared {
        if let Some(count) = declared.count {
            let start = end.next_multiple_of(declared.align);
            names.shared.insert(name, start);
            end = start + count * declared.element.size;
        }
    }
    let dynamic = shared.iter().filter(|(_, declared)| declared.count.is_none());
    let align = dynamic.clone().map(|(_, declared)| declared.align).max().unwrap_or(1);
    end = end.next_multiple_of(align);
    for (name, _) in dynamic {
        names.shared.insert(name, end);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0 .target sm_50 .address_size 64\n";

    fn fault(body: &str) -> String {
        read(&format!("{HEAD}.visible .entry k() {{\n.reg .b32 %r<3>;\n{body}\n}}")).unwrap_err()
    }

    #[test]
    fn what_is_not_known_is_named_by_its_line() {
        assert_eq!(fault("tex.2d.v4.f32 %r1, %r2;"), "line 4: unknown instruction `tex.2d.v4.f32`");
        assert_eq!(fault("add.u32 %r1, %r2, %r7;"), "line 4: an unknown operand at `%r7`");
        assert_eq!(fault("bra there;"), "line 4: unknown label `there`");
        assert_eq!(read("hello").unwrap_err(), "line 1: no `.version` at `hello`");
    }

    #[test]
    fn variables_have_their_values_and_kernels_their_parameters() {
        let text = ".visible .global .align 4 .u32 one = 41;
            .global .align 8 .b8 two[4] = {1, 2};
            .extern .shared .align 16 .b8 all[];
            .visible .entry k(.param .u64 .ptr .global .align 1 a, .param .u32 b, .param .u64 c)
            .maxntid 64, 2, 1 { .shared .align 4 .b8 some[20]; ret; }";
        let program = read(&format!("{HEAD}{text}")).unwrap();
        let bytes: Vec<_> = program.variables.iter().map(|variable| &*variable.bytes).collect();
        assert_eq!(bytes, [&[41, 0, 0, 0][..], &[1, 2, 0, 0]]);
        let kernel = &program.kernels[0];
        let places: Vec<_> =
            kernel.parameters.iter().map(|parameter| (parameter.offset, parameter.size)).collect();
        assert_eq!((places, kernel.most_items), (vec![(0, 8), (8, 4), (16, 8)], Some(128)));
        assert_eq!((kernel.shared, kernel.name.as_str()), (32, "k"));
    }
}
