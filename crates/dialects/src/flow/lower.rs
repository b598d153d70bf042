//! Lowers a flow to a program. Chains are built from their end, so that the next place of every step is known.
//!
//! The steps share slots of the root: the variables, the data of the step that ends, the error of the step that
//! fails, and intermediate values between two ops. A flow runs in one strand, so there are no concurrent writes.

mod branches;
mod calls;
mod loops;
mod requests;
mod variables;

use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{
    ConditionId, ExprId, Failure, Mark, PlaceId, Program, ScopeId, SlotId, Status, StepId, Write,
};
use branchpoint_expr::{
    Condition, Diagnostic, Dialect, Expression, Kind, Located, Options, Problems, Severity, Span, Value,
};

use super::raw::{Flow, Step, StepKind, Test};
use crate::inputs::DeclaredInputs;
use crate::lowering::{self, Names};
use crate::report::unlowered;

/// The program of a flow, and the findings from compiling its conditions and templates. A flow with errors
/// has no program, but its other problems are still reported.
pub(super) fn lower(flow: &Flow<'_>, span: Span, refused: bool) -> (Option<Program>, Vec<Diagnostic>) {
    let mut lower = Lower::new(flow);
    let end = lower.close(Status::Completed, "COMPLETED", "nil", "nil");
    let error = lower.close(Status::Failed, "ERROR", "nil", "$error");
    let enclosing = Enclosing {
        scope: ROOT,
        fail: error,
        touched: Vec::new(),
        locals: Vec::new(),
        counters: Vec::new(),
        steps: Vec::new(),
    };
    let steps = lower.chain(&flow.steps, &enclosing, end);
    let first = flow.variables.iter().fold(steps, |next, step| lower.step(step, &enclosing, next));
    let first = match &flow.inputs {
        Some(declared) => lower.check_inputs(declared, first),
        None => first,
    };
    let start = lower.start(first, error);
    lower.last_resort();
    lower.b.begin(ROOT, &[start]);
    lower.finish(refused, span)
}

type Lower = lowering::Lower<Steps>;

struct Steps {
    findings: Vec<Diagnostic>,
    flow_id: Value,
    /// Whether loops may lose rounds to errors. The slots `warnings` and `lost` list and count these rounds then.
    loses_rounds: bool,
}

/// The largest number of failed rounds in the warnings of a result; further ones are counted.
const MOST_WARNINGS: usize = 100;

/// The largest number of characters of an error's message in a warning.
const WARNING_CHARS: usize = 1_000;

/// The context of a step.
#[derive(Clone)]
struct Enclosing {
    scope: ScopeId,
    /// The place after a failure of the step is recorded.
    fail: PlaceId,
    /// For each enclosing loop, outermost first: the slot of the variables that were set in its round.
    touched: Vec<SlotId>,
    /// The variables of the enclosing loops, outermost first.
    locals: Vec<(Arc<str>, SlotId)>,
    /// The counter variables among them.
    counters: Vec<Arc<str>>,
    /// The enclosing steps, outermost first.
    steps: Vec<StepId>,
}

impl Enclosing {
    /// The slot of a loop variable that hides the variable of that name.
    fn local(&self, name: &str) -> Option<SlotId> {
        self.locals.iter().rev().find(|(local, _)| &**local == name).map(|(_, slot)| *slot)
    }
}

/// The places after the ops of a step.
#[derive(Clone, Copy)]
struct StepPlaces<'a> {
    enclosing: &'a Enclosing,
    step: StepId,
    /// After its data is set.
    end: PlaceId,
    /// After an error of its own ops.
    fail: Failure,
    /// After a step inside it has failed.
    failed: PlaceId,
}

impl Lower {
    fn new(flow: &Flow<'_>) -> Self {
        let mut b = Builder::new();
        let mut slots = Names::default();
        let shared = [
            // All variables, as an object.
            ("variables", Some(Value::from(branchpoint_expr::Object::default()))),
            // The data of the step that is about to end.
            ("data", Some(Value::Null)),
            // The error of the step that has failed.
            ("error", Some(Value::Null)),
            // Intermediate values of a step between two ops.
            ("work", Some(Value::Null)),
        ];
        slots.add_to_root(&mut b, shared);
        b.name(ROOT, &[], slots["variables"]);
        for step in flow.all() {
            b.step(&step.name, &step.ty, step.parent.map(StepId), (step.span.start, step.span.end));
        }
        let loses_rounds = flow.all().iter().any(|step| matches!(&step.kind, StepKind::Loop(repeat) if !repeat.fails));
        if loses_rounds {
            // A warning for each lost round, as `[{kind, step, round, error, message}]`, and how many there are.
            slots.add_to_root(&mut b, [("warnings", Some(Value::from(Vec::new()))), ("lost", Some(Value::Int(0)))]);
        }
        let flow_id = flow.uuid.clone().map_or(Value::Null, Value::Str);
        let steps = Steps { findings: Vec::new(), flow_id, loses_rounds };
        Self { b, slots, grammar: Dialect::Flow, error_slot: "error", own: steps }
    }

    /// The run inputs are the first variables.
    fn start(&mut self, first: PlaceId, error: PlaceId) -> PlaceId {
        let input = self.b.input();
        let nested = self.formula_with("nested($input)", &[("input", input)], &[]);
        let reported = self.assign("error", r#"{"kind": $error.kind, "step": nil, "message": $error.message}"#, error);
        self.b.set([Write::Put(self.slots["variables"], nested)], first, Some(self.fail_to(reported)))
    }

    /// Fills in the defaults of declared inputs and checks all of them; a run with wrong inputs ends before its first step.
    fn check_inputs(&mut self, declared: &DeclaredInputs, first: PlaceId) -> PlaceId {
        let rejected = r#"{"status": "REJECTED", "variables": {}, "output": nil,
            "error": {"kind": $work[0].kind, "step": nil, "message": join(map($work, #.message), "; ")}}"#;
        let rejected = self.close_with(Status::Failed, rejected);
        let wrong = self.test("len($work) > 0");
        let checked = self.b.decide([(wrong, rejected)], first, None);
        let constants = [("declared", declared.list.clone())];
        let writes = [
            self.store_with("variables", "withDefaults($variables, $declared)", &[], &constants),
            self.store_with("work", "inputProblems($variables, $declared)", &[], &constants),
        ];
        declared.add_views(&mut self.b);
        self.b.set(writes, checked, None)
    }

    /// A run whose variables are nested too deeply for its result still reports its error.
    fn last_resort(&mut self) {
        let error = r#"{"kind": $error.kind, "step": nil, "message": $error.message}"#;
        let result = format!(r#"{{"status": "ERROR", "variables": {{}}, "output": nil, "error": {error}}}"#);
        let to = self.close_with(Status::Failed, &result);
        self.b.root(ScopeSpec { fail: Some(self.fail_to(to)), ..ScopeSpec::default() });
    }

    fn finish(mut self, refused: bool, span: Span) -> (Option<Program>, Vec<Diagnostic>) {
        self.own.findings.extend_from_slice(self.b.warnings());
        if refused || self.own.findings.iter().any(|finding| finding.severity == Severity::Error) {
            return (None, self.own.findings);
        }
        match self.b.finish() {
            Ok(program) => (Some(program), self.own.findings),
            Err(wrong) => {
                self.own.findings.push(unlowered(&wrong, span));
                (None, self.own.findings)
            }
        }
    }

    fn chain(&mut self, steps: &[Step<'_>], enclosing: &Enclosing, next: PlaceId) -> PlaceId {
        steps.iter().rev().fold(next, |next, step| self.step(step, enclosing, next))
    }

    fn step(&mut self, step: &Step<'_>, enclosing: &Enclosing, next: PlaceId) -> PlaceId {
        let id = StepId(step.number);
        let failed = self.failed(id, enclosing.fail);
        let next = if matches!(step.kind, StepKind::Finish { .. }) { self.finished(enclosing) } else { next };
        let fail = self.failing(&step.name, failed);
        let end = self.end(step, enclosing, next, fail);
        let places = StepPlaces { enclosing, step: id, end, fail, failed };
        let begin = match &step.kind {
            StepKind::Declare(declarations) => self.declare(declarations, places),
            StepKind::Assign(assignments) => self.assign_all(assignments, places),
            StepKind::Conditional { condition, yes, no } => self.conditional(*condition, [yes, no], places),
            StepKind::Switch { variable, cases, otherwise } => self.switch(variable, cases, otherwise, places),
            StepKind::Loop(repeat) => self.repeat(repeat, &step.name, places),
            StepKind::Call(call) => self.call(call, places),
            StepKind::Finish { message, data } => self.finish_data(&step.name, *message, *data, places),
            StepKind::Refused(blocks) => {
                let blocks = self.chain(blocks, enclosing, end);
                self.b.set([], blocks, None)
            }
        };
        self.b.mark(begin, Mark::Begin(id, None))
    }

    /// The end of a step: its data is stored and recorded, and may end the flow.
    fn end(&mut self, step: &Step<'_>, enclosing: &Enclosing, next: PlaceId, fail: Failure) -> PlaceId {
        let id = StepId(step.number);
        let mut set = set_by(step);
        set.retain(|name| enclosing.local(name).is_none());
        let reported = r#"{"data": $data, "variables": pick($variables, $set)}"#;
        let reported = self.formula_with(reported, &[], &[("set", listed(&set))]);
        let mut place = self.b.set([], next, None);
        self.b.mark(place, Mark::End(id, Some(reported)));
        if step.direct {
            let close = self.close(Status::Completed, "DIRECT_OUTPUT", "$data", "nil");
            self.b.mark(close, Mark::End(id, Some(reported)));
            self.ended(close, enclosing);
            let given = self.test("$data != nil");
            place = self.b.decide([(given, close)], place, None);
        }
        if let Some(name) = &step.result {
            let mut writes = Vec::new();
            self.write(std::slice::from_ref(name), "$data", enclosing, &mut writes);
            place = self.b.set(writes, place, Some(fail));
        }
        place
    }

    /// A flow that a `finish` ends has the data of that step as its output.
    fn finished(&mut self, enclosing: &Enclosing) -> PlaceId {
        let place = self.close(Status::Completed, "COMPLETED", "$data", "nil");
        self.ended(place, enclosing);
        place
    }

    /// A flow that ends inside other steps ends those too, from the inside out.
    fn ended(&mut self, place: PlaceId, enclosing: &Enclosing) {
        for step in enclosing.steps.iter().rev() {
            self.b.mark(place, Mark::End(*step, None));
        }
    }

    /// The failure of an op of a step: the error gets the step's name.
    fn failing(&mut self, name: &str, failed: PlaceId) -> Failure {
        let error = r#"{"kind": $error.kind, "step": $step, "message": $error.message}"#;
        let to = self.assign_with("error", error, &[], &[("step", Value::from(name))], failed);
        self.fail_to(to)
    }

    /// A step fails with the recorded error.
    fn failed(&mut self, step: StepId, next: PlaceId) -> PlaceId {
        let place = self.b.set([], next, None);
        let error = self.b.read(self.slots["error"]);
        self.b.mark(place, Mark::Fail(step, error))
    }

    fn close(&mut self, status: Status, word: &str, output: &str, error: &str) -> PlaceId {
        let warnings = if self.own.loses_rounds {
            let more = format!(
                r#"[{{"kind": "{}", "step": nil, "message": toString($lost - {MOST_WARNINGS}) + " more rounds failed"}}]"#,
                Kind::FailedRounds
            );
            format!(r#", "warnings": $lost > {MOST_WARNINGS} ? concat($warnings, {more}) : $warnings"#)
        } else {
            String::new()
        };
        let result = format!(
            r#"{{"status": "{word}", "variables": $variables, "output": {output}, "error": {error}{warnings}}}"#
        );
        self.close_with(status, &result)
    }

    /// A value of the document in which every text can have placeholders.
    fn template(&mut self, scope: ScopeId, located: &Located) -> ExprId {
        self.b.template(scope, located, Dialect::Flow).unwrap_or_else(|problems| self.refused(problems))
    }

    fn condition(&mut self, scope: ScopeId, test: Test<'_>) -> ConditionId {
        if let Test::Both(group, condition) = test {
            self.condition(scope, Test::Group(group));
            return self.condition(scope, Test::If(condition));
        }
        let compiled = self.b.condition_with(scope, Dialect::Flow, |options| match test {
            Test::Group(group) => Condition::group(group, options),
            Test::If(condition) | Test::Both(_, condition) => Condition::if_key(condition, options),
        });
        compiled.unwrap_or_else(|problems| {
            self.refused(problems);
            self.test("false")
        })
    }

    /// Records problems and returns a null value, so that more problems can be found.
    fn refused(&mut self, problems: Problems) -> ExprId {
        self.own.findings.extend(problems.0);
        self.b.value(Value::Null)
    }

    /// Reports an error with help.
    fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.own.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }
}

/// The variables that a step sets itself, by their first part.
fn set_by(step: &Step<'_>) -> Vec<Arc<str>> {
    let first = |path: &[Arc<str>]| path.first().cloned();
    let mut set: Vec<Arc<str>> = match &step.kind {
        StepKind::Declare(declarations) => declarations.iter().filter_map(|entry| first(&entry.path)).collect(),
        StepKind::Assign(assignments) => assignments.iter().filter_map(|entry| first(&entry.path)).collect(),
        _ => Vec::new(),
    };
    set.extend(step.result.clone());
    set
}

/// The value of a part of the document without placeholders. Its errors are reported when it is compiled.
fn literal(located: &Located) -> Option<Value> {
    Expression::document(located, Options::dialect(Dialect::Flow)).ok()?.literal().cloned()
}

fn listed(parts: &[Arc<str>]) -> Value {
    Value::from(parts.iter().cloned().map(Value::Str).collect::<Vec<_>>())
}
