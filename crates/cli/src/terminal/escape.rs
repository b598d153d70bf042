//! Text that is safe to show on a terminal: control and bidirectional characters become visible escapes.
//!
//! Data from documents, models, servers and commands may contain characters that move the cursor, hide or recolour text, or
//! reverse its reading order. A person must not approve text that reads differently from its content. So the printer escapes every
//! such character, and only the program's own styles, which [`paint`] marks with a token that data cannot guess, become terminal
//! sequences.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use anstyle::Style;
use branchpoint_expr::{Diagnostic, render_terminal};

/// Marks the beginning and the end of a style. It differs from process to process.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let number = RandomState::new().hash_one(0);
    (0..4).filter_map(|digit| char::from_u32(TOKEN + u32::try_from((number >> (12 * digit)) & 0xfff).ok()?)).collect()
});

/// The characters of the mark: private ones, 4096 from here on.
const TOKEN: u32 = 0xf_1000;

/// The bytes of a style are written as private characters, so that redaction cannot find a secret in them.
const STYLE_BYTE: u32 = 0xf_0000;

/// The text in a style of the program.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{}{text}{}", marked(&style.render().to_string()), marked(&style.render_reset().to_string()))
}

fn marked(sequence: &str) -> String {
    let hidden: String = sequence.bytes().filter_map(|byte| char::from_u32(STYLE_BYTE + u32::from(byte))).collect();
    format!("{mark}{hidden}{mark}", mark = *MARK)
}

/// The text as the terminal gets it: escaped, with the styles of [`paint`] as terminal sequences.
pub(super) fn styled(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK.as_str()) {
        return visible(text);
    }
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split(MARK.as_str()).enumerate() {
        if at % 2 == 0 {
            shown.push_str(&visible(part));
        } else {
            let bytes = part.chars().filter_map(|c| u8::try_from(u32::from(c).checked_sub(STYLE_BYTE)?).ok());
            shown.extend(bytes.map(char::from));
        }
    }
    Cow::Owned(shown)
}

/// The text with every control and bidirectional character as a visible escape such as `\u202e`, which JSON reads too. Line
/// breaks and tabs stay. Colours that data brings along are removed.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\u{1b}' if let Some(length) = colour_length(rest) => length,
            '\r' if rest[1..].starts_with('\n') => 1,
            c => {
                push_visible(&mut shown, c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// The same on one line: line breaks and tabs become spaces.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// The findings in a document, each with its lines, for the printer.
pub(crate) fn findings(findings: &[Diagnostic], source: &str, origin: &str) -> String {
    let mut safe = findings.to_vec();
    for finding in &mut safe {
        finding.message = visible(&finding.message).into_owned();
        finding.help = finding.help.as_deref().map(|help| visible(help).into_owned());
    }
    // The renderer replaces control characters of the source itself, because it must know how wide each line is.
    let rendered = render_terminal(&safe, source, &visible_line(origin), true);
    let mut shown = String::with_capacity(rendered.len());
    let mut rest = rendered.as_str();
    while let Some(c) = rest.chars().next() {
        let length = if c == '\u{1b}' { colour_length(rest).unwrap_or(0) } else { 0 };
        match length {
            0 => push_visible(&mut shown, c),
            length => shown.push_str(&marked(&rest[..length])),
        }
        rest = &rest[length.max(c.len_utf8())..];
    }
    shown
}

/// The length of a sequence at the beginning of a text that only sets a colour or a style.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

fn push_visible(shown: &mut String, c: char) {
    if c == '\r' {
        shown.push_str("\\r");
    } else if is_unsafe(c) {
        // Writing into a text cannot fail.
        let _ = write!(shown, "\\u{:04x}", u32::from(c));
    } else {
        shown.push(c);
    }
}

/// Whether a character changes how the text around it is shown instead of being shown itself.
fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm; separators of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{feff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;
    use branchpoint_dialects::DocumentKinds as _;
    use branchpoint_expr::{Kind, Span};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(visible(text), expect);
        assert_eq!(styled(text), expect);
    }

    #[test]
    fn control_and_bidirectional_characters_are_visible() {
        check("plain\ttext\nß 日本 👩‍🚀", "plain\ttext\nß 日本 👩‍🚀");
        check("approve\rreject", "approve\\rreject");
        check("one\r\ntwo", "one\ntwo");
        check("a\u{9b}31mb\u{7f}\u{0}\u{8}", "a\\u009b31mb\\u007f\\u0000\\u0008");
        check("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[1A", "\\u001b]0;title\\u0007\\u001b[2J\\u001b[1A");
        for c in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain(['\u{200e}', '\u{200f}', '\u{61c}']) {
            check(&format!("a{c}b"), &format!("a\\u{:04x}b", u32::from(c)));
        }
    }

    #[test]
    fn data_cannot_colour_or_hide_text() {
        check("\u{1b}[8mhidden\u{1b}[0m \u{1b}[38;2;0;0;0mblack", "hidden black");
        check("\u{1b}[31", "\\u001b[31");
    }

    #[test]
    fn only_the_programs_own_styles_become_sequences() {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let text = format!("{} b\u{1b}[1mold", paint(red, "a\u{202e}"));
        assert_eq!(styled(&text), "\u{1b}[31ma\\u202e\u{1b}[0m bold");
    }

    #[test]
    fn a_finding_shows_no_control_character_of_the_document() {
        let source = "a: \u{1b}[2J\u{202e}\u{9b}1mx\r\nb: \u{2066}y\n";
        let span = Span::new(3, 5);
        let finding = Diagnostic::error(Kind::Yaml, span, "bad \u{1b}[2J\u{202e}").with_help("try \u{9b}0m\r");
        let shown = styled(&findings(&[finding], source, "a\u{1b}[1Ab.yaml")).into_owned();
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert!(!plain.contains(|c| c != '\n' && is_unsafe(c)), "{plain:?}");
        assert!(!shown.contains("[2J\u{1b}") && !shown.contains("\u{1b}[2J"), "{shown:?}");
        assert!(plain.contains("bad \\u001b[2J\\u202e") && plain.contains("try \\u009b0m\\r"), "{plain}");
    }
}
