//! The changes between two documents of one dialect, by meaning: [the rules](../../../docs/spec/house.md#changes-of-a-workflow).
//!
//! `parts` splits a document into its steps and their fields, `matching` finds the steps of one document in the other, `values` compares
//! fields, `classify` sorts changes into groups, `text` writes them. Whether a difference has a meaning is not decided by tables:
//! the earlier document is lowered once more with the difference, and only a difference that changes its program counts.

mod arrange;
mod classify;
mod matching;
pub(crate) mod parts;
mod sentence;
mod text;
mod values;

use std::fmt;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::ir::picture::{ComparedPicture, Picture, compare};
use branchpoint_expr::{Diagnostic, Dialect, Located, Severity, Value};

use crate::load::lower;
use crate::path::Segment;
use crate::recognise::recognise;
use crate::{LoadOptions, export, read};

use classify::{always_counts, classify_field, group_of_step};
use matching::{Matching, Move};
use parts::{Field, Part, Parts};
pub use sentence::ChangeLines;

/// The number of fields that are tested for a meaning. Beyond it, every difference counts.
const TESTED_FIELDS: usize = 300;

/// The changes between two documents, in the order of their groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The changes; empty if both documents have the same meaning.
    pub list: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Where a summary lists it.
    pub group: Group,
    /// What happened.
    pub kind: ChangeKind,
    /// What the changed field is about.
    pub aspect: Aspect,
    /// The id of the step: in the new document, or in the old one if the step was removed. None for the document.
    pub step: Option<Arc<str>>,
    /// The type of the step.
    pub step_type: Option<Arc<str>>,
    /// The earlier id of a renamed step.
    pub was: Option<Arc<str>>,
    /// The path of the field, such as `transitions[1].when`; none for changes of the whole step.
    pub field: Option<String>,
    /// The value in the old document.
    pub before: Option<Value>,
    /// The value in the new document.
    pub after: Option<Value>,
}

/// A group of changes, in the order of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Conditions, cases, transitions and connections.
    Decisions,
    /// Steps that ask people.
    Approvals,
    /// All other steps and their fields.
    Steps,
    /// Declared inputs.
    Inputs,
    /// The rest of the document.
    Other,
}

/// What happened to a step or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The new document has it, the old one does not.
    Added,
    /// The old document has it, the new one does not.
    Removed,
    /// Its value differs.
    Changed,
    /// The step is at another position.
    Moved,
    /// The step has another id.
    Renamed,
}

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The step as a whole.
    Step,
    /// What decides a branch.
    Condition,
    /// Who approves, and how many votes are needed.
    Approvers,
    /// A text for a model or for people.
    Prompt,
    /// A limit of time, size, cost or number.
    Limit,
    /// A retry policy.
    Retry,
    /// A policy for values.
    Policy,
    /// A declared input.
    Input,
    /// Anything else.
    Setting,
}

impl Changes {
    /// Combines the pictures of both documents.
    ///
    /// ```
    /// use branchpoint_dialects::{changes, load, picture};
    ///
    /// let old = "name: greet\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
    /// let new = old.replace("Hello", "Hi");
    /// let draw = |text: &str| picture(&load(text, None).program.unwrap(), text, None);
    /// let compared = changes(old, &new, None)?.picture(&draw(old), &draw(&new));
    /// assert!(branchpoint_core::ir::picture::mermaid_compared(&compared).contains(":::changed"));
    /// # Ok::<(), branchpoint_dialects::ChangesError>(())
    /// ```
    pub fn picture(&self, old: &Picture, new: &Picture) -> ComparedPicture {
        let is_renamed = |change: &&Change| change.kind == ChangeKind::Renamed;
        let renamed =
            self.list.iter().filter(is_renamed).filter_map(|change| Some((change.was.clone()?, change.step.clone()?)));
        let is_changed =
            |change: &&Change| !matches!((change.kind, &change.field), (ChangeKind::Added | ChangeKind::Removed, None));
        let changed = self.list.iter().filter(is_changed).filter_map(|change| change.step.clone());
        compare(old, new, &changed.collect(), &renamed.collect())
    }
}

/// Why two documents cannot be compared.
#[derive(Clone, Debug)]
pub enum ChangesError {
    /// The old document is invalid.
    OldInvalid(Vec<Diagnostic>),
    /// The new document is invalid.
    NewInvalid(Vec<Diagnostic>),
    /// The documents have different dialects.
    OtherDialect(Dialect, Dialect),
}

impl fmt::Display for ChangesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldInvalid(_) => f.write_str("the old document is invalid"),
            Self::NewInvalid(_) => f.write_str("the new document is invalid"),
            Self::OtherDialect(old, new) => {
                let (old, new) = (old.as_str(), new.as_str());
                write!(f, "the documents have different dialects: the old one is `{old}`, the new one `{new}`")
            }
        }
    }
}

impl std::error::Error for ChangesError {}

/// The changes from an old document to a new one. The dialect is detected by their content if it is not given.
///
/// ```
/// use branchpoint_dialects::changes;
///
/// let old = "name: greet\nsteps:\n  - {id: greet, step_type: text, template: Hello}\n";
/// let same = "# A comment.\nsteps: [{step_type: text, id: greet, template: 'Hello'}]\nname: greet\n";
/// assert!(changes(old, same, None)?.list.is_empty());
///
/// let new = old.replace("Hello", "Good morning");
/// let change = changes(old, &new, None)?.list.remove(0);
/// assert_eq!((change.step.as_deref(), change.field.as_deref()), (Some("greet"), Some("template")));
/// # Ok::<(), branchpoint_dialects::ChangesError>(())
/// ```
///
/// # Errors
///
/// A document is invalid, or their dialects differ.
pub fn changes(old: &str, new: &str, dialect: Option<Dialect>) -> Result<Changes, ChangesError> {
    let old = Document::read(old, dialect).map_err(ChangesError::OldInvalid)?;
    let new = Document::read(new, dialect).map_err(ChangesError::NewInvalid)?;
    if old.dialect != new.dialect {
        return Err(ChangesError::OtherDialect(old.dialect, new.dialect));
    }
    Ok(Comparison::new(&old, &new).changes())
}

/// A valid document.
struct Document {
    dialect: Dialect,
    located: Located,
    program: Program,
}

impl Document {
    fn read(source: &str, dialect: Option<Dialect>) -> Result<Self, Vec<Diagnostic>> {
        let located = read(source)?;
        let dialect = dialect.map_or_else(|| recognise(&located), Ok).map_err(|finding| vec![*finding])?;
        let definition = export::definition(&located).filter(|_| dialect == Dialect::Steps);
        let located = definition.unwrap_or(located);
        let (program, findings) = lower(&located, dialect, &LoadOptions::default());
        match valid(program, &findings) {
            Some(program) => Ok(Self { dialect, located, program: program.without_source() }),
            None => Err(findings),
        }
    }

    /// Whether another form of this document has the same program.
    fn has_program_of(&self, other: &Located) -> bool {
        let (program, findings) = lower(other, self.dialect, &LoadOptions::default());
        valid(program, &findings).is_some_and(|program| program.has_meaning_of(&self.program))
    }
}

fn valid(program: Option<Program>, findings: &[Diagnostic]) -> Option<Program> {
    program.filter(|_| findings.iter().all(|finding| finding.severity != Severity::Error))
}

/// Two documents while they are compared.
struct Comparison<'d> {
    old: &'d Document,
    parts: [Parts<'d>; 2],
    is_same_program: bool,
    tested: usize,
    list: Vec<Change>,
}

impl<'d> Comparison<'d> {
    fn new(old: &'d Document, new: &'d Document) -> Self {
        let parts = [Parts::of(&old.located, old.dialect), Parts::of(&new.located, new.dialect)];
        // The order of keys and of unordered lists is that of the old document, so that it makes no difference.
        let is_same_program = old.has_program_of(&arrange::like(&new.located, &old.located, old.dialect));
        Self { old, parts, is_same_program, tested: 0, list: Vec::new() }
    }

    fn changes(mut self) -> Changes {
        let [old, new] = std::mem::take(&mut self.parts);
        let document = |parts: &Parts<'d>| -> Vec<Field<'d>> {
            let counts = |field: &&Field<'_>| !self.is_same_program || always_counts(&field.name);
            parts.fields.iter().filter(counts).cloned().collect()
        };
        let (old_fields, new_fields) = (document(&old), document(&new));
        self.fields(None, &[], (&old_fields, &new_fields), &Matching::default());
        if !self.is_same_program {
            let matching = Matching::new(&old.steps, &new.steps, self.old.dialect);
            self.steps(&old, &new, &matching);
            if self.list.is_empty() {
                self.list.push(unexplained());
            }
        }
        self.list.sort_by_key(|change| change.group);
        Changes { list: self.list }
    }

    fn steps(&mut self, old: &Parts<'d>, new: &Parts<'d>, matching: &Matching) {
        for (at, part) in new.steps.iter().enumerate() {
            match matching.old_of(at) {
                None => self.list.push(whole(part, ChangeKind::Added)),
                Some(before) => {
                    let was = &old.steps[before];
                    if matching.is_renamed(before) {
                        let renamed = Change { was: Some(was.id.clone()), ..whole(part, ChangeKind::Renamed) };
                        self.list.push(renamed);
                    }
                    if let Some(Move { from, to }) = matching.moved(before) {
                        let (before, after) = (Some(from.as_str().into()), Some(to.as_str().into()));
                        self.list.push(Change { before, after, ..whole(part, ChangeKind::Moved) });
                    }
                    self.fields(Some(part), &was.path, (&was.fields, &part.fields), matching);
                }
            }
        }
        let removed = old.steps.iter().enumerate().filter(|(at, _)| matching.new_of(*at).is_none());
        self.list.extend(removed.map(|(_, part)| whole(part, ChangeKind::Removed)));
    }

    /// Compares the fields of a step, or of the document.
    fn fields(
        &mut self,
        step: Option<&Part<'d>>,
        holder: &[Segment],
        (old, new): (&[Field<'d>], &[Field<'d>]),
        matching: &Matching,
    ) {
        let added = new.iter().filter(|field| old.iter().all(|other| other.name != field.name));
        let names: Vec<&str> = old.iter().chain(added).map(|field| &*field.name).collect();
        for name in names {
            let find = |fields: &[Field<'d>]| fields.iter().find(|field| *field.name == *name).cloned();
            let (before, after) = (find(old), find(new));
            let new_value = after.as_ref().map(|field| &field.value);
            if before.as_ref().map(|field| &field.value) == new_value {
                continue;
            }
            // A text that names a renamed step follows its id.
            let old_value = before.as_ref().map(|field| matching.renamed_value(&field.value));
            let differences = values::differences(name, old_value.as_ref(), new_value);
            if differences.is_empty() || !self.has_meaning(holder, before.as_ref(), after.as_ref()) {
                continue;
            }
            for (field, before, after) in differences {
                let (group, aspect) = classify_field(step.map(|step| &*step.kind), name, &field);
                let kind = match (&before, &after) {
                    (None, _) => ChangeKind::Added,
                    (_, None) => ChangeKind::Removed,
                    _ => ChangeKind::Changed,
                };
                self.list.push(Change {
                    group,
                    kind,
                    aspect,
                    step: step.map(|step| step.id.clone()),
                    step_type: step.map(|step| step.kind.clone()).filter(|kind| !kind.is_empty()),
                    was: None,
                    field: Some(field),
                    before,
                    after,
                });
            }
        }
    }

    /// Whether the old document with the new value of one field has another program, or none. `holder` is the path of the object of the
    /// step in the old document.
    fn has_meaning(&mut self, holder: &[Segment], old: Option<&Field<'d>>, new: Option<&Field<'d>>) -> bool {
        let Some(field) = old.or(new) else { return true };
        let is_written = [old, new].into_iter().flatten().all(|field| field.located.is_some());
        if !is_written || always_counts(&field.name) || self.tested == TESTED_FIELDS {
            return true;
        }
        self.tested += 1;
        let path: Vec<Segment> = holder.iter().chain(&field.inside).cloned().collect();
        let replacement = new.and_then(|field| field.located).cloned();
        !self.old.has_program_of(&arrange::with(&self.old.located, &path, replacement))
    }
}

/// A change of a whole step.
fn whole(part: &Part<'_>, kind: ChangeKind) -> Change {
    Change {
        group: group_of_step(&part.kind),
        kind,
        aspect: Aspect::Step,
        step: Some(part.id.clone()),
        step_type: Some(part.kind.clone()).filter(|kind| !kind.is_empty()),
        was: None,
        field: None,
        before: None,
        after: None,
    }
}

/// The change of a document whose program differs although none of its parts does.
fn unexplained() -> Change {
    Change {
        group: Group::Other,
        kind: ChangeKind::Changed,
        aspect: Aspect::Setting,
        step: None,
        step_type: None,
        was: None,
        field: None,
        before: None,
        after: None,
    }
}
