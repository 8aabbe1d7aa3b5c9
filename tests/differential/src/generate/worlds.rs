//! The text around a kernel with device globals: the globals, both worlds, and the launch.

use super::Maker;
use super::globals::{Global, GlobalKind, Step, flattened};

impl Maker {
    /// The trait of what a kernel knows of its globals, the globals, and who implements the one by the others.
    pub(super) fn worlds(&mut self) -> String {
        let mut text = String::from("use crosscut::prelude::*;\nuse crosscut::property::*;\n");
        text += "use std::sync::atomic::*;\n\n";
        let (mut required, mut here, mut there) = (String::new(), String::new(), String::new());
        let (mut fields, mut lent) = (String::new(), String::from("of: PhantomData<&'a ()>, "));
        for global in &self.globals.clone() {
            text += &declaration(global);
            let (number, of) = (global.number, global.device_type());
            fields += &format!("v{number}: {of}, ");
            if let GlobalKind::Plain { lent: by_argument } = global.kind {
                required += &format!("fn g{number}(&self) -> {of};\n");
                here += &format!("fn g{number}(&self) -> {of} {{ self.v{number} }}\n");
                there += &format!(
                    "#[inline(always)]\nfn g{number}(&self) -> {of} {{ G{number}.get() }}\n"
                );
                if by_argument {
                    required += &format!("fn l{number}(&self) -> &{of};\n");
                    here += &format!("fn l{number}(&self) -> &{of} {{ &self.v{number} }}\n");
                    there += &format!(
                        "#[inline(always)]\nfn l{number}(&self) -> &{of} {{ self.l{number} }}\n"
                    );
                    lent += &format!("l{number}: &'a {of}, ");
                }
            } else {
                required += &format!("fn a{number}(&self) -> &{of};\n");
                here += &format!("fn a{number}(&self) -> &{of} {{ &self.v{number} }}\n");
                there +=
                    &format!("#[inline(always)]\nfn a{number}(&self) -> &{of} {{ &G{number} }}\n");
            }
            let absorbed = self.absorb("hash", "value", &global.of);
            text += &format!(
                "fn left{number}(value: {}) -> u64 {{\nlet mut hash = 0u64;\n{absorbed}hash\n}}\n\n",
                global.of.name()
            );
        }
        text += &format!(
            "trait World {{\n{required}}}\n\nstruct There<'a> {{ {lent}}}\n\nimpl World for There<'_> {{\n{there}}}\n\n\
             struct Here {{ {fields}}}\n\nimpl World for Here {{\n{here}}}\n\n"
        );
        text + &self.native() + &self.launch()
    }

    /// `start`: the globals as plain values, before any item has run.
    fn native(&self) -> String {
        let (mut made, mut fields, mut left) = (String::new(), String::new(), String::new());
        let mut seen = String::new();
        for global in &self.globals {
            let number = global.number;
            made += &format!("let mut v{number}: {} = V{number};\n", global.of.name());
            made += &here(global, &global.before);
            fields += &format!("v{number}: {}, ", into_device(global, &format!("v{number}")));
            let value = into_host(global, &format!("self.v{number}"));
            seen += &format!("all.push(left{number}({value}));\n");
            left += &format!(
                "let mut v{number}: {} = {value};\n{}all.push(left{number}(v{number}));\n",
                global.of.name(),
                here(global, &global.after)
            );
        }
        format!(
            "pub fn start() -> Box<dyn crate::Native> {{\n{made}Box::new(Here {{ {fields}}})\n}}\n\n\
             impl crate::Native for Here {{\n\
             fn item(&self, i: usize, inputs: &[u64], cells: &Cells<'_>) -> Out {{ kernel(i, inputs, cells, self) }}\n\
             fn left(&self) -> Vec<u64> {{\nlet mut all = Vec::new();\n{seen}{left}all\n}}\n}}\n\n"
        )
    }

    /// `launch`: the same by the globals of a queue.
    ///
    /// A second kernel names all of them, and so shares the image of the first: one that always panics may be left
    /// with none, and what no kernel names is not there.
    fn launch(&self) -> String {
        let (mut before, mut after) = (String::new(), String::new());
        let (mut arguments, mut names, mut fields) = (String::new(), String::new(), String::new());
        let mut seen = String::new();
        for global in &self.globals {
            let number = global.number;
            let value = if matches!(global.kind, GlobalKind::Plain { .. }) {
                format!("G{number}.get()")
            } else {
                into_host(global, &format!("G{number}"))
            };
            seen += &format!("{number} => left{number}({value}),\n");
            before += &format!("queue.reset(&G{number})?;\n");
            before += &there(global, &global.before);
            after += &there(global, &global.after);
            after += &format!("all.push(left{number}(queue.read(&G{number})?));\n");
            if global.kind == (GlobalKind::Plain { lent: true }) {
                arguments += &format!("&G{number}, ");
                names += &format!("l{number}, ");
                fields += &format!("l{number}, ");
            }
        }
        format!(
            "pub fn launch(queue: &Queue, inputs: &[u64], mask: &[u8]) -> crosscut::Result<crate::Answers> {{\n\
             {before}let mut memory = crate::Memory::new(queue, inputs, mask)?;\n\
             let crate::Memory {{ inputs, mask, outs, c8, c16, c32, c64 }} = &mut memory;\n\
             queue.for_each(outs, (&*inputs, &*mask, &*c8, &*c16, &*c32, &*c64, ({arguments})), \
             |i, out, (inputs, mask, c8, c16, c32, c64, ({names}))| {{\n\
             if mask[i] == 0 {{\n\
             *out = kernel(i, inputs, &Cells {{ c8, c16, c32, c64 }}, &There {{ of: PhantomData, {fields}}});\n\
             }}\n}})?.wait()?;\n\
             let mut seen = queue.zeroed::<u64>({count})?;\n\
             queue.for_each(&mut seen, (), |n, seen, ()| *seen = match n {{\n{seen}_ => 0,\n}})?;\n\
             let mut all = queue.download(&seen)?;\n{after}memory.answers(queue, all)\n}}\n\n",
            count = self.globals.len()
        )
    }
}

fn declaration(global: &Global) -> String {
    let (name, of) = (global.name(), global.of.name());
    let properties = if global.image_scope { "DeviceImageScope" } else { "()" };
    let (value, made) = match &global.initial {
        Some(value) => (value.clone(), format!("DeviceGlobal::new(V{})", global.number)),
        None => {
            // Any bits are a value, and these are all zero.
            ("unsafe { std::mem::zeroed() }".to_owned(), "DeviceGlobal::zeroed()".to_owned())
        }
    };
    format!(
        "const V{}: {of} = {value};\nstatic {name}: DeviceGlobal<{}, {properties}> = {made};\n\n",
        global.number,
        global.device_type()
    )
}

/// Plain numbers as atomics.
fn into_device(global: &Global, path: &str) -> String {
    converted(global, path, |name| format!("From::from({name})"))
}

/// Atomics as plain numbers.
fn into_host(global: &Global, path: &str) -> String {
    converted(global, path, |name| format!("{name}.load(Relaxed)"))
}

fn converted(global: &Global, path: &str, each: impl Fn(&str) -> String) -> String {
    if matches!(global.kind, GlobalKind::Plain { .. }) {
        return path.to_owned();
    }
    let lengths = flattened(&global.of).1;
    let mut text = path.to_owned();
    let indices: String = (0..lengths.len()).map(|depth| format!("[n{depth}]")).collect();
    text = each(&(text + &indices));
    for depth in (0..lengths.len()).rev() {
        text = format!("std::array::from_fn(|n{depth}| {text})");
    }
    text
}

/// Steps on a plain value.
fn here(global: &Global, steps: &[Step]) -> String {
    let number = global.number;
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Write(value) => text += &format!("v{number} = {value};\n"),
            Step::Change(by) => text += &format!("change{number}(&mut v{number}, {by});\n"),
            Step::Fill { from, to, value, .. } => {
                let lengths = flattened(&global.of).1;
                for at in *from..*to {
                    let (mut rest, mut path) = (at, String::new());
                    for length in lengths.iter().rev() {
                        path = format!("[{}]{path}", rest % length);
                        rest /= length;
                    }
                    text += &format!("v{number}{path} = {value};\n");
                }
            }
        }
    }
    text
}

/// The same steps on the global.
fn there(global: &Global, steps: &[Step]) -> String {
    let number = global.number;
    let mut text = String::new();
    for step in steps {
        text += &match step {
            Step::Write(value) => format!("queue.write(&G{number}, &{value})?;\n"),
            Step::Change(by) => {
                format!("queue.single_task(G{number}.exclusive(), |g| change{number}(g, {by}))?;\n")
            }
            Step::Fill { from, to, value, as_fill: true } => {
                format!("queue.fill_global(&G{number}, {from}..{to}, &{value})?;\n")
            }
            Step::Fill { from, to, value, as_fill: false } => {
                format!("queue.copy_to(&G{number}, &[{value}; {}], {from})?;\n", to - from)
            }
        };
    }
    text
}
