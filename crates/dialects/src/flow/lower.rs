//! From a flow to a program. Chains are built from their end, so that every step knows where it goes on.
//!
//! What the steps share are slots of the root: the variables, the data of the step that ends, the error of the step that
//! fails, and what a step works on between two ops. One strand runs a flow, so nobody else writes them.

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

use super::raw::{Flow, Step, Test, What};
use crate::inputs::Declared;
use crate::lowering::{self, Names};
use crate::report::unlowered;

/// The program of a flow, and what was found while its conditions and templates were compiled. A flow that was refused
/// already has no program; the rest of its problems is found all the same.
pub(super) fn lower(flow: &Flow<'_>, span: Span, refused: bool) -> (Option<Program>, Vec<Diagnostic>) {
    let mut lower = Lower::new(flow);
    let end = lower.close(Status::Completed, "COMPLETED", "nil", "nil");
    let error = lower.close(Status::Failed, "ERROR", "nil", "$error");
    let around = Around {
        scope: ROOT,
        fail: error,
        touched: Vec::new(),
        locals: Vec::new(),
        counters: Vec::new(),
        steps: Vec::new(),
    };
    let steps = lower.chain(&flow.steps, &around, end);
    let first = flow.variables.iter().fold(steps, |next, step| lower.step(step, &around, next));
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

/// At most this many rounds that loops have lost are listed in the result; the rest is counted.
const MOST_WARNINGS: usize = 100;

/// How much of an error's message a warning repeats, in characters.
const WARNING_CHARS: usize = 1_000;

/// What a step finds around it.
#[derive(Clone)]
struct Around {
    scope: ScopeId,
    /// Where a failure goes after the step has told its own.
    fail: PlaceId,
    /// For each loop around, outermost first: which variables were set in its round.
    touched: Vec<SlotId>,
    /// The variables of the loops around, outermost first.
    locals: Vec<(Arc<str>, SlotId)>,
    /// Those of them that count.
    counters: Vec<Arc<str>>,
    /// The steps around, outermost first.
    steps: Vec<StepId>,
}

impl Around {
    /// The slot of a loop variable that hides the variable of that name.
    fn local(&self, name: &str) -> Option<SlotId> {
        self.locals.iter().rev().find(|(local, _)| &**local == name).map(|(_, slot)| *slot)
    }
}

/// Where the ops of a step lead.
#[derive(Clone, Copy)]
struct Ways<'a> {
    around: &'a Around,
    step: StepId,
    /// After its data was set.
    end: PlaceId,
    /// After the error of an op of its own was caught.
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
            // What a step works on between two ops.
            ("work", Some(Value::Null)),
        ];
        slots.add_to_root(&mut b, shared);
        b.name(ROOT, &[], slots["variables"]);
        for step in flow.all() {
            b.step(&step.name, &step.ty, step.parent.map(StepId), (step.span.start, step.span.end));
        }
        let loses_rounds = flow.all().iter().any(|step| matches!(&step.what, What::Loop(repeat) if !repeat.fails));
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
        let told = self.assign("error", r#"{"kind": $error.kind, "step": nil, "message": $error.message}"#, error);
        self.b.set([Write::Put(self.slots["variables"], nested)], first, Some(self.fail_to(told)))
    }

    /// Fills in the defaults of declared inputs and checks all of them; a run with wrong inputs ends before its first step.
    fn check_inputs(&mut self, declared: &Declared, first: PlaceId) -> PlaceId {
        let rejected = r#"{"status": "REJECTED", "variables": {}, "output": nil,
            "error": {"kind": $work[0].kind, "step": nil, "message": join(map($work, #.message), "; ")}}"#;
        let rejected = self.close_with(Status::Failed, rejected);
        let wrong = self.test("len($work) > 0");
        let checked = self.b.decide([(wrong, rejected)], first, None);
        let constants = [("declared", declared.list.clone())];
        let writes = [
            self.put_with("variables", "withDefaults($variables, $declared)", &[], &constants),
            self.put_with("work", "inputProblems($variables, $declared)", &[], &constants),
        ];
        declared.add_views(&mut self.b);
        self.b.set(writes, checked, None)
    }

    /// A run that cannot even tell its variables, because they are nested too deeply, still tells its error.
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

    fn chain(&mut self, steps: &[Step<'_>], around: &Around, next: PlaceId) -> PlaceId {
        steps.iter().rev().fold(next, |next, step| self.step(step, around, next))
    }

    fn step(&mut self, step: &Step<'_>, around: &Around, next: PlaceId) -> PlaceId {
        let id = StepId(step.number);
        let failed = self.failed(id, around.fail);
        let next = if matches!(step.what, What::Finish { .. }) { self.finished(around) } else { next };
        let fail = self.failing(&step.name, failed);
        let end = self.end(step, around, next, fail);
        let ways = Ways { around, step: id, end, fail, failed };
        let begin = match &step.what {
            What::Declare(declarations) => self.declare(declarations, ways),
            What::Assign(assignments) => self.assign_all(assignments, ways),
            What::Conditional { condition, yes, no } => self.conditional(*condition, [yes, no], ways),
            What::Switch { variable, cases, otherwise } => self.switch(variable, cases, otherwise, ways),
            What::Loop(repeat) => self.repeat(repeat, &step.name, ways),
            What::Call(call) => self.call(call, ways),
            What::Finish { message, data } => self.finish_data(&step.name, *message, *data, ways),
            What::Refused(blocks) => {
                let blocks = self.chain(blocks, around, end);
                self.b.set([], blocks, None)
            }
        };
        self.b.mark(begin, Mark::Begin(id, None))
    }

    /// The end of a step: its data is stored, told, and may end the flow.
    fn end(&mut self, step: &Step<'_>, around: &Around, next: PlaceId, fail: Failure) -> PlaceId {
        let id = StepId(step.number);
        let mut set = set_by(step);
        set.retain(|name| around.local(name).is_none());
        let told = r#"{"data": $data, "variables": pick($variables, $set)}"#;
        let told = self.formula_with(told, &[], &[("set", listed(&set))]);
        let mut place = self.b.set([], next, None);
        self.b.mark(place, Mark::End(id, Some(told)));
        if step.direct {
            let close = self.close(Status::Completed, "DIRECT_OUTPUT", "$data", "nil");
            self.b.mark(close, Mark::End(id, Some(told)));
            self.ended(close, around);
            let given = self.test("$data != nil");
            place = self.b.decide([(given, close)], place, None);
        }
        if let Some(name) = &step.result {
            let mut writes = Vec::new();
            self.write(std::slice::from_ref(name), "$data", around, &mut writes);
            place = self.b.set(writes, place, Some(fail));
        }
        place
    }

    /// A flow that a `finish` ends has the data of that step as its output.
    fn finished(&mut self, around: &Around) -> PlaceId {
        let place = self.close(Status::Completed, "COMPLETED", "$data", "nil");
        self.ended(place, around);
        place
    }

    /// A flow that ends inside other steps ends those too, from the inside out.
    fn ended(&mut self, place: PlaceId, around: &Around) {
        for step in around.steps.iter().rev() {
            self.b.mark(place, Mark::End(*step, None));
        }
    }

    /// Where an op of a step goes when it fails: the error is told under the step's name.
    fn failing(&mut self, name: &str, failed: PlaceId) -> Failure {
        let error = r#"{"kind": $error.kind, "step": $step, "message": $error.message}"#;
        let to = self.assign_with("error", error, &[], &[("step", Value::from(name))], failed);
        self.fail_to(to)
    }

    /// A step fails, with the error that was told already.
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

    /// A value of the document in which every text may hold placeholders.
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

    /// Keeps problems, and gives something to go on with: more problems may be found.
    fn refused(&mut self, problems: Problems) -> ExprId {
        self.own.findings.extend(problems.0);
        self.b.value(Value::Null)
    }

    /// Whoever refuses something says what to do about it.
    fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>, help: &str) {
        self.own.findings.push(Diagnostic::error(kind, span, message).with_help(help));
    }
}

/// The variables that a step sets itself, by their first part.
fn set_by(step: &Step<'_>) -> Vec<Arc<str>> {
    let first = |path: &[Arc<str>]| path.first().cloned();
    let mut set: Vec<Arc<str>> = match &step.what {
        What::Declare(declarations) => declarations.iter().filter_map(|entry| first(&entry.path)).collect(),
        What::Assign(assignments) => assignments.iter().filter_map(|entry| first(&entry.path)).collect(),
        _ => Vec::new(),
    };
    set.extend(step.result.clone());
    set
}

/// What a value of the document is if it holds no placeholders. What is wrong with it is told where it is compiled.
fn literal(located: &Located) -> Option<Value> {
    Expression::document(located, Options::dialect(Dialect::Flow)).ok()?.literal().cloned()
}

fn listed(parts: &[Arc<str>]) -> Value {
    Value::from(parts.iter().cloned().map(Value::Str).collect::<Vec<_>>())
}
