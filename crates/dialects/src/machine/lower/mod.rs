//! From a checked document to a program.
//!
//! A state is lowered once for each [`Context`] it runs in: the document itself, the body of a loop, a branch. So the exit
//! of a body and the next state in it are known when lowering and need no table in the run. Every state ends at one of
//! two places: the one after success and the one after failure, with its outcome in the slot `answer`.

mod agents;
mod calls;
mod commands;
mod context;
mod conversation;
mod ends;
mod files;
mod hooks;
mod inputs;
mod loops;
mod next_state;
mod operations;
mod outputs;
mod parallel;
mod slots;
mod state;
mod templates;

use std::collections::BTreeMap;

use branchpoint_core::ir::builder::{Builder, ROOT, ScopeSpec};
use branchpoint_core::ir::{Limits, PlaceId, Program, SignalId, StepId};
use branchpoint_expr::{Diagnostic, Dialect};

use super::raw::Document;
use super::rules::Uses;
use crate::lowering;
use crate::report::unlowered;
use context::{Context, ContextId, ROOT_CONTEXT};
use ends::Ends;

/// The greatest depth of calls between workflows.
const MAX_CALLS: u32 = 10;

/// The largest number of contexts of a document. Nested loops in several bodies multiply them.
const MAX_CONTEXTS: usize = 2_000;

/// The program of a document without errors.
pub(super) fn lower(document: &Document, uses: &Uses) -> Result<Program, Vec<Diagnostic>> {
    let mut builder = Builder::new();
    builder.limits(Limits { depth: MAX_CALLS, ..Limits::default() });
    let slots = slots::slots(&mut builder, uses);
    let ends = Ends { completed: builder.reserve(), failed: builder.reserve() };
    let machine = Machine {
        document,
        uses,
        ends,
        contexts: vec![Context::root()],
        places: BTreeMap::new(),
        steps: BTreeMap::new(),
        queue: Vec::new(),
        line: None,
        run_hooks: Vec::new(),
        problems: Vec::new(),
    };
    let mut lower = Lower { b: builder, slots, grammar: Dialect::Session, error_slot: "failure", own: machine };
    lower.document();
    lower.finish()
}

type Lower<'d> = lowering::Lower<Machine<'d>>;

struct Machine<'d> {
    document: &'d Document,
    uses: &'d Uses,
    ends: Ends,
    contexts: Vec<Context>,
    /// The place at which each state begins, by context and position in the document.
    places: BTreeMap<(ContextId, usize), PlaceId>,
    steps: BTreeMap<(ContextId, usize), StepId>,
    /// Reachable states that are not lowered yet. A queue instead of recursion, because chains of states can be long.
    queue: Vec<(ContextId, usize)>,
    /// The signal that brings a line of the user.
    line: Option<SignalId>,
    /// The steps of the hooks of the run.
    run_hooks: Vec<StepId>,
    problems: Vec<Diagnostic>,
}

impl Lower<'_> {
    fn document(&mut self) {
        let initial = self.own.document.initial.as_ref().and_then(|name| self.own.document.state(name.text()));
        let Some(initial) = initial else { return };
        let first = self.state_place(ROOT_CONTEXT, initial);
        let hooked = self.start_hooks(first);
        let start = self.start(hooked);
        self.b.begin(ROOT, &[start]);
        self.ends();
        let unexpected_failure = self.unexpected_failure();
        self.b.root(ScopeSpec { fail: Some(self.fail_to(unexpected_failure)), ..ScopeSpec::default() });
        while let Some((context, state)) = self.own.queue.pop() {
            if self.b.is_too_large() {
                return;
            }
            if self.own.contexts.len() > MAX_CONTEXTS {
                let message = format!("its loops and branches stand in more than {MAX_CONTEXTS} contexts");
                let finding = Diagnostic::error(branchpoint_expr::Kind::NodeLimit, self.own.document.span, message);
                return self.own.problems.push(finding.with_help("call a part of it as a workflow of its own"));
            }
            self.state(context, state);
        }
    }

    fn finish(self) -> Result<Program, Vec<Diagnostic>> {
        if !self.own.problems.is_empty() {
            return Err(self.own.problems);
        }
        let span = self.own.document.span;
        self.b.finish().map_err(|wrong| vec![unlowered(&wrong, span)])
    }
}
