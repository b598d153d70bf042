//! Pages as people read them: the text of HTML, and what a selector finds in it.

use ego_tree::iter::Edge;
use html5ever::driver::{ParseOpts, parse_document};
use html5ever::tendril::TendrilSink;
use scraper::{ElementRef, Html, HtmlTreeSink, Node, Selector};

/// How deep elements may stand in each other. The time to read a page grows with the square of its depth.
const DEPTH: usize = 1000;

/// How much of a page is read before its depth is looked at again.
const PIECE_BYTES: usize = 4096;

/// What people do not read.
const SILENT: [&str; 8] = ["script", "style", "noscript", "template", "svg", "head", "iframe", "object"];

/// What stands on lines of its own.
const BLOCKS: [&str; 32] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
];

/// The text of a page, its title first.
pub(super) fn text(html: &str) -> Result<String, String> {
    let page = parse(html)?;
    let title = Selector::parse("title").ok().and_then(|title| page.select(&title).next());
    let title = title.map(|title| tidy(&title.text().collect::<String>())).unwrap_or_default();
    let body = tidy(&read(page.root_element()));
    Ok(match (title.is_empty(), body.is_empty()) {
        (true, _) => body,
        (_, true) => title,
        _ => format!("{title}\n\n{body}"),
    })
}

fn parse(html: &str) -> Result<Html, String> {
    let mut parser = parse_document(HtmlTreeSink::new(Html::new_document()), ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        parser.process(piece.into());
        rest = after;
        let page = parser.tokenizer.sink.sink.0.borrow();
        if page.tree.nodes().next_back().is_some_and(|last| last.ancestors().nth(DEPTH).is_some()) {
            return Err(format!("the elements of the page stand more than {DEPTH} deep in each other; it is not read"));
        }
    }
    Ok(parser.finish())
}

/// What a CSS selector finds: the text of each element, or with `selector@name` its attribute of that name.
pub(super) fn select(html: &str, path: &str) -> Result<Vec<String>, String> {
    let (selector, attribute) = match path.rsplit_once('@') {
        Some((selector, name)) if !name.contains([']', '"', '\'']) => (selector.trim(), Some(name.trim())),
        _ => (path.trim(), None),
    };
    let selector = if selector.is_empty() { "*" } else { selector };
    let selector = Selector::parse(selector).map_err(|_| format!("`{selector}` is no CSS selector"))?;
    let page = parse(html)?;
    let found = page.select(&selector);
    Ok(match attribute {
        Some(name) => found.filter_map(|element| element.value().attr(name)).map(str::to_owned).collect(),
        None => found.map(|element| tidy(&read(element))).collect(),
    })
}

/// The text below an element. It goes from node to node, because pages may be nested deeper than any stack.
fn read(element: ElementRef<'_>) -> String {
    let mut text = String::new();
    let mut silent = 0;
    for edge in element.traverse() {
        let (node, opens) = match edge {
            Edge::Open(node) => (node.value(), true),
            Edge::Close(node) => (node.value(), false),
        };
        match node {
            Node::Text(part) if opens && silent == 0 => text.push_str(part),
            Node::Element(element) if SILENT.contains(&element.name()) => {
                silent = if opens { silent + 1 } else { silent - 1 };
            }
            Node::Element(element) if BLOCKS.contains(&element.name()) => text.push('\n'),
            Node::Element(element) if matches!(element.name(), "td" | "th") => text.push(' '),
            _ => {}
        }
    }
    text
}

/// One blank between words, no blank lines more than one at a time.
fn tidy(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut tidy = String::new();
    let mut gap = false;
    for line in lines {
        if line.is_empty() {
            gap = true;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if gap { "\n\n" } else { "\n" });
        }
        tidy.push_str(&line);
        gap = false;
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<html><head><title>A  page</title><style>p {}</style></head><body>
        <script>alert(1)</script><h1>Head</h1><p>One <b>bold</b>
        word.</p><ul><li>a</li><li>b</li></ul><a href="/x" class="l">link</a></body></html>"#;

    #[test]
    fn the_text_of_a_page_is_what_people_read() {
        assert_eq!(text(PAGE).as_deref(), Ok("A page\n\nHead\n\nOne bold\nword.\n\na\n\nb\n\nlink"));
        assert_eq!(text("no page at all").as_deref(), Ok("no page at all"));
        let long = "<p>ä</p>".repeat(10_000);
        assert_eq!(text(&long).map(|text| text.matches('ä').count()), Ok(10_000));
    }

    #[test]
    fn selectors_find_texts_and_attributes() {
        assert_eq!(select(PAGE, "li"), Ok(vec!["a".into(), "b".into()]));
        assert_eq!(select(PAGE, "a.l@href"), Ok(vec!["/x".into()]));
        assert_eq!(select(PAGE, "h2"), Ok(vec![]));
        assert!(select(PAGE, "li[").is_err());
    }

    #[test]
    fn a_page_that_is_nested_to_take_long_is_refused() {
        let deep = "<div>".repeat(200_000) + "x";
        assert!(text(&deep).expect_err("it is too deep").contains("deep"));
        assert!(select(&deep, "p").is_err());
    }
}
