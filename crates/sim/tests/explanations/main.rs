//! For every kind of decision: a small document, the events of its run, and the explanation as text and as JSON.
//!
//! A snapshot is accepted only after someone has read it and found it right and readable.

mod flow;
mod graph;
mod machine;
mod machine_edges;
mod session;
mod steps;
mod steps_edges;

use std::fmt::Write;

use branchpoint_core::ir::{Index, Program, Status};
use branchpoint_core::{DecisionRecord, RequestNo, StepRecord, StepStatus, steps};
use branchpoint_dialects::{LoadOptions, load_with, read};
use branchpoint_expr::{Dialect, Object, Part, Value};
use branchpoint_host::{Script, VirtualDriver};

/// An action in a run after its start.
enum Then {
    /// Someone votes on the only open request: user, choice, comment.
    Vote(&'static str, &'static str, Option<&'static str>),
    /// An operator cancels the only open request.
    CancelRequest(&'static str),
    /// Someone sends a signal: name, payload as JSON, sender.
    Signal(&'static str, &'static str, Option<&'static str>),
    /// The clock advances by some milliseconds.
    Wait(i64),
    /// The user sends a line.
    Line(&'static str),
}

/// A document and everything that its run depends on.
struct Case<'c> {
    dialect: Dialect,
    document: &'c str,
    /// JSON.
    input: &'c str,
    /// JSON: the answers to calls.
    script: &'c str,
    /// JSON: the facts at the start.
    facts: &'c str,
    then: &'c [Then],
}

/// The records of a run.
struct Explained {
    program: Program,
    records: Vec<StepRecord>,
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

impl Case<'_> {
    #[track_caller]
    fn run(&self) -> Explained {
        let script = read(self.script).expect("the script can be read").to_value();
        let scripted = script.as_object().expect("a script is an object").keys().map(ToString::to_string).collect();
        let options = LoadOptions { dialect: Some(self.dialect), scripted, ..LoadOptions::default() };
        let loaded = load_with(self.document, &options);
        let program: Program = loaded.program.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        self.run_program(program)
    }

    /// Runs a program in place of the document.
    #[track_caller]
    fn run_program(&self, program: Program) -> Explained {
        let script = read(self.script).expect("the script can be read").to_value();
        let mut facts: Object = program.facts.iter().map(|fact| (fact.clone(), Value::Null)).collect();
        facts.extend(value(self.facts).as_object().expect("facts are an object").clone());
        let mut host = VirtualDriver::new(&program, 0);
        let mut script = Script::read(&script).expect("the script is valid");
        host.start(value(self.input), facts).expect("the run starts");
        host.run_until_idle(&mut |call| script.simulate(call));
        for then in self.then {
            let request = || -> RequestNo { host.requested_approvals().last().expect("a request is open").request };
            match then {
                Then::Vote(user, choice, comment) => {
                    host.vote(request(), user, choice, *comment).expect("the vote is accepted");
                }
                Then::CancelRequest(reason) => {
                    host.cancel_request(request(), Some(reason)).expect("the request is cancelled");
                }
                Then::Signal(name, payload, sender) => {
                    host.signal(name, value(payload), *sender).expect("the signal is accepted");
                }
                Then::Wait(ms) => host.advance_clock(*ms, &mut |call| script.simulate(call)),
                Then::Line(line) => host.signal("line", (*line).into(), None).expect("the run waits for a line"),
            }
            host.run_until_idle(&mut |call| script.simulate(call));
        }
        let status = host.status();
        assert_ne!(status, Status::Running, "the run is idle");
        let records = steps(&program, host.notes(), status);
        drop(host);
        Explained { program, records }
    }
}

impl Explained {
    /// Every decision in order, as text for a terminal.
    fn text(&self) -> String {
        let mut text = String::new();
        for (record, decided) in self.decisions() {
            let rounds = record.iterations.iter().map(|round| {
                let item = round.item.as_ref().map(|item| format!(" = {item:?}")).unwrap_or_default();
                format!("{}[{}]{item}", self.program.steps[round.step.index()].id, round.index)
            });
            let rounds: Vec<String> = rounds.collect();
            if !rounds.is_empty() {
                let _ = writeln!(text, "in {}", rounds.join(", "));
            }
            text += &decided.to_text(&self.program, "doc.yaml", &());
            text += "\n";
        }
        text
    }

    /// Every decision in order, as JSON.
    fn json(&self) -> String {
        let decisions: Vec<Value> = self.decisions().map(|(_, decided)| decided.to_value(&self.program, &())).collect();
        serde_json::to_string_pretty(&Value::from(decisions)).expect("a value can be written")
    }

    /// Every step record in order: its loops and items, and its attempts with their times and errors.
    fn records(&self) -> String {
        let mut text = String::new();
        for record in &self.records {
            let rounds = record.iterations.iter().map(|round| round.to_value(&self.program, &()).to_string());
            let rounds: Vec<String> = rounds.collect();
            let step = &self.program.steps[record.step.index()].id;
            let _ = writeln!(text, "{step}: {:?}, iterations [{}]", record.status, rounds.join(", "));
            for attempt in &record.attempts {
                let error = attempt.error.as_ref().map_or("no error".to_owned(), ToString::to_string);
                let ended = attempt.ended_ms.map_or("not ended".to_owned(), |ms| format!("{ms} ms"));
                let _ = writeln!(text, "  attempt {} ms to {ended}: {error}", attempt.began_ms);
            }
        }
        text
    }

    fn decisions(&self) -> impl Iterator<Item = (&StepRecord, &DecisionRecord)> {
        self.records.iter().flat_map(|record| record.decisions.iter().map(move |decided| (record, decided)))
    }
}

/// Checks the rules that every explanation follows.
#[track_caller]
fn check_rules(explained: &Explained) {
    let text = explained.text();
    assert!(!text.contains("this part") && !text.contains("not looked at"), "{text}");
    for (record, decided) in explained.decisions() {
        assert!(!decided.branches.is_empty(), "every branch is listed");
        assert!(!decided.sentence().to_string().is_empty(), "every decision says why");
        assert!(!matches!(record.status, StepStatus::Completed) || record.ended_ms.is_some());
        for explanation in decided.branches.iter().filter_map(|branch| branch.explanation.as_ref()) {
            check_tree(&explanation.tree);
        }
        for attempt in &record.attempts {
            assert!(attempt.ended_ms.is_some() || record.ended_ms.is_none(), "an attempt of an ended step has ended");
        }
    }
}

/// Checks that no part inside an unevaluated part was evaluated.
#[track_caller]
fn check_tree(part: &Part) {
    for child in &part.children {
        assert!(part.times > 0 || child.times == 0, "{} in {}", child.text, part.text);
        check_tree(child);
    }
}
