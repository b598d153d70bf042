//! The picture of a changed document: what was added, changed and removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Arrow, Node, NodeShape, Picture};

/// A picture of two documents in one: the new one, with the nodes and arrows that only the old one has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedPicture {
    /// All nodes and arrows; those that only the old document has are last.
    pub picture: Picture,
    /// How each node differs from the old document.
    pub nodes: Vec<Option<PictureMark>>,
    /// How each arrow differs from the old document.
    pub arrows: Vec<Option<PictureMark>>,
}

/// How a part of a picture differs from the old document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureMark {
    /// Only the new document has it.
    Added,
    /// Both have it, with another content.
    Changed,
    /// Only the old document has it.
    Removed,
}

impl PictureMark {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// A node by its title and whether it is an end, in the names of the new document.
type Identity = (Arc<str>, bool);

/// Combines the pictures of two documents. `changed` are the titles of steps with another content, `renamed` the titles of the old
/// document that the new one has under other titles.
///
/// ```
/// use std::collections::{BTreeMap, BTreeSet};
///
/// use branchpoint_core::ir::{builder::Builder, picture};
///
/// let drawn = picture::picture(&Builder::sample(), "");
/// let compared = picture::compare(&drawn, &drawn, &BTreeSet::new(), &BTreeMap::new());
/// assert!(compared.nodes.iter().all(Option::is_none));
/// ```
pub fn compare(
    old: &Picture,
    new: &Picture,
    changed: &BTreeSet<Arc<str>>,
    renamed: &BTreeMap<Arc<str>, Arc<str>>,
) -> ComparedPicture {
    let of_new = |node: &Node| -> Identity { (node.title.clone(), node.shape == NodeShape::End) };
    let of_old = |node: &Node| {
        let (title, is_end) = of_new(node);
        (renamed.get(&title).filter(|_| !is_end).cloned().unwrap_or(title), is_end)
    };
    let before: BTreeSet<Identity> = old.nodes.iter().map(of_old).collect();
    let mut positions: BTreeMap<Identity, usize> =
        new.nodes.iter().enumerate().map(|(at, node)| (of_new(node), at)).collect();
    let mark = |node: &Node| match of_new(node) {
        node if !before.contains(&node) => Some(PictureMark::Added),
        (title, false) if changed.contains(&title) => Some(PictureMark::Changed),
        _ => None,
    };
    let mut compared = ComparedPicture {
        nodes: new.nodes.iter().map(mark).collect(),
        arrows: Vec::new(),
        picture: Picture { nodes: new.nodes.clone(), arrows: new.arrows.clone() },
    };
    let mut number_in_new = Vec::new();
    for node in &old.nodes {
        let at = *positions.entry(of_old(node)).or_insert_with(|| {
            compared.picture.nodes.push(node.clone());
            compared.nodes.push(Some(PictureMark::Removed));
            compared.picture.nodes.len() - 1
        });
        number_in_new.push(at);
    }
    let arrow = |arrow: &Arrow| Arrow { from: number_in_new[arrow.from], to: number_in_new[arrow.to], ..arrow.clone() };
    let before: BTreeSet<Arrow> = old.arrows.iter().map(arrow).collect();
    let after: BTreeSet<Arrow> = new.arrows.iter().cloned().collect();
    let mark = |arrow: &Arrow| (!before.contains(arrow)).then_some(PictureMark::Added);
    compared.arrows = new.arrows.iter().map(mark).collect();
    for removed in old.arrows.iter().map(arrow).filter(|arrow| !after.contains(arrow)) {
        compared.picture.arrows.push(removed);
        compared.arrows.push(Some(PictureMark::Removed));
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::PictureMark::{Added, Changed, Removed};
    use super::*;

    fn picture(titles: &[&str], arrows: &[(usize, usize, &str)]) -> Picture {
        let node = |title: &&str| Node { title: (*title).into(), kind: "text".into(), shape: NodeShape::Work };
        let arrow = |(from, to, label): &(usize, usize, &str)| Arrow {
            from: *from,
            to: *to,
            label: (*label).to_owned(),
            failure: false,
        };
        Picture { nodes: titles.iter().map(node).collect(), arrows: arrows.iter().map(arrow).collect() }
    }

    #[test]
    fn added_changed_removed_and_renamed_nodes() {
        let old = picture(&["a", "b", "c"], &[(0, 1, "x > 1"), (1, 2, "")]);
        let new = picture(&["a", "d", "e"], &[(0, 1, "x > 2"), (1, 2, "")]);
        let renamed = BTreeMap::from([("b".into(), "d".into())]);
        let compared = compare(&old, &new, &BTreeSet::from(["a".into()]), &renamed);
        assert_eq!(compared.nodes, [Some(Changed), None, Some(Added), Some(Removed)]);
        assert_eq!(compared.arrows, [Some(Added), Some(Added), Some(Removed), Some(Removed)]);
        assert_eq!((compared.picture.arrows[3].from, compared.picture.arrows[3].to), (1, 3));
    }
}
