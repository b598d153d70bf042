//! What a run and its child runs have asked for, and what came of it, told by their journals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{Command, EffectNo, Event, Failed, Fold, LINE, RESUME, RequestNo, State, Usage, VOTE};
use branchpoint_expr::{Object, Value};

use crate::store::{Run, RunNo, Store, Trouble};
use branchpoint_runners::Call;
use branchpoint_runners::Secrets;

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
        /// The number of the question in its run.
        request: RequestNo,
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
        let tree = self.history(run)?;
        let happened = tree.items.into_iter().map(|item| item.happened).collect();
        let (from_ms, until_ms) = (root.started_ms, root.touched_ms);
        Ok(Past { happened, facts: tree.facts, secrets: tree.secrets, from_ms, until_ms })
    }

    /// The same with the places in the journal, in the order in which events were committed.
    pub(crate) fn history(&self, run: RunNo) -> Result<History, Trouble> {
        let root = self.row(run)?;
        let mut tree = History { ended: root.status.is_final(), ..History::default() };
        tree.run(self, &root)?;
        // Calls of child runs come between those of their parents.
        tree.items.sort_by_key(|item| item.position);
        Ok(tree)
    }

    /// The place of each event of a run in the journal of all runs, by the number of the event.
    fn positions(&self, run: RunNo) -> Result<BTreeMap<u64, i64>, Trouble> {
        let mut found = self.db.prepare_cached("SELECT seq, position FROM events WHERE run = ?1")?;
        let positions = found.query_map([run.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(positions)
    }
}

/// What a run and its child runs have asked for, each item with its place in the journal.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) items: Vec<Item>,
    pub(super) facts: Object,
    pub(crate) secrets: Secrets,
    /// Where calls ended, those that are child runs among them.
    ends: BTreeMap<(RunNo, EffectNo, u32), i64>,
    /// The call that each child run is.
    parents: BTreeMap<RunNo, (RunNo, EffectNo, u32)>,
    /// Whether the root run has ended: then nobody waits for any call.
    ended: bool,
}

/// One item of a history.
pub(crate) struct Item {
    /// The place of the event that asked for it.
    pub(crate) position: i64,
    pub(crate) run: RunNo,
    /// The place of the event that settled or withdrew it.
    pub(crate) ended_at: Option<i64>,
    pub(crate) happened: Happened,
}

impl History {
    /// Whether a run had returned to its callers by a place in the journal, up to the run `top`. Runs outside of `top` have.
    pub(crate) fn has_returned(&self, run: RunNo, top: RunNo, by: i64) -> bool {
        let mut run = run;
        let mut returned = true;
        while run != top {
            let Some(call) = self.parents.get(&run) else { return true };
            returned &= self.ends.get(call).is_some_and(|at| *at <= by);
            run = call.0;
        }
        returned
    }
}

/// One run while its journal is read.
struct OfRun<'r> {
    row: &'r Run,
    program: &'r Program,
    /// The attempts that are child runs.
    children: BTreeSet<(EffectNo, u32)>,
    /// Where the open attempts and questions stand in what has happened.
    calls: BTreeMap<EffectNo, usize>,
    questions: BTreeMap<RequestNo, usize>,
    /// The place of the event that is being read.
    position: i64,
}

impl History {
    fn run(&mut self, store: &Store, row: &Run) -> Result<(), Trouble> {
        let program = store.program(row.workflow, &row.part)?;
        let program = program.ok_or_else(|| Trouble::Missing(format!("program of run `{}`", row.id)))?;
        self.secrets.add(store.secrets(row.run)?.values());
        let children = store.children(row.run)?;
        let called = children.iter().filter_map(|child| child.parent).map(|at| (EffectNo(at.effect), at.attempt));
        let (calls, questions) = (BTreeMap::new(), BTreeMap::new());
        let mut of = OfRun { row, program: &program, children: called.collect(), calls, questions, position: 0 };
        let positions = store.positions(row.run)?;
        for folded in Fold::new(&program, State::new(), store.journal(row.run)?) {
            let folded = folded.map_err(Trouble::in_journal_of(&row.id))?;
            of.position = positions.get(&folded.seq).copied().unwrap_or(of.position);
            self.heard(&mut of, &folded.event);
            folded.outcome.commands.into_iter().for_each(|command| self.commanded(&mut of, command));
        }
        if self.ended || row.status.is_final() {
            of.calls.into_values().for_each(|at| self.items[at].end(Came::Withdrawn, of.position));
        }
        for child in &children {
            if let Some(parent) = child.parent {
                self.parents.insert(child.run, (parent.run, EffectNo(parent.effect), parent.attempt));
            }
            self.run(store, child)?;
        }
        Ok(())
    }

    fn push(&mut self, of: &OfRun<'_>, happened: Happened) {
        self.items.push(Item { position: of.position, run: of.row.run, ended_at: None, happened });
    }

    fn heard(&mut self, of: &mut OfRun<'_>, event: &Event) {
        match event {
            Event::Start { facts, .. } => {
                for (name, fact) in facts.iter().filter(|(name, _)| of.row.parent.is_none() || &***name != "run_id") {
                    self.facts.entry(name.clone()).or_insert_with(|| fact.clone());
                }
            }
            Event::Settled { effect, attempt, result, usage } => {
                self.ends.insert((of.row.run, *effect, *attempt), of.position);
                if let Some(at) = of.calls.remove(effect) {
                    self.items[at].end(Came::Settled(result.clone(), *usage), of.position);
                }
            }
            Event::Signal { name, payload, sender, .. } => match &**name {
                VOTE => self.voted(of, payload, sender.as_ref()),
                RESUME | LINE => {
                    let node = payload.get("id").and_then(Value::as_str).filter(|_| &**name == RESUME);
                    let what = if &**name == RESUME { payload.get("input").unwrap_or(payload) } else { payload };
                    let step = node.map_or_else(|| name.clone(), Arc::from);
                    self.push(of, Happened::Said { step, what: what.clone() });
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn voted(&mut self, of: &OfRun<'_>, payload: &Value, sender: Option<&Arc<str>>) {
        let Some(Value::Int(number)) = payload.get("request") else { return };
        let at = u64::try_from(*number).ok().and_then(|number| of.questions.get(&RequestNo(number)));
        let item = at.and_then(|at| self.items.get_mut(*at));
        let Some(Item { happened: Happened::Asked { votes, .. }, .. }) = item else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str).map(Arc::from);
        votes.push(Vote {
            user: sender.cloned().unwrap_or_default(),
            choice: text("choice").unwrap_or_default(),
            comment: text("comment"),
        });
    }

    fn commanded(&mut self, of: &mut OfRun<'_>, command: Command) {
        match command {
            Command::Perform { effect, attempt, .. } if of.children.contains(&(effect, attempt)) => {}
            Command::Perform { effect, .. } => {
                let (id, folder) = (of.row.id.as_str().into(), of.row.folder.as_str().into());
                let Some(call) = Call::of(of.program, &id, &folder, command) else { return };
                of.calls.insert(effect, self.items.len());
                self.push(of, Happened::Called { call, came: Came::Open });
            }
            Command::Withdraw { effect } => {
                if let Some(at) = of.calls.remove(&effect) {
                    self.items[at].end(Came::Withdrawn, of.position);
                }
            }
            Command::Ask { request, spec } => {
                let step = spec.get("step").and_then(Value::as_str).unwrap_or("people").into();
                of.questions.insert(request, self.items.len());
                self.push(of, Happened::Asked { step, question: spec, votes: Vec::new(), request });
            }
            Command::Retract { request } => {
                if let Some(at) = of.questions.remove(&request) {
                    self.items[at].ended_at = Some(of.position);
                }
            }
            _ => {}
        }
    }
}

impl Item {
    fn end(&mut self, with: Came, at: i64) {
        self.ended_at = Some(at);
        if let Happened::Called { came, .. } = &mut self.happened {
            *came = with;
        }
    }
}
