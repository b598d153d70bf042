//! Warns about runs without an input of workflows that read it.

use branchpoint_expr::{Diagnostic, Dialect, Kind, Located, Shape, Span};

use crate::DocumentKinds as _;
use crate::fields::Access;
use crate::read;
use crate::recognise::recognise;

/// Step types that send their input when they have no template: the type and the field.
const SENDS_INPUT: [(&str, &str); 3] =
    [("prompt_call", "prompt_template"), ("agent", "prompt"), ("call_agent", "input")];

/// A warning for a run without an input, of a workflow of steps that reads it. Documents with declared inputs report their own errors.
pub fn missing_input(source: &str) -> Option<Diagnostic> {
    let document = read(source).ok().filter(|document| recognise(document) == Ok(Dialect::Steps))?;
    if document.get("inputs").is_some() {
        return None;
    }
    let first = document.list("steps").first().or_else(|| document.list("child_steps").first());
    let by_default = first.and_then(|step| {
        let name = step.get("step_type").filter(|ty| {
            let field = SENDS_INPUT.iter().find(|(name, _)| ty.text().is_some_and(|text| **text == **name));
            field.is_some_and(|(_, field)| step.get(field).is_none())
        });
        name.map(|ty| ty.span)
    });
    let reads = by_default
        .or_else(|| first.and_then(|step| find(step, &OTHER_INPUT, &names_input)))
        .or_else(|| find(&document, &[], &|text| text.contains("agent.input")))?;
    let message = "the run was started without an input, so the input that is read here is empty text";
    Some(Diagnostic::warning(Kind::MissingInput, reads, message).with_help("give it with `-i input=TEXT`"))
}

/// Fields of a step whose texts do not read its input: the steps below it have the output of another step as theirs.
const OTHER_INPUT: [&str; 4] = ["child_steps", "steps", "purpose", "name"];

/// The first text of a value that satisfies the test, outside of these fields.
fn find(value: &Located, except: &[&str], test: &dyn Fn(&str) -> bool) -> Option<Span> {
    match &value.shape {
        Shape::Str { text, .. } => test(text).then_some(value.span),
        Shape::List(items) => items.iter().find_map(|item| find(item, except, test)),
        Shape::Object(fields) => {
            let mut fields = fields.iter().filter(|field| !except.contains(&&*field.key));
            fields.find_map(|field| find(&field.value, except, test))
        }
        _ => None,
    }
}

/// Whether a text has `input` as a whole name.
fn names_input(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let in_braces = text == "input" || text.contains("{{") || text.contains(['<', '>', '=', '(']);
    in_braces
        && text.match_indices("input").any(|(at, word)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_name) && !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(step: &str, expect: Option<&str>) {
        let source = format!("steps:\n  - {step}\n  - {{step_type: text, template: '{{{{input}}}}'}}\n");
        let actual = missing_input(&source).map(|finding| finding.span.text(&source).to_owned());
        assert_eq!(actual.as_deref(), expect, "{source}");
    }

    #[test]
    fn a_workflow_whose_first_step_reads_the_input_needs_one() {
        check("{step_type: text, template: 'Hello {{input}}'}", Some("'Hello {{input}}'"));
        check("{step_type: if_else, if: 'input > 3'}", Some("'input > 3'"));
        check("{step_type: prompt_call}", Some("prompt_call"));
        check("{step_type: text, template: '{{agent.input}}'}", Some("'{{agent.input}}'"));
        check("{step_type: text, template: Hello}", None);
        check("{step_type: text, template: 'the input'}", None);
        check("{step_type: prompt_call, prompt_template: Hello}", None);
    }
}
