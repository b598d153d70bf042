//! A page as a flat tree: its elements and texts in the order of the page, each with its parent.
//!
//! It is no browser's tree: what is nested wrongly is not mended, only left open elements are closed where authors mean it.

use std::collections::BTreeMap;

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// How deep elements may stand in each other. A page that goes deeper is made to take long.
const DEPTH: usize = 1000;

/// What has no content and no end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// What stands on lines of its own.
const BLOCKS: &str = "address article aside blockquote body br caption dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 \
    h6 header hr li main nav ol p pre section table tr ul";

/// What stands in a head.
const HEAD: [&str; 9] = ["base", "link", "meta", "noscript", "object", "script", "style", "template", "title"];

/// A part of a page.
#[derive(Debug)]
pub(super) enum Node {
    Element(Element),
    Text(String),
}

impl Node {
    /// How many parts one comparison with a selector looks at.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Element(element) => 1 + element.attributes.len(),
            Self::Text(_) => 1,
        }
    }
}

#[derive(Debug)]
pub(super) struct Element {
    /// In small letters.
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// The element around it.
    pub(super) parent: Option<usize>,
    /// Where the parts end that stand in it.
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

/// The parts of a page in their order.
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
        if tree.open.len() > DEPTH {
            return Err(format!("the elements of the page stand more than {DEPTH} deep in each other; it is not read"));
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
    /// The elements that are not closed yet, outermost first.
    open: Vec<usize>,
    /// How many of them have a name, so that nothing is looked for that is not there.
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

    /// Closes the innermost element of that name and whatever stands open in it.
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

/// Whether a name is one of these words.
fn is_one_of(name: &str, words: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// Whether an element that is still open ends where another begins.
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
