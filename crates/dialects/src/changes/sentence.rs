//! A change in one sentence, and the lines of both documents that it is about.

use branchpoint_expr::{Dialect, Located, Value};

use super::parts::Parts;
use super::{Aspect, Change, ChangeKind};
use crate::path::{Segment, at};
use crate::{export, read};

/// The longest value that a sentence contains, in characters.
const SHORT: usize = 40;

impl Change {
    /// What happened to the step or to the document, without its name.
    ///
    /// ```
    /// let old = "name: ask\nsteps:\n  - {id: ask, step_type: human_in_the_loop, prompt_template: Send?, required_approvals: 1}\n";
    /// let new = old.replace("approvals: 1", "approvals: 2");
    /// let changes = branchpoint_dialects::changes(old, &new, None)?;
    /// assert_eq!(changes.list[0].sentence(), "required_approvals is 2 (was 1)");
    /// # Ok::<(), branchpoint_dialects::ChangesError>(())
    /// ```
    pub fn sentence(&self) -> String {
        let kind = self.step_type.as_ref().map(|kind| format!(": {kind}")).unwrap_or_default();
        let shown = |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
        let Some(field) = &self.field else {
            return match self.kind {
                ChangeKind::Added => format!("added{kind}"),
                ChangeKind::Removed => format!("removed{kind}"),
                ChangeKind::Renamed => format!("renamed (was {})", self.was.as_deref().unwrap_or_default()),
                ChangeKind::Moved => format!("moved from {} to {}", shown(&self.before), shown(&self.after)),
                ChangeKind::Changed => "its program differs, although no part of it does".to_owned(),
            };
        };
        if self.aspect == Aspect::Condition && self.kind == ChangeKind::Changed {
            let branch = branch_of(field).map(|branch| format!("{branch}: ")).unwrap_or_default();
            return format!("{branch}condition changed");
        }
        match (short(self.before.as_ref()), short(self.after.as_ref()), self.kind) {
            (_, Some(after), ChangeKind::Added) => format!("{field} is {after} (was not set)"),
            (Some(before), _, ChangeKind::Removed) => format!("{field} is no longer set (was {before})"),
            (Some(before), Some(after), _) => format!("{field} is {after} (was {before})"),
            (_, _, ChangeKind::Added) => format!("{field} added"),
            (_, _, ChangeKind::Removed) => format!("{field} removed"),
            _ => format!("{field} changed"),
        }
    }
}

/// The branch whose condition a field is: `elif[0].if` is that of `elif-0`.
fn branch_of(field: &str) -> Option<String> {
    let (list, rest) = field.split_once('[')?;
    let (index, _) = rest.split_once(']')?;
    let list = list.rsplit('.').next().unwrap_or(list);
    Some(format!("{list}-{index}"))
}

/// A value that fits into a sentence.
fn short(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::Str(text) if text.is_empty() => "\"\"".to_owned(),
        value => value.to_string(),
    };
    (text.chars().count() <= SHORT && !text.contains('\n')).then_some(text)
}

/// The lines of changes in two documents, counted from 1: that of the changed value, or of the step.
///
/// ```
/// use branchpoint_dialects::{ChangeLines, changes};
///
/// let old = "name: greet\nsteps:\n  - id: greet\n    step_type: text\n    template: Hello\n";
/// let new = old.replace("Hello", "Hi").replace("name:", "# New.\nname:");
/// let change = changes(old, &new, None)?.list.remove(0);
/// let lines = ChangeLines::new(old, &new, branchpoint_expr::Dialect::Steps);
/// assert_eq!(lines.of(&change), (Some(5), Some(6)));
/// # Ok::<(), branchpoint_dialects::ChangesError>(())
/// ```
#[derive(Debug)]
pub struct ChangeLines<'t> {
    documents: [Option<(&'t str, Located)>; 2],
    dialect: Dialect,
}

impl<'t> ChangeLines<'t> {
    /// The lines of an old and a new document.
    pub fn new(old: &'t str, new: &'t str, dialect: Dialect) -> Self {
        Self { documents: [old, new].map(|text| read(text).ok().map(|document| (text, document))), dialect }
    }

    /// The lines of a change: in the old document, and in the new one.
    pub fn of(&self, change: &Change) -> (Option<usize>, Option<usize>) {
        let id = change.step.as_deref();
        let before = change.was.as_deref().or(id);
        let (has_old, has_new) = match (change.kind, &change.field) {
            (ChangeKind::Added, None) => (false, true),
            (ChangeKind::Removed, None) => (true, false),
            _ => (true, true),
        };
        let field = change.field.as_deref();
        (
            has_old.then(|| self.line(0, before, field.filter(|_| change.kind != ChangeKind::Added))).flatten(),
            has_new.then(|| self.line(1, id, field.filter(|_| change.kind != ChangeKind::Removed))).flatten(),
        )
    }

    fn line(&self, document: usize, step: Option<&str>, field: Option<&str>) -> Option<usize> {
        let (text, document) = self.documents[document].as_ref()?;
        let definition = export::written_definition(document).filter(|_| self.dialect == Dialect::Steps);
        let root = definition.unwrap_or(document);
        let holder = match step {
            None => root,
            Some(step) => {
                let parts = Parts::of(root, self.dialect);
                let part = parts.steps.iter().find(|part| &*part.id == step)?;
                at(root, &part.path)?
            }
        };
        let segments = segments(field.unwrap_or_default());
        let settings = ["data", "config"].iter().filter_map(|key| holder.get(key));
        let value = std::iter::once(holder).chain(settings).find_map(|holder| at(holder, &segments));
        Some(value.unwrap_or(holder).span.line_column(text).0)
    }
}

/// The segments of a path as text, such as `elif[0].if`.
fn segments(path: &str) -> Vec<Segment> {
    let parts = path.split(['.', '[']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => Segment::Index(index),
            None => part.into(),
        })
        .collect()
}
