//! Runs that continue on a changed program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use branchpoint_core::codec::{decode_event, decode_program, encode_state};
use branchpoint_core::ir::Program;
use branchpoint_core::{
    ApprovalKey, Cause, Command, Continued, Difference, Event, Fold, JournalRow, RESUME, Revision, State, TimerUse,
    advance, approvals, continue_on,
};
use branchpoint_dialects::{LoadOptions, load_with, read};
use branchpoint_expr::{Dialect, Object, Value, instant_ms};
use branchpoint_host::{Script, SimulatedAnswer, VirtualDriver};
use branchpoint_runners::{Answer, Call};
use branchpoint_sim::examples::examples;
use branchpoint_sim::journal::Journal;
use branchpoint_sim::rng::Rng;

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

/// A call by its step, its positions, its count and its attempt.
type Key = (String, Vec<u32>, usize, u32);

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
        ]
    }
}

/// The recorded answers of a run: results of calls, and votes by step.
#[derive(Clone, Default)]
struct Answers {
    results: BTreeMap<Key, Answer>,
    votes: BTreeMap<String, Vec<(String, String)>>,
}

/// What a run does with recorded answers, until it needs others.
#[derive(Debug, Default, PartialEq)]
struct Observed {
    /// The inputs of all calls.
    calls: BTreeMap<Key, Value>,
    /// The calls without a recorded result.
    pending: BTreeSet<Key>,
    approvals: BTreeSet<String>,
    result: Option<Value>,
}

/// Runs a program from its start, with the host and with recorded answers.
fn observe(kind: &Kind, program: &Program, answers: &Answers) -> Observed {
    let mut driver = VirtualDriver::new(program, instant_ms(NOW).expect("a time"));
    let mut observed = Observed::default();
    let mut votes = answers.votes.clone();
    if driver.start(kind.input.clone(), kind.facts.clone()).is_err() {
        return observed;
    }
    let mut effects: BTreeMap<(String, Vec<u32>), Vec<u64>> = BTreeMap::new();
    loop {
        driver.run_until_idle(&mut |call| {
            let place = (call.name().to_string(), call.path.clone());
            let known = effects.entry(place.clone()).or_default();
            if !known.contains(&call.effect.0) {
                known.push(call.effect.0);
            }
            let count = known.iter().position(|effect| *effect == call.effect.0).unwrap_or_default() + 1;
            let key = (place.0, place.1, count, call.attempt);
            observed.calls.insert(key.clone(), call.input.clone());
            if let Some(answer) = answers.results.get(&key) {
                answer.clone().into()
            } else {
                observed.pending.insert(key);
                let missing: SimulatedAnswer = Answer::Missing.into();
                SimulatedAnswer { is_missing: true, ..missing }
            }
        });
        let open = driver.approvals();
        let voted = open.iter().find_map(|approval| {
            let left = votes.get_mut(&*approval.step).filter(|left| !left.is_empty())?;
            Some((approval.key.clone(), left.remove(0)))
        });
        let Some((key, (user, choice))) = voted else {
            observed.approvals = open.iter().map(|approval| approval.step.to_string()).collect();
            break;
        };
        // A vote that the changed workflow rejects is void.
        let _ = driver.answer(&key, Some(&user), &Value::from(choice), None);
    }
    observed.result = driver.result().cloned();
    observed
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

fn is_retrying(state: &State) -> bool {
    state.timers().any(|(timer, _)| state.timer_use(timer) == Some(TimerUse::Retry))
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
    for _ in 0..20 {
        let Some(open) = driver.approvals().into_iter().next() else { break };
        let choice = match open.key {
            ApprovalKey::Request(_) => script.approval_answer(&open.step, "", &[], &open.spec),
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

/// The answers in a journal, read without the code under test.
fn recorded(program: &Program, journal: &[JournalRow]) -> Answers {
    let mut answers = Answers::default();
    let (mut effects, mut counts, mut steps) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut state = State::new();
    for (stamp, event, _) in journal {
        match event {
            Event::Settled { effect, attempt, result, usage } => {
                let (step, path, count): (String, Vec<u32>, usize) = Clone::clone(&effects[effect]);
                let answer = Answer::Judged { result: result.clone(), usage: *usage };
                answers.results.insert((step, path, count, *attempt), answer);
            }
            Event::Signal { name, payload, sender, .. } if &**name == "vote" => {
                let request = payload.get("request").cloned().unwrap_or_default().to_string();
                let step: &String = &steps[&request];
                let choice = payload.get("choice").and_then(Value::as_str).unwrap_or_default().to_owned();
                answers
                    .votes
                    .entry(step.clone())
                    .or_default()
                    .push((sender.as_deref().unwrap_or_default().to_owned(), choice));
            }
            Event::Signal { name, payload, sender, .. } if &**name == RESUME => {
                let text = |key: &str| payload.get(key).map(Value::to_string).unwrap_or_default();
                let vote = (sender.as_deref().unwrap_or_default().to_owned(), text("input"));
                answers.votes.entry(text("id")).or_default().push(vote);
            }
            _ => {}
        }
        let outcome = advance(program, &mut state, stamp, event.clone()).expect("it folds");
        for command in outcome.commands {
            match command {
                Command::Perform { effect, attempt: 1, effect_id, path, .. } => {
                    let definition = &program.effects[effect_id.0 as usize];
                    let step = definition.step.map_or_else(
                        || definition.kind.as_str().to_owned(),
                        |step| program.steps[step.0 as usize].id.to_string(),
                    );
                    let count: &mut usize = counts.entry((step.clone(), path.clone())).or_default();
                    *count += 1;
                    effects.insert(effect, (step, path, *count));
                }
                Command::Ask { request, spec } => {
                    let step = spec.get("step").and_then(Value::as_str).unwrap_or_default().to_owned();
                    steps.insert(request.0.to_string(), step);
                }
                _ => {}
            }
        }
    }
    answers
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
            let mut answers = recorded(&example.program, &rows);
            let replayed = continued(&example.program, &new, rows);
            let context = || {
                format!(
                    "{} after event {count}: {}",
                    example.name,
                    serde_json::to_string(&document).unwrap_or_default()
                )
            };
            match replayed {
                // The host of the fresh run lets the pauses before retries pass by itself.
                Ok(continued) if is_retrying(&continued.state) => {}
                Ok(continued) => {
                    continued_count += 1;
                    for (approval, _) in &continued.void_votes {
                        answers.votes.remove(&*approval.step);
                    }
                    let fresh = observe(kind, &new, &answers);
                    assert_eq!(
                        continued.state.result().map(|(_, result)| result),
                        fresh.result.as_ref(),
                        "{}",
                        context()
                    );
                    let steps = |pending: &BTreeSet<Key>| -> BTreeSet<(String, Vec<u32>)> {
                        pending.iter().map(|(step, path, ..)| (step.clone(), path.clone())).collect()
                    };
                    let pending = continued.pending.effects.values().filter_map(|command| match command {
                        Command::Perform { effect_id, path, .. } => {
                            let step = new.effects[effect_id.0 as usize].step?;
                            Some((new.steps[step.0 as usize].id.to_string(), path.clone()))
                        }
                        _ => None,
                    });
                    assert_eq!(pending.collect::<BTreeSet<_>>(), steps(&fresh.pending), "{}", context());
                    let specs = continued.pending.requests.iter().map(|(request, (spec, _))| (*request, spec.clone()));
                    let open = approvals(&new, &continued.state, &specs.collect());
                    let approvals: BTreeSet<String> = open.iter().map(|approval| approval.step.to_string()).collect();
                    assert_eq!(approvals, fresh.approvals, "{}", context());
                }
                Err(difference) => {
                    refused_count += 1;
                    let (old, fresh) = (observe(kind, &example.program, &answers), observe(kind, &new, &answers));
                    let key = |observed: &Observed| {
                        let at = &difference.at;
                        let calls = observed.calls.iter().find(|((step, path, count, _), _)| {
                            **step == *at.step && *path == at.path && *count == at.count as usize
                        });
                        calls.map(|(_, input)| input.clone())
                    };
                    match &difference.cause {
                        // The fixed fields of the request are not a part of its input.
                        Cause::OtherRequest { fields } => {
                            assert!(key(&fresh).is_some() && !fields.is_empty(), "{difference}: {}", context());
                        }
                        Cause::NotCalled { .. } => {
                            assert!(key(&old).is_some(), "{difference}: {}", context());
                            assert!(key(&fresh).is_none() || fresh.calls != old.calls, "{difference}: {}", context());
                        }
                        Cause::OpenAgain => assert!(!example.program.has_meaning_of(&new), "{difference}"),
                        cause => panic!("{cause:?}: {}", context()),
                    }
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
