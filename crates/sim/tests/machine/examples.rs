//! The examples of state machines, run with real commands and their scripts.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use branchpoint_core::NoteKind;
use branchpoint_core::ir::{Index, StepId};
use branchpoint_dialects::{Library, load_from, read};
use branchpoint_expr::{Value, render_terminal};
use branchpoint_host::Script;
use branchpoint_runners::{AnswerFuture, Call, CancellationToken, Local, Runner, no_secrets};
use branchpoint_sim::examples::examples;
use branchpoint_sim::real_clock::RealClock;

/// Real commands, and an agent that answers from a script.
struct Rehearsal {
    local: Local,
    script: Mutex<Script>,
}

impl Runner for Rehearsal {
    fn perform<'c>(&'c self, call: &'c Call, cancel: &'c CancellationToken) -> AnswerFuture<'c> {
        Box::pin(async {
            let prepared = match call.prepare(&no_secrets()) {
                Ok(prepared) => prepared,
                Err(answer) => return answer,
            };
            let answer = self.local.perform(&prepared, cancel).await;
            answer.unwrap_or_else(|| self.script.lock().unwrap().simulate(call).answer)
        })
    }

    fn fact(&self, name: &str) -> Value {
        if name == "user_attached" { Value::Bool(false) } else { Value::Null }
    }
}

struct Folder<'f>(&'f Path);

impl Library for Folder<'_> {
    fn workflow(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join(format!("{name}.yaml"))).ok()
    }
}

/// The summary of a run with real commands in its own directory.
fn summary(path: &Path) -> String {
    let source = fs::read_to_string(path).unwrap();
    let loaded = load_from(&source, None, &Folder(path.parent().unwrap()));
    let shown = render_terminal(&loaded.diagnostics, &source, &path.display().to_string(), false);
    assert!(loaded.diagnostics.is_empty(), "{shown}");
    let program = loaded.program.expect("a document without findings has a program");
    let script = fs::read_to_string(path.with_extension("script.yaml")).expect("each example has a script");
    let script = Script::read(&read(&script).expect("the script is YAML").to_value()).expect("the script is valid");
    let dir = std::env::temp_dir().join(format!("branchpoint-example-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let local = Local { shell: Some("/bin/sh".into()), ..Local::new(&dir) };
    let outside = Arc::new(Rehearsal { local, script: Mutex::new(script) });
    let live = RealClock { root: &program, children: &loaded.children, file: None, crashing: false };
    let ran = live.run(Value::Null, &outside);
    fs::remove_dir_all(&dir).unwrap();
    let mut lines = Vec::new();
    for note in &ran.notes {
        let id = |step: StepId| &program.steps[step.index()].id;
        match &note.kind {
            NoteKind::Began(step, _) => lines.push(id(*step).to_string()),
            NoteKind::Branch(step, to) => lines.push(format!("  {} -> {to}", id(*step))),
            NoteKind::Failed(step, error) => {
                lines.push(format!("  {} failed: {}", id(*step), error.get("kind").unwrap()));
            }
            _ => {}
        }
    }
    for key in ["status", "message", "exit_code"] {
        lines.push(format!("{key}: {:?}", ran.result.get(key).cloned().unwrap_or_default()));
    }
    lines.join("\n")
}

#[test]
fn state_machines_end_as_recorded() {
    let examples = examples("machine");
    assert!(examples.len() >= 9, "only {} examples were found", examples.len());
    for path in examples {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("machine-{name}"), summary(&path));
    }
}
