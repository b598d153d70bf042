//! The most common CSS selectors.
//!
//! A list of selectors is separated by commas. A selector is a chain of parts, separated by spaces (descendant) or `>` (child). A part is a
//! name or `*`, followed by any of `#id`, `.class`, `[name]`, `[name=value]` and the same with `^=`, `$=`, `*=`, `~=`.

use super::super::extract::Work;
use super::tree::{Element, Node};

/// A list of selectors.
#[derive(Debug)]
pub(super) struct Selector(Vec<Vec<Part>>);

#[derive(Debug, Default)]
struct Part {
    /// Whether the element must be a child of the part before, and not any descendant.
    is_child: bool,
    name: Option<String>,
    tests: Vec<AttributeTest>,
}

/// An attribute, and how its value is compared.
#[derive(Debug)]
struct AttributeTest {
    attribute: String,
    how: Comparison,
    value: String,
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Exists,
    Is,
    Begins,
    Ends,
    Holds,
    HasWord,
}

/// The most parts of a chain: the state of an element has one bit for each.
const MAX_PARTS: usize = 64;

impl Selector {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut chains = Vec::new();
        let mut rest = text;
        while let Some(comma) = outside_quotes(rest, ',') {
            chains.push(&rest[..comma]);
            rest = &rest[comma + 1..];
        }
        chains.push(rest);
        let chains: Option<Vec<_>> = chains.into_iter().map(|chain| chain_of(chain.trim())).collect();
        chains.filter(|chains| chains.iter().all(|chain| (1..=MAX_PARTS).contains(&chain.len()))).map(Self)
    }

    /// Finds the matching elements, in document order.
    ///
    /// It visits each element once, with the matched parts of each chain at the element and at its ancestors.
    pub(super) fn find(&self, nodes: &[Node], work: &mut Work) -> Result<Vec<usize>, String> {
        let size: usize = nodes.iter().map(Node::size).sum();
        let mut is_selected = vec![false; nodes.len()];
        for chain in &self.0 {
            let tests: usize = chain.iter().map(|part| 1 + part.tests.len()).sum();
            work.spend(size.saturating_mul(tests))?;
            // For each element, the parts that match the element, and those that match it or an ancestor.
            let mut matched: Vec<(u64, u64)> = vec![(0, 0); nodes.len()];
            for (at, node) in nodes.iter().enumerate() {
                let Node::Element(element) = node else { continue };
                let (parent, above) = element.parent.map_or((0, 0), |parent| matched[parent]);
                let mut here = 0;
                for (n, part) in chain.iter().enumerate() {
                    let before = if part.is_child { parent } else { above };
                    if (n == 0 || before & (1 << (n - 1)) != 0) && part.fits(element) {
                        here |= 1 << n;
                    }
                }
                matched[at] = (here, here | above);
                is_selected[at] |= here & (1 << (chain.len() - 1)) != 0;
            }
        }
        Ok(is_selected.iter().enumerate().filter_map(|(at, selected)| selected.then_some(at)).collect())
    }
}

impl Part {
    fn fits(&self, element: &Element) -> bool {
        self.name.as_ref().is_none_or(|name| *name == element.name) && self.tests.iter().all(|test| test.fits(element))
    }
}

impl AttributeTest {
    fn fits(&self, element: &Element) -> bool {
        let Some(value) = element.attribute(&self.attribute) else { return false };
        let wanted = self.value.as_str();
        match self.how {
            Comparison::Exists => true,
            Comparison::Is => value == wanted,
            Comparison::Begins => !wanted.is_empty() && value.starts_with(wanted),
            Comparison::Ends => !wanted.is_empty() && value.ends_with(wanted),
            Comparison::Holds => !wanted.is_empty() && value.contains(wanted),
            Comparison::HasWord => value.split_whitespace().any(|word| word == wanted),
        }
    }
}

fn chain_of(text: &str) -> Option<Vec<Part>> {
    let mut chain = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_child = match rest.strip_prefix('>') {
            Some(_) if chain.is_empty() => return None,
            Some(after) => {
                rest = after.trim_start();
                true
            }
            None => false,
        };
        let (part, after) = part_of(rest)?;
        chain.push(Part { is_child, ..part });
        rest = after.trim_start();
    }
    Some(chain)
}

fn part_of(text: &str) -> Option<(Part, &str)> {
    let mut part = Part::default();
    let (name, mut rest) = word(text);
    match rest.strip_prefix('*').filter(|_| name.is_empty()) {
        Some(after) => rest = after,
        None => part.name = (!name.is_empty()).then(|| name.to_ascii_lowercase()),
    }
    while let Some(sign) = rest.chars().next().filter(|sign| ['#', '.', '['].contains(sign)) {
        rest = &rest[1..];
        if sign == '[' {
            let end = outside_quotes(rest, ']')?;
            part.tests.push(test_of(&rest[..end])?);
            rest = &rest[end + 1..];
            continue;
        }
        let (value, after) = word(rest);
        if value.is_empty() {
            return None;
        }
        let (attribute, how) = if sign == '#' { ("id", Comparison::Is) } else { ("class", Comparison::HasWord) };
        part.tests.push(AttributeTest { attribute: attribute.into(), how, value: value.into() });
        rest = after;
    }
    let has_ended = rest.is_empty() || rest.starts_with([' ', '>', '\t', '\n']);
    (has_ended && rest.len() < text.len()).then_some((part, rest))
}

fn test_of(inside: &str) -> Option<AttributeTest> {
    let (attribute, rest) = word(inside.trim());
    let rest = rest.trim_start();
    let signs = [
        ("^=", Comparison::Begins),
        ("$=", Comparison::Ends),
        ("*=", Comparison::Holds),
        ("~=", Comparison::HasWord),
        ("=", Comparison::Is),
    ];
    let compared = signs.iter().find_map(|(sign, how)| Some((*how, rest.strip_prefix(sign)?.trim())));
    let (how, value) = match compared {
        Some(compared) => compared,
        None if rest.is_empty() => (Comparison::Exists, ""),
        None => return None,
    };
    let value = value.trim_matches(['"', '\'']).to_owned();
    (!attribute.is_empty()).then(|| AttributeTest { attribute: attribute.to_ascii_lowercase(), how, value })
}

/// The first position of a character outside quotes.
fn outside_quotes(text: &str, wanted: char) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(at, sign)| {
        match quote {
            Some(open) if open == sign => quote = None,
            None if ['"', '\''].contains(&sign) => quote = Some(sign),
            None if sign == wanted => return Some(at),
            _ => {}
        }
        None
    })
}

/// Splits a name from the rest of a text.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|sign: char| !(sign.is_alphanumeric() || sign == '-' || sign == '_')).unwrap_or(text.len());
    text.split_at(end)
}
