//! The locals of strands, and the slots of results that other steps read.

use branchpoint_core::ir::builder::Builder;
use branchpoint_core::ir::{ScopeId, SlotId};

use super::plan::Owner;
use super::{Location, Lower};
use crate::lowering::Names;
use crate::steps::tree::StepIndex;

/// Declares the locals of every strand.
pub(super) fn locals(b: &mut Builder) -> Names {
    let carried = [
        // The current value, and its content type.
        "value", "kind",     // The attachments that travel with it.
        "files",    // Set while nothing has come over this way: `blocked` or `joined`.
        "gap",      // Set while steps are skipped: the number of the list in which that began.
        "skipping", // The newest error, and the one that is being handled.
        "failed", "error", // What came back: from an effect, from the entries of a frame.
        "answer", "outcomes", // A value on the way: rendered texts, items.
        "probe",
    ];
    let mut locals = Names::default();
    locals.add_locals(b, carried);
    locals
}

/// The result slots of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepSlots {
    pub(super) output: SlotId,
    pub(super) input: SlotId,
    pub(super) error: SlotId,
    /// Facts beside the output: for http steps status and headers, for commands exit code and stderr.
    pub(super) facts: Option<[(&'static str, SlotId); 2]>,
    /// The attachments of its output.
    pub(super) files: Option<SlotId>,
    /// The round of a while loop.
    pub(super) round: Option<SlotId>,
}

impl Lower<'_, '_> {
    /// Declares the result slots of the steps of an iteration, or of the root.
    pub(super) fn keep_in(&mut self, home: ScopeId, iteration: Option<StepIndex>) {
        for index in self.own.plan.at_home.remove(&iteration).unwrap_or_default() {
            let step = &self.own.document.steps[index];
            let id = step.id.clone();
            if !self.own.plan.is_named(&id) {
                continue;
            }
            let mut slot = |property: &str| {
                let slot = self.b.slot(home, &format!("{id}.{property}"), None);
                self.b.name(home, &["step", &id, property], slot);
                slot
            };
            let facts = match step.kind.name {
                "http" => Some([("status", slot("status")), ("headers", slot("headers"))]),
                "command" => Some([("exit_code", slot("exit_code")), ("stderr", slot("stderr"))]),
                _ => None,
            };
            let step_slots = StepSlots {
                output: slot("output"),
                input: slot("input"),
                error: slot("error"),
                facts,
                round: step.is("while").then(|| slot("iteration")),
                files: self.own.plan.has_files.then(|| self.b.slot(home, &format!("{id}.files"), None)),
            };
            self.own.step_slots.insert(index, step_slots);
        }
    }

    /// Declares the edges of merges that meet in a scope.
    pub(super) fn edges_in(&mut self, scope: ScopeId, owner: Owner) {
        for merge in self.own.plan.meets_in.get(&owner).cloned().unwrap_or_default() {
            let joins = self.own.plan.joins.get(&merge).cloned().unwrap_or_default();
            for index in std::iter::once(merge).chain(joins) {
                let slot = self.b.slot(scope, &format!("{}.edge", self.own.document.steps[index].id), None);
                self.own.edges.insert(index, slot);
            }
        }
    }

    /// Records the locations of the steps of a list before any of them is lowered: later ones may go back to earlier ones.
    pub(super) fn enroll(&mut self, steps: &[StepIndex], at: Location) {
        for index in steps.iter().copied() {
            self.own.scopes[index] = at.scope;
            if self.own.plan.targets.contains(&index) {
                let slot = self.b.slot(at.scope, &format!("{}.again", self.own.document.steps[index].id), None);
                self.own.again.insert(index, slot);
            }
        }
    }
}
