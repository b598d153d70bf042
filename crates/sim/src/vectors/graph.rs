//! Runs `graph-runs.json`: loading, running, answering, and the preflight of an editor.

mod agents;

use branchpoint_core::ir::Program;
use branchpoint_core::{RESUME, resume_rejection};
use branchpoint_dialects::{load, preflight};
use branchpoint_expr::{Diagnostic, Dialect, Object, Severity, Value};
use branchpoint_host::VirtualDriver;

use super::{Failure, Verdict, compare, hosting, name, object};
use agents::Agents;

pub(super) fn run(vector: &Value) -> Verdict {
    let (expected, got) = run_vector(vector);
    let expected = expected.as_object().cloned().unwrap_or_default();
    let wrong = expected.iter().filter(|(key, value)| !got.get(key).is_some_and(|came| compare::same(value, came)));
    let wrong: Vec<_> = wrong.map(|(key, value)| format!("{key}: {value:?}, got {:?}", got.get(key))).collect();
    let failure = (!wrong.is_empty()).then(|| Failure { expected: wrong.join("; "), got: format!("{got:?}") });
    Verdict { name: name(vector), failure }
}

/// The expected and the actual result, with the same keys.
fn run_vector(vector: &Value) -> (Value, Value) {
    let source = format!("{:?}", vector.get("graph").cloned().unwrap_or_default());
    let mut expected = vector.get("expect").and_then(Value::as_object).cloned().unwrap_or_default();
    let wanted_kind = expected.get("error_kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = preflight(&source).first().map_or(Value::Null, |finding| Value::from(finding.kind.as_str()));
    if vector.get("mode").and_then(Value::as_str) == Some("preflight") {
        let got =
            object([("status", Value::from("rejected")), ("error_kind", first), ("visited", Value::from(vec![]))]);
        return (Value::from(expected), got);
    }
    expected.extend(vector.get("preflight").map(|kind| ("preflight".into(), kind.clone())));
    let loaded = load(&source, Some(Dialect::Graph));
    let mut got = match &loaded.program {
        Some(program) => Run::new(program, vector).run_vector(vector),
        None => rejected(&loaded.diagnostics, &wanted_kind),
    };
    got.insert("preflight".into(), first);
    (Value::from(expected), Value::from(got))
}

/// The result of a rejected graph: the expected code if it is among the findings, else all findings.
fn rejected(findings: &[Diagnostic], wanted: &str) -> Object {
    let mut errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let among = errors.any(|finding| finding.kind.as_str() == wanted);
    let kind = if among { wanted.to_owned() } else { format!("{findings:?}") };
    let rejected =
        [("status", Value::from("rejected")), ("error_kind", Value::from(kind)), ("visited", Value::from(vec![]))];
    rejected.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

struct Run<'p> {
    host: VirtualDriver<'p>,
    agents: Agents,
    trace: Vec<Value>,
}

impl<'p> Run<'p> {
    fn new(program: &'p Program, vector: &Value) -> Self {
        Self { host: hosting::driver(program, 0), agents: Agents::read(vector), trace: Vec::new() }
    }

    /// Runs the graph, sends the answers one after the other, and returns the result in the format of the vectors.
    fn run_vector(mut self, vector: &Value) -> Object {
        let rejection = self.host.start(Value::Null, Object::default()).err().map(|_| "not_started");
        self.host.run_until_idle(&mut |call| self.agents.simulate(call));
        self.record_state("run".to_owned(), rejection);
        let answers = vector.get("resume").and_then(Value::as_list).unwrap_or_default();
        for (index, answer) in answers.iter().enumerate() {
            if vector.get("restore_between_resumes") == Some(&Value::Bool(true)) {
                self.host.reload();
            }
            let rejection = self.answer(answer);
            self.record_state(format!("resume[{index}]"), rejection);
        }
        let problem = hosting::exchange_problem(&self.host);
        let mut summary = self.summary();
        if let Some(problem) = problem {
            summary.insert("status".into(), Value::from(problem));
        }
        summary
    }

    fn answer(&mut self, answer: &Value) -> Option<&'static str> {
        let payload = match answer.get("$for") {
            Some(id) => object([("id", id.clone()), ("input", answer.get("input").cloned().unwrap_or_default())]),
            None => object([("input", answer.clone())]),
        };
        let rejection = self.host.signal(RESUME, payload.clone(), None).err();
        let code = rejection.map(|rejected| resume_rejection(&rejected, &payload, &self.host.approvals()));
        self.host.run_until_idle(&mut |call| self.agents.simulate(call));
        code
    }

    fn result(&self) -> Value {
        self.host.result().cloned().or_else(|| self.host.view("result")).unwrap_or_default()
    }

    fn part(&self, key: &str) -> Value {
        self.result().get(key).cloned().unwrap_or_default()
    }

    fn record_state(&mut self, after: String, rejection: Option<&str>) {
        let keys = ["status", "waitingForInput", "currentNodeId", "waiting"];
        let mut entry: Object = [("after".into(), Value::from(after))].into_iter().collect();
        entry.extend(keys.map(|key| (key.into(), self.part(key))));
        entry.extend(rejection.map(|code| ("refused".into(), Value::from(code))));
        self.trace.push(Value::from(entry));
    }

    fn summary(self) -> Object {
        let logs = self.part("logs");
        let logs = logs.as_list().unwrap_or_default();
        let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut visited: Vec<Value> = Vec::new();
        for entry in logs {
            let node = Value::from(text(entry, "nodeId"));
            let kind = text(entry, "type");
            if kind == "step_start" || kind == "wait_input" && !visited.contains(&node) {
                visited.push(node);
            }
        }
        let sequence =
            logs.iter().map(|entry| Value::from(format!("{}@{}", text(entry, "type"), text(entry, "nodeId"))));
        let sequence: Vec<_> = sequence.collect();
        let mut summary: Object = ["status", "waitingForInput", "currentNodeId", "state", "deferred"]
            .into_iter()
            .map(|key| (key.into(), self.part(key)))
            .collect();
        let kind = self.part("error").get("kind").cloned().unwrap_or_default();
        summary.extend([
            ("error_kind".into(), kind),
            ("visited".into(), Value::from(visited)),
            ("log_seq".into(), Value::from(sequence)),
        ]);
        summary.extend([("prompts".into(), self.agents.prompts()), ("invocations".into(), self.agents.invocations())]);
        summary.insert("trace".into(), Value::from(self.trace));
        summary
    }
}
