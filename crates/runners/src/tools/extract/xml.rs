//! Ways through XML: the part of `XPath` that people use to take something out of a document.
//!
//! Names with `/` (a child) or `//` (at any depth) before them; `*` is any name, `p:name` one with the prefix that the document has
//! for it. Behind a name, in any number: `[2]` (the second of its parent), `[last()]`, `[@key]`, `[@key="value"]`. At the end may
//! stand `@key` for an attribute, or `text()` for the texts that stand directly in an element.

use std::collections::HashSet;

use roxmltree::{Document, Node, ParsingOptions};

use super::Work;

/// How many attributes one tag may have, and how many prefixes a document may declare.
const MAX_ATTRIBUTES: usize = 256;

/// A way through a document.
#[derive(Debug)]
pub(super) struct Path {
    steps: Vec<Step>,
    end: End,
}

#[derive(Debug)]
struct Step {
    /// Whether it is found at any depth, and not only among the children.
    deep: bool,
    /// None is any name.
    name: Option<Name>,
    tests: Vec<Test>,
}

#[derive(Debug)]
struct Name {
    prefix: Option<String>,
    own: String,
}

#[derive(Debug)]
enum Test {
    At(usize),
    Last,
    Has(Name, Option<String>),
}

/// What is taken of the elements that are found.
#[derive(Debug)]
enum End {
    Text,
    Attribute { deep: bool, name: Name },
    Texts { deep: bool },
}

impl Path {
    /// Reads a way; what is not understood is named.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let unclear = |part: &str| {
            format!(
                "`{part}` in the path `{text}` is not understood; a path of XML has names with / or // between them, \
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
                return Err(unclear(whole));
            }
            is_first = false;
            if let Some(after) = rest.strip_prefix('@') {
                let (name, after) =
                    name_of(after).filter(|(_, after)| after.is_empty()).ok_or_else(|| unclear(rest))?;
                path.end = End::Attribute { deep, name };
                rest = after;
            } else if let Some(after) = rest.strip_prefix("text()") {
                if !after.is_empty() {
                    return Err(unclear(after));
                }
                path.end = End::Texts { deep };
                rest = after;
            } else if !rest.is_empty() {
                let (step, after) = Step::parse(rest, deep).map_err(unclear)?;
                path.steps.push(step);
                rest = after;
            }
        }
        Ok(path)
    }

    /// What the way leads to, in the order of the document.
    pub(super) fn find(&self, document: &Document<'_>, work: &mut Work) -> Result<Vec<String>, String> {
        let mut found = vec![document.root()];
        for step in &self.steps {
            found = step.from(found, work)?;
        }
        let is_deep = matches!(self.end, End::Attribute { deep: true, .. } | End::Texts { deep: true });
        if is_deep {
            found = everywhere(found, work)?;
        } else if self.steps.is_empty() {
            found = vec![document.root_element()];
        }
        match &self.end {
            End::Text => found.iter().map(|node| text_of(node, work)).collect(),
            End::Attribute { name, .. } => {
                Ok(found.iter().filter_map(|node| name.attribute(node)).map(str::to_owned).collect())
            }
            End::Texts { .. } => {
                let texts = found.iter().flat_map(Node::children).filter(Node::is_text).filter_map(|node| node.text());
                Ok(texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect())
            }
        }
    }
}

impl Step {
    /// A step at the beginning of a text, and what follows; else what was not understood.
    fn parse(text: &str, deep: bool) -> Result<(Self, &str), &str> {
        let (name, mut rest) = match text.strip_prefix('*') {
            Some(rest) => (None, rest),
            None => name_of(text).map(|(name, rest)| (Some(name), rest)).ok_or(text)?,
        };
        let mut tests = Vec::new();
        while let Some(inside) = rest.strip_prefix('[') {
            let (test, after) = Test::parse(inside).ok_or(rest)?;
            tests.push(test);
            rest = after;
        }
        if rest.is_empty() || rest.starts_with('/') { Ok((Self { deep, name, tests }, rest)) } else { Err(rest) }
    }

    fn from<'d, 's>(&self, found: Vec<Node<'d, 's>>, work: &mut Work) -> Result<Vec<Node<'d, 's>>, String> {
        let parents = if self.deep { everywhere(found, work)? } else { found };
        let mut next = Vec::new();
        for parent in parents {
            let named =
                |node: &Node<'d, 's>| node.is_element() && self.name.as_ref().is_none_or(|name| name.fits(node));
            let mut children = Vec::new();
            for child in parent.children() {
                work.spend(1)?;
                children.extend(Some(child).filter(named));
            }
            for test in &self.tests {
                work.spend(children.len())?;
                children = test.passed(children);
            }
            next.extend(children);
        }
        next.sort();
        Ok(next)
    }
}

impl Test {
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

    /// Those of the children of one parent that pass.
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

    /// The attribute of that name. Without a prefix, one without a prefix goes first.
    fn attribute<'n>(&self, node: &Node<'n, '_>) -> Option<&'n str> {
        let mut own = node.attributes().filter(|attribute| attribute.name() == self.own);
        let found = match &self.prefix {
            None => own.clone().find(|attribute| attribute.namespace().is_none()).or_else(|| own.next()),
            Some(prefix) => own.find(|attribute| is_prefix(node, prefix, attribute.namespace())),
        };
        found.map(|attribute| attribute.value())
    }
}

fn is_prefix(node: &Node<'_, '_>, prefix: &str, namespace: Option<&str>) -> bool {
    let meant = if prefix == "xml" { Some(roxmltree::NS_XML_URI) } else { node.lookup_namespace_uri(Some(prefix)) };
    meant.is_some() && meant == namespace
}

/// A name at the beginning, perhaps with a prefix, and what follows.
fn name_of(text: &str) -> Option<(Name, &str)> {
    let (first, rest) = word(text)?;
    let Some(after) = rest.strip_prefix(':') else { return Some((Name { prefix: None, own: first.to_owned() }, rest)) };
    let (own, rest) = word(after)?;
    Some((Name { prefix: Some(first.to_owned()), own: own.to_owned() }, rest))
}

fn word(text: &str) -> Option<(&str, &str)> {
    let is_agent_program = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
    let (word, rest) = text.split_at(text.find(|sign| !is_agent_program(sign)).unwrap_or(text.len()));
    let begins = word.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
    // `text()` and its like are no names.
    (begins && !rest.starts_with('(')).then_some((word, rest))
}

/// These nodes and all below them, each once, in the order of the document.
fn everywhere<'d, 's>(found: Vec<Node<'d, 's>>, work: &mut Work) -> Result<Vec<Node<'d, 's>>, String> {
    let mut all: Vec<Node<'d, 's>> = Vec::new();
    for node in found {
        // They stand in order, so whatever is not behind the last one stands in it.
        if all.last().is_none_or(|last| *last < node) {
            all.extend(node.descendants());
        }
    }
    work.spend(all.len())?;
    Ok(all)
}

/// A document. Its type may be told, but declares nothing: what it could declare unfolds without a bound.
pub(super) fn parse(source: &str) -> Result<Document<'_>, String> {
    let source = source.trim_start();
    if source.contains("<!DOCTYPE") && source.contains("<!ENTITY") {
        return Err("the XML declares entities of its own, and such documents are not read".to_owned());
    }
    check_attributes(source)?;
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(source, options).map_err(|error| format!("the text is not XML: {error}"))
}

/// Rejects documents for which the parser would take quadratic time: it compares the attributes of a tag with each other, and looks for
/// the prefix of a name among all that are in scope.
fn check_attributes(source: &str) -> Result<(), String> {
    let mut prefixes = HashSet::new();
    // The value of an attribute cannot contain `<`, so one tag at most follows each.
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
                "the XML has more than {MAX_ATTRIBUTES} attributes in one tag, or as many prefixes; it is not read"
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
