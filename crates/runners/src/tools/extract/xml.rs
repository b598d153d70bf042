//! Paths in XML: the most common part of `XPath`.
//!
//! A path has names after `/` (a child) or `//` (at any depth); `*` is any name, and `p:name` has a prefix that the document declares. A
//! name may be followed by filters: `[2]` (the second of its parent), `[last()]`, `[@key]`, `[@key="value"]`. A path may end with `@key`
//! for an attribute, or `text()` for the texts directly inside an element.

use std::collections::HashSet;

use roxmltree::{Document, Node, ParsingOptions};

use super::Work;

/// The most attributes of one tag, and the most prefixes of a document.
const MAX_ATTRIBUTES: usize = 256;

/// A parsed path.
#[derive(Debug)]
pub(super) struct Path {
    steps: Vec<Step>,
    end: End,
}

#[derive(Debug)]
struct Step {
    /// Whether it searches at any depth, and not only among the children.
    deep: bool,
    /// `None` for any name.
    name: Option<Name>,
    filters: Vec<Filter>,
}

#[derive(Debug)]
struct Name {
    prefix: Option<String>,
    own: String,
}

#[derive(Debug)]
enum Filter {
    At(usize),
    Last,
    Has(Name, Option<String>),
}

/// What to return for the elements that are found.
#[derive(Debug)]
enum End {
    Text,
    Attribute { deep: bool, name: Name },
    Texts { deep: bool },
}

impl Path {
    /// Parses a path. The error names the part that is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let invalid_path = |part: &str| {
            format!(
                "`{part}` in the path `{text}` is invalid; an XML path has names with / or // between them, \
                 [2], [last()], [@key], [@key=\"value\"], and @key or text() at the end"
            )
        };
        let mut path = Self { steps: Vec::new(), end: End::Text };
        let mut rest = text;
        let mut is_first = true;
        while !rest.is_empty() {
            let whole = rest;
            let deep = rest.starts_with("//");
            let slash = rest.starts_with('/');
            rest = rest.trim_start_matches('/');
            let slashes = whole.len() - rest.len();
            if slashes > 2 || (!slash && !is_first) || (rest.is_empty() && text != "/") {
                return Err(invalid_path(whole));
            }
            is_first = false;
            if let Some(after) = rest.strip_prefix('@') {
                let (name, after) =
                    name_of(after).filter(|(_, after)| after.is_empty()).ok_or_else(|| invalid_path(rest))?;
                path.end = End::Attribute { deep, name };
                rest = after;
            } else if let Some(after) = rest.strip_prefix("text()") {
                if !after.is_empty() {
                    return Err(invalid_path(after));
                }
                path.end = End::Texts { deep };
                rest = after;
            } else if !rest.is_empty() {
                let (step, after) = Step::parse(rest, deep).map_err(invalid_path)?;
                path.steps.push(step);
                rest = after;
            }
        }
        Ok(path)
    }

    /// Finds the values at the path, in document order.
    pub(super) fn find(&self, document: &Document<'_>, work: &mut Work) -> Result<Vec<String>, String> {
        let mut nodes = vec![document.root()];
        for step in &self.steps {
            nodes = step.from(nodes, work)?;
        }
        let is_deep = matches!(self.end, End::Attribute { deep: true, .. } | End::Texts { deep: true });
        if is_deep {
            nodes = everywhere(nodes, work)?;
        } else if self.steps.is_empty() {
            nodes = vec![document.root_element()];
        }
        match &self.end {
            End::Text => nodes.iter().map(|node| text_of(node, work)).collect(),
            End::Attribute { name, .. } => {
                Ok(nodes.iter().filter_map(|node| name.attribute(node)).map(str::to_owned).collect())
            }
            End::Texts { .. } => {
                let texts = nodes.iter().flat_map(Node::children).filter(Node::is_text).filter_map(|node| node.text());
                Ok(texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect())
            }
        }
    }
}

impl Step {
    /// Parses a step at the beginning of a text. Returns the step and the rest, or the part that is invalid.
    fn parse(text: &str, deep: bool) -> Result<(Self, &str), &str> {
        let (name, mut rest) = match text.strip_prefix('*') {
            Some(rest) => (None, rest),
            None => name_of(text).map(|(name, rest)| (Some(name), rest)).ok_or(text)?,
        };
        let mut filters = Vec::new();
        while let Some(inside) = rest.strip_prefix('[') {
            let (filter, after) = Filter::parse(inside).ok_or(rest)?;
            filters.push(filter);
            rest = after;
        }
        if rest.is_empty() || rest.starts_with('/') { Ok((Self { deep, name, filters }, rest)) } else { Err(rest) }
    }

    fn from<'d, 's>(&self, nodes: Vec<Node<'d, 's>>, work: &mut Work) -> Result<Vec<Node<'d, 's>>, String> {
        let parents = if self.deep { everywhere(nodes, work)? } else { nodes };
        let mut next = Vec::new();
        for parent in parents {
            let named =
                |node: &Node<'d, 's>| node.is_element() && self.name.as_ref().is_none_or(|name| name.fits(node));
            let mut children = Vec::new();
            for child in parent.children() {
                work.spend(1)?;
                children.extend(Some(child).filter(named));
            }
            for filter in &self.filters {
                work.spend(children.len())?;
                children = filter.passed(children);
            }
            next.extend(children);
        }
        next.sort();
        Ok(next)
    }
}

impl Filter {
    fn parse(text: &str) -> Option<(Self, &str)> {
        let text = text.trim_start();
        if let Some(attribute) = text.strip_prefix('@') {
            let (name, rest) = name_of(attribute)?;
            let rest = rest.trim_start();
            let Some(value) = rest.strip_prefix('=') else {
                return Some((Self::Has(name, None), rest.strip_prefix(']')?));
            };
            let value = value.trim_start();
            let quote = value.chars().next().filter(|sign| ['"', '\''].contains(sign))?;
            let (value, rest) = value[1..].split_once(quote)?;
            return Some((Self::Has(name, Some(value.to_owned())), rest.trim_start().strip_prefix(']')?));
        }
        let (inside, rest) = text.split_once(']')?;
        match inside.trim() {
            "last()" => Some((Self::Last, rest)),
            number => Some((Self::At(number.parse().ok().filter(|at| *at > 0)?), rest)),
        }
    }

    /// The children of one parent that pass the filter.
    fn passed<'d, 's>(&self, mut nodes: Vec<Node<'d, 's>>) -> Vec<Node<'d, 's>> {
        match self {
            Self::At(at) => nodes.into_iter().nth(at - 1).into_iter().collect(),
            Self::Last => nodes.pop().into_iter().collect(),
            Self::Has(name, wanted) => {
                let fits = |value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
                nodes.retain(|node| name.attribute(node).is_some_and(fits));
                nodes
            }
        }
    }
}

impl Name {
    fn fits(&self, node: &Node<'_, '_>) -> bool {
        let tag = node.tag_name();
        tag.name() == self.own && self.prefix.as_deref().is_none_or(|prefix| is_prefix(node, prefix, tag.namespace()))
    }

    /// The attribute of that name. A name without a prefix prefers an attribute without a prefix.
    fn attribute<'n>(&self, node: &Node<'n, '_>) -> Option<&'n str> {
        let mut own = node.attributes().filter(|attribute| attribute.name() == self.own);
        let attribute = match &self.prefix {
            None => own.clone().find(|attribute| attribute.namespace().is_none()).or_else(|| own.next()),
            Some(prefix) => own.find(|attribute| is_prefix(node, prefix, attribute.namespace())),
        };
        attribute.map(|attribute| attribute.value())
    }
}

fn is_prefix(node: &Node<'_, '_>, prefix: &str, namespace: Option<&str>) -> bool {
    let expected = if prefix == "xml" { Some(roxmltree::NS_XML_URI) } else { node.lookup_namespace_uri(Some(prefix)) };
    expected.is_some() && expected == namespace
}

/// Parses a name, optionally with a prefix. Returns the name and the rest.
fn name_of(text: &str) -> Option<(Name, &str)> {
    let (first, rest) = word(text)?;
    let Some(after) = rest.strip_prefix(':') else { return Some((Name { prefix: None, own: first.to_owned() }, rest)) };
    let (own, rest) = word(after)?;
    Some((Name { prefix: Some(first.to_owned()), own: own.to_owned() }, rest))
}

fn word(text: &str) -> Option<(&str, &str)> {
    let is_name_char = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
    let (word, rest) = text.split_at(text.find(|sign| !is_name_char(sign)).unwrap_or(text.len()));
    let begins = word.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
    // `text()` and other functions are not names.
    (begins && !rest.starts_with('(')).then_some((word, rest))
}

/// These nodes and all nodes below them, each once, in document order.
fn everywhere<'d, 's>(nodes: Vec<Node<'d, 's>>, work: &mut Work) -> Result<Vec<Node<'d, 's>>, String> {
    let mut all: Vec<Node<'d, 's>> = Vec::new();
    for node in nodes {
        // The nodes are ordered, so one that is not after the last node is below it.
        if all.last().is_none_or(|last| *last < node) {
            all.extend(node.descendants());
        }
    }
    work.spend(all.len())?;
    Ok(all)
}

/// Parses a document. It may have a DOCTYPE but must not declare entities, which could expand without a limit.
pub(super) fn parse(source: &str) -> Result<Document<'_>, String> {
    let source = source.trim_start();
    if source.contains("<!DOCTYPE") && source.contains("<!ENTITY") {
        return Err("the XML declares entities, which are not allowed; remove the declarations".to_owned());
    }
    check_attributes(source)?;
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(source, options).map_err(|error| format!("the text is not XML: {error}"))
}

/// Rejects documents for which the parser would need quadratic time: it compares the attributes of a tag with each other, and searches for
/// the prefix of a name among all prefixes in scope.
fn check_attributes(source: &str) -> Result<(), String> {
    let mut prefixes = HashSet::new();
    // The value of an attribute cannot contain `<`, so each `<` begins at most one tag.
    for tag in source.split('<').skip(1).filter(|tag| !tag.starts_with(['!', '?'])) {
        let (mut attributes, mut name_from, mut quote) = (0, 0, None);
        for (at, byte) in tag.bytes().enumerate() {
            match byte {
                _ if quote == Some(byte) => (quote, name_from) = (None, at + 1),
                _ if quote.is_some() => {}
                b'"' | b'\'' => quote = Some(byte),
                b'>' => break,
                b'=' => {
                    attributes += 1;
                    let name = tag[name_from..at].split_whitespace().next_back();
                    prefixes.extend(name.filter(|name| name.starts_with("xmlns")));
                    name_from = at + 1;
                }
                _ => {}
            }
        }
        if attributes.max(prefixes.len()) > MAX_ATTRIBUTES {
            return Err(format!(
                "the XML has more than {MAX_ATTRIBUTES} attributes in one tag or more than {MAX_ATTRIBUTES} prefixes, which is not allowed"
            ));
        }
    }
    Ok(())
}

fn text_of(node: &Node<'_, '_>, work: &mut Work) -> Result<String, String> {
    let mut text = String::new();
    for node in node.descendants() {
        let part = if node.is_text() { node.text().unwrap_or_default() } else { "" };
        work.spend(1 + part.len())?;
        text.push_str(part);
    }
    Ok(text.trim().to_owned())
}
