//! Shrinks a failing case: removes parts while it still fails.

use crate::tree::{ApprovalRules, Block, Gather, Node, NodeKind, Test, Tree};

/// Returns the smallest trees found that still fail.
pub fn shrink(trees: Vec<Tree>, fails: impl Fn(&[Tree]) -> bool) -> Vec<Tree> {
    let mut smallest = trees;
    for at in (0..smallest.len()).rev() {
        let mut fewer = smallest.clone();
        fewer.remove(at);
        if !fewer.is_empty() && fails(&fewer) {
            smallest = fewer;
        }
    }
    for at in 0..smallest.len() {
        while let Some(smaller) = smaller(&smallest, at, &fails) {
            smallest = smaller;
        }
    }
    smallest
}

/// The first reduction of a tree that still fails.
fn smaller(trees: &[Tree], at: usize, fails: &impl Fn(&[Tree]) -> bool) -> Option<Vec<Tree>> {
    for mut tree in candidates(&trees[at]) {
        repair(&mut tree);
        if tree == trees[at] {
            continue;
        }
        let mut reduced = trees.to_vec();
        reduced[at] = tree;
        if fails(&reduced) {
            return Some(reduced);
        }
    }
    None
}

fn candidates(tree: &Tree) -> Vec<Tree> {
    let plain = Tree { max_effects: 0, max_tokens: 0, wall_ms: 0, fuel: 1_000, ..tree.clone() };
    let mut candidates =
        vec![plain, Tree { on_failure: None, ..tree.clone() }, Tree { on_cancel: None, ..tree.clone() }];
    for id in tree.nodes().iter().map(|node| node.id) {
        for change in 0..8 {
            let mut changed = tree.clone();
            changed.blocks_mut().into_iter().for_each(|block| change_node(block, id, change));
            candidates.push(changed);
        }
    }
    candidates
}

/// Applies one kind of reduction to one node.
fn change_node(block: &mut Block, id: u32, change: usize) {
    if let Some(at) = block.iter().position(|node| node.id == id) {
        match change {
            0 => {
                block.remove(at);
            }
            // Replaces a node by one of its blocks.
            1..4 => {
                let inner: Option<Block> = block[at].blocks().get(change - 1).map(|inner| (*inner).clone());
                if let Some(inner) = inner {
                    block.splice(at..=at, inner);
                }
            }
            _ => simpler(&mut block[at].kind, change),
        }
        return;
    }
    block.iter_mut().flat_map(Node::blocks_mut).for_each(|inner| change_node(inner, id, change));
}

fn simpler(kind: &mut NodeKind, change: usize) {
    match (kind, change) {
        (
            NodeKind::Effect { handler, .. }
            | NodeKind::Parallel { handler, .. }
            | NodeKind::Each { handler, .. }
            | NodeKind::Try { handler, .. },
            4,
        ) => *handler = None,
        (NodeKind::Effect { retry, .. } | NodeKind::Try { retry, .. }, 5) => *retry = None,
        (NodeKind::Each { items, .. }, 5) => {
            items.pop();
        }
        (NodeKind::Parallel { branches, .. }, 5) if branches.len() > 1 => {
            branches.pop();
        }
        (NodeKind::Parallel { branches, .. }, 7) if branches.len() > 1 => {
            branches.remove(0);
        }
        (NodeKind::Parallel { gather, .. } | NodeKind::Each { gather, .. }, 6) => {
            *gather = Gather { first: None, keep: false, width: 0 };
        }
        (NodeKind::Try { limit_ms, .. } | NodeKind::Signal { limit_ms, .. }, 6) => *limit_ms = None,
        (NodeKind::Request { timeout_ms, reminder_ms, .. }, 6) => (*timeout_ms, *reminder_ms) = (None, None),
        (NodeKind::Request { rules, .. }, 7) => *rules = None,
        (NodeKind::Request { rules: Some(rules), .. }, change) => simpler_rules(rules, change),
        (NodeKind::While { cap, .. }, 6) if *cap > 1 => *cap -= 1,
        _ => {}
    }
}

fn simpler_rules(rules: &mut ApprovalRules, change: usize) {
    match change {
        4 => (rules.escalation, rules.excluded) = (None, None),
        5 => (rules.form, rules.end_early) = (None, false),
        _ => {}
    }
}

/// Removes references to nodes and scopes that no longer exist or no longer enclose the reference.
pub fn repair(tree: &mut Tree) {
    let merges: Vec<u32> =
        tree.nodes().iter().filter(|node| matches!(node.kind, NodeKind::Merge { .. })).map(|node| node.id).collect();
    for block in tree.blocks_mut() {
        repair_block(block, &mut vec![0], &mut Vec::new(), &merges);
    }
    // A join must be inside the frame that owns the edges of its merge.
    let owners: Vec<(u32, u32)> = tree
        .nodes()
        .iter()
        .filter_map(|node| if let NodeKind::Merge { owner, .. } = node.kind { Some((node.id, owner)) } else { None })
        .collect();
    for block in tree.blocks_mut() {
        drop_joins(block, &mut vec![0], &owners);
    }
}

fn repair_block(block: &mut Block, scopes: &mut Vec<u32>, trail: &mut Vec<u32>, merges: &[u32]) {
    let mark = trail.len();
    let mut repaired = Vec::new();
    for mut node in std::mem::take(block) {
        let keep = match &mut node.kind {
            NodeKind::Count { scope } => {
                *scope = enclosing_or_root(*scope, scopes);
                true
            }
            NodeKind::If { test, .. } | NodeKind::While { test, .. } => {
                if let Test::Below { scope, .. } = test {
                    *scope = enclosing_or_root(*scope, scopes);
                }
                true
            }
            NodeKind::Merge { owner, .. } => {
                *owner = enclosing_or_root(*owner, scopes);
                true
            }
            NodeKind::Break { scope } => *scope != 0 && scopes.contains(scope),
            NodeKind::Back { target, .. } => trail.contains(target),
            NodeKind::Join { merge } => merges.contains(merge),
            _ => true,
        };
        if !keep {
            continue;
        }
        trail.push(node.id);
        let (id, scope) = (node.id, node.is_scope());
        let framed = node.framed().len();
        // The test of a loop is evaluated inside it.
        for (at, inner) in node.blocks_mut().into_iter().enumerate() {
            let inside = scope && at < framed;
            if inside {
                scopes.push(id);
            }
            repair_block(inner, scopes, trail, merges);
            if inside {
                scopes.pop();
            }
        }
        let last = node.is_last();
        repaired.push(node);
        if last {
            break;
        }
    }
    trail.truncate(mark);
    *block = repaired;
}

fn enclosing_or_root(scope: u32, scopes: &[u32]) -> u32 {
    if scopes.contains(&scope) { scope } else { 0 }
}

fn drop_joins(block: &mut Block, scopes: &mut Vec<u32>, owners: &[(u32, u32)]) {
    block.retain(|node| match node.kind {
        NodeKind::Join { merge } => owners.iter().any(|(id, owner)| *id == merge && scopes.contains(owner)),
        _ => true,
    });
    for node in block {
        let (id, scope, framed) = (node.id, node.is_scope(), node.framed().len());
        for (at, inner) in node.blocks_mut().into_iter().enumerate() {
            let inside = scope && at < framed;
            if inside {
                scopes.push(id);
            }
            drop_joins(inner, scopes, owners);
            if inside {
                scopes.pop();
            }
        }
    }
}
