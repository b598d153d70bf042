//! The edges of drawings: one for each connection that the author sees.

use std::collections::{BTreeMap, BTreeSet};

use branchpoint_core::ir::StepId;
use branchpoint_core::ir::picture::Arrow;

use super::{DrawingBranch, DrawingEdge, DrawingNode, Sheet};

/// A connection by the positions of its nodes.
struct Link {
    from: usize,
    to: usize,
    branch: Option<String>,
    label: Option<String>,
    failure: bool,
}

/// The edges; also completes the targets of branches.
pub(super) fn edges(sheet: &Sheet<'_>, nodes: &mut [DrawingNode]) -> Vec<DrawingEdge> {
    let mut links = links(sheet, nodes);
    complete(sheet, nodes, &mut links);
    let back = leading_back(&links, nodes.len());
    let edge = |(at, link): (usize, Link)| {
        let is_tool = nodes[link.to].shape == "subagent";
        DrawingEdge {
            id: format!("e{at}"),
            from: sheet.ids[link.from].clone(),
            to: sheet.ids[link.to].clone(),
            kind: if is_tool {
                "subagent"
            } else if back.contains(&at) || encloses(sheet, link.to, link.from) {
                "loop"
            } else if link.branch.is_some() {
                "branch"
            } else {
                "next"
            },
            label: link.label.filter(|_| link.branch.is_none() && !is_tool),
            from_branch: link.branch,
            failure: link.failure,
        }
    };
    links.into_iter().enumerate().map(edge).collect()
}

fn links(sheet: &Sheet<'_>, nodes: &[DrawingNode]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    // How often two nodes are connected by an arrow whose label names no branch.
    let mut unnamed: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for arrow in &sheet.picture.arrows {
        let branch = branch_of(sheet, nodes, arrow, &mut unnamed);
        let is_same = |link: &&mut Link| {
            (link.from, link.to, link.failure) == (arrow.from, arrow.to, arrow.failure) && link.branch == branch
        };
        // A step that repeats itself has no word for that in its document.
        let repeats = arrow.from == arrow.to && branch.is_none();
        let label = Some(arrow.label.clone()).filter(|label| !label.is_empty() && !repeats);
        match links.iter_mut().find(is_same) {
            // Two connections of the same nodes are drawn as one, without words that hold for one of them only.
            Some(link) if link.label != label => link.label = None,
            Some(_) => {}
            None if repeats_branch_of_parent(sheet, nodes, arrow, branch.as_ref()) => {}
            None => links.push(Link { from: arrow.from, to: arrow.to, branch, label, failure: arrow.failure }),
        }
    }
    links
}

/// The branch by which an arrow leaves a decision.
fn branch_of(
    sheet: &Sheet<'_>,
    nodes: &[DrawingNode],
    arrow: &Arrow,
    unnamed: &mut BTreeMap<(usize, usize), usize>,
) -> Option<String> {
    let (branches, label) = (&nodes[arrow.from].branches, arrow.label.as_str());
    let title = &*sheet.picture.nodes[arrow.to].title;
    let leads_there = |branch: &&DrawingBranch| branch.targets.iter().any(|target| target == title);
    if arrow.from == arrow.to && !branches.iter().any(|branch| leads_there(&branch)) {
        return None;
    }
    let by_label = branches.iter().find(|branch| {
        let named = label.strip_prefix(&*branch.name);
        named.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
            || !label.is_empty() && branch.condition.as_deref() == Some(label)
            || label == "else" && branch.default
    });
    if let Some(branch) = by_label {
        return Some(branch.name.clone());
    }
    // Branches to the same step have arrows in their order.
    let leading: Vec<_> = branches.iter().filter(leads_there).collect();
    if leading.is_empty() {
        // The only branch that leads nowhere else.
        let mut open = branches.iter().filter(|branch| branch.targets.is_empty() && !branch.default);
        let first = open.next().filter(|_| !label.is_empty())?;
        return open.next().is_none().then(|| first.name.clone());
    }
    let count = unnamed.entry((arrow.from, arrow.to)).or_default();
    let branch = leading[(*count).min(leading.len() - 1)];
    *count += 1;
    Some(branch.name.clone())
}

/// Whether an arrow only repeats a branch of the step around it: steps that run side by side all lead to where their group leads.
fn repeats_branch_of_parent(sheet: &Sheet<'_>, nodes: &[DrawingNode], arrow: &Arrow, branch: Option<&String>) -> bool {
    let parent = nodes[arrow.from].parent.as_ref().and_then(|id| nodes.iter().find(|node| node.id == *id));
    let title = &*sheet.picture.nodes[arrow.to].title;
    let leads_there =
        |node: &DrawingNode| node.branches.iter().any(|branch| branch.targets.iter().any(|to| to == title));
    let is_outside = nodes[arrow.to].parent != nodes[arrow.from].parent;
    branch.is_none() && is_outside && !arrow.label.is_empty() && parent.is_some_and(leads_there)
}

/// Gives every branch its targets and every target its edge.
fn complete(sheet: &Sheet<'_>, nodes: &mut [DrawingNode], links: &mut Vec<Link>) {
    let titles: Vec<String> = nodes.iter().map(|node| node.title.clone()).collect();
    let positions: BTreeMap<&str, usize> =
        sheet.picture.nodes.iter().enumerate().rev().map(|(at, node)| (&*node.title, at)).collect();
    for (from, node) in nodes.iter_mut().enumerate() {
        for branch in &mut node.branches {
            let of_branch = |link: &&Link| link.from == from && link.branch.as_ref() == Some(&branch.name);
            if branch.targets.is_empty() {
                let is_end = |link: &&Link| sheet.picture.nodes[link.to].kind.is_empty();
                let targets = links.iter().filter(of_branch).filter(|link| !is_end(link));
                branch.targets = targets.map(|link| titles[link.to].clone()).collect();
            }
            let missing = branch.targets.iter().filter_map(|target| positions.get(&**target).copied());
            let missing = missing.filter(|to| !links.iter().filter(of_branch).any(|link| link.to == *to));
            let missing: Vec<usize> = missing.collect();
            let name = &branch.name;
            links.extend(missing.into_iter().map(|to| Link {
                from,
                to,
                branch: Some(name.clone()),
                label: None,
                failure: false,
            }));
        }
    }
}

/// The links that lead back to a node on the way to them.
fn leading_back(links: &[Link], count: usize) -> BTreeSet<usize> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (at, link) in links.iter().enumerate().rev() {
        out[link.from].push(at);
    }
    let (mut seen, mut on_path) = (vec![false; count], vec![false; count]);
    let mut back = BTreeSet::new();
    for start in 0..count {
        if seen[start] {
            continue;
        }
        let mut path = vec![start];
        (seen[start], on_path[start]) = (true, true);
        while let Some(node) = path.last().copied() {
            let Some(at) = out[node].pop() else {
                on_path[node] = false;
                path.pop();
                continue;
            };
            let to = links[at].to;
            if on_path[to] {
                back.insert(at);
            } else if !seen[to] {
                (seen[to], on_path[to]) = (true, true);
                path.push(to);
            }
        }
    }
    back
}

/// Whether a loop encloses a node.
fn encloses(sheet: &Sheet<'_>, outer: usize, inner: usize) -> bool {
    let Some(program) = sheet.program else { return false };
    let parent = |step: &StepId| program.steps[step.0 as usize].parent;
    let inner = sheet.steps[inner].and_then(|step| parent(&step));
    sheet.steps[outer].is_some() && std::iter::successors(inner, parent).any(|step| Some(step) == sheet.steps[outer])
}
