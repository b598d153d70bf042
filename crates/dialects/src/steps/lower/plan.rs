//! The facts about the whole document that lowering needs before it begins.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use branchpoint_expr::Located;

use crate::lowering::texts;
use crate::steps::attachments;
use crate::steps::region::{is_region, joins, retried};
use crate::steps::tree::{Document, Role, StepIndex};

/// The step of an enclosing scope; none is the root.
pub(super) type Owner = Option<StepIndex>;

#[derive(Debug, Default)]
pub(super) struct Plan<'d> {
    /// By merge: the joins that feed it.
    pub(super) joins: BTreeMap<StepIndex, Vec<StepIndex>>,
    /// By scope: the merges for which it is the innermost scope that encloses them and all their joins.
    pub(super) meets_in: BTreeMap<Owner, Vec<StepIndex>>,
    /// Steps in which a merge may run although they are skipped, because a join elsewhere feeds it.
    pub(super) revives: Vec<bool>,
    /// By retry: the steps that it repeats, from its target on.
    pub(super) retries: BTreeMap<StepIndex, Range<StepIndex>>,
    /// The steps that retries go back to.
    pub(super) targets: BTreeSet<StepIndex>,
    /// By retry: the outermost enclosing loop that another retry repeats as a whole.
    pub(super) repeated_loop: BTreeMap<StepIndex, StepIndex>,
    /// By loop: the retries whose counters must outlive it, and those whose counters live in it.
    pub(super) counted_around: BTreeMap<StepIndex, Vec<StepIndex>>,
    pub(super) counted_in: BTreeMap<StepIndex, Vec<StepIndex>>,
    /// By loop over items, none is the root: the steps with results in an iteration, including those in while bodies.
    pub(super) at_home: BTreeMap<Option<StepIndex>, Vec<StepIndex>>,
    /// Whether a branch can end without a value.
    pub(super) has_gaps: bool,
    /// Whether the document uses attachments.
    pub(super) has_files: bool,
    /// The words of templates and expressions: a step that none of them names needs no slot.
    words: HashSet<&'d str>,
}

impl<'d> Plan<'d> {
    pub(super) fn new(document: &Document<'d>) -> Self {
        let mut fed: BTreeMap<StepIndex, Vec<StepIndex>> = BTreeMap::new();
        for (join, merge) in joins(document) {
            fed.entry(merge).or_default().push(join);
        }
        let mut plan = Self {
            joins: fed,
            revives: vec![false; document.steps.len()],
            at_home: at_home(document),
            has_gaps: document.steps.iter().any(|step| ["gate", "join", "merge"].contains(&step.kind.name)),
            has_files: document.steps.iter().any(attachments::has_rules)
                || texts(document.located).any(|text| text.contains("attachments[")),
            words: words(document),
            ..Self::default()
        };
        plan.find_merges(document);
        plan.find_retries(document);
        plan.find_counters(document);
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
                // A body that does not run has no joins either, and neither has an error that did not happen, or a budgeted part.
                if is_region(document, holder, list.role) {
                    break;
                }
                self.revives[holder] = true;
            }
        }
    }

    fn find_retries(&mut self, document: &Document<'_>) {
        for (index, step) in document.steps.iter().enumerate().filter(|(_, step)| step.is("retry")) {
            let target = step.get("target_step_id").and_then(Located::text).and_then(|id| document.find(id));
            if let Some(target) = target {
                self.retries.insert(index, retried(document, index, target));
                self.targets.insert(target);
            }
        }
    }

    /// Finds the scope of the counter of each retry.
    fn find_counters(&mut self, document: &Document<'_>) {
        let repeats = repeats(document.steps.len(), self.retries.values());
        for (retry, again) in &self.retries {
            let by_others = |looped: &StepIndex| repeats[*looped] > usize::from(again.contains(looped));
            let repeated = loops_around(document, *retry).filter(by_others).last();
            if let Some(looped) = repeated {
                self.repeated_loop.insert(*retry, looped);
                self.counted_around.entry(looped).or_default().push(*retry);
            }
            if let Some(looped) = loops_around(document, repeated.unwrap_or(*retry)).next() {
                self.counted_in.entry(looped).or_default().push(*retry);
            }
        }
    }

    /// Whether the results of a step with this id may be read.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.words.contains(id)
    }

    /// Whether some merge runs although its own line was skipped.
    pub(super) fn has_revivals(&self) -> bool {
        !self.joins.is_empty()
    }
}

/// The loops around a step, the innermost first.
pub(super) fn loops_around(document: &Document<'_>, index: StepIndex) -> impl Iterator<Item = StepIndex> {
    document.around(index).filter(|(_, list)| list.role == Role::Body).map(|(holder, _)| holder)
}

/// By step: how many retries run it again.
fn repeats<'r>(steps: usize, retries: impl Iterator<Item = &'r Range<StepIndex>>) -> Vec<usize> {
    let (mut begins, mut ends) = (vec![0; steps + 1], vec![0; steps + 1]);
    for again in retries {
        begins[again.start] += 1;
        ends[again.end] += 1;
    }
    let open = begins.iter().zip(&ends).scan(0, |open, (begun, ended)| {
        *open = *open + begun - ended;
        Some(*open)
    });
    open.collect()
}

/// The steps whose scopes are around a step, the root first.
pub(super) fn owners(document: &Document<'_>, index: StepIndex) -> Vec<Owner> {
    let own = document.around(index).filter(|(holder, list)| match list.role {
        Role::Body | Role::Branch(_) => true,
        Role::Children => !document.steps[*holder].kind.has_chain_below(),
        Role::Root | Role::Arm(_) | Role::OnError | Role::OnBudget => false,
    });
    let mut owners: Vec<Owner> = own.map(|(holder, _)| Some(holder)).collect();
    owners.push(None);
    owners.reverse();
    owners
}

fn at_home(document: &Document<'_>) -> BTreeMap<Option<StepIndex>, Vec<StepIndex>> {
    let mut homes: Vec<Option<StepIndex>> = Vec::with_capacity(document.steps.len());
    let mut at_home: BTreeMap<Option<StepIndex>, Vec<StepIndex>> = BTreeMap::new();
    for index in 0..document.steps.len() {
        // Enclosing steps are before a step in the text.
        let home = document.parent(index).and_then(|holder| {
            let is_body = document.list_of(index).role == Role::Body && document.steps[holder].is("for_each");
            if is_body { Some(holder) } else { homes[holder] }
        });
        homes.push(home);
        at_home.entry(home).or_default().push(index);
    }
    at_home
}

/// Every word of every text that may name a step. More words than needed only keep slots that nothing reads.
fn words<'d>(document: &Document<'d>) -> HashSet<&'d str> {
    let apart = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let naming = texts(document.located).filter(|text| text.contains("step"));
    let mut words: HashSet<_> = naming.flat_map(|text| text.split(apart)).filter(|word| !word.is_empty()).collect();
    let judged = document.steps.iter().filter(|step| step.is("evaluate_step"));
    words.extend(judged.filter_map(|step| step.text("target_step_id").map(|id| &**id)));
    words.extend(document.steps.iter().flat_map(attachments::source_steps));
    words
}
