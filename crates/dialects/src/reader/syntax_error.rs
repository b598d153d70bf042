//! Turns syntax errors of the YAML parser into findings for the author of a document.

use branchpoint_expr::{Diagnostic, Kind, Span};
use granit_parser::{ErrorKind, ScanError};

use super::indent::indentation_error;
use super::parts::{Bracket, too_deep};

use crate::DocumentKinds as _;

/// The finding for a parser error. `inside` is the innermost list or object that is open at the error.
pub(super) fn syntax_error(source: &str, error: &ScanError, inside: Option<(Bracket, Span)>) -> Diagnostic {
    let at = error.marker().byte_offset().unwrap_or(source.len());
    // Parser offsets are character boundaries. If one is not, the finding must still not panic.
    let at = if source.is_char_boundary(at) { at } else { source.len() };
    let span = place(source, at, error.kind());
    if *error.kind() == ErrorKind::RecursionLimitExceeded {
        return too_deep(span);
    }
    if !matches!(inside, Some((Bracket::List | Bracket::Object, _)))
        && unquoted_placeholder(source, at).is_none()
        && let Some(line) = indentation_error(source, at, error.kind())
    {
        return Diagnostic::error(Kind::Yaml, line.span, line.message).with_help(line.help);
    }
    let (message, help) = describe(error.kind(), at == source.len());
    let finding = Diagnostic::error(Kind::Yaml, span, message);
    match unquoted_placeholder(source, at)
        .or_else(|| unclosed_bracket(source, error.kind(), inside))
        .or(help.map(Into::into))
    {
        Some(help) => finding.with_help(help),
        None => finding,
    }
}

/// The character at the error or, for errors about tabs, the tabs next to it.
fn place(source: &str, at: usize, kind: &ErrorKind) -> Span {
    let (before, after) = source.split_at(at);
    let tabs = before.len() - before.trim_end_matches('\t').len();
    match after.find('\t') {
        Some(next) if is_tab(kind) && tabs == 0 => Span::new(at + next, at + next + 1),
        _ if is_tab(kind) && tabs > 0 => Span::new(at - tabs, at),
        _ => Span::new(at, at + after.chars().next().map_or(0, char::len_utf8)),
    }
}

fn is_tab(kind: &ErrorKind) -> bool {
    use ErrorKind as E;
    matches!(kind, E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation | E::TabInPlainScalar)
}

/// The help for a placeholder without quotes, the most frequent syntax error in workflows.
fn unquoted_placeholder(source: &str, at: usize) -> Option<String> {
    let start = source[..at].rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
    let line = source[start..].lines().next()?.trim_start();
    let value = line.trim_start_matches("- ");
    let value = value.split_once(": ").map_or(value, |(_, value)| value);
    value.trim_start().starts_with("{{").then(|| "text that begins with `{{` must be in quotes".into())
}

/// The help for a missing closing bracket, which the parser reports only at a later line that does not fit.
fn unclosed_bracket(source: &str, kind: &ErrorKind, inside: Option<(Bracket, Span)>) -> Option<String> {
    use ErrorKind as E;
    let (Bracket::List | Bracket::Object, open) = inside? else { return None };
    let (line, column) = open.line_column(source);
    let bracket = open.text(source);
    let fits = matches!(
        kind,
        E::MappingValueNotAllowed
            | E::InvalidColonPlacement
            | E::ExpectedFlowSequenceSeparator
            | E::ExpectedFlowMappingSeparator
            | E::BlockEntryInFlowCollection
    );
    (fits && !bracket.is_empty()).then(|| format!("is the `{bracket}` at line {line}, column {column} closed?"))
}

/// The message of an error and, where there is one, its help.
fn describe(kind: &ErrorKind, at_end: bool) -> (String, Option<&'static str>) {
    use ErrorKind as E;
    let (message, help) = match kind {
        kind if is_tab(kind) => ("a tab is used for indentation", "indent with spaces"),
        E::TabAtBlockScalarStart => ("the text below begins with a tab", "indent it with spaces"),
        E::UnclosedQuotedScalar => ("this quote is never closed", "add the closing quote"),
        E::InvalidQuotedScalarIndent | E::DocumentIndicatorInQuotedScalar => {
            ("text in quotes continues in this line", "close the quote in a line before, or indent this line")
        }
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            ("something follows the closing quote", "add `:` or `,` between, or put all of the text in quotes")
        }
        E::UnknownQuotedScalarEscape => {
            ("this text has an escape that does not exist", "write `\\\\` for a backslash, or use single quotes")
        }
        E::InvalidQuotedScalarHexEscape | E::InvalidLowSurrogateHexEscape | E::InvalidUnicodeEscape => {
            ("this text has an escape that names no character", "write `\\u` and four hexadecimal digits")
        }
        E::InvalidLowSurrogate | E::MissingLowSurrogate | E::UnpairedLowSurrogate => {
            ("this text has an escape that is half of a character", "write both halves, such as `\\ud83d\\ude42`")
        }
        E::UnclosedFlowCollection { open } => return (format!("this `{open}` is never closed"), Some(closing(*open))),
        E::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("this `{open}` is closed by `{close}`"), Some(closing(*open)));
        }
        E::MisplacedFlowCollectionEnd => ("this bracket closes nothing", "remove it, or put the text in quotes"),
        E::ExpectedFlowMappingSeparator => ("`,` or `}` is missing here", "separate fields with `,`"),
        E::ExpectedFlowSequenceSeparator => ("`,` or `]` is missing here", "separate values with `,`"),
        E::MappingValueNotAllowed | E::InvalidColonPlacement => {
            ("no value can begin at this `:`", "put text that contains `: ` in quotes, or correct the indentation")
        }
        E::SimpleKeyExpected => ("`:` is missing after this key", "write `key: value`"),
        E::ExpectedBlockMappingKey => ("a key is missing here", "indent the fields of one object alike"),
        E::ExpectedBlockSequenceEntry => ("`-` is missing here", "indent the values of one list alike"),
        E::InvalidIndentation | E::InvalidBlockScalarIndent | E::InvalidFlowScalarIndent => {
            ("this line is not indented as it must be", "indent it like the lines it belongs to")
        }
        E::BlockSequenceEntryNotAllowed | E::BlockEntryInFlowCollection => {
            ("no list can begin at this `-`", "begin the list in a line of its own, or put the text in quotes")
        }
        E::UnexpectedCharacter { character } if character.is_control() || *character > '\u{7f}' => {
            let message = format!("the character U+{:04X} cannot stand here", u32::from(*character));
            return (message, Some("remove it, or write it as an escape in double quotes"));
        }
        E::UnexpectedCharacter { character } => {
            return (format!("text cannot begin with `{character}`"), Some("put the text in quotes"));
        }
        E::MissingAnchorOrAliasName => ("a name is missing after this character", "put the text in quotes"),
        E::UndeclaredTagHandle => ("this tag has no meaning here", "text that begins with `!` must be in quotes"),
        E::CommentNotSeparated | E::CommentInterceptedScalar => {
            ("this `#` is neither text nor comment", "put the text in quotes, or a space before the comment")
        }
        // The parser reports "end of file" wherever it expects a value and reads something else.
        E::UnexpectedEof
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping
        | E::UnexpectedEofBlockSequence
        | E::UnexpectedEofBlockMapping
        | E::ExpectedNodeContent => {
            return (
                if at_end { "the text ends where a value is missing" } else { "a value is missing here" }.into(),
                None,
            );
        }
        other => return (format!("the text is not YAML: {other}"), None),
    };
    (message.into(), Some(help))
}

fn closing(open: char) -> &'static str {
    if open == '{' { "close it with `}`" } else { "close it with `]`" }
}
