//! `branchpoint explain`: the page of a kind of finding, from `docs/diagnostics`.

use std::process::ExitCode;

use anyhow::{Result, bail};
use branchpoint_dialects::all_kinds;
use branchpoint_expr::{Diagnostic, Kind, Span};
use include_dir::{Dir, include_dir};

use crate::terminal;

/// The pages are part of the program, so that they fit its version and need no network.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/diagnostics");

/// Explain a kind of error or warning
#[derive(clap::Args)]
#[command(
    long_about = terminal::page(include_str!("explain.txt")),
)]
pub(crate) struct Arguments {
    /// Name in brackets after `error` or `warning` [default: list all]
    kind: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.kind {
        None => terminal::print(&list())?,
        Some(kind) => match page(kind) {
            Some(page) => terminal::print(page)?,
            None => bail!(unknown(kind)),
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the command that explains a kind, below a finding.
pub(crate) fn print_hint(kind: &str) {
    if page(kind).is_some() {
        terminal::message(&format!("\nMore about this: branchpoint explain {kind}\n"));
    }
}

/// The page of a kind.
pub(crate) fn page(kind: &str) -> Option<&'static str> {
    let known = all_kinds().find(|known| known.as_str() == kind)?;
    PAGES.get_file(format!("{known}.md"))?.contents_utf8()
}

/// Every kind with the first paragraph of its page on one line.
fn list() -> String {
    let width = names().map(str::len).max().unwrap_or_default();
    let mut names: Vec<_> = names().collect();
    names.sort_unstable();
    let lines = names.into_iter().map(|name| {
        let summary = summary(name);
        format!("{name:width$}  {summary}").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// The first paragraph of a kind's page, on one line.
pub(crate) fn summary(kind: &str) -> String {
    let paragraph =
        page(kind).unwrap_or_default().lines().skip_while(|line| line.starts_with('#') || line.trim().is_empty());
    paragraph.take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ")
}

fn names() -> impl Iterator<Item = &'static str> {
    all_kinds().map(Kind::as_str)
}

/// The error for an unknown kind. Names that contain the word come first, then the most similar name.
fn unknown(written: &str) -> String {
    let holds_it = |name: &&str| written.len() > 2 && name.contains(written);
    let mut near: Vec<String> = names().filter(holds_it).map(|name| format!("`{name}`")).collect();
    let finding = Diagnostic::error(Kind::UnknownName, Span::default(), "").suggest(written, names());
    let help = match (near.is_empty(), finding.help) {
        (false, _) => {
            near.sort_unstable();
            format!("did you mean {}?", near.join(" or "))
        }
        (true, Some(help)) => help,
        (true, None) => "`branchpoint explain` lists all kinds".to_owned(),
    };
    format!("there is no kind `{written}`\nhelp: {help}")
}
