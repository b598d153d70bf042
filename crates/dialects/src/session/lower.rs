//! A session as a program: one strand that waits for an event, evaluates the steps, and waits again.
//!
//! An event may need the steps evaluated more than once, and a chat turn continues at another place than a report. So evaluation is
//! a subroutine with its return in slots: `after` is whether a tool is still to be recorded, `back` is the caller.

mod chat;
mod evaluate;
mod personas;

use std::sync::Arc;

use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{Arm, OnEarly, PlaceId, Program, Status, Write};
use branchpoint_expr::{Dialect, Object, Span, Value};

use super::raw::{Agent, Step};
use crate::lowering::{self, Names, object};
use crate::report::{Report, unlowered};

/// The number of tool uses that a session stores.
const HISTORY: usize = 100;

/// The program of an agent, unless a condition does not compile.
pub(super) fn lower(agent: &Agent<'_>, span: Span, report: &mut Report) -> Option<Program> {
    let mut lower = Lower::new(agent);
    let first = lower.start();
    lower.rest();
    lower.record();
    lower.evaluate(report);
    lower.views();
    lower.b.begin(ROOT, &[first]);
    report.findings.extend_from_slice(lower.b.warnings());
    if report.findings.iter().any(|finding| finding.severity == branchpoint_expr::Severity::Error) {
        return None;
    }
    lower.b.finish().map_err(|wrong| report.findings.push(unlowered(&wrong, span))).ok()
}

type Lower<'a, 'd> = lowering::Lower<Session<'a, 'd>>;

struct Session<'a, 'd> {
    agent: &'a Agent<'d>,
    /// The place that waits for the next event.
    rest: PlaceId,
    /// The place that evaluates the steps.
    evaluate: PlaceId,
    /// The place after the evaluation.
    evaluated: PlaceId,
    /// The place that records a tool use.
    record: PlaceId,
}

impl<'a, 'd> Lower<'a, 'd> {
    fn new(agent: &'a Agent<'d>) -> Self {
        let mut b = Builder::new();
        let empty = || Some(Value::from(Vec::new()));
        let mut slots = Names { values: document_values(agent), ..Names::default() };
        // The input of the session: `{tools, ttl_ms, state}`.
        slots.add("input", b.input());
        // A changed document finds these slots by their names.
        let remembered = [
            // The tools the host gave; none if the template brings its own.
            ("given", None),
            ("ttl_ms", None),
            ("active", None),
            ("history", empty()),
            ("index", Some(Value::Int(0))),
            ("message", None),
            // The active step before the event.
            ("before", None),
            ("why", Some(Value::from("nothing has happened yet"))),
            // Conditions that could not be evaluated during the event, and the latest.
            ("problems", empty()),
            ("problem", None),
            // The payload of the event.
            ("got", None),
            // The tool that is being recorded.
            ("used", None),
            ("after", None),
            ("back", None),
        ];
        slots.add_to_root(&mut b, remembered);
        if agent.template.is_some() {
            slots.add_to_root(&mut b, chat::slots());
        }
        let seen = [("message", "message"), ("tools", "history"), ("step", "active"), ("sequence_index", "index")];
        for (name, slot) in seen {
            b.name(ROOT, &[name], slots[slot]);
        }
        let [rest, evaluate, evaluated, record] = [(); 4].map(|()| b.reserve());
        let session = Session { agent, rest, evaluate, evaluated, record };
        Self { b, slots, grammar: Dialect::Session, error_slot: "error", own: session }
    }

    /// A session may begin with the stored state of an earlier one.
    fn start(&mut self) -> PlaceId {
        let newest = format!("(input.state.recentlyUsedTools ?? [])[-{HISTORY}:]");
        let writes = [
            ("given", "input.tools"),
            ("ttl_ms", "input.ttl_ms"),
            ("active", "input.state.activeStep"),
            ("history", newest.as_str()),
            ("index", "input.state.sequenceIndex ?? 0"),
        ];
        // The limits of the operator that a session was opened with bind its turns.
        let limits = self.own.agent.template.as_ref().map(|_| ("limits", "input.limits"));
        let writes: Vec<Write> = writes.into_iter().chain(limits).map(|(slot, text)| self.store(slot, text)).collect();
        self.b.set(writes, self.own.rest, None)
    }

    /// The only place where a session waits, so that a changed document can be applied there.
    fn rest(&mut self) {
        let payload = self.b.payload();
        let [text, tool] = ["text", "tool"]
            .map(|key| self.test_with(&format!("type(payload.{key}) == 'string'"), &[("payload", payload)], &[]));
        let events = [
            ("message", Some(text), self.on_message()),
            ("tool", Some(tool), self.on_tool()),
            ("ask", None, self.on_ask()),
            ("reset", None, self.on_reset()),
        ];
        let turn = self.own.agent.template.is_some().then(|| ("turn", Some(text), self.on_turn()));
        let into = Some(self.slots["got"]);
        let delay_ms = self.formula("ttl_ms > 0 ? ttl_ms : nil");
        let gone = self.b.value(object([("expired", Value::Bool(true))]));
        let next = self.b.close(Status::Completed, gone);
        // The timer is first because it refers to its arm by position, and a changed document may have other events.
        let mut arms = vec![Arm::After { delay_ms, next }];
        for (name, check, next) in events.into_iter().chain(turn) {
            // An event that comes during a turn is applied after it: none is lost.
            let signal = self.b.signal(name, OnEarly::Keep);
            arms.push(Arm::Signal { signal, check, into, next });
        }
        self.b.at(self.own.rest).rest(arms, None);
    }

    /// Every event begins with empty reports.
    fn begin(&mut self, back: &str) -> Vec<Write> {
        let back = self.b.value(back);
        let before = self.b.read(self.slots["active"]);
        vec![
            Write::Put(self.slots["before"], before),
            Write::Clear(self.slots["problems"]),
            Write::Put(self.slots["back"], back),
            Write::Clear(self.slots["after"]),
        ]
    }

    fn on_message(&mut self) -> PlaceId {
        let mut writes = self.begin("rest");
        writes.push(self.store("message", "got.text"));
        self.b.set(writes, self.own.evaluate, None)
    }

    fn on_tool(&mut self) -> PlaceId {
        let mut writes = self.begin("rest");
        writes.push(self.store("used", "got.tool"));
        let next = self.use_tool();
        self.b.set(writes, next, None)
    }

    /// A tool use counts for the active step, so there must be one first.
    fn use_tool(&mut self) -> PlaceId {
        let evaluate_first = self.assign("after", "'record'", self.own.evaluate);
        let exists = self.test("active in names");
        self.b.decide([(exists, self.own.record)], evaluate_first, None)
    }

    fn on_ask(&mut self) -> PlaceId {
        let writes = self.begin("rest");
        let exists = self.test("active in names");
        let next = self.b.decide([(exists, self.own.rest)], self.own.evaluate, None);
        self.b.set(writes, next, None)
    }

    /// Forgets everything and evaluates, as for a question: without an active step every tool would be offered.
    fn on_reset(&mut self) -> PlaceId {
        let forgotten = ["active", "history", "index", "message"].into_iter();
        let forgotten = forgotten.chain(self.own.agent.template.iter().flat_map(|_| chat::FORGOTTEN));
        let mut writes = self.begin("rest");
        writes.extend(forgotten.map(|slot| Write::Clear(self.slots[slot])));
        writes.push(self.store("why", "'the session was reset'"));
        self.b.set(writes, self.own.evaluate, None)
    }

    /// Every tool is added to the history; if it matches the position of the sequence, the position advances.
    fn record(&mut self) {
        let used = self.formula("used");
        let writes = [
            Write::Clear(self.slots["after"]),
            Write::Push(self.slots["history"], used),
            self.store("history", &format!("len(history) > {HISTORY} ? history[-{HISTORY}:] : history")),
            self.store(
                "index",
                "let sequence = get(rules, active)?.sequence ?? []; \
                 index < len(sequence) && used in sequence[index] ? index + 1 : index",
            ),
        ];
        self.b.at(self.own.record).set(writes, self.own.evaluate, None);
    }

    fn views(&mut self) {
        // Documents without personas have no such field.
        let persona = if personas::any(self.own.agent) { ", persona: get(personas, active)" } else { "" };
        let view = self.formula(&format!(
            "{{activeStep: active, allowedTools: offeredTools(given ?? own, get(rules, active), index), \
             recentlyUsedTools: history, sequenceIndex: index, changed: before != active, why: why{persona}}}"
        ));
        self.b.view("session", view);
        let tools = self.formula("toolStates(given ?? own, rules, active, index)");
        self.b.view("tools", tools);
        let problems = self.b.read(self.slots["problems"]);
        self.b.view("problems", problems);
        let agent = self.b.value(describe(self.own.agent));
        self.b.view("agent", agent);
    }
}

/// Values of the document, by the names that formulas use.
fn document_values(agent: &Agent<'_>) -> Vec<(&'static str, Value)> {
    let texts = |list: &[Arc<str>]| Value::from(list.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let rules = agent.steps.iter().map(|step| {
        let sequence: Vec<_> = step.positions.iter().map(|position| texts(position)).collect();
        let rule =
            [("allowed", texts(&step.allowed)), ("denied", texts(&step.denied)), ("sequence", Value::from(sequence))];
        (step.name.clone(), object(rule))
    });
    let names: Vec<_> = agent.steps.iter().map(|step| step.name.clone()).collect();
    let own = agent.template.as_ref().map_or(&[][..], |template| &template.tools);
    let mut values =
        vec![("names", texts(&names)), ("own", texts(own)), ("rules", Value::from(rules.collect::<Object>()))];
    values.extend(personas::any(agent).then(|| ("personas", personas::all(agent))));
    values.extend(chat::template_values(agent));
    values
}

/// The description of an agent for clients before it runs.
fn describe(agent: &Agent<'_>) -> Value {
    let default = agent.default.map_or(Value::Null, |step| Value::Str(agent.steps[step].name.clone()));
    let steps = Value::from(agent.steps.iter().map(describe_step).collect::<Vec<_>>());
    let tools = Value::from(named_tools(agent).into_iter().map(Value::Str).collect::<Vec<_>>());
    let fields = [("defaultStep", default), ("steps", steps), ("tools", tools)];
    // A template brings its own tools, which replace those that its steps name.
    let mut describe: Object = fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect();
    describe.extend(agent.template.iter().flat_map(chat::describe));
    Value::from(describe)
}

fn describe_step(step: &Step<'_>) -> Value {
    let texts = |list: &[Arc<str>]| Value::from(list.iter().cloned().map(Value::Str).collect::<Vec<_>>());
    let sequence: Vec<_> = step.positions.iter().map(|position| texts(position)).collect();
    object([
        ("name", Value::Str(step.name.clone())),
        ("allowed", texts(&step.allowed)),
        ("denied", texts(&step.denied)),
        ("sequence", Value::from(sequence)),
    ])
}

/// The tools that the steps name in full, in the order of the document: what a client can offer to open a session with.
fn named_tools(agent: &Agent<'_>) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for step in &agent.steps {
        let listed = step.allowed.iter().chain(&step.denied).filter(|pattern| !pattern.contains('*'));
        for name in listed.chain(step.positions.iter().flatten()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}
