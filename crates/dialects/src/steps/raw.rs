//! Reads the table of steps from the document. Steps keep all keys, so that the rules can check unread ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_expr::{Diagnostic, Field, Kind, Located, Shape};

use super::budget;
use super::tree::{Document, List, Role, Step, StepIndex};
use super::types::{self, StepType};
use crate::DocumentKinds as _;
use crate::inputs::{self, Names};

/// The steps of a document; reports structural errors.
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
    let on_budget = match located.get("on_budget").filter(|value| value.items().is_some()) {
        Some(value) => reader.list(value, Role::OnBudget, None),
        None => List { role: Role::OnBudget, steps: Vec::new() },
    };
    let steps = reader.steps;
    let ids = by_id(&steps, findings);
    let inputs = inputs::read(located, Names::InputAndMetadata, findings);
    Document { located, steps, root, on_budget, ids, inputs }
}

struct Reader<'d, 'f> {
    steps: Vec<Step<'d>>,
    /// The number of steps without an id.
    unnamed: u32,
    findings: &'f mut Vec<Diagnostic>,
}

impl<'d> Reader<'d, '_> {
    /// The value of a key with two names.
    fn one_of(&mut self, located: &'d Located, names: [&str; 2]) -> Option<&'d Located> {
        let mut step_type =
            located.fields().iter().filter(|field| names.contains(&&*field.key) && !field.value.is_null());
        let first = step_type.next();
        if let Some(second) = step_type.next() {
            let message = format!("`{}` and `{}` are two names of one key", names[0], names[1]);
            let finding = Diagnostic::error(Kind::BadField, second.key_span, message);
            self.findings.push(finding.with_help("put all steps into one list"));
        }
        first.map(|field| &field.value)
    }

    fn list(&mut self, value: &'d Located, role: Role, parent: Option<(StepIndex, usize)>) -> List {
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

    fn step(&mut self, located: &'d Located, parent: Option<(StepIndex, usize)>) -> Option<StepIndex> {
        if !located.is_object() {
            let message = format!("a step is an object, and this is {}", located.describe());
            let finding = Diagnostic::error(Kind::BadField, located.span, message);
            self.findings.push(finding.with_help("write `{id: …, step_type: …}`"));
            return None;
        }
        let id = self.id(located);
        let kind = self.kind(located);
        // A step of an unknown type stays in the table, so that its content is checked.
        let step = Step { id, kind: kind.unwrap_or(&UNKNOWN), located, parent, lists: Vec::new(), end: 0 };
        let index = self.steps.len();
        self.steps.push(step);
        for field in located.fields().iter().filter(|field| !field.value.is_null()) {
            self.field(index, field);
        }
        self.steps[index].end = self.steps.len();
        Some(index)
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
        if let Some(newer) = types::current_name(name) {
            let finding = Diagnostic::warning(Kind::AliasUsed, written.span, format!("`{name}` is an older name"));
            self.findings.push(finding.with_help(format!("write `{newer}`")));
        }
        let step_type = types::find(name);
        if step_type.is_none() {
            let shown = if name.is_empty() { written.describe() } else { name };
            let finding =
                Diagnostic::error(Kind::UnknownStepType, written.span, format!("there is no step type `{shown}`"));
            let known = types::types().map(|known| known.name);
            self.findings.push(match types::similar(name) {
                Some(meant) => finding.with_help(format!("did you mean `{meant}`?")),
                None => finding.with_help(types::COMMON_TYPES).suggest(name, known),
            });
        }
        step_type
    }

    /// Reads the lists of steps in a field, directly or in its entries.
    fn field(&mut self, index: StepIndex, field: &'d Field) {
        let value = &field.value;
        let entries = value.items().unwrap_or_default();
        match (self.steps[index].kind.name, &*field.key) {
            (_, "child_steps" | "steps") => {
                if self.steps[index].list(Role::Children).is_some() {
                    self.one_of(self.steps[index].located, ["child_steps", "steps"]);
                } else {
                    self.add(index, value, Role::Children);
                }
            }
            ("if_else", "then_steps") | ("conditional", "then") => self.add(index, value, Role::Arm(0)),
            ("if_else", "else_steps") => self.add(index, value, Role::Arm(1)),
            ("conditional", "elif") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(index, entry, "then", Role::Arm(position + 1));
                }
            }
            ("conditional", "else") => {
                let elifs = self.steps[index].located.get("elif").and_then(Located::items).map_or(0, <[_]>::len);
                self.add(index, value, Role::Arm(elifs + 1));
            }
            ("switch", "cases") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(index, entry, "steps", Role::Arm(position));
                }
            }
            ("switch", "else_steps") => {
                let cases = self.steps[index].located.get("cases").and_then(Located::items).map_or(0, <[_]>::len);
                self.add(index, value, Role::Arm(cases));
            }
            ("for_each" | "while", "body") => self.add(index, value, Role::Body),
            ("parallel", "branches") => {
                for (position, entry) in entries.iter().enumerate() {
                    self.add_inner(index, entry, "steps", Role::Branch(position));
                }
            }
            (_, "on_error") if value.items().is_some() => self.add(index, value, Role::OnError),
            (_, "on_budget") if value.items().is_some() && budget::can_have_one(&self.steps[index]) => {
                self.add(index, value, Role::OnBudget);
            }
            _ => {}
        }
    }

    fn add_inner(&mut self, index: StepIndex, entry: &'d Located, key: &str, role: Role) {
        if let Some(value) = entry.get(key).filter(|value| !value.is_null()) {
            self.add(index, value, role);
        }
    }

    fn add(&mut self, index: StepIndex, value: &'d Located, role: Role) {
        let position = self.steps[index].lists.len();
        // The list is added before its steps, because they refer to it.
        self.steps[index].lists.push(List { role, steps: Vec::new() });
        let list = self.list(value, role, Some((index, position)));
        self.steps[index].lists[position] = list;
    }
}

/// The type of steps of an unknown type.
static UNKNOWN: StepType = StepType { name: "", family: types::Family::Pure, about: "", fields: &[] };

/// Whether a text is a valid id of a step.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The steps by id; the first of those that share one.
fn by_id(steps: &[Step<'_>], findings: &mut Vec<Diagnostic>) -> BTreeMap<Arc<str>, StepIndex> {
    let mut known: BTreeMap<Arc<str>, StepIndex> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        let span = |step: &Step<'_>| step.located.get("id").map_or(step.span(), |id| id.span);
        if let Some(first) = known.get(&step.id) {
            let message = format!("the id `{}` is used by two steps", step.id);
            let finding = Diagnostic::error(Kind::DuplicateId, span(step), message);
            let finding = finding.with_related(span(&steps[*first]), format!("the first step `{}` is here", step.id));
            findings.push(finding.with_help("give one of the two steps another id"));
        } else {
            known.insert(Arc::clone(&step.id), index);
        }
    }
    known
}
