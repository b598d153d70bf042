//! Merges: settled by walking the tree forward from every strand that is alive.

use branchpoint_expr::Value;

use super::{Entry, Model, Parked};
use crate::tree::{Node, What, ends};

impl Model<'_> {
    /// Fires the oldest merge of which every edge is filled or out of reach.
    pub(super) fn fire_a_merge(&mut self) -> bool {
        let parked: Vec<u64> =
            self.strands.iter().filter(|(_, strand)| strand.parked == Parked::Merge).map(|(no, _)| *no).collect();
        for no in parked {
            let merge = self.node_of(no);
            let What::Merge { owner, own } = merge.what else { unreachable!("it is parked at a merge") };
            let joins = self.tree.joins(merge.id);
            let edges = self.vars(no, owner).edges().clone();
            let (frame, entry) = self.frame_of(no, owner);
            let each = matches!(self.frames[&frame].node.map(|node| &node.what), Some(What::Each { .. }));
            let only = each.then_some(entry);
            // An edge of its own was filled on arrival, but a jump back in another entry may have cleared it since.
            let ids: Vec<u32> = own.then_some(merge.id).into_iter().chain(joins).collect();
            let settled =
                ids.iter().all(|edge| edges.contains_key(edge) || !self.may_come(frame, only, *edge, merge.id));
            if settled {
                let edge = |id: &u32| edges.get(id).cloned().unwrap_or_default();
                let filled = ids.iter().any(|id| edges.contains_key(id));
                let values: Vec<Value> = ids.iter().map(edge).collect();
                self.tally(if filled { "merges fired" } else { "merges fired empty" });
                self.go_on_with_made(no, if filled { Value::from(values) } else { Value::from("none") });
                return true;
            }
        }
        false
    }

    /// The scope that keeps the edges of a merge.
    pub(super) fn owner_of(&self, merge: u32) -> u32 {
        let nodes = self.tree.nodes();
        let owner = nodes.iter().find_map(|node| match node.what {
            What::Merge { owner, .. } if node.id == merge => Some(owner),
            _ => None,
        });
        owner.expect("a join names a merge")
    }

    /// Whether somebody in a frame can still come to a join.
    fn may_come(&self, frame: u64, only: Option<usize>, join: u32, merge: u32) -> bool {
        let record = &self.frames[&frame];
        record.entries.iter().enumerate().filter(|(at, _)| only.is_none_or(|only| only == *at)).any(
            |(at, entry)| match (entry, record.node.map(|node| &node.what)) {
                (Entry::Running { strand, .. }, _) => self.strand_may_come(*strand, join, merge),
                (Entry::Waiting, Some(What::Parallel { branches, .. })) => comes(&branches[at], join),
                (Entry::Waiting, Some(What::Each { body, .. } | What::Try { body, .. } | What::While { body, .. })) => {
                    comes(body, join)
                }
                _ => false,
            },
        )
    }

    fn strand_may_come(&self, no: u64, join: u32, merge: u32) -> bool {
        let strand = &self.strands[&no];
        let here = self.node_of(no);
        // Those who wait at this very merge wait for the others.
        if strand.parked == Parked::Merge && here.id == merge {
            return false;
        }
        if let Parked::Frame(inner) = strand.parked
            && self.may_come(inner, None, join, merge)
        {
            return true;
        }
        if here.handler().is_some_and(|handler| comes(handler, join)) {
            return true;
        }
        for spot in strand.spine.iter().rev() {
            let rest = &spot.block[(spot.at + 1).min(spot.block.len())..];
            if comes(rest, join) {
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
pub(super) fn comes(block: &[Node], join: u32) -> bool {
    for node in block {
        if node.id == join || node.blocks().into_iter().any(|inner| comes(inner, join)) {
            return true;
        }
        if node.is_last() {
            return false;
        }
    }
    false
}
