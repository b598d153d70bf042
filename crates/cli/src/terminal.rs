//! Printing: stdout for data, stderr for messages, colours only where someone can see them.

use std::io::{self, BufRead, ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};

use crate::exit::System;

/// Prints data. A reader that has seen enough and closed the pipe (`| head`) is no trouble.
pub(crate) fn print(data: &str) -> Result<()> {
    print_to(&mut io::stdout().lock(), data)
}

/// Prints data for people, which may hold colours: they are taken out as in [`tell`].
pub(crate) fn print_styled(data: &str) -> Result<()> {
    print_to(&mut anstream::stdout().lock(), data)
}

fn print_to(stdout: &mut impl Write, data: &str) -> Result<()> {
    match stdout.write_all(data.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            bail!(System(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a message that may hold colours: they are taken out unless stderr is a terminal that wants them (`NO_COLOR`).
pub(crate) fn tell(message: &str) {
    // When not even stderr takes it, there is nobody left to tell.
    let _ = anstream::stderr().lock().write_all(message.as_bytes());
}

/// Asks the person at the terminal for a line. None when nothing more comes.
pub(crate) fn ask(question: &str) -> Option<String> {
    tell(question);
    read_line()
}

/// The next line of stdin, with marks for what is no text. None when nothing more comes.
pub(crate) fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}

/// Prints an error that has no place in a source text, in the looks of those that have one.
pub(crate) fn complain(message: &str) {
    let (red, bold) = (Style::new().bold().fg_color(Some(AnsiColor::BrightRed.into())), Style::new().bold());
    tell(&format!("{red}error{red:#}{bold}: {message}{bold:#}\n"));
}

/// A page of help: lines that stand at the margin and end with a colon look like clap's own headings.
pub(crate) fn page(text: &str) -> String {
    let heading = Style::new().bold().underline();
    let lines = text.trim_end().lines().map(|line| {
        let is_heading = line.ends_with(':') && !line.starts_with(' ');
        if is_heading { format!("{heading}{line}{heading:#}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}
