//! Pages that are generated: the command line from its help, the fields of each dialect from its JSON Schema, and the list
//! of diagnostics in the table of contents.
//!
//! A page keeps what is above its marker; the rest is written by `UPDATE_DOCS=1 cargo test -p branchpoint --test docs`.

mod fields;
mod types;

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use branchpoint_dialects::read;

use crate::{expect_none, is_update, root};

/// What separates the text of an author from the generated part of a page.
const MARKER: &str = "<!-- Generated from here on; see docs/contributing.md. -->\n";

const DIALECTS: [&str; 5] = ["steps", "flow", "machine", "graph", "session"];

#[test]
fn the_reference_of_every_dialect_has_the_fields_of_its_schema() {
    let mut complaints = Vec::new();
    for dialect in DIALECTS {
        let path = root().join(format!("docs/schema/{dialect}.json"));
        let schema = read(&fs::read_to_string(path).expect("the schema is there")).expect("it is JSON").to_value();
        complaints.extend(generate(&format!("docs/reference/{dialect}.md"), &fields::reference(&schema)));
    }
    expect_none(&complaints);
}

#[test]
fn the_reference_of_the_command_line_has_the_help_of_every_command() {
    let mut text = String::new();
    describe(&[], &mut text);
    assert!(text.matches("\n## ").count() > 15, "commands are listed otherwise now");
    expect_none(&generate("docs/reference/cli.md", &text).into_iter().collect::<Vec<_>>());
}

#[test]
fn the_table_of_contents_has_every_page_about_diagnostics() {
    let entries = fs::read_dir(root().join("docs/diagnostics")).expect("the pages are there");
    let names = entries.map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned());
    let mut kinds: Vec<String> = names.filter_map(|name| name.strip_suffix(".md").map(String::from)).collect();
    kinds.retain(|kind| kind != "README");
    kinds.sort();
    let mut text = "\n# Diagnostics\n\n- [All diagnostics](diagnostics/README.md)\n".to_owned();
    for kind in kinds {
        let _ = writeln!(text, "  - [{kind}](diagnostics/{kind}.md)");
    }
    expect_none(&generate("docs/SUMMARY.md", &text).into_iter().collect::<Vec<_>>());
}

/// Adds the help of a command and of the commands below it.
fn describe(command: &[String], text: &mut String) {
    let output = Command::new(env!("CARGO_BIN_EXE_branchpoint"))
        .args(command)
        .arg("--help")
        .env_clear()
        .output()
        .expect("the program starts");
    let help = String::from_utf8(output.stdout).expect("help is text");
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = [&["branchpoint".to_owned()], command].concat().join(" ");
    let _ =
        write!(text, "\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(command.len().clamp(1, 2) + 1), lines.join("\n"));
    let listed = lines.iter().skip_while(|line| **line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for name in listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        describe(&[command, &[name.to_owned()]].concat(), text);
    }
}

/// Compares the generated part of a page, or writes it.
fn generate(name: &str, text: &str) -> Option<String> {
    let path = root().join(name);
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let Some((head, present)) = page.split_once(MARKER) else { return Some(format!("{name} has no marker")) };
    if is_update() {
        fs::write(&path, format!("{head}{MARKER}{text}")).expect("the page can be written");
        return None;
    }
    (present != text).then(|| format!("{name} is not up to date: UPDATE_DOCS=1 cargo test -p branchpoint --test docs"))
}
