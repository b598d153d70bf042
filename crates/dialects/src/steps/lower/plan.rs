//! What lowering has to know of the whole document before it begins with a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_expr::{Located, Shape};

use crate::steps::region::{joins, retried};
use crate::steps::tree::{Document, No, Role};

/// The step whose scope something lies in; none is the root.
pub(super) type Owner = Option<No>;

#[derive(Debug)]
pub(super) struct Plan {
    /// By merge: the joins that feed it.
    pub(super) joins: BTreeMap<No, Vec<No>>,
    /// By scope: the merges for which it is the innermost around them and all their joins.
    pub(super) meets_in: BTreeMap<Owner, Vec<No>>,
    /// Steps in which a merge may run although they are skipped, because a join elsewhere feeds it.
    pub(super) revives: Vec<bool>,
    /// By retry: the step it goes back to, and everything that is done again.
    pub(super) retries: BTreeMap<No, (No, BTreeSet<No>)>,
    targets: BTreeSet<No>,
    /// By loop over items, none is the root: the steps that leave their values in an iteration, while bodies included.
    pub(super) at_home: BTreeMap<Option<No>, Vec<No>>,
    /// Whether a branch can deliver nothing at all.
    pub(super) has_gaps: bool,
    /// Whether attachments matter.
    pub(super) has_files: bool,
    /// Words that templates and expressions are made of: a step that none names needs no slot.
    words: BTreeSet<Arc<str>>,
}

impl Plan {
    pub(super) fn new(document: &Document<'_>) -> Self {
        let mut fed: BTreeMap<No, Vec<No>> = BTreeMap::new();
        for (join, merge) in joins(document) {
            fed.entry(merge).or_default().push(join);
        }
        let mut plan = Self {
            joins: fed,
            meets_in: BTreeMap::new(),
            revives: vec![false; document.steps.len()],
            retries: BTreeMap::new(),
            targets: BTreeSet::new(),
            at_home: at_home(document),
            has_gaps: document.steps.iter().any(|step| ["gate", "join", "merge"].contains(&step.kind.name)),
            has_files: document.steps.iter().any(|step| step.flag("iterate_attachments", false))
                || mentions(document, "attachments["),
            words: words(document),
        };
        plan.find_merges(document);
        plan.find_retries(document);
        plan
    }

    fn find_merges(&mut self, document: &Document<'_>) {
        for (merge, _) in document.steps.iter().enumerate().filter(|(_, step)| step.is("merge")) {
            let joins = self.joins.get(&merge).cloned().unwrap_or_default();
            let mut common = owners(document, merge);
            for join in &joins {
                let other = owners(document, *join);
                let same = common.iter().zip(&other).take_while(|(left, right)| left == right).count();
                common.truncate(same);
            }
            self.meets_in.entry(common.last().copied().flatten()).or_default().push(merge);
            if joins.is_empty() {
                continue;
            }
            self.revives[merge] = true;
            for (holder, list) in document.around(merge) {
                // A body that does not run has no joins either, and neither has an error that did not happen.
                if matches!(list.role, Role::Body | Role::OnError) {
                    break;
                }
                self.revives[holder] = true;
            }
        }
    }

    fn find_retries(&mut self, document: &Document<'_>) {
        for (no, step) in document.steps.iter().enumerate().filter(|(_, step)| step.is("retry")) {
            let target = step.get("target_step_id").and_then(Located::text).and_then(|id| document.find(id));
            if let Some(target) = target {
                let again = retried(document, no, target).into_iter().collect();
                self.retries.insert(no, (target, again));
                self.targets.insert(target);
            }
        }
    }

    /// Whether something may read what a step of this id leaves behind.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.words.contains(id)
    }

    pub(super) fn is_target(&self, no: No) -> bool {
        self.targets.contains(&no)
    }

    /// Whether some merge runs although its own line was skipped.
    pub(super) fn has_revivals(&self) -> bool {
        !self.joins.is_empty()
    }

    /// The outermost loop around a retry that another retry runs again as a whole.
    pub(super) fn repeated_loop(&self, document: &Document<'_>, retry: No) -> Option<No> {
        let loops = document.around(retry).filter(|(_, list)| list.role == Role::Body).map(|(holder, _)| holder);
        let repeated =
            |looped: &No| self.retries.iter().any(|(other, (_, again))| *other != retry && again.contains(looped));
        loops.filter(repeated).last()
    }
}

/// The steps whose scopes are around a step, the root first.
pub(super) fn owners(document: &Document<'_>, no: No) -> Vec<Owner> {
    let own = document.around(no).filter(|(holder, list)| match list.role {
        Role::Body | Role::Branch(_) => true,
        Role::Children => !document.steps[*holder].kind.has_chain_below(),
        Role::Root | Role::Arm(_) | Role::OnError => false,
    });
    let mut owners: Vec<Owner> = own.map(|(holder, _)| Some(holder)).collect();
    owners.push(None);
    owners.reverse();
    owners
}

fn at_home(document: &Document<'_>) -> BTreeMap<Option<No>, Vec<No>> {
    let mut homes: Vec<Option<No>> = Vec::with_capacity(document.steps.len());
    let mut at_home: BTreeMap<Option<No>, Vec<No>> = BTreeMap::new();
    for no in 0..document.steps.len() {
        // Whatever is around a step stands before it in the text.
        let home = document.parent(no).and_then(|holder| {
            let is_body = document.list_of(no).role == Role::Body && document.steps[holder].is("for_each");
            if is_body { Some(holder) } else { homes[holder] }
        });
        homes.push(home);
        at_home.entry(home).or_default().push(no);
    }
    at_home
}

/// Whether any text of the document holds these letters.
pub(super) fn mentions(document: &Document<'_>, letters: &str) -> bool {
    let mut values = vec![document.located];
    while let Some(value) = values.pop() {
        if value.text().is_some_and(|text| text.contains(letters)) {
            return true;
        }
        values.extend(value.items().unwrap_or_default());
        values.extend(value.fields().iter().map(|field| &field.value));
    }
    false
}

/// Every word of every text that may name a step. More words than needed only keep slots that nothing reads.
fn words(document: &Document<'_>) -> BTreeSet<Arc<str>> {
    let mut words = BTreeSet::new();
    let mut values = vec![document.located];
    while let Some(value) = values.pop() {
        match &value.shape {
            Shape::Str { text, .. } if text.contains("step") => {
                let apart = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
                words.extend(text.split(apart).filter(|word| !word.is_empty()).map(Arc::from));
            }
            Shape::List(items) => values.extend(items),
            Shape::Object(fields) => values.extend(fields.iter().map(|field| &field.value)),
            _ => {}
        }
    }
    let judged = document.steps.iter().filter(|step| step.is("evaluate_step"));
    words.extend(judged.filter_map(|step| step.text("target_step_id").cloned()));
    words
}
