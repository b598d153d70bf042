//! Printing: stdout for data, stderr for messages, colours only where someone can see them. Nothing that data contains can
//! control the terminal: see [`escape`].

mod escape;
mod stalled;

use std::borrow::Cow;
use std::io::{self, BufRead, BufWriter, ErrorKind, IsTerminal, Read, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use serde::Serialize;

use crate::exit::Exit;
pub(crate) use escape::{findings, paint, visible, visible_line};

/// The longest line that is read from a person or a pipe, in bytes.
const LINE_BYTES: u64 = 1024 * 1024;

/// Prints data: unchanged for programs, escaped on a terminal. A reader that closes the pipe early (`| head`) is not an error.
pub(crate) fn print(data: &str) -> Result<()> {
    let stdout = io::stdout();
    let shown = data_for(data, stdout.is_terminal());
    print_to(&mut stdout.lock(), &shown)
}

/// Prints a value as JSON, as [`print`] does. For programs it is written piece by piece: it may be large.
pub(crate) fn print_json(value: &impl Serialize) -> Result<ExitCode> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        print(&(serde_json::to_string_pretty(value)? + "\n"))?;
    } else {
        let mut pieces = BufWriter::new(stdout.lock());
        let written = serde_json::to_writer_pretty(&mut pieces, value).map_err(io::Error::from);
        printed(written.and_then(|()| writeln!(pieces)).and_then(|()| pieces.flush()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn data_for(data: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { visible(data) } else { Cow::Borrowed(data) }
}

/// Prints text for people, in which [`paint`] may have marked styles. They are removed as in [`message`].
pub(crate) fn print_styled(text: &str) -> Result<()> {
    print_to(&mut anstream::stdout().lock(), &escape::styled(text))
}

fn print_to(stdout: &mut impl Write, data: &str) -> Result<()> {
    printed(stdout.write_all(data.as_bytes()).and_then(|()| stdout.flush()))
}

fn printed(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            bail!(Exit::system(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a message, in which [`paint`] may have marked styles. They are removed unless stderr is a terminal that wants them
/// (`NO_COLOR`). If stderr accepts nothing, the message is dropped: see [`stalled`].
pub(crate) fn message(text: &str) {
    stalled::write(&escape::styled(text));
}

pub(crate) use stalled::is_stalled;

/// Asks the person at the terminal for a line. None when nothing more comes.
pub(crate) fn ask(question: &str) -> Option<String> {
    message(question);
    read_line()
}

/// The next line of stdin, with replacement characters for invalid UTF-8. None when nothing more comes.
pub(crate) fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(LINE_BYTES + 1).read_until(b'\n', &mut line).ok()?;
    if read as u64 > LINE_BYTES {
        error(&format!("a line of stdin has more than the {LINE_BYTES} bytes that are read"));
        return None;
    }
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

/// Prints an error without a place in a source text, in the style of findings.
pub(crate) fn error(text: &str) {
    let (red, bold) = (Style::new().bold().fg_color(Some(AnsiColor::BrightRed.into())), Style::new().bold());
    message(&format!("{}{}\n", paint(red, "error"), paint(bold, &format!(": {text}"))));
}

/// A page of help. Lines without indentation that end with a colon are styled as clap's own headings.
pub(crate) fn page(text: &str) -> String {
    let heading = Style::new().bold().underline();
    let lines = text.trim_end().lines().map(|line| {
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        if is_heading { format!("{heading}{line}{heading:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_escaped_on_a_terminal_only() {
        assert_eq!(data_for("a\u{202e}b", true), "a\\u202eb");
        assert_eq!(data_for("a\u{202e}b", false), "a\u{202e}b");
    }
}
