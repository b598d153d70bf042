//! Formats JSON with one value per line. Texts and numbers stay as written.

use std::collections::BTreeSet;

use branchpoint_expr::{Field, Located, Shape};

use super::step_order;

/// The document, indented by two blanks per level.
pub(super) fn format(source: &str, document: &Located, ordered: bool) -> String {
    let steps = if ordered { step_order::all_steps(document) } else { Vec::new() };
    let steps = steps.iter().map(|step| step.span.start).collect();
    let mut writer = Writer { source, steps, out: String::new() };
    writer.value(document, 0);
    writer.out.push('\n');
    writer.out
}

struct Writer<'s> {
    source: &'s str,
    /// The positions at which steps begin.
    steps: BTreeSet<u32>,
    out: String,
}

impl Writer<'_> {
    fn value(&mut self, value: &Located, depth: usize) {
        match &value.shape {
            Shape::List(items) if !items.is_empty() => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.next(index, depth + 1);
                    self.value(item, depth + 1);
                }
                self.close(']', depth);
            }
            Shape::Object(fields) if !fields.is_empty() => {
                let is_step = self.steps.contains(&value.span.start);
                let fields: Vec<&Field> = if is_step { step_order::sorted(value) } else { fields.iter().collect() };
                self.out.push('{');
                for (index, field) in fields.into_iter().enumerate() {
                    self.next(index, depth + 1);
                    self.out.push_str(field.key_span.text(self.source));
                    self.out.push_str(": ");
                    self.value(&field.value, depth + 1);
                }
                self.close('}', depth);
            }
            Shape::List(_) => self.out.push_str("[]"),
            Shape::Object(_) => self.out.push_str("{}"),
            _ => self.out.push_str(value.span.text(self.source)),
        }
    }

    fn next(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(',');
        }
        self.line(depth);
    }

    fn close(&mut self, bracket: char, depth: usize) {
        self.line(depth);
        self.out.push(bracket);
    }

    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        self.out.push_str(&"  ".repeat(depth));
    }
}
