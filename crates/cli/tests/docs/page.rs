//! A page as fenced blocks, headings, links and code spans.

use std::ops::Range;

/// One Markdown file.
pub(crate) struct Page {
    /// Its path from the root of the repository.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
    /// The lines outside of fenced blocks, with their numbers from 1.
    prose: Vec<(usize, String)>,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The text after the opening fence.
    pub(crate) info: String,
    pub(crate) text: String,
    /// The lines between the fences, counted from 0.
    pub(crate) lines: Range<usize>,
}

impl Block {
    /// The value of an attribute in the info string, such as `title=support.yaml`.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.info.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    pub(crate) fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or_default()
    }
}

/// A link or a code span, with the number of its line.
pub(crate) struct Span {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn parse(name: String, text: String) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let (mut blocks, mut prose) = (Vec::new(), Vec::new());
        let mut open: Option<(String, usize, usize)> = None;
        for (index, line) in lines.iter().enumerate() {
            let fence = line.trim_start();
            let ticks = fence.len() - fence.trim_start_matches('`').len();
            match &open {
                None if ticks >= 3 => open = Some((fence[ticks..].trim().to_owned(), index + 1, ticks)),
                None => prose.push((index + 1, (*line).to_owned())),
                Some((info, start, opening)) if ticks >= *opening && fence.len() == ticks => {
                    let text = lines[*start..index].iter().flat_map(|line| [*line, "\n"]).collect();
                    blocks.push(Block { info: info.clone(), text, lines: *start..index });
                    open = None;
                }
                Some(_) => {}
            }
        }
        assert!(open.is_none(), "{name}: a fenced block is not closed");
        Self { name, text, blocks, prose }
    }

    /// The folder of the page, from the root of the repository.
    pub(crate) fn folder(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The targets of links and pictures.
    pub(crate) fn links(&self) -> Vec<Span> {
        let mut links = Vec::new();
        for (line, text) in &self.prose {
            let text = without_code(text);
            for (at, _) in text.match_indices("](") {
                let rest = &text[at + 2..];
                let end = rest.find(')').unwrap_or(rest.len());
                links.push(Span { line: *line, text: rest[..end].to_owned() });
            }
        }
        links
    }

    /// The code spans of the prose.
    pub(crate) fn code(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for (line, text) in &self.prose {
            let parts: Vec<&str> = text.split('`').collect();
            spans.extend(
                parts.iter().skip(1).step_by(2).map(|part| Span { line: *line, text: (*part).trim().to_owned() }),
            );
        }
        spans
    }

    /// The anchors of headings, as code hosts and mdBook make them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            let Some(heading) = line.strip_prefix('#') else { continue };
            let slug = slug(heading.trim_start_matches('#').trim());
            let times = anchors.iter().filter(|anchor| **anchor == slug).count();
            anchors.push(if times == 0 { slug } else { format!("{slug}-{times}") });
        }
        anchors
    }

    /// The page with other texts in some of its blocks.
    pub(crate) fn with(&self, texts: &[(usize, String)]) -> String {
        let mut lines: Vec<String> = self.text.lines().map(String::from).collect();
        for (block, text) in texts.iter().rev() {
            lines.splice(self.blocks[*block].lines.clone(), text.lines().map(String::from));
        }
        lines.join("\n") + "\n"
    }
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

fn slug(heading: &str) -> String {
    let text = heading.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    text.map(|sign| if sign == ' ' { '-' } else { sign.to_ascii_lowercase() }).collect()
}

#[test]
fn a_page_is_split_into_blocks_prose_and_anchors() {
    let text = "# A `b`, c\n\n```yaml title=a.yaml\nx: [a](b)\n```\n\nSee [d](e.md#f) and `g`.\n\n## A `b`, c\n";
    let page = Page::parse("docs/a.md".into(), text.into());
    assert_eq!(page.blocks.len(), 1);
    assert_eq!((page.blocks[0].language(), page.blocks[0].attribute("title")), ("yaml", Some("a.yaml")));
    assert_eq!(page.blocks[0].text, "x: [a](b)\n");
    assert_eq!(page.links().iter().map(|link| (link.line, &*link.text)).collect::<Vec<_>>(), [(7, "e.md#f")]);
    assert_eq!(page.anchors(), ["a-b-c", "a-b-c-1"]);
    assert_eq!(page.with(&[(0, "y: 1\n".into())]).lines().nth(3), Some("y: 1"));
}
