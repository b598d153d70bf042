//! Loads the documents on the pages about diagnostics, runs those that load, and compares the printed output.
//!
//! The format of the examples is described in `docs/diagnostics/README.md`. After a change of wording,
//! `UPDATE_DOCS=1 cargo test -p branchpoint-sim --test pages` writes what is printed now into the pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use branchpoint_core::NoteKind;
use branchpoint_core::ir::Index;
use branchpoint_dialects::{Library, load_from, preflight, read};
use branchpoint_expr::{Dialect, Object, Value, render_terminal};
use branchpoint_host::{Script, VirtualDriver};

/// The fence of a graph that is checked as an editor does before a run.
const PREFLIGHT: &str = "json graph preflight";

/// The output for a session or graph that waits for an event.
const READY: &str = "ready";

/// A fenced block of a page.
struct Block {
    words: String,
    text: String,
    /// The lines between the fences, counted from 0.
    lines: std::ops::Range<usize>,
}

#[test]
fn every_document_on_a_page_gives_the_printed_output() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics"));
    let mut pages: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let mut checked = 0;
    let mut complaints = Vec::new();
    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        let blocks = blocks(&text);
        if path.ends_with("README.md") || !blocks.iter().any(|block| document(&block.words).is_some()) {
            continue;
        }
        checked += 1;
        let kind = path.file_stem().unwrap().to_string_lossy().into_owned();
        let printed = check(&kind, &blocks, &mut complaints);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, updated(&text, &blocks, &printed)).unwrap();
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    assert!(checked > 10, "only {checked} pages show documents");
}

/// Checks the documents of a page, and returns the expected content of its `text` blocks, by their position.
fn check(kind: &str, blocks: &[Block], complaints: &mut Vec<String>) -> Vec<(usize, String)> {
    let (mut script, mut input, mut printed, mut mended) = (Value::Null, Value::Null, Vec::new(), false);
    let mut beside = Beside::default();
    let mut shows_kind = false;
    for (at, block) in blocks.iter().enumerate() {
        if block.words == "json script" {
            script = read(&block.text).unwrap().to_value();
        }
        if block.words == "json input" {
            input = read(&block.text).unwrap().to_value();
        }
        if let Some(name) = block.words.strip_prefix("yaml workflow ") {
            beside.0.insert(name.into(), block.text.clone());
        }
        let Some((dialect, expect)) = document(&block.words) else { continue };
        let runs = block.words.contains(" run ");
        let (kinds, got) = if block.words.starts_with(PREFLIGHT) {
            before_run(&block.text)
        } else {
            outcome(&block.text, dialect, (&script, &input), (&beside, runs))
        };
        shows_kind |= kinds.iter().any(|known| known == kind);
        if let Some(expect) = expect {
            mended = true;
            if got != expect {
                complaints.push(format!("{kind}: expected {expect}, and it gives\n{got}"));
            }
        } else if let Some(shown) = blocks.get(at + 1).filter(|next| next.words == "text") {
            if shown.text.trim_end() != got.trim_end() {
                complaints.push(format!("{kind}: printed is\n{got}"));
            }
            printed.push((at + 1, got));
        }
    }
    if !shows_kind {
        complaints.push(format!("{kind}: no example gives this kind"));
    }
    if !mended {
        complaints.push(format!("{kind}: no example shows the way out"));
    }
    printed
}

/// The workflows that the documents of a page may call.
#[derive(Default)]
struct Beside(BTreeMap<String, String>);

impl Library for Beside {
    fn workflow(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    fn root(&self) -> Option<&str> {
        Some("main")
    }
}

/// The findings of an editor about a graph before its run.
fn before_run(text: &str) -> (Vec<String>, String) {
    let findings = preflight(text);
    let kinds = findings.iter().map(|finding| finding.kind.to_string()).collect();
    let shown = render_terminal(&findings, text, "graph.json", false);
    (kinds, if findings.is_empty() { READY.to_owned() } else { shown })
}

/// The kinds that a document produces, and the output: its findings, or the end of its run.
fn outcome(
    text: &str,
    dialect: Option<Dialect>,
    (script, input): (&Value, &Value),
    (beside, runs): (&Beside, bool),
) -> (Vec<String>, String) {
    let loaded = load_from(text, dialect, beside);
    let mut kinds: Vec<String> = loaded.diagnostics.iter().map(|finding| finding.kind.to_string()).collect();
    if !loaded.diagnostics.is_empty() && !runs {
        let name = loaded.dialect.map_or("document", Dialect::as_str);
        let end = if loaded.dialect == Some(Dialect::Machine) { "yaml" } else { "json" };
        return (kinds, render_terminal(&loaded.diagnostics, text, &format!("{name}.{end}"), false));
    }
    let program = loaded.program.expect("a document without findings has a program");
    let mut host = VirtualDriver::new(&program, 0);
    let facts: Object = program.facts.iter().map(|fact| (fact.clone(), facts(fact))).collect();
    host.start(input.clone(), facts).expect("the run starts");
    let mut script = Script::read(script).expect("the script is valid");
    host.run_until_idle(&mut |call| script.simulate(call));
    if host.result().is_none() {
        // A run with an open approval waits for people; a session or a graph waits for an event.
        let asks = host.requested_approvals().iter().any(|question| question.is_open);
        return (kinds, if asks { "waiting" } else { READY }.to_owned());
    }
    let result = |key: &str| host.result().and_then(|result| result.get(key)).cloned().unwrap_or_default();
    let mut printed = result("status").to_string();
    let error = result("error");
    if let [Some(kind), step, Some(message)] = ["kind", "step", "message"].map(|key| error.get(key)) {
        let at = step.filter(|step| **step != Value::Null).map(|step| format!(" in step `{step}`")).unwrap_or_default();
        printed = format!("{printed}{at}, {kind}: {message}");
        kinds.push(kind.to_string());
    }
    if let Some(Value::Str(of)) = error.get("Type") {
        printed = format!("{printed} ({of})");
        kinds.push(of.to_string());
    }
    if let Value::Str(kind) = result("kind") {
        printed = format!("{printed}, {kind}: {}", result("message"));
        kinds.push(kind.to_string());
    }
    for warning in result("warnings").as_list().unwrap_or_default() {
        let part = |key: &str| warning.get(key).cloned().unwrap_or_default().to_string();
        printed = format!("{printed}\nwarning, {}: {}", part("kind"), part("message"));
        kinds.push(part("kind"));
    }
    for note in host.notes() {
        if let NoteKind::Warned(step, kind) = &note.kind {
            printed = format!("{printed}\nwarning in step `{}`: {kind}", program.steps[step.index()].id);
            kinds.push(kind.to_string());
        }
    }
    (kinds, printed)
}

/// The facts of a run on a page: the owner of the account, and groups.
fn facts(name: &str) -> Value {
    match name {
        "account" => read("{owner: u1, groups: {finance: [u1, u2], legal: [u1, u3]}}").expect("it is valid").to_value(),
        _ => Value::Null,
    }
}

/// The dialect and the expectation of a block that is a document.
fn document(words: &str) -> Option<(Option<Dialect>, Option<&str>)> {
    let (head, expect) = match words.split_once(" => ") {
        Some((head, expect)) => (head, Some(expect)),
        None => (words, None),
    };
    match head.split_whitespace().collect::<Vec<_>>()[..] {
        ["json" | "yaml", "document"] => Some((None, expect)),
        ["json", "graph", "preflight"] => Some((Some(Dialect::Graph), expect)),
        ["json" | "yaml", dialect, "document"] | ["json" | "yaml", "run", dialect, "document"] => {
            let known = Dialect::ALL.into_iter().find(|known| known.as_str() == dialect);
            Some((Some(known.expect("the dialect of an example exists")), expect))
        }
        _ => None,
    }
}

fn blocks(page: &str) -> Vec<Block> {
    let lines: Vec<&str> = page.lines().collect();
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(words) = line.strip_prefix("```") else { continue };
        match open.take() {
            None => open = Some((words.trim(), at + 1)),
            Some((words, start)) => {
                let text = lines[start..at].join("\n");
                blocks.push(Block { words: words.into(), text, lines: start..at });
            }
        }
    }
    blocks
}

fn updated(page: &str, blocks: &[Block], printed: &[(usize, String)]) -> String {
    let mut lines: Vec<String> = page.lines().map(String::from).collect();
    for (block, text) in printed.iter().rev() {
        lines.splice(blocks[*block].lines.clone(), text.trim_end().lines().map(String::from));
    }
    lines.join("\n") + "\n"
}
