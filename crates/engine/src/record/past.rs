//! What a run and its child runs have asked for, and what came of it, told by their journals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, EffectNo, Event, Failed, RequestNo, Stamp, State, Usage};
use branchpoint_expr::{Object, Value};

use crate::host::followed;
use crate::runner::Call;
use crate::secrets::Secrets;
use crate::store::{Run, RunNo, Store, Trouble};

/// The signals by which people answer.
const VOTE: &str = "vote";
const RESUME: &str = "resume";
const LINE: &str = "line";

/// Everything that runs were answered.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// In the order in which it was asked for.
    pub happened: Vec<Happened>,
    /// What the runs were told by their host.
    pub facts: Object,
    /// The secrets of all of them.
    pub secrets: Secrets,
    /// When the first of them began.
    pub from_ms: i64,
    /// When it went on last.
    pub until_ms: i64,
}

/// One thing that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// The outside was called: an attempt that is no child run.
    Called {
        /// The call.
        call: Call,
        /// What came of it.
        came: Came,
    },
    /// People were asked.
    Asked {
        /// The step that asks.
        step: Arc<str>,
        /// What was asked.
        question: Value,
        /// What they said, in order.
        votes: Vec<Vote>,
    },
    /// Somebody said something that is no vote: an approval of a node, or a line of a conversation.
    Said {
        /// The node, or what is said.
        step: Arc<str>,
        /// What.
        what: Value,
    },
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// It has ended, and used up so much.
    Settled(Result<Value, Failed>, Usage),
    /// Nobody waited for it any more.
    Withdrawn,
    /// It has not ended.
    Open,
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Who.
    pub user: Arc<str>,
    /// What.
    pub choice: Arc<str>,
    /// A word with it.
    pub comment: Option<Arc<str>>,
}

impl Store {
    /// What a run and its child runs have asked for, and what came of it.
    pub fn past(&self, run: RunNo) -> Result<Past, Trouble> {
        let root = self.row(run)?;
        let mut told = Told { ended: root.status.is_final(), ..Told::default() };
        told.run(self, &root)?;
        // What child runs asked for comes between what their parents did.
        told.happened.sort_by_key(|(at_ms, _)| *at_ms);
        let happened = told.happened.into_iter().map(|(_, happened)| happened).collect();
        let (from_ms, until_ms) = (root.started_ms, root.touched_ms);
        Ok(Past { happened, facts: told.facts, secrets: told.secrets, from_ms, until_ms })
    }
}

#[derive(Default)]
struct Told {
    /// With the time at which it was asked for.
    happened: Vec<(i64, Happened)>,
    facts: Object,
    secrets: Secrets,
    /// Whether the run is over that all the others belong to: then nobody waits for anything.
    ended: bool,
}

/// One run while it is told.
struct OfRun<'r> {
    row: &'r Run,
    program: &'r Program,
    /// The attempts that are child runs.
    children: BTreeSet<(EffectNo, u32)>,
    /// Where the open attempts and questions stand in what has happened.
    calls: BTreeMap<EffectNo, usize>,
    questions: BTreeMap<RequestNo, usize>,
}

impl Told {
    fn run(&mut self, store: &Store, row: &Run) -> Result<(), Trouble> {
        let program = store.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program of run `{}`", row.id)))?;
        self.secrets.add(store.secrets(row.run)?.values());
        let children = store.children(row.run)?;
        let called = children.iter().filter_map(|child| child.parent).map(|at| (EffectNo(at.effect), at.attempt));
        let (calls, questions) = (BTreeMap::new(), BTreeMap::new());
        let mut of = OfRun { row, program: &program, children: called.collect(), calls, questions };
        let mut state = State::new();
        for (stamp, event, mark) in store.journal(row.run)? {
            self.heard(&mut of, &stamp, &event);
            let outcome = followed(&program, &mut state, &stamp, event, mark, &row.id)?;
            outcome.commands.into_iter().for_each(|command| self.commanded(&mut of, stamp.now_ms, command));
        }
        if self.ended || row.status.is_final() {
            of.calls.into_values().for_each(|at| self.came(at, Came::Withdrawn));
        }
        children.iter().try_for_each(|child| self.run(store, child))
    }

    fn heard(&mut self, of: &mut OfRun<'_>, stamp: &Stamp, event: &Event) {
        match event {
            Event::Start { facts, .. } => {
                for (name, fact) in facts.iter().filter(|(name, _)| of.row.parent.is_none() || &***name != "run_id") {
                    self.facts.entry(name.clone()).or_insert_with(|| fact.clone());
                }
            }
            Event::Settled { effect, result, usage, .. } => {
                if let Some(at) = of.calls.remove(effect) {
                    self.came(at, Came::Settled(result.clone(), *usage));
                }
            }
            Event::Signal { name, payload, sender, .. } => match &**name {
                VOTE => self.voted(of, payload, sender.as_ref()),
                RESUME | LINE => {
                    let node = payload.get("id").and_then(Value::as_str).filter(|_| &**name == RESUME);
                    let what = if &**name == RESUME { payload.get("input").unwrap_or(payload) } else { payload };
                    let step = node.map_or_else(|| name.clone(), Arc::from);
                    self.happened.push((stamp.now_ms, Happened::Said { step, what: what.clone() }));
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn voted(&mut self, of: &OfRun<'_>, payload: &Value, sender: Option<&Arc<str>>) {
        let Some(Value::Int(number)) = payload.get("request") else { return };
        let at = u64::try_from(*number).ok().and_then(|number| of.questions.get(&RequestNo(number)));
        let Some((_, Happened::Asked { votes, .. })) = at.and_then(|at| self.happened.get_mut(*at)) else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str).map(Arc::from);
        votes.push(Vote {
            user: sender.cloned().unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
        });
    }

    fn commanded(&mut self, of: &mut OfRun<'_>, at_ms: i64, command: Command) {
        match command {
            Command::Perform { effect, attempt, .. } if of.children.contains(&(effect, attempt)) => {}
            Command::Perform { effect, .. } => {
                let (id, folder) = (of.row.id.as_str().into(), of.row.folder.as_str().into());
                let Some(call) = Call::of(of.program, &id, &folder, command) else { return };
                of.calls.insert(effect, self.happened.len());
                self.happened.push((at_ms, Happened::Called { call, came: Came::Open }));
            }
            Command::Withdraw { effect } => {
                if let Some(at) = of.calls.remove(&effect) {
                    self.came(at, Came::Withdrawn);
                }
            }
            Command::Ask { request, spec } => {
                let step = spec.get("step").and_then(Value::as_str).unwrap_or("people").into();
                of.questions.insert(request, self.happened.len());
                self.happened.push((at_ms, Happened::Asked { step, question: spec, votes: Vec::new() }));
            }
            Command::Retract { request } => {
                of.questions.remove(&request);
            }
            _ => {}
        }
    }

    fn came(&mut self, at: usize, what: Came) {
        if let Some((_, Happened::Called { came, .. })) = self.happened.get_mut(at) {
            *came = what;
        }
    }
}
