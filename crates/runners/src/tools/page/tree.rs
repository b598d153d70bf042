//! Parses a page into a flat tree: elements and texts in document order, each with its parent.
//!
//! It does not repair wrong nesting like a browser. It only closes elements whose end tags may be left out.

use std::collections::BTreeMap;

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// The greatest depth of elements. Deeper pages are probably attacks.
const MAX_DEPTH: usize = 1000;

/// Elements without content and end tag.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// Elements that begin a new line.
const BLOCKS: &str = "address article aside blockquote body br caption dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 \
    h6 header hr li main nav ol p pre section table tr ul";

/// Elements of a head.
const HEAD: [&str; 9] = ["base", "link", "meta", "noscript", "object", "script", "style", "template", "title"];

/// An element or a text of a page.
#[derive(Debug)]
pub(super) enum Node {
    Element(Element),
    Text(String),
}

impl Node {
    /// The work of comparing it with a selector.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Element(element) => 1 + element.attributes.len(),
            Self::Text(_) => 1,
        }
    }
}

#[derive(Debug)]
pub(super) struct Element {
    /// In lower case.
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// Its parent element.
    pub(super) parent: Option<usize>,
    /// The index after its last descendant.
    pub(super) end: usize,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_block(&self) -> bool {
        is_one_of(&self.name, BLOCKS)
    }
}

/// Parses a page into its nodes, in document order.
pub(super) fn parse(html: &str) -> Result<Vec<Node>, String> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut tree = Tree::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let attributes = tag.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
                tree.open(text(&tag.name), attributes, tag.self_closing);
            }
            Token::EndTag(tag) => tree.close(&text(&tag.name)),
            Token::String(words) => tree.nodes.push(Node::Text(text(&words))),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if tree.open.len() > MAX_DEPTH {
            return Err(format!(
                "the elements of the page are nested more than {MAX_DEPTH} levels deep, which is not supported"
            ));
        }
    }
    tree.close_down_to(0);
    Ok(tree.nodes)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    /// The elements that are still open, outermost first.
    open: Vec<usize>,
    /// The number of open elements by name, so that an end tag without an open element is skipped quickly.
    named: BTreeMap<String, usize>,
}

impl Tree {
    fn open(&mut self, name: String, attributes: Vec<(String, String)>, self_closing: bool) {
        while self.top().is_some_and(|top| ends(top, &name)) {
            self.close_down_to(self.open.len() - 1);
        }
        let is_open = !self_closing && !VOID.contains(&name.as_str());
        let at = self.nodes.len();
        let parent = self.open.last().copied();
        if is_open {
            *self.named.entry(name.clone()).or_default() += 1;
            self.open.push(at);
        }
        self.nodes.push(Node::Element(Element { name, attributes, parent, end: at + 1 }));
    }

    /// Closes the innermost open element of that name and all open elements in it.
    fn close(&mut self, name: &str) {
        if self.named.get(name).is_none_or(|count| *count == 0) {
            return;
        }
        if let Some(at) = self.open.iter().rposition(|&at| self.name(at) == Some(name)) {
            self.close_down_to(at);
        }
    }

    fn close_down_to(&mut self, depth: usize) {
        let end = self.nodes.len();
        for at in self.open.drain(depth..) {
            if let Node::Element(element) = &mut self.nodes[at] {
                element.end = end;
                if let Some(count) = self.named.get_mut(&element.name) {
                    *count -= 1;
                }
            }
        }
    }

    fn top(&self) -> Option<&str> {
        self.name(*self.open.last()?)
    }

    fn name(&self, at: usize) -> Option<&str> {
        match &self.nodes[at] {
            Node::Element(element) => Some(&element.name),
            Node::Text(_) => None,
        }
    }
}

/// Whether a name is in a list of words.
fn is_one_of(name: &str, words: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// Whether the beginning of an element closes an open one.
fn ends(open: &str, next: &str) -> bool {
    match open {
        "p" => is_one_of(next, BLOCKS) && next != "br",
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "thead" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "thead" | "tfoot"),
        "tbody" | "thead" | "tfoot" => matches!(next, "tbody" | "thead" | "tfoot"),
        "option" => matches!(next, "option" | "optgroup"),
        "head" => !HEAD.contains(&next),
        _ => false,
    }
}
