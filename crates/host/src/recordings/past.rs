//! What a run and its child runs have asked for, and what came of it, told by their journals.

use std::collections::BTreeMap;
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, EffectNo, Event, Failed, Fold, LINE, RESUME, RequestNo, State, Usage, VOTE};
use branchpoint_expr::{Object, Value};

use crate::host::RunPlace;
use crate::store::{Run, RunNo, Store, Trouble};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;

/// Everything that runs were answered.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Run by run, in the order in which each run asked for it.
    pub happened: Vec<Happened>,
    /// What the runs were told by their host.
    pub facts: Object,
    /// The secrets of all of them.
    pub secrets: Secrets,
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
        /// The steps that called the run, as in [`Call::callers`].
        callers: Arc<str>,
        /// The step that asks.
        step: Arc<str>,
        /// The positions of the items around it, as in [`Call::path`].
        path: Vec<u32>,
        /// What they said, in order.
        votes: Vec<Vote>,
    },
    /// Somebody said something that is no vote: an approval of a node, or a line of a conversation.
    Said {
        /// The steps that called the run, as in [`Call::callers`].
        callers: Arc<str>,
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
        let mut past = Past::default();
        past.add(self, &root, root.status.is_final(), RunPlace::default())?;
        Ok(past)
    }
}

/// One run while its journal is read.
struct OfRun<'r> {
    row: &'r Run,
    program: &'r Program,
    place: RunPlace,
    /// The attempts that are child runs, with their places as far as they are known.
    children: BTreeMap<(EffectNo, u32), RunPlace>,
    /// Where the open attempts and questions stand in what has happened.
    calls: BTreeMap<EffectNo, usize>,
    questions: BTreeMap<RequestNo, usize>,
}

impl Past {
    fn add(&mut self, store: &Store, row: &Run, ended: bool, place: RunPlace) -> Result<(), Trouble> {
        let program = store.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program of run `{}`", row.id)))?;
        self.secrets.add(store.secrets(row.run)?.values());
        let children = store.children(row.run)?;
        let call_of = |child: &Run| child.parent.map(|at| (EffectNo(at.effect), at.attempt));
        let called = children.iter().filter_map(call_of).map(|call| (call, RunPlace::default())).collect();
        let (calls, questions) = (BTreeMap::new(), BTreeMap::new());
        let mut of = OfRun { row, program: &program, place, children: called, calls, questions };
        let mut fold = Fold::new(&program, State::new(), store.journal(row.run)?);
        while let Some(folded) = fold.next() {
            let folded = folded.map_err(Trouble::in_journal_of(&row.id))?;
            self.heard(&mut of, &folded.event);
            folded.outcome.commands.into_iter().for_each(|command| self.commanded(&mut of, fold.state(), command));
        }
        if ended || row.status.is_final() {
            of.calls.into_values().for_each(|at| self.end(at, Came::Withdrawn));
        }
        for child in &children {
            let place = call_of(child).and_then(|call| of.children.remove(&call));
            self.add(store, child, ended, place.unwrap_or_default())?;
        }
        Ok(())
    }

    fn heard(&mut self, of: &mut OfRun<'_>, event: &Event) {
        match event {
            Event::Start { facts, .. } => {
                for (name, fact) in facts.iter().filter(|(name, _)| of.row.parent.is_none() || &***name != "run_id") {
                    self.facts.entry(name.clone()).or_insert_with(|| fact.clone());
                }
            }
            Event::Settled { effect, result, usage, .. } => {
                if let Some(at) = of.calls.remove(effect) {
                    self.end(at, Came::Settled(result.clone(), *usage));
                }
            }
            Event::Signal { name, payload, sender, .. } => match &**name {
                VOTE => self.voted(of, payload, sender.as_ref()),
                RESUME | LINE => {
                    let node = payload.get("id").and_then(Value::as_str).filter(|_| &**name == RESUME);
                    let what = if &**name == RESUME { payload.get("input").unwrap_or(payload) } else { payload };
                    let step = node.map_or_else(|| name.clone(), Arc::from);
                    let callers = of.place.callers.clone();
                    self.happened.push(Happened::Said { callers, step, what: what.clone() });
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn voted(&mut self, of: &OfRun<'_>, payload: &Value, sender: Option<&Arc<str>>) {
        let Some(Value::Int(number)) = payload.get("request") else { return };
        let at = u64::try_from(*number).ok().and_then(|number| of.questions.get(&RequestNo(number)));
        let Some(Happened::Asked { votes, .. }) = at.and_then(|at| self.happened.get_mut(*at)) else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str).map(Arc::from);
        votes.push(Vote {
            user: sender.cloned().unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
        });
    }

    fn commanded(&mut self, of: &mut OfRun<'_>, state: &State, command: Command) {
        match command {
            Command::Perform { effect, attempt, .. } => {
                let (id, folder) = (of.row.id.as_str().into(), of.row.folder.as_str().into());
                let Some(call) = Call::of(of.program, &id, &folder, command) else { return };
                let call = of.place.locate(call);
                if let Some(child) = of.children.get_mut(&(effect, attempt)) {
                    *child = RunPlace::called_by(&call);
                    return;
                }
                of.calls.insert(effect, self.happened.len());
                self.happened.push(Happened::Called { call, came: Came::Open });
            }
            Command::Withdraw { effect } => {
                if let Some(at) = of.calls.remove(&effect) {
                    self.end(at, Came::Withdrawn);
                }
            }
            Command::Ask { request, spec } => {
                // A request that the same event has withdrawn was never open to anybody.
                let Some(path) = state.request_path(of.program, request) else { return };
                let step = spec.get("step").and_then(Value::as_str).unwrap_or("people").into();
                let RunPlace { callers, path } = of.place.within(&path);
                of.questions.insert(request, self.happened.len());
                self.happened.push(Happened::Asked { callers, step, path, votes: Vec::new() });
            }
            _ => {}
        }
    }

    fn end(&mut self, at: usize, with: Came) {
        if let Happened::Called { came, .. } = &mut self.happened[at] {
            *came = with;
        }
    }
}
