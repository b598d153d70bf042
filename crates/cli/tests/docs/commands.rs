//! Commands that a page mentions without executing them are commands of the program: their names and options exist.
//!
//! These are the lines of `sh` blocks, and code spans such as `branchpoint runs list`. Each is started with `--help`, which
//! does nothing but still rejects unknown commands and options.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::page::Page;
use crate::{expect_none, pages};

/// The name of the program.
const PROGRAM: &str = "branchpoint";

#[test]
fn every_command_that_a_page_mentions_exists() {
    let mut places: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for page in pages().iter().filter(|page| !page.name.starts_with("docs/diagnostics/")) {
        for (line, command) in mentioned(page) {
            places.entry(words(&command)).or_insert_with(|| format!("{}:{line}: {command}", page.name));
        }
    }
    assert!(places.len() > 10, "only {} commands are mentioned", places.len());
    expect_none(&places.iter().filter_map(|(words, place)| problem(words, place)).collect::<Vec<_>>());
}

#[test]
fn commands_are_shown_in_blocks_that_are_checked() {
    let mut complaints = Vec::new();
    for page in pages() {
        for block in page.blocks.iter().filter(|block| !matches!(block.language(), "console" | "sh" | "md")) {
            let line = block.text.lines().position(|line| line.starts_with("$ branchpoint "));
            if let Some(line) = line.filter(|_| block.attribute("title").is_none()) {
                complaints.push(format!(
                    "{}:{}: show it in a `console` block",
                    page.name,
                    block.lines.start + line + 1
                ));
            }
        }
    }
    expect_none(&complaints);
}

/// Commands in `sh` blocks and code spans, with their lines.
fn mentioned(page: &Page) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    for block in page.blocks.iter().filter(|block| block.language() == "sh") {
        let text = block.text.replace("\\\n", " ");
        commands.extend(text.lines().map(|line| (block.lines.start + 1, line.trim().to_owned())));
    }
    commands.extend(page.code().into_iter().map(|span| (span.line, span.text)));
    commands.retain(|(_, command)| command.starts_with("branchpoint ") && !command.contains(['…', '[', '|']));
    commands
}

fn problem(words: &[String], place: &str) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_branchpoint"))
        .args(&words[1..])
        .arg("--help")
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| format!("{place}\n  {}", message.lines().next().unwrap_or_default()))
}

/// The words of a command as a shell reads them, up to a comment, a redirection or the next command.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for sign in command.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '>' | '<' | '&' | ';') => break,
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    words
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let is_found = |command: &str| problem(&words(command), command).is_some();
    assert!(!is_found("branchpoint run a.yaml --dry-run -i 'input=a b' # shows it"));
    assert!(is_found("branchpoint walk a.yaml"));
    assert!(is_found("branchpoint run a.yaml --fast"));
    assert_eq!(words("branchpoint run a -i 'x y'>out # b"), [PROGRAM, "run", "a", "-i", "x y"]);
}
