//! Runs that continue on a changed program.

mod fresh_run;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_core::codec::{decode_event, decode_program, encode_state};
use branchpoint_core::ir::Program;
use branchpoint_core::{
    ApprovalKey, Cause, Command, Continued, Difference, Fold, JournalRow, Revision, State, approvals, continue_on,
};
use branchpoint_dialects::{LoadOptions, load_with, read};
use branchpoint_expr::{Dialect, Object, Value, instant_ms};
use branchpoint_host::{Script, SimulatedAnswer, VirtualDriver};
use branchpoint_runners::Call;
use branchpoint_sim::examples::examples;
use branchpoint_sim::journal::Journal;
use branchpoint_sim::rng::Rng;
use fresh_run::{FreshRun, Key, Recording};

fn golden() -> Vec<(String, Program, Vec<JournalRow>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/semantics-1");
    let mut journals: Vec<_> = fs::read_dir(folder)
        .expect("the journals are there")
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let journal = Journal::parse(&fs::read_to_string(&path).expect("it can be read")).expect("it is a journal");
            let program = decode_program(&journal.program).expect("it is a program");
            let row = |(bytes, check): &(Vec<u8>, u32)| {
                let (stamp, event) = decode_event(bytes).expect("it is an event");
                (stamp, event, *check)
            };
            (path.display().to_string(), program, journal.rows.iter().map(row).collect())
        })
        .collect();
    journals.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    assert!(journals.len() >= 40, "there are {} journals", journals.len());
    journals
}

fn continued(old: &Program, new: &Program, rows: Vec<JournalRow>) -> Result<Continued, Difference> {
    let revision =
        Revision { old, new, offsets_s: &|_, _| Vec::new(), fact: &|_| Value::Null, has_same_child: &|_, _| true };
    continue_on(&revision, rows)
}

#[test]
fn continuing_on_the_same_program_changes_nothing_at_any_moment() {
    for (name, program, rows) in golden() {
        for count in 1..=rows.len() {
            let part = rows[..count].to_vec();
            let mut fold = Fold::new(&program, State::new(), part.clone());
            fold.by_ref().for_each(|folded| drop(folded.expect("it folds")));
            let (state, pending) = fold.into_parts();
            let continued =
                continued(&program, &program, part.clone()).unwrap_or_else(|error| panic!("{name}, {count}: {error}"));
            assert_eq!(continued.rows, part, "{name}, {count}");
            assert_eq!(encode_state(&continued.state), encode_state(&state), "{name}, {count}");
            assert_eq!(continued.pending, pending, "{name}, {count}");
            assert!(continued.new_calls.is_empty() && continued.void_votes.is_empty(), "{name}, {count}");
            assert_eq!(continued.waiting[0], continued.waiting[1], "{name}, {count}");
        }
    }
}

/// When the examples begin.
const NOW: &str = "2026-02-18T12:00:00Z";

/// A dialect whose examples are edited, and how its runs start.
#[derive(Clone, Debug)]
struct Kind {
    dialect: Dialect,
    folder: &'static str,
    input: Value,
    facts: Object,
    /// The random edits of each example.
    edits: usize,
}

impl Kind {
    fn all() -> Vec<Self> {
        let kind =
            |dialect, folder, edits| Self { dialect, folder, input: Value::Null, facts: Object::default(), edits };
        vec![
            Self { input: Value::from("a long enough input"), facts: facts(), ..kind(Dialect::Steps, "steps", 14) },
            kind(Dialect::Flow, "flow", 30),
            kind(Dialect::Machine, "machine", 14),
            kind(Dialect::Graph, "graph", 40),
        ]
    }
}

fn facts() -> Object {
    let value = |text: &str| read(text).expect("it is YAML").to_value();
    let facts = [
        ("metadata", value("{email: bob@example.com, plan: basic}")),
        ("content_type", Value::from("text/plain")),
        ("account", value("{owner: u1, admins: [u2]}")),
        ("attachments", value("{input: []}")),
    ];
    facts.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

/// Removes, swaps or changes something at random.
fn edit(value: &Value, rng: &mut Rng) -> Value {
    match value {
        Value::Object(_) => {
            let fields: Vec<_> = value.as_object().into_iter().flatten().collect();
            let chosen = rng.index(fields.len().max(1));
            let removes = rng.below(12) == 0;
            let edited = fields.iter().enumerate().filter(|(at, _)| !(removes && *at == chosen));
            let edited = edited.map(|(at, (key, value))| {
                let value = if at == chosen { edit(value, rng) } else { (*value).clone() };
                ((*key).clone(), value)
            });
            Value::from(edited.collect::<Object>())
        }
        Value::List(_) => {
            let mut items = value.as_list().unwrap_or_default().to_vec();
            let chosen = rng.index(items.len().max(1));
            match rng.below(6) {
                0 if !items.is_empty() => drop(items.remove(chosen)),
                1 if items.len() > 1 => items.rotate_left(chosen),
                _ if !items.is_empty() => items[chosen] = edit(&items[chosen], rng),
                _ => {}
            }
            Value::from(items)
        }
        Value::Str(text) => Value::from(format!("{text} x")),
        Value::Int(number) => Value::Int(number + 1),
        Value::Bool(flag) => Value::Bool(!flag),
        other => other.clone(),
    }
}

struct Example {
    name: String,
    document: Value,
    scripted: BTreeSet<String>,
    program: Program,
    journal: Vec<JournalRow>,
}

fn load(kind: &Kind, document: &Value, scripted: &BTreeSet<String>) -> Option<Program> {
    let text = serde_json::to_string(document).expect("a document is JSON");
    let options = LoadOptions { dialect: Some(kind.dialect), scripted: scripted.clone(), ..LoadOptions::default() };
    load_with(&text, &options).program
}

/// What a call gets: an entry of the script, or that of a command that succeeds.
fn answer(script: &mut Script, call: &Call) -> SimulatedAnswer {
    let answer = script.simulate(call);
    if !answer.is_missing {
        return answer;
    }
    let entry = read("[{$exit: 0, stdout: ok}]").expect("it is YAML").to_value();
    let by_name: Object = [(call.name().to_string().into(), entry)].into_iter().collect();
    Script::read(&Value::from(by_name)).expect("a script").simulate(call)
}

/// An example that ran with its script until it ended or waited for an answer that is not in the script.
fn example(kind: &Kind, path: &Path) -> Example {
    let text = |path: &Path| fs::read_to_string(path).expect("the example can be read");
    let script = read(&text(&path.with_extension("script.yaml"))).expect("a script").to_value();
    // The script of a graph has the answers of its agents in one field.
    let script = script.get("agents").cloned().unwrap_or(script);
    let scripted: BTreeSet<String> = script.as_object().expect("an object").keys().map(ToString::to_string).collect();
    let document = read(&text(path)).expect("a document").to_value();
    let program = load(kind, &document, &scripted).expect("the example is valid");
    let mut script = Script::read(&script).expect("a script");
    let mut driver = VirtualDriver::new(&program, instant_ms(NOW).expect("a time"));
    driver.start(kind.input.clone(), kind.facts.clone()).expect("it starts");
    driver.run_until_idle(&mut |call| answer(&mut script, call));
    for round in 0..20 {
        let Some(open) = driver.approvals().into_iter().next() else { break };
        let choice = match open.key {
            ApprovalKey::Request(_) => script.approval_answer(&open.step, "", &[], &open.spec),
            // Approvals of a graph are open together, and some of them lead on only when they are rejected.
            ApprovalKey::Step(_) if kind.dialect == Dialect::Graph && round % 2 == 1 => Some("reject".into()),
            ApprovalKey::Step(_) => Some("approve".into()),
            ApprovalKey::Line => None,
        };
        let Some(choice) = choice else { break };
        driver.answer(&open.key, Some("u1"), &choice.to_string().into(), None).expect("u1 may vote");
        driver.run_until_idle(&mut |call| answer(&mut script, call));
    }
    let journal = driver.journal();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Example { name, document, scripted, program, journal }
}

#[test]
fn random_edits_continue_like_a_fresh_run_or_are_refused_for_a_true_reason() {
    for kind in Kind::all() {
        edit_examples(&kind);
    }
}

fn edit_examples(kind: &Kind) {
    let mut rng = Rng::new(19);
    let (mut continued_count, mut refused_count) = (0, 0);
    for path in examples(kind.folder) {
        let example = example(kind, &path);
        for _ in 0..kind.edits {
            let document = edit(&example.document, &mut rng);
            let Some(new) = load(kind, &document, &example.scripted) else { continue };
            let count = 1 + rng.index(example.journal.len());
            let rows = example.journal[..count].to_vec();
            let recording = Recording::read(&example.program, &rows);
            let replayed = continued(&example.program, &new, rows);
            let context = format!(
                "{} after event {count}: {}",
                example.name,
                serde_json::to_string(&document).unwrap_or_default()
            );
            match replayed {
                Ok(continued) => {
                    continued_count += 1;
                    assert_continues_like_a_fresh_run(&continued, &new, recording, &context);
                }
                Err(difference) => {
                    refused_count += 1;
                    let runs = [&example.program, &new].map(|program| FreshRun::new(program, &recording));
                    assert_true(&difference, &runs, example.program.has_meaning_of(&new), &context);
                }
            }
        }
    }
    println!("{}: {continued_count} continued, {refused_count} were refused", kind.folder);
    assert!(
        continued_count >= 20 && refused_count >= 2,
        "{}: {continued_count} continued, {refused_count} were refused",
        kind.folder
    );
}

/// The continued run must be where a fresh run of the new program is after the same answers.
fn assert_continues_like_a_fresh_run(continued: &Continued, new: &Program, recording: Recording, context: &str) {
    let void = continued.void_votes.iter().map(|(approval, _)| &*approval.step);
    let fresh = FreshRun::new(new, &recording.without_votes(void));
    assert_eq!(continued.state.result().map(|(_, result)| result), fresh.result(), "{context}");
    let pending = continued.pending.effects.values().filter_map(|command| match command {
        Command::Perform { effect_id, path, .. } => {
            let step = new.effects[effect_id.0 as usize].step?;
            Some((new.steps[step.0 as usize].id.to_string(), path.clone()))
        }
        _ => None,
    });
    assert_eq!(pending.collect::<BTreeSet<_>>(), fresh.pending(), "{context}");
    let specs = continued.pending.requests.iter().map(|(request, (spec, _))| (*request, spec.clone()));
    let open = approvals(new, &continued.state, &specs.collect());
    let approvals: BTreeSet<String> = open.iter().map(|approval| approval.step.to_string()).collect();
    assert_eq!(approvals, fresh.approvals(), "{context}");
}

/// The reason of a refusal must be a difference between runs of the old and of the new program with the same answers.
fn assert_true(difference: &Difference, [old, fresh]: &[FreshRun<'_>; 2], is_same_program: bool, context: &str) {
    let has_called = |run: &FreshRun<'_>| {
        let at = &difference.at;
        let is_it =
            |(step, path, count, _): &Key| **step == *at.step && *path == at.path && *count == at.count as usize;
        run.calls.keys().any(is_it) || run.asked.contains(&*at.step)
    };
    match &difference.cause {
        // The fixed fields of the request are not a part of its input.
        Cause::OtherRequest { fields } => {
            assert!(has_called(fresh) && !fields.is_empty(), "{difference}: {context}");
        }
        Cause::NotCalled { .. } => {
            assert!(has_called(old), "{difference}: {context}");
            assert!(!has_called(fresh) || fresh.calls != old.calls, "{difference}: {context}");
        }
        Cause::OpenAgain => assert!(!is_same_program, "{difference}: {context}"),
        Cause::Signal { .. } => assert!(fresh.rejected_votes > 0, "{difference}: {context}"),
        cause => panic!("{cause:?}: {context}"),
    }
}
