//! Checks every condition and template of the document: whether it compiles, and whether the names in it can exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Condition, Diagnostic, Dialect, Expression, Form, Kind, Located, Options, Problems, Reference};

use crate::machine::graph::{Graph, inside};
use crate::machine::raw::{
    Action, Agent, Document, Findings, Guard, Loop, OnFailure, Output, Repetition, Source, State, StateKind, Text,
};
use crate::secrets;
use crate::substitution::check_command;

/// The names that the texts of a document read, so that a run gets only these.
#[derive(Debug, Default)]
pub(in crate::machine) struct Uses {
    /// Names of environment variables.
    pub(in crate::machine) env: BTreeSet<Arc<str>>,
    pub(in crate::machine) workflow: bool,
    pub(in crate::machine) context: bool,
    /// The folders of the original: `awf.scripts_dir` and the like.
    pub(in crate::machine) folders: bool,
}

pub(super) fn check(document: &Document, findings: &mut Findings) -> Uses {
    let mut uses = Uses { env: document.env.iter().map(|name| name.text().clone()).collect(), ..Uses::default() };
    let mut check = Check {
        document,
        findings,
        uses: &mut uses,
        graph: Graph::with_implicit_edges(document),
        after: BTreeMap::new(),
        looped: inside_loops(document, |_| true),
        data_items: inside_loops(document, has_data_items),
    };
    for state in &document.states {
        check.state(state);
    }
    for output in &document.outputs {
        check.output(output);
    }
    check.actions(&document.hooks.start, ReadableNames::of(StatesRun::Nothing), true);
    for actions in [&document.hooks.end, &document.hooks.cancel] {
        check.actions(actions, ReadableNames::of(StatesRun::All), true);
    }
    check.actions(&document.hooks.error, ReadableNames { error: true, ..ReadableNames::of(StatesRun::All) }, true);
    uses
}

/// The inputs that a conversation adds in each of its turns.
const TURN_INPUTS: [&str; 2] = ["response", "turn_count"];

const NO_LOOP: &str = "`loop` is there in the body of a loop, in the loop's own conditions and in stop conditions";
const NO_ERROR: &str =
    "`error` is there in transitions and in `workflow_error` hooks; elsewhere `states` tells how a state ended";

/// A run stores the facts it gets, so it only gets the variables that the document names.
const ENV: &str =
    "list the variables that may be meant under `env:` at the top of the document, or write the name: `env.HOME`";

struct Check<'c> {
    document: &'c Document,
    findings: &'c mut Findings,
    uses: &'c mut Uses,
    graph: Graph,
    /// The states that can be reached from a state, for the states that were queried.
    after: BTreeMap<usize, Vec<bool>>,
    /// The states that run in the body of a loop, directly or inside others.
    looped: Vec<bool>,
    /// The states that run in the body of a loop over items that the document does not write out.
    data_items: Vec<bool>,
}

/// The names that a text can read.
#[derive(Clone, Copy)]
struct ReadableNames {
    ran: StatesRun,
    /// Whether there can be a `loop`, and an `error`.
    round: bool,
    error: bool,
}

impl ReadableNames {
    fn of(ran: StatesRun) -> Self {
        Self { ran, round: false, error: false }
    }
}

/// Which states may have run when a text is read.
#[derive(Clone, Copy)]
enum StatesRun {
    Nothing,
    All,
    /// Those before a state.
    Before(usize),
    /// Those before a state, and the state itself.
    With(usize),
}

/// The use of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Condition,
    Template,
    /// A template of a call.
    Call,
}

impl Check<'_> {
    fn state(&mut self, state: &State) {
        let Some(at) = self.document.state(&state.name) else { return };
        let round = self.looped[at];
        let before = ReadableNames { round, ..ReadableNames::of(StatesRun::Before(at)) };
        let with = ReadableNames { round, ..ReadableNames::of(StatesRun::With(at)) };
        self.text(state.dir.as_ref(), Role::Template, before);
        self.actions(&state.pre, before, self.data_items[at]);
        self.actions(&state.post, with, self.data_items[at]);
        for way in &state.transitions {
            self.condition(way.guard.as_ref(), ReadableNames { error: true, ..with });
        }
        if let Some(OnFailure::Inline { message, .. }) = &state.on_failure {
            // It is a terminal state of its own, outside of every loop.
            self.text(message.as_ref(), Role::Template, ReadableNames { round: false, ..with });
        }
        match &state.kind {
            StateKind::Command(command) => {
                self.source(command.source.as_ref(), before);
                if let Some(Source::Text(text)) = &command.source {
                    self.shell_command(text, self.data_items[at]);
                }
            }
            StateKind::Agent(agent) => self.agent(agent, before, with),
            StateKind::Loop(round) => self.round(round, before, with),
            StateKind::Call(call) => {
                for input in call.inputs.iter().filter(|input| input.value.text().is_some()) {
                    self.template(&input.value, Role::Call, before);
                }
            }
            StateKind::Operation(operation) => {
                for input in &operation.inputs {
                    let role = operation.secret_path(&input.key).map_or(Role::Template, |_| Role::Call);
                    self.input(&input.value, role, before);
                }
            }
            StateKind::Terminal(terminal) => self.text(terminal.message.as_ref(), Role::Template, before),
            StateKind::Parallel(_) | StateKind::Unknown => {}
        }
    }

    fn agent(&mut self, agent: &Agent, before: ReadableNames, with: ReadableNames) {
        self.text(agent.provider.as_ref(), Role::Template, before);
        self.source(agent.prompt.as_ref(), before);
        self.text(agent.system_prompt.as_ref(), Role::Call, before);
        self.text(agent.role.as_ref(), Role::Template, before);
        if let Some(conversation) = &agent.conversation {
            // The turns of a conversation are rounds of a loop.
            let turn = ReadableNames { round: true, ..with };
            conversation.stops.iter().for_each(|stop| self.condition(Some(stop), turn));
            self.text(conversation.inject_context.as_ref(), Role::Template, turn);
        }
    }

    fn round(&mut self, round: &Loop, before: ReadableNames, with: ReadableNames) {
        match &round.over {
            Repetition::While(guard) => self.condition(guard.as_ref(), ReadableNames { round: true, ..before }),
            Repetition::Each(Some(items)) => self.template(&items.0, Role::Template, before),
            Repetition::Each(None) => {}
        }
        self.text(round.max_iterations.as_ref(), Role::Template, before);
        self.condition(round.break_when.as_ref(), ReadableNames { round: true, ..with });
    }

    fn actions(&mut self, actions: &[Action], names_here: ReadableNames, data_items: bool) {
        for action in actions {
            let role = if matches!(action, Action::Command(_)) { Role::Call } else { Role::Template };
            self.text(Some(action.text()), role, names_here);
            if role == Role::Call {
                self.shell_command(action.text(), data_items);
            }
        }
    }

    /// Values are inserted into a command unquoted, so the author must quote data in it.
    fn shell_command(&mut self, text: &Text, data_items: bool) {
        let command = secrets::split(&text.0).unwrap_or_else(|| text.0.clone());
        let document = self.document;
        let is_safe = |reference: &Reference| is_never_data(document, reference, data_items);
        for finding in check_command(&command, Dialect::Machine, is_safe) {
            self.findings.push(finding);
        }
    }

    fn source(&mut self, source: Option<&Source>, names_here: ReadableNames) {
        match source {
            Some(Source::Text(text)) => self.text(Some(text), Role::Call, names_here),
            Some(Source::File(path)) => {
                // The content of a file is known only in the run, so it can read any name.
                (self.uses.workflow, self.uses.context) = (true, true);
                self.uses.folders = true;
                self.text(Some(path), Role::Template, names_here);
            }
            None => {}
        }
    }

    fn text(&mut self, text: Option<&Text>, role: Role, names_here: ReadableNames) {
        if let Some(text) = text {
            self.template(&text.0, role, names_here);
        }
    }

    /// An input of an operation: a text, or an object of texts.
    fn input(&mut self, value: &Located, role: Role, names_here: ReadableNames) {
        if value.text().is_some() {
            return self.template(value, role, names_here);
        }
        value.fields().iter().for_each(|field| self.template(&field.value, role, names_here));
    }

    fn template(&mut self, located: &Located, role: Role, names_here: ReadableNames) {
        let parts = if role == Role::Call { secrets::split(located) } else { None };
        let located = parts.unwrap_or_else(|| located.clone());
        let compiled = Expression::with_form(&located, Form::Text, Options::dialect(Dialect::Machine));
        match compiled {
            Ok(template) => {
                self.findings.0.extend_from_slice(template.warnings());
                self.references(&template.references(), role, names_here);
            }
            Err(problems) => self.problems(problems),
        }
    }

    fn condition(&mut self, guard: Option<&Guard>, names_here: ReadableNames) {
        let Some(Guard(located)) = guard else { return };
        match Condition::if_key(located, Options::dialect(Dialect::Machine)) {
            Ok(condition) => {
                self.findings.0.extend_from_slice(condition.warnings());
                self.references(&condition.references(), Role::Condition, names_here);
            }
            Err(problems) => self.problems(problems),
        }
    }

    /// A declared output: any expression, which is evaluated when the run ends.
    fn output(&mut self, output: &Output) {
        match Expression::compile(output.from.text(), Options::dialect(Dialect::Machine)) {
            Ok(expression) => {
                let span = output.from.span();
                for warning in expression.warnings() {
                    self.findings.push(Diagnostic { span, ..warning.clone() });
                }
                let references = expression.references().into_iter().map(|reference| Reference { span, ..reference });
                self.references(&references.collect::<Vec<_>>(), Role::Condition, ReadableNames::of(StatesRun::All));
            }
            Err(problems) => {
                let message =
                    format!("`outputs.{}.from` does not compile: {}", output.name.text(), problems.first().message);
                self.findings.error(Kind::BadCondition, output.from.span(), message);
            }
        }
    }

    fn problems(&mut self, problems: Problems) {
        for problem in problems.0 {
            if problem.cause() == Kind::Unsupported {
                let finding = Diagnostic { kind: Kind::Unsupported, detail: None, ..problem.clone() };
                self.findings.push(finding);
            }
            self.findings.push(problem);
        }
    }

    fn references(&mut self, references: &[Reference], role: Role, names_here: ReadableNames) {
        for reference in references {
            let (root, keys) = reference.parts.split_first().expect("a reference has a root");
            match (&**root, keys.first()) {
                ("awf", _) => self.uses.folders = true,
                ("workflow", _) => self.uses.workflow = true,
                ("context", _) => self.uses.context = true,
                ("env", Some(name)) => {
                    self.uses.env.insert(name.clone());
                }
                ("env", None) if self.document.env.is_empty() => {
                    let message =
                        "which variables these are is known only in the run, and it knows those that are named";
                    self.findings.warn(Kind::UnknownName, reference.span, message).help = Some(ENV.into());
                }
                ("inputs", Some(name)) => self.input_reference(name, reference),
                ("states", Some(name)) => self.state_reference(name, reference, role, names_here),
                ("loop", _) if !names_here.round => self.absent(reference, role, NO_LOOP),
                ("error", _) if !names_here.error => self.absent(reference, role, NO_ERROR),
                _ => {}
            }
        }
    }

    /// Reports a name of the dialect that never has a value at this point.
    fn absent(&mut self, reference: &Reference, role: Role, help: &str) {
        let consequence = if role == Role::Condition { "this is always nil" } else { "this can never be expanded" };
        let message = format!("unknown name `{}`, so {consequence}", reference.parts[0]);
        self.findings.warn(Kind::UnknownName, reference.span, message).help = Some(help.into());
    }

    /// Runs accept undeclared inputs, but in a document that declares its inputs another name is probably a mistake.
    fn input_reference(&mut self, name: &str, reference: &Reference) {
        let names = || self.document.inputs.iter().map(|input| &**input.name.text());
        // A document without declarations names its inputs nowhere else.
        if self.document.inputs.is_empty() || TURN_INPUTS.contains(&name) || names().any(|declared| declared == name) {
            return;
        }
        let message = format!("the input `{name}` is not declared");
        let help = format!("declare it at the top of the document: `inputs: [{{name: {name}, type: string}}]`");
        let finding = Diagnostic::warning(Kind::UnknownInput, reference.span, message).with_help(help);
        let finding = finding.suggest(name, names());
        self.findings.push(finding);
    }

    fn state_reference(&mut self, name: &str, reference: &Reference, role: Role, names_here: ReadableNames) {
        let names = || self.document.states.iter().map(|state| &*state.name);
        let Some(state) = self.document.state(name) else {
            let finding = if role == Role::Condition {
                let message = format!("there is no state `{name}`, so this is always nil");
                Diagnostic::warning(Kind::UnknownName, reference.span, message)
            } else {
                let message = format!("there is no state `{name}`, so this can never be expanded");
                Diagnostic::error(Kind::BadTemplate, reference.span, message)
            };
            let finding = finding.suggest(name, names());
            self.findings.push(finding);
            return;
        };
        if !self.may_have_run(state, names_here.ran) {
            let message = format!("`{name}` never runs before this, so there is nothing to read");
            self.findings.warn(Kind::UnknownName, reference.span, message).help =
                Some(format!("read it in a state that comes after `{name}`, or lead a way from `{name}` to this one"));
        }
    }

    fn may_have_run(&mut self, state: usize, ran: StatesRun) -> bool {
        /// Above this number of states, the check takes too long.
        const MOST: usize = 2_000;
        let reader = match ran {
            StatesRun::Nothing => return false,
            StatesRun::All => return true,
            StatesRun::With(reader) if reader == state => return true,
            StatesRun::With(reader) | StatesRun::Before(reader) => reader,
        };
        self.document.states.len() > MOST || self.after.entry(state).or_insert_with(|| self.graph.after(state))[reader]
    }
}

/// Whether the value of a name is a number, a word of the document, or a setting of the operator.
fn is_never_data(document: &Document, reference: &Reference, data_items: bool) -> bool {
    let parts: Vec<&str> = reference.parts.iter().map(|part| &**part).collect();
    match parts[..] {
        ["loop", .., "Item"] => !data_items,
        ["loop", .., property] => ["Index", "Index1", "Length", "First", "Last"].contains(&property),
        // A state that does not exist is an error already.
        ["states", state, ..] if document.state(state).is_none() => true,
        // The engine writes the output of these.
        ["states", state, "Output"] => document
            .state(state)
            .is_some_and(|state| matches!(document.states[state].kind, StateKind::Loop(_) | StateKind::Parallel(_))),
        ["states", _, property] => property == "ExitCode" || property == "Status" || property.starts_with("Tokens"),
        ["error", property] => ["ExitCode", "Type", "State"].contains(&property),
        ["workflow" | "context" | "awf", ..] => true,
        ["inputs", name] => document.inputs.iter().any(|input| input.name == *name && input.is_never_data()),
        _ => false,
    }
}

/// Whether the items of a loop are data, not literals of the document.
fn has_data_items(round: &Loop) -> bool {
    fn has_placeholder(items: &Located) -> bool {
        match items.items() {
            Some(items) => items.iter().any(has_placeholder),
            None => items.is_object() || items.text().is_some_and(|text| text.contains("{{")),
        }
    }
    match &round.over {
        Repetition::Each(items) => items.as_ref().is_some_and(|items| has_placeholder(&items.0)),
        Repetition::While(_) => false,
    }
}

/// The states that run in the body of the selected loops, directly or in nested loops and branches.
fn inside_loops(document: &Document, which: impl Fn(&Loop) -> bool) -> Vec<bool> {
    let members = |state: &State| -> Vec<usize> { inside(state).filter_map(|name| document.state(name)).collect() };
    let mut looped = vec![false; document.states.len()];
    let loops = document.states.iter().filter(|state| state.as_loop().is_some_and(&which));
    let mut next: Vec<usize> = loops.flat_map(members).collect();
    while let Some(at) = next.pop() {
        if !std::mem::replace(&mut looped[at], true) {
            next.extend(members(&document.states[at]));
        }
    }
    looped
}
