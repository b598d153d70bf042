//! The text and the page of a mail about an approval. The page has no content of other servers, and texts of runs are only text in it.

use std::fmt::Write as _;

/// The longest prompt or content in a mail, in characters.
const LONGEST: usize = 8_000;

/// What a mail says.
#[derive(Debug, Default)]
pub(super) struct Letter {
    /// What happened, in one line.
    pub(super) heading: String,
    /// The question, as its author wrote it.
    pub(super) prompt: String,
    /// The facts below it: names and texts.
    pub(super) facts: Vec<(&'static str, String)>,
    /// The choices, while there are any.
    pub(super) choices: Vec<String>,
    /// The link with which the reader votes.
    pub(super) link: Option<String>,
    /// The command that votes.
    pub(super) command: Option<String>,
    /// What the reader must know about the link.
    pub(super) note: Option<String>,
}

impl Letter {
    /// The mail as plain text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.heading, truncate(&self.prompt).trim_end());
        for (name, fact) in &self.facts {
            let fact = truncate(fact);
            let is_long = fact.contains('\n');
            let _ = if is_long { write!(text, "\n{name}:\n{fact}\n") } else { write!(text, "\n{name}: {fact}") };
        }
        if !self.choices.is_empty() {
            let _ = write!(text, "\nChoices: {}", self.choices.join(", "));
        }
        text.push('\n');
        if let Some(link) = &self.link {
            let _ = write!(text, "\nReview and vote:\n{link}\n");
        }
        if let Some(command) = &self.command {
            let _ = write!(text, "\nOr on the command line:\n{command}\n");
        }
        if let Some(note) = &self.note {
            let _ = write!(text, "\n{note}\n");
        }
        visible(&text)
    }

    /// The mail as a page.
    pub(super) fn html(&self) -> String {
        let mut page = String::from(
            "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"></head>\
             <body style=\"margin:0;padding:24px;font:15px/1.5 system-ui,sans-serif;color:#1c1e21;background:#ffffff\">\
             <div style=\"max-width:640px;margin:0 auto\">",
        );
        let _ = write!(page, "<h1 style=\"font-size:18px;margin:0 0 16px\">{}</h1>", escape(&self.heading));
        let block = "white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid #d7dae0;border-radius:6px;padding:12px;margin:0 0 16px";
        let _ = write!(page, "<div style=\"{block}\">{}</div>", escape(truncate(&self.prompt).trim_end()));
        for (name, fact) in &self.facts {
            let fact = escape(&truncate(fact));
            let _ = if fact.contains('\n') {
                write!(page, "<p style=\"margin:0\"><b>{name}</b></p><div style=\"{block}\">{fact}</div>")
            } else {
                write!(page, "<p style=\"margin:0 0 4px;overflow-wrap:anywhere\"><b>{name}</b> {fact}</p>")
            };
        }
        if !self.choices.is_empty() {
            let choices = escape(&self.choices.join(", "));
            let _ = write!(page, "<p style=\"margin:0 0 4px\"><b>Choices</b> {choices}</p>");
        }
        if let Some(link) = &self.link {
            let style = "display:inline-block;background:#1c1e21;color:#ffffff;text-decoration:none;padding:10px 18px;border-radius:6px";
            let link = escape(link);
            let _ =
                write!(page, "<p style=\"margin:20px 0\"><a href=\"{link}\" style=\"{style}\">Review and vote</a></p>");
        }
        if let Some(command) = &self.command {
            let command = escape(command);
            let _ = write!(page, "<p style=\"color:#5b616b\">On the command line: <code>{command}</code></p>");
        }
        if let Some(note) = &self.note {
            let _ = write!(page, "<p style=\"color:#5b616b;font-size:13px\">{}</p>", escape(note));
        }
        page.push_str("</div></body></html>");
        page
    }
}

/// A text for a header: one line, without control characters, of limited length.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || is_hidden(c)).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(longest) {
        Some((at, _)) => format!("{}…", line[..at].trim_end()),
        None => line,
    }
}

/// Whether a character is invisible or changes the direction of a text, so that it could hide what the text says.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A text without hidden characters other than line ends and tabs.
fn visible(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !is_hidden(*c)).collect()
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…\n(cut; the whole text is in Branchpoint)", &text[..at]),
        None => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(text: &str) -> Letter {
        Letter {
            heading: text.into(),
            prompt: text.into(),
            facts: vec![("Shown", text.into()), ("Lines", format!("{text}\n{text}"))],
            choices: vec![text.into()],
            link: Some("https://flow.example.org/a/x.y".into()),
            command: Some(text.into()),
            note: Some(text.into()),
        }
    }

    #[test]
    fn texts_of_runs_are_only_text_in_the_page() {
        let plain = letter("x").html();
        let tags = plain.matches('<').count();
        for attack in [
            "<img src=https://evil.example/pixel>",
            "\"><script>alert(1)</script>",
            "' style='background:url(//evil.example)'",
            "</div></body><a href=https://evil.example>Approve</a>",
        ] {
            let page = letter(attack).html();
            assert_eq!(page.matches('<').count(), tags, "{page}");
            assert_eq!(page.matches("href=\"").count(), 1, "{page}");
        }
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = letter("x").html();
        for remote in ["src=", "url(", "@import", "<link", "<script", "<iframe", "<form", "<base"] {
            assert!(!page.contains(remote), "{remote}: {page}");
        }
        assert_eq!(page.matches("https://").count(), 1, "only the link of the reader");
    }

    #[test]
    fn headers_are_one_visible_line() {
        assert_eq!(one_line("a\r\nBcc: eve@example.org\u{0}\u{202e} b", 80), "a Bcc: eve@example.org b");
        assert_eq!(one_line(&"word ".repeat(50), 12), "word word wo…");
        assert_eq!(visible("a\u{202e}b\tc\u{1b}[31m"), "ab\tc[31m");
    }

    #[test]
    fn long_texts_are_cut() {
        let text = letter(&"x".repeat(100_000)).text();
        assert!(text.len() < 600_000 && text.contains("the whole text is in Branchpoint"));
    }
}
