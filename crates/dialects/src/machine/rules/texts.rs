//! Every condition and every template of the document: whether it compiles, and whether what it names can exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_expr::{Condition, Diagnostic, Dialect, Expression, Form, Kind, Located, Options, Problems, Reference};

use crate::machine::graph::Graph;
use crate::machine::raw::{Action, Document, Findings, Guard, OnFailure, Source, State, Text, Times, What};
use crate::secrets;

/// What the texts of a document read, so that a run is told that and nothing else.
#[derive(Debug, Default)]
pub(in crate::machine) struct Uses {
    /// Names of environment variables.
    pub(in crate::machine) env: BTreeSet<Arc<str>>,
    pub(in crate::machine) workflow: bool,
    pub(in crate::machine) context: bool,
}

pub(super) fn check(document: &Document, found: &mut Findings) -> Uses {
    let mut uses = Uses { env: document.env.iter().map(|name| name.text().clone()).collect(), ..Uses::default() };
    let mut check = Check { document, found, uses: &mut uses, graph: Graph::taken(document), after: BTreeMap::new() };
    for state in &document.states {
        check.state(state);
    }
    check.actions(&document.hooks.start, &Sees::Nothing);
    for actions in [&document.hooks.end, &document.hooks.error, &document.hooks.cancel] {
        check.actions(actions, &Sees::All);
    }
    uses
}

struct Check<'c> {
    document: &'c Document,
    found: &'c mut Findings,
    uses: &'c mut Uses,
    graph: Graph,
    /// What can be reached from states that were asked for.
    after: BTreeMap<usize, Vec<bool>>,
}

/// Which states may have run when a text is read.
enum Sees {
    Nothing,
    All,
    /// Those before a state.
    Before(usize),
    /// Those before a state, and the state itself.
    With(usize),
}

/// What becomes of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Condition,
    Template,
    /// A template of something that calls the outside.
    Call,
}

impl Check<'_> {
    fn state(&mut self, state: &State) {
        let Some(at) = self.document.state(&state.name) else { return };
        let (before, with) = (Sees::Before(at), Sees::With(at));
        self.text(state.dir.as_ref(), Role::Template, &before);
        self.actions(&state.pre, &before);
        self.actions(&state.post, &with);
        for way in &state.transitions {
            self.condition(way.guard.as_ref(), &with);
        }
        if let Some(OnFailure::Inline { message, .. }) = &state.on_failure {
            self.text(message.as_ref(), Role::Template, &with);
        }
        match &state.what {
            What::Command(command) => self.source(command.source.as_ref(), &before),
            What::Agent(agent) => {
                self.text(agent.provider.as_ref(), Role::Template, &before);
                self.source(agent.prompt.as_ref(), &before);
                self.text(agent.system_prompt.as_ref(), Role::Call, &before);
                self.text(agent.role.as_ref(), Role::Template, &before);
                if let Some(conversation) = &agent.conversation {
                    conversation.stops.iter().for_each(|stop| self.condition(Some(stop), &with));
                    self.text(conversation.inject_context.as_ref(), Role::Template, &with);
                }
            }
            What::Loop(round) => {
                match &round.over {
                    Times::While(guard) => self.condition(guard.as_ref(), &before),
                    Times::Each(Some(items)) => self.template(&items.0, Role::Template, &before),
                    Times::Each(None) => {}
                }
                self.text(round.max_iterations.as_ref(), Role::Template, &before);
                self.condition(round.break_when.as_ref(), &with);
            }
            What::Call(call) => {
                for input in call.inputs.iter().filter(|input| input.value.text().is_some()) {
                    self.template(&input.value, Role::Call, &before);
                }
            }
            What::Terminal(terminal) => self.text(terminal.message.as_ref(), Role::Template, &before),
            What::Parallel(_) | What::Unknown => {}
        }
    }

    fn actions(&mut self, actions: &[Action], sees: &Sees) {
        for action in actions {
            let role = if matches!(action, Action::Command(_)) { Role::Call } else { Role::Template };
            self.text(Some(action.text()), role, sees);
        }
    }

    fn source(&mut self, source: Option<&Source>, sees: &Sees) {
        match source {
            Some(Source::Text(text)) => self.text(Some(text), Role::Call, sees),
            Some(Source::File(path)) => {
                // What a file holds is known when it is read, so it may ask for anything.
                (self.uses.workflow, self.uses.context) = (true, true);
                if path.text().contains("{{") && path.text().contains("awf.") {
                    self.unsupported(path.span());
                }
            }
            None => {}
        }
    }

    fn text(&mut self, text: Option<&Text>, role: Role, sees: &Sees) {
        if let Some(text) = text {
            self.template(&text.0, role, sees);
        }
    }

    fn template(&mut self, located: &Located, role: Role, sees: &Sees) {
        let parts = if role == Role::Call { secrets::split(located) } else { None };
        let located = parts.unwrap_or_else(|| located.clone());
        let compiled = Expression::formed(&located, Form::Text, Options::dialect(Dialect::Machine));
        match compiled {
            Ok(template) => {
                self.found.0.extend_from_slice(template.warnings());
                self.references(&template.references(), role, sees);
            }
            Err(problems) => self.problems(problems),
        }
    }

    fn condition(&mut self, guard: Option<&Guard>, sees: &Sees) {
        let Some(Guard(located)) = guard else { return };
        match Condition::under_if(located, Options::dialect(Dialect::Machine)) {
            Ok(condition) => {
                self.found.0.extend_from_slice(condition.warnings());
                self.references(&condition.references(), Role::Condition, sees);
            }
            Err(problems) => self.problems(problems),
        }
    }

    fn problems(&mut self, problems: Problems) {
        for problem in problems.0 {
            if problem.message.contains("blocks are not offered") {
                let finding = Diagnostic { kind: Kind::Unsupported, detail: None, ..problem.clone() };
                self.found.push(finding);
            }
            self.found.push(problem);
        }
    }

    fn unsupported(&mut self, span: branchpoint_expr::Span) {
        self.found.error(Kind::Unsupported, span, "the paths of `awf` are not offered").help =
            Some("write the path, or hand it in as an input".into());
    }

    fn references(&mut self, references: &[Reference], role: Role, sees: &Sees) {
        for reference in references {
            let (root, keys) = reference.parts.split_first().expect("a reference has a root");
            match (&**root, keys.first()) {
                ("awf", _) => self.unsupported(reference.span),
                ("workflow", _) => self.uses.workflow = true,
                ("context", _) => self.uses.context = true,
                ("env", Some(name)) => {
                    self.uses.env.insert(name.clone());
                }
                ("states", Some(name)) => self.state_reference(name, reference, role, sees),
                _ => {}
            }
        }
    }

    fn state_reference(&mut self, name: &str, reference: &Reference, role: Role, sees: &Sees) {
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
            self.found.push(finding);
            return;
        };
        if !self.may_have_run(state, sees) {
            let message = format!("`{name}` never runs before this, so there is nothing to read");
            self.found.warn(Kind::UnknownName, reference.span, message).help =
                Some(format!("read it in a state that comes after `{name}`, or lead a way from `{name}` to this one"));
        }
    }

    fn may_have_run(&mut self, state: usize, sees: &Sees) -> bool {
        /// Beyond this many states the question is not worth its price.
        const MOST: usize = 2_000;
        let reader = match *sees {
            Sees::Nothing => return false,
            Sees::All => return true,
            Sees::With(reader) if reader == state => return true,
            Sees::With(reader) | Sees::Before(reader) => reader,
        };
        self.document.states.len() > MOST || self.after.entry(state).or_insert_with(|| self.graph.after(state))[reader]
    }
}
