//! Extracts the text of HTML pages, and elements by CSS selectors.
//!
//! It builds its own tree from the tokens of `html5gum`, because the work of `scraper` cannot be limited: attributes take quadratic time, and
//! unclosed formatting elements are repeated in every block, so that 13 kB become 650,000 nodes.

mod selector;
mod tree;

use super::extract::Work;
use selector::Selector;
use tree::Node;

/// Elements whose content is not text for people.
const HIDDEN_ELEMENTS: [&str; 9] =
    ["head", "iframe", "noscript", "object", "script", "style", "svg", "template", "title"];

/// The text of a page, its title first.
pub(crate) fn text(html: &str) -> Result<String, String> {
    let nodes = tree::parse(html)?;
    // Title and body are read once, so the length of the page limits the work.
    let work = &mut Work::new(usize::MAX);
    let is_title = |node: &Node| matches!(node, Node::Element(element) if element.name == "title");
    let title = match nodes.iter().position(is_title) {
        Some(at) => tidy(&read(&nodes, Some(at), work)?),
        None => String::new(),
    };
    let body = tidy(&read(&nodes, None, work)?);
    Ok(match (title.is_empty(), body.is_empty()) {
        (true, _) => body,
        (_, true) => title,
        _ => format!("{title}\n\n{body}"),
    })
}

/// A CSS selector, and the result for the elements that it finds: their text, or with `selector@name` an attribute.
#[derive(Debug)]
pub(super) struct Selection {
    selector: Selector,
    attribute: Option<String>,
}

impl Selection {
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let (selector, attribute) = match path.rsplit_once('@') {
            Some((selector, name)) if !name.contains([']', '"', '\'']) => (selector.trim(), Some(name.trim())),
            _ => (path.trim(), None),
        };
        let written = if selector.is_empty() { "*" } else { selector };
        let selector = Selector::parse(written).ok_or_else(|| {
            format!("`{written}` is not a supported CSS selector; use names, #id, .class, [name=value], spaces, > and commas")
        })?;
        Ok(Self { selector, attribute: attribute.map(str::to_ascii_lowercase) })
    }

    /// Finds texts or attributes in a page, in document order.
    pub(super) fn find(&self, html: &str, work: &mut Work) -> Result<Vec<String>, String> {
        let nodes = tree::parse(html)?;
        let elements = self.selector.find(&nodes, work)?.into_iter();
        let Some(name) = &self.attribute else {
            return elements.map(|at| Ok(tidy(&read(&nodes, Some(at), work)?))).collect();
        };
        let attribute = |at: usize| match &nodes[at] {
            Node::Element(element) => element.attribute(name).map(str::to_owned),
            Node::Text(_) => None,
        };
        Ok(elements.filter_map(attribute).collect())
    }
}

/// The text of an element and its descendants, or of the whole page.
fn read(nodes: &[Node], root: Option<usize>, work: &mut Work) -> Result<String, String> {
    let mut text = String::new();
    let mut blocks = Vec::new();
    let end = root.map_or(nodes.len(), |root| match &nodes[root] {
        Node::Element(element) => element.end,
        Node::Text(_) => root + 1,
    });
    let mut at = root.unwrap_or(0);
    while at < end {
        while blocks.last().is_some_and(|end| *end <= at) {
            blocks.pop();
            text.push('\n');
        }
        work.spend(1)?;
        match &nodes[at] {
            Node::Text(words) => {
                work.spend(words.len())?;
                text.push_str(words);
            }
            // A selector for a hidden element itself returns its content.
            Node::Element(element) if root != Some(at) && HIDDEN_ELEMENTS.contains(&element.name.as_str()) => {
                at = element.end;
                continue;
            }
            Node::Element(element) if element.is_block() => {
                text.push('\n');
                blocks.push(element.end);
            }
            Node::Element(element) if matches!(&*element.name, "td" | "th") => text.push(' '),
            Node::Element(_) => {}
        }
        at += 1;
    }
    text.push_str(&"\n".repeat(blocks.len()));
    Ok(text)
}

/// Collapses whitespace between words, and blank lines.
fn tidy(text: &str) -> String {
    let mut tidy = String::new();
    let mut gap = false;
    for line in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
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

    const PAGE: &str = r#"<!doctype html><html><head><title>A  page</title><style>p {}</style></head><body>
        <script>if (a < b) { "<p>no</p>" }</script><h1>Head</h1><p>One <b>bold</b>
        word &amp; more.<p>Two<br>lines<ul><li>a<li>b</ul><!-- <p>no</p> --><a href="/x" class="big l" id="it">link</a>
        <table><tr><td>1<td>2<tr><td>3</table></body></html>"#;

    #[test]
    fn the_text_of_a_page_has_no_markup_or_scripts() {
        let expected = "A page\n\nHead\n\nOne bold\nword & more.\n\nTwo\n\nlines\n\na\n\nb\n\nlink\n\n1 2\n\n3";
        assert_eq!(text(PAGE).as_deref(), Ok(expected));
        assert_eq!(text("no page at all").as_deref(), Ok("no page at all"));
        assert_eq!(text("<title>T</title><script>no()</script><p>x").as_deref(), Ok("T\n\nx"), "also without a head");
        assert_eq!(
            text("<head><title>T</title><p>x").as_deref(),
            Ok("T\n\nx"),
            "a head ends before an element of the body"
        );
    }

    fn select(page: &str, path: &str) -> Result<Vec<String>, String> {
        Selection::parse(path)?.find(page, &mut Work::new(100_000))
    }

    #[track_caller]
    fn check(selector: &str, expected: &[&str]) {
        assert_eq!(select(PAGE, selector), Ok(expected.iter().map(ToString::to_string).collect()), "{selector}");
    }

    #[test]
    fn selectors_find_texts_and_attributes() {
        check("li", &["a", "b"]);
        check("ul > li", &["a", "b"]);
        check("body > li", &[]);
        check("html body li", &["a", "b"]);
        check("a.l@href", &["/x"]);
        check("A.big.l", &["link"]);
        check("#it", &["link"]);
        check("[href]@class", &["big l"]);
        check(r#"a[href="/x"]"#, &["link"]);
        check("a[href^='/'], h1", &["Head", "link"]);
        check("a[class~=big]", &["link"]);
        check("a[class~=bi]", &[]);
        check("tr td", &["1", "2", "3"]);
        check("title", &["A page"]);
        check("h2", &[]);
        for bad in ["li[", "> li", "li:first-child", "a..b", "a#", "li >", ","] {
            assert!(select(PAGE, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_page_is_read_in_linear_time_or_rejected() {
        let deep = "<div>".repeat(200_000) + "x";
        assert!(text(&deep).expect_err("it is too deep").contains("deep"));
        let open = "<b>".repeat(999) + &"</i>".repeat(100_000) + "x";
        assert_eq!(text(&open).as_deref(), Ok("x"));
        let long = "<p>ä".repeat(10_000);
        assert_eq!(text(&long).map(|text| text.matches('ä').count()), Ok(10_000));
    }
}
