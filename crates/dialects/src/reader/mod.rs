//! Reads YAML 1.2 and JSON into values with source positions.
//!
//! Text becomes a flat list of [`parts`], by [`json`] when it is strictly that and by [`yaml`] otherwise; then
//! [`build`] builds the tree and expands aliases. The list in between keeps hostile text cheap: limits are
//! checked before anything is nested, and an anchor costs nothing until an alias uses it.
//!
//! Where the YAML 1.2 core schema is silent, or Branchpoint differs from it:
//!
//! - A number with an integral value in the 64-bit range is an integer: `7.0` is 7.
//! - `.inf` and `.nan` are rejected, like `1e400`. Values are JSON values, which have no such numbers, and reading
//!   them as text would silently change their meaning.
//! - Tags other than those of the core schema (`!!str`, `!!int` …) are rejected. They give a value another meaning
//!   (`!include`, `!!binary`); ignoring them would run another document than the author's.
//! - `<<` is an ordinary key: YAML 1.2 removed merging.
//! - Keys are text. A number or boolean as a key is its text as written; null, lists and objects are rejected.
//! - A text has only one document, and an object has no duplicate keys.
//! - A value from an alias has the positions of its definition, where the author would edit it.

mod build;
mod indent;
mod json;
pub mod limits;
mod parts;
mod scalar;
mod syntax_error;
mod yaml;

use branchpoint_expr::{Diagnostic, Kind, Located, Shape, Span};

use crate::DocumentKinds as _;
use limits::DOCUMENT_BYTES;

/// The largest number of problems that are reported individually. Counting the lines for each takes time in long texts.
const MAX_FINDINGS: usize = 50;

/// Reads a text that is YAML 1.2 or JSON.
///
/// All spans are in bytes of `source`. The span of text in block style (`|`, `>`) is its content. An empty text is
/// null.
///
/// ```
/// let document = branchpoint_dialects::read("steps:\n  - id: greet\n").unwrap();
/// let id = document.get("steps").unwrap().items().unwrap()[0].get("id").unwrap();
/// assert_eq!(id.text().unwrap().as_ref(), "greet");
/// assert_eq!((id.span.start, id.span.end), (15, 20));
/// ```
///
/// # Errors
///
/// Text that is not YAML or JSON ([`Kind::Yaml`]), duplicate or invalid keys ([`Kind::BadField`]), and text that
/// exceeds one of the [`limits`] ([`Kind::SizeLimit`], [`Kind::DepthLimit`], [`Kind::NodeLimit`], [`Kind::AliasLimit`]), in
/// the order of the text.
pub fn read(source: &str) -> Result<Located, Vec<Diagnostic>> {
    let (root, findings) = read_partially(source);
    if findings.is_empty() { Ok(root) } else { Err(findings) }
}

/// Like [`read`], but returns what can be read of a text with problems, together with the findings.
pub(crate) fn read_partially(source: &str) -> (Located, Vec<Diagnostic>) {
    let nothing = Located { shape: Shape::Null, span: Span::new(0, 0) };
    if source.len() > DOCUMENT_BYTES {
        let message = format!("the document has {} bytes; {DOCUMENT_BYTES} are allowed", source.len());
        return (nothing, vec![Diagnostic::error(Kind::SizeLimit, Span::new(0, 0), message).with_help("split it")]);
    }
    let mut findings = Findings::default();
    let parts = json::parts(source).unwrap_or_else(|| yaml::parts(source, &mut findings));
    let root = build::tree(source, &parts, &mut findings);
    (root.unwrap_or(nothing), findings.all())
}

/// Warns about a text that is named JSON and can only be read as YAML, such as one with a trailing comma.
///
/// ```
/// use branchpoint_dialects::not_json;
///
/// assert!(not_json(r#"{"name": "hello",}"#).is_some());
/// assert!(not_json(r#"{"name": "hello"}"#).is_none());
/// ```
pub fn not_json(source: &str) -> Option<Diagnostic> {
    if is_json(source) {
        return None;
    }
    let error = serde_json::from_str::<serde_json::Value>(source.trim_start_matches('\u{feff}')).err()?;
    let line_start = source.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let at = source.floor_char_boundary((line_start + error.column().saturating_sub(1)).min(source.len()));
    let comma = source[..at].trim_end().strip_suffix(',').map(str::len).filter(|_| error.is_syntax());
    let closes = source[at..].trim_start().starts_with([']', '}']);
    Some(if let Some(comma) = comma.filter(|_| closes) {
        let message = "a trailing comma is not JSON: other programs reject this file";
        Diagnostic::warning(Kind::NotJson, Span::new(comma, comma + 1), message).with_help("remove the comma")
    } else {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or(&reason);
        let message = format!("the file is named `.json`, but it is not JSON: {reason}");
        Diagnostic::warning(Kind::NotJson, Span::new(at, at), message).with_help("correct it, or name the file `.yaml`")
    })
}

/// Whether a text is strict JSON.
pub(crate) fn is_json(source: &str) -> bool {
    json::parts(source).is_some()
}

/// Whether YAML reads these characters, without quotes, as text and not as null, a boolean or a number.
pub(crate) fn is_plain_text(text: &str) -> bool {
    matches!(scalar::plain(text), scalar::PlainScalar::Text)
}

/// The problems found so far.
#[derive(Default)]
struct Findings {
    reported: Vec<Diagnostic>,
    /// The first problem that is not reported individually, and the number of such problems.
    unreported: Option<(Diagnostic, usize)>,
}

impl Findings {
    fn push(&mut self, finding: Diagnostic) {
        if self.is_full() {
            self.unreported.get_or_insert((finding, 0)).1 += 1;
        } else {
            self.reported.push(finding);
        }
    }

    fn is_full(&self) -> bool {
        self.reported.len() >= MAX_FINDINGS
    }

    fn all(mut self) -> Vec<Diagnostic> {
        self.reported.sort_by_key(|finding| finding.span.start);
        if let Some((first, count)) = self.unreported {
            let message = format!("and {count} more problems, the first of them here");
            self.reported.push(Diagnostic::error(first.kind, first.span, message).with_help("solve the others first"));
        }
        self.reported
    }
}

/// Text for a message, truncated if it is long.
fn preview(text: &str) -> String {
    const LONGEST: usize = 40;
    let escaped = |text: &str| text.chars().flat_map(char::escape_debug).collect::<String>();
    match text.char_indices().nth(LONGEST) {
        None => escaped(text),
        Some((cut, _)) => format!("{}…", escaped(&text[..cut])),
    }
}
