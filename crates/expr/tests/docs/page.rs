//! A document as lines and fenced blocks, and what comes of running the blocks that are examples.

use branchpoint_expr::{Kind, Severity, Value};

use crate::examples::{Example, Found};

pub(crate) struct Page {
    pub(crate) lines: Vec<String>,
    blocks: Vec<Block>,
    rows: Vec<Row>,
}

struct Block {
    /// The words after the fence.
    words: String,
    text: String,
    /// The lines between the fences, counted from 0.
    start: usize,
    end: usize,
}

/// A row of a table whose last two columns are called `example` and `gives`.
struct Row {
    line: usize,
    source: String,
    gives: String,
}

/// What the examples of a page showed.
#[derive(Default)]
pub(crate) struct PageResult {
    pub(crate) examples: usize,
    /// Examples that say what they give, and give it without a finding.
    pub(crate) mended: usize,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) complaints: Vec<String>,
    /// What the `text` blocks have to hold, by the position of the block.
    pub(crate) printed: Vec<(usize, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let mut blocks = Vec::new();
        let mut open: Option<(String, usize)> = None;
        for (at, line) in lines.iter().enumerate() {
            let Some(words) = line.strip_prefix("```") else { continue };
            match open.take() {
                None => open = Some((words.trim().to_owned(), at + 1)),
                Some((words, start)) => {
                    blocks.push(Block { words, text: lines[start..at].join("\n"), start, end: at });
                }
            }
        }
        let rows = rows(&lines);
        Self { lines, blocks, rows }
    }

    /// The document with other texts in its `text` blocks.
    pub(crate) fn with(&self, printed: &[(usize, String)]) -> String {
        let mut lines = self.lines.clone();
        for (block, text) in printed.iter().rev() {
            let block = &self.blocks[*block];
            lines.splice(block.start..block.end, text.lines().map(String::from));
        }
        lines.join("\n") + "\n"
    }

    /// Whether the page shows whole documents, which this crate cannot read.
    pub(crate) fn shows_documents(&self) -> bool {
        self.blocks.iter().any(|block| is_document(&block.words))
    }

    /// The examples in tables and blocks, as they are written.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        let rows = self.rows.iter().map(|row| &*row.source);
        rows.chain(self.blocks.iter().map(|block| &*block.text))
    }

    /// Runs every example. A `text` block after an example shows what is printed for it.
    pub(crate) fn run(&self) -> PageResult {
        let mut seen = PageResult::default();
        let mut context = Value::Null;
        let mut rows = self.rows.iter().peekable();
        for (at, block) in self.blocks.iter().enumerate() {
            while let Some(row) = rows.next_if(|row| row.line <= block.start) {
                seen.compare(row.line, &Example::value(), &row.source, &row.gives, &context);
            }
            if block.words == "json context" {
                context = serde_json::from_str(&block.text).unwrap_or_else(|error| {
                    seen.complaints.push(format!("{}: {error}", block.start + 1));
                    Value::Null
                });
                continue;
            }
            if is_document(&block.words) {
                continue;
            }
            let example = match Example::parse(&block.words) {
                Ok(None) => continue,
                Ok(Some(example)) => example,
                Err(complaint) => {
                    seen.complaints.push(format!("{}: {complaint}", block.start));
                    continue;
                }
            };
            let shows = self.blocks.get(at + 1).filter(|next| next.words == "text");
            match (&example.gives, shows) {
                (Some(gives), _) => seen.compare(block.start + 1, &example, &block.text, gives, &context),
                (None, Some(shows)) => {
                    let evaluation = example.run(&block.text, &context);
                    seen.note(&evaluation);
                    if evaluation.printed != shows.text {
                        let complaint = format!("{}: printed is\n{}", shows.start + 1, evaluation.printed);
                        seen.complaints.push(complaint);
                    }
                    seen.printed.push((at + 1, evaluation.printed));
                }
                (None, None) => {
                    for (line, text) in block.text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
                        let line = block.start + 1 + line;
                        match text.rsplit_once(" => ") {
                            Some((source, gives)) => seen.compare(line, &example, source.trim_end(), gives, &context),
                            None => seen.complaints.push(format!("{line}: `{text}` does not say what it gives")),
                        }
                    }
                }
            }
        }
        for row in rows {
            seen.compare(row.line, &Example::value(), &row.source, &row.gives, &context);
        }
        seen
    }
}

/// The rows of all tables that show examples.
fn rows(lines: &[String]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut shows_examples = false;
    for (at, line) in lines.iter().enumerate() {
        let cells = cells(line);
        match &cells[..] {
            [] => shows_examples = false,
            [.., example, gives] if example == "example" && gives == "gives" => shows_examples = true,
            [.., example, gives] if shows_examples && !example.starts_with("---") => {
                rows.push(Row { line: at + 1, source: code(example), gives: code(gives) });
            }
            _ => {}
        }
    }
    rows
}

/// The cells of a row; none when the line is no row. `\|` is a bar that separates nothing.
fn cells(line: &str) -> Vec<String> {
    let Some(row) = line.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else { return Vec::new() };
    row.replace("\\|", "\0").split('|').map(|cell| cell.replace('\0', "|").trim().to_owned()).collect()
}

/// The text between backticks; with two on each side, the text can contain one.
fn code(cell: &str) -> String {
    let ticks = cell.len() - cell.trim_start_matches('`').len();
    cell.get(ticks..cell.len() - ticks).unwrap_or(cell).trim().to_owned()
}

impl PageResult {
    /// Compares what an example gives with what the document says: a JSON value, `refused <kind>` or `error <kind>`.
    fn compare(&mut self, line: usize, example: &Example, source: &str, says: &str, context: &Value) {
        let evaluation = example.run(source, context);
        self.note(&evaluation);
        let gives = match &evaluation.result {
            None => evaluation.name("refused"),
            Some(Err(_)) => evaluation.name("error"),
            Some(Ok(_)) if !evaluation.findings.is_empty() => evaluation.name("warned of"),
            Some(Ok(value)) => {
                self.mended += 1;
                format!("{:?}", value.view())
            }
        };
        let says = match serde_json::from_str::<Value>(says) {
            Ok(value) => format!("{:?}", value.view()),
            Err(_) => says.to_owned(),
        };
        if gives != says {
            self.complaints.push(format!("{line}: `{source}` gives {gives}, not {says}"));
        }
    }

    fn note(&mut self, evaluation: &Found) {
        self.examples += 1;
        self.kinds.extend(evaluation.findings.iter().flat_map(|finding| [finding.kind, finding.cause()]));
    }
}

impl Found {
    /// The most exact kind of what stopped the example.
    fn name(&self, how: &str) -> String {
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let finding = errors.chain(&self.findings).next().expect("something was found");
        format!("{how} {}", finding.cause())
    }
}

/// Whether the words after a fence begin a whole document: `json flow document`, `yaml document => completed`.
fn is_document(words: &str) -> bool {
    let last = words.split(" => ").next().and_then(|head| head.split_whitespace().last());
    matches!(last, Some("document" | "preflight"))
}
