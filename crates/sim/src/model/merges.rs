//! Merges, which are settled by walking the tree forward from every living strand.

use branchpoint_expr::Value;

use super::{Entry, Model, Parked};
use crate::tree::{Node, NodeKind, ends};

impl Model<'_> {
    /// Fires the oldest merge whose edges are all filled or unreachable.
    pub(super) fn fire_a_merge(&mut self) -> bool {
        let parked: Vec<u64> =
            self.strands.iter().filter(|(_, strand)| strand.parked == Parked::Merge).map(|(no, _)| *no).collect();
        for no in parked {
            let merge = self.node_of(no);
            let NodeKind::Merge { owner, own } = merge.kind else { unreachable!("it is parked at a merge") };
            let joins = self.tree.joins(merge.id);
            let edges = self.vars(no, owner).edges().clone();
            let (frame, entry) = self.frame_of(no, owner);
            let each = matches!(self.frames[&frame].node.map(|node| &node.kind), Some(NodeKind::Each { .. }));
            let only = each.then_some(entry);
            // The merge's own edge was filled on arrival, but a jump back in another entry may have cleared it since.
            let ids: Vec<u32> = own.then_some(merge.id).into_iter().chain(joins).collect();
            let settled =
                ids.iter().all(|edge| edges.contains_key(edge) || !self.may_reach(frame, only, *edge, merge.id));
            if settled {
                let edge = |id: &u32| edges.get(id).cloned().unwrap_or_default();
                let filled = ids.iter().any(|id| edges.contains_key(id));
                let values: Vec<Value> = ids.iter().map(edge).collect();
                self.tally(if filled { "merges fired" } else { "merges fired empty" });
                self.resume_with_new_value(no, if filled { Value::from(values) } else { Value::from("none") });
                return true;
            }
        }
        false
    }

    /// The scope that owns the edges of a merge.
    pub(super) fn owner_of(&self, merge: u32) -> u32 {
        let nodes = self.tree.nodes();
        let owner = nodes.iter().find_map(|node| match node.kind {
            NodeKind::Merge { owner, .. } if node.id == merge => Some(owner),
            _ => None,
        });
        owner.expect("a join names a merge")
    }

    /// Whether a strand in a frame can still reach a join.
    fn may_reach(&self, frame: u64, only: Option<usize>, join: u32, merge: u32) -> bool {
        let record = &self.frames[&frame];
        record.entries.iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at)).any(
            |(at, entry)| match (entry, record.node.map(|node| &node.kind)) {
                (Entry::Running { strand, .. }, _) => self.strand_may_reach(*strand, join, merge),
                (Entry::Waiting, Some(NodeKind::Parallel { branches, .. })) => reaches(&branches[at], join),
                (
                    Entry::Waiting,
                    Some(NodeKind::Each { body, .. } | NodeKind::Try { body, .. } | NodeKind::While { body, .. }),
                ) => reaches(body, join),
                _ => false,
            },
        )
    }

    fn strand_may_reach(&self, no: u64, join: u32, merge: u32) -> bool {
        let strand = &self.strands[&no];
        let here = self.node_of(no);
        // A strand that waits at this merge cannot reach its joins.
        if strand.parked == Parked::Merge && here.id == merge {
            return false;
        }
        if let Parked::Frame(inner) = strand.parked
            && self.may_reach(inner, None, join, merge)
        {
            return true;
        }
        if here.handler().is_some_and(|handler| reaches(handler, join)) {
            return true;
        }
        for position in strand.spine.iter().rev() {
            let rest = &position.block[(position.at + 1).min(position.block.len())..];
            if reaches(rest, join) {
                return true;
            }
            if ends(rest) {
                return false;
            }
        }
        false
    }
}

/// Whether the join can be reached from the beginning of a block.
pub(super) fn reaches(block: &[Node], join: u32) -> bool {
    for node in block {
        if node.id == join || node.blocks().into_iter().any(|inner| reaches(inner, join)) {
            return true;
        }
        if node.is_last() {
            return false;
        }
    }
    false
}
