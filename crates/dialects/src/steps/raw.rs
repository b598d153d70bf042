//! From the reader's tree to the table of steps. Every key stays where it is: the rules look at what nothing has read.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape};

use super::tree::{Document, List, No, Role, Step};
use super::types::{self, StepType};
use crate::DocumentKinds as _;
use crate::inputs::{self, Names};

/// The steps of a document, with what is wrong about their being there at all.
pub(super) fn read<'d>(located: &'d Located, findings: &mut Vec<Diagnostic>) -> Document<'d> {
    let mut reader = Reader { steps: Vec::new(), unnamed: 0, findings };
    let field = reader.one_of(located, ["steps", "child_steps"]);
    let root = match field {
        Some(value) => reader.list(value, Role::Root, None),
        None => List { role: Role::Root, steps: Vec::new() },
    };
    if field.is_none_or(|value| value.items().is_some_and(<[_]>::is_empty)) {
        let span = field.map_or(located.span, |value| value.span);
        let finding = Diagnostic::error(Kind::NoSteps, span, "this workflow has no steps");
        reader.findings.push(finding.with_help("give `steps` a list with at least one step"));
    }
    let steps = reader.steps;
    let ids = by_id(&steps, findings);
    let inputs = inputs::read(located, Names::InputAndMetadata, findings);
    Document { located, steps, root, ids, inputs }
}

struct Reader<'d, 'f> {
    steps: Vec<Step<'d>>,
    /// How many steps without an id there were.
    unnamed: u32,
    findings: &'f mut Vec<Diagnostic>,
}

impl<'d> Reader<'d, '_> {
    /// The value of whichever of two names of one key is there.
    fn one_of(&mut self, located: &'d Located, names: [&str; 2]) -> Option<&'d Located> {
        let mut found = located.fields().iter().filter(|field| names.contains(&&*field.key) && !field.value.is_null());
        let first = found.next();
        if let Some(second) = found.next() {
            let message = format!("`{}` and `{}` are two names of one key", names[0], names[1]);
            let finding = Diagnostic::error(Kind::BadField, second.key_span, message);
            self.findings.push(finding.with_help("put all steps into one list"));
        }
        first.map(|field| &field.value)
    }

    fn list(&mut self, value: &'d Located, role: Role, parent: Option<(No, usize)>) -> List {
        let mut steps = Vec::new();
        if let Some(items) = value.items() {
            for item in items {
                steps.extend(self.step(item, parent));
            }
        } else {
            let message = format!("a list of steps is wanted here, and this is {}", value.describe());
            let help = "write each step after a `-`";
            self.findings.push(Diagnostic::error(Kind::BadField, value.span, message).with_help(help));
        }
        List { role, steps }
    }

    fn step(&mut self, located: &'d Located, parent: Option<(No, usize)>) -> Option<No> {
        if !located.is_object() {
            let message = format!("a step is an object, and this is {}", located.describe());
            let finding = Diagnostic::error(Kind::BadField, located.span, message);
            self.findings.push(finding.with_help("write `{id: …, step_type: …}`"));
            return None;
        }
        let id = self.id(located);
        let kind = self.kind(located);
        // A step of an unknown type is kept in the table, so that what stands in it is looked at all the same.
        let step = Step { id, kind: kind.unwrap_or(&UNKNOWN), located, parent, lists: Vec::new(), end: 0 };
        let no = self.steps.len();
        self.steps.push(step);
        for field in located.fields().iter().filter(|field| !field.value.is_null()) {
            self.field(no, field);
        }
        self.steps[no].end = self.steps.len();
        Some(no)
    }

    fn id(&mut self, located: &'d Located) -> Arc<str> {
        match located.get("id").filter(|id| !id.is_null()) {
            None => {
                self.unnamed += 1;
                format!("step_{}", self.unnamed).into()
            }
            Some(Located { shape: Shape::Str { text, .. }, .. }) if is_id(text) => Arc::clone(text),
            Some(other) => {
                let (kind, message) = match other.text() {
                    Some(text) => (Kind::BadId, format!("`{text}` cannot be an id")),
                    None => (Kind::BadField, format!("an id is text, and this is {}", other.describe())),
                };
                let help = "an id has letters, digits, `_` and `-`";
                self.findings.push(Diagnostic::error(kind, other.span, message).with_help(help));
                format!(" {}", self.steps.len()).into()
            }
        }
    }

    fn kind(&mut self, located: &'d Located) -> Option<&'static StepType> {
        let Some(written) = located.get("step_type").filter(|written| !written.is_null()) else {
            let finding = Diagnostic::error(Kind::MissingField, located.span, "a step needs a `step_type`");
            self.findings.push(finding.with_help("such as `step_type: prompt_call`"));
            return None;
        };
        let name = written.text().map_or("", |text| &**text);
        if let Some(newer) = types::older(name) {
            let finding = Diagnostic::warning(Kind::AliasUsed, written.span, format!("`{name}` is an older name"));
            self.findings.push(finding.with_help(format!("write `{newer}`")));
        }
        let found = types::find(name);
        if found.is_none() {
            let shown = if name.is_empty() { written.describe() } else { name };
            let finding =
                Diagnostic::error(Kind::UnknownStepType, written.span, format!("there is no step type `{shown}`"));
            let known = types::types().map(|known| known.name);
            self.findings.push(match types::similar(name) {
                Some(meant) => finding.with_help(format!("did you mean `{meant}`?")),
                None => finding.with_help(types::COMMON_TYPES).suggest(name, known),
            });
        }
        found
    }

    /// The lists of steps that a field holds, directly or in its entries.
    fn field(&mut self, no: No, field: &'d Field) {
        let value = &field.value;
        let entries = value.items().unwrap_or_default();
        match (self.steps[no].kind.name, &*field.key) {
            (_, "child_steps" | "steps") => {
                if self.steps[no].list(Role::Children).is_some() {
                    self.one_of(self.steps[no].located, ["child_steps", "steps"]);
                } else {
                    self.add(no, value, Role::Children);
                }
            }
            ("if_else", "then_steps") | ("conditional", "then") => self.add(no, value, Role::Arm(0)),
            ("if_else", "else_steps") => self.add(no, value, Role::Arm(1)),
            ("conditional", "elif") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(no, entry, "then", Role::Arm(position + 1));
                }
            }
            ("conditional", "else") => {
                let elifs = self.steps[no].located.get("elif").and_then(Located::items).map_or(0, <[_]>::len);
                self.add(no, value, Role::Arm(elifs + 1));
            }
            ("switch", "cases") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(no, entry, "steps", Role::Arm(position));
                }
            }
            ("switch", "else_steps") => {
                let cases = self.steps[no].located.get("cases").and_then(Located::items).map_or(0, <[_]>::len);
                self.add(no, value, Role::Arm(cases));
            }
            ("for_each" | "while", "body") => self.add(no, value, Role::Body),
            ("parallel", "branches") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(no, entry, "steps", Role::Branch(position));
                }
            }
            (_, "on_error") if value.items().is_some() => self.add(no, value, Role::OnError),
            _ => {}
        }
    }

    fn add_inner(&mut self, no: No, entry: &'d Located, key: &str, role: Role) {
        if let Some(value) = entry.get(key).filter(|value| !value.is_null()) {
            self.add(no, value, role);
        }
    }

    fn add(&mut self, no: No, value: &'d Located, role: Role) {
        let position = self.steps[no].lists.len();
        // The list must be there before its steps are, because they name it.
        self.steps[no].lists.push(List { role, steps: Vec::new() });
        let list = self.list(value, role, Some((no, position)));
        self.steps[no].lists[position] = list;
    }
}

/// What a step of an unknown type is taken for.
static UNKNOWN: StepType = StepType { name: "", family: types::Family::Pure, about: "", fields: &[] };

/// Whether a text can be the id of a step.
pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The steps by id; the first of those that share one.
fn by_id(steps: &[Step<'_>], findings: &mut Vec<Diagnostic>) -> BTreeMap<Arc<str>, No> {
    let mut known: BTreeMap<Arc<str>, No> = BTreeMap::new();
    for (no, step) in steps.iter().enumerate() {
        let span = |step: &Step<'_>| step.located.get("id").map_or(step.span(), |id| id.span);
        if let Some(first) = known.get(&step.id) {
            let message = format!("the id `{}` is used by two steps", step.id);
            let finding = Diagnostic::error(Kind::DuplicateId, span(step), message);
            let finding = finding.with_related(span(&steps[*first]), format!("the first step `{}` is here", step.id));
            findings.push(finding.with_help("give one of the two steps another id"));
        } else {
            known.insert(Arc::clone(&step.id), no);
        }
    }
    known
}
