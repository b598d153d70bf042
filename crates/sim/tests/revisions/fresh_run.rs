//! A host of one run that hands recorded answers to a program from its start, written without the code under test.
//!
//! The answers are handed over in the order in which they were recorded, because the result of parallel calls can depend on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use branchpoint_core::ir::Program;
use branchpoint_core::{
    AttemptError, Command, EffectNo, Event, JournalRow, RESUME, RequestNo, Stamp, State, Usage, advance, approvals,
};
use branchpoint_expr::Value;

/// A call by its step, its positions, its count and its attempt.
pub(crate) type Key = (String, Vec<u32>, usize, u32);

/// An event of a recorded run, in words that do not depend on the program.
#[derive(Clone, Debug)]
enum Recorded {
    Result {
        key: Key,
        result: Result<Value, AttemptError>,
        usage: Usage,
    },
    Vote {
        step: String,
        user: Arc<str>,
        choice: Value,
    },
    /// A timer or another event without an answer: time has passed.
    Time,
}

/// The recorded answers of a run, and how it started.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    start: (Stamp, Event),
    answers: Vec<(Stamp, Recorded)>,
}

/// The names of the calls of a run.
#[derive(Default)]
struct CallNames {
    counts: BTreeMap<(String, Vec<u32>), usize>,
    effects: BTreeMap<EffectNo, (String, Vec<u32>, usize)>,
}

impl CallNames {
    /// The key of a call that a command performs.
    fn key(&mut self, program: &Program, command: &Command) -> Option<(EffectNo, Key)> {
        let Command::Perform { effect, attempt, effect_id, path, .. } = command else { return None };
        let (step, path, count) = self.effects.entry(*effect).or_insert_with(|| {
            let definition = &program.effects[effect_id.0 as usize];
            let step = definition.step.map(|step| program.steps[step.0 as usize].id.to_string());
            let name = (step.unwrap_or_else(|| definition.kind.as_str().to_owned()), path.clone());
            let count = self.counts.entry(name.clone()).or_default();
            *count += 1;
            (name.0, name.1, *count)
        });
        Some((*effect, (step.clone(), path.clone(), *count, *attempt)))
    }
}

impl Recording {
    /// Reads the answers in a journal.
    pub(crate) fn read(program: &Program, journal: &[JournalRow]) -> Self {
        let (start, _, _) = &journal[0];
        let mut recording = Self { start: (start.clone(), journal[0].1.clone()), answers: Vec::new() };
        let (mut names, mut steps, mut state) = (CallNames::default(), BTreeMap::new(), State::new());
        for (stamp, event, _) in journal {
            let recorded = Self::recorded(event, &names, &steps);
            recording.answers.push((stamp.clone(), recorded));
            for command in advance(program, &mut state, stamp, event.clone()).expect("it folds").commands {
                names.key(program, &command);
                if let Command::Ask { request, spec } = command {
                    let step = spec.get("step").and_then(Value::as_str).unwrap_or_default().to_owned();
                    steps.insert(request.0.to_string(), step);
                }
            }
        }
        recording
    }

    fn recorded(event: &Event, names: &CallNames, steps: &BTreeMap<String, String>) -> Recorded {
        match event {
            Event::Settled { effect, attempt, result, usage } => {
                let (step, path, count) = names.effects[effect].clone();
                Recorded::Result { key: (step, path, count, *attempt), result: result.clone(), usage: *usage }
            }
            Event::Signal { name, payload, sender, .. } if &**name == "vote" || &**name == RESUME => {
                let field = |key: &str| payload.get(key).cloned().unwrap_or_default();
                let user = sender.clone().unwrap_or_default();
                if &**name == RESUME {
                    return Recorded::Vote { step: field("id").to_string(), user, choice: field("input") };
                }
                Recorded::Vote { step: steps[&field("request").to_string()].clone(), user, choice: field("choice") }
            }
            _ => Recorded::Time,
        }
    }

    /// The recording without the votes on these steps.
    pub(crate) fn without_votes<'s>(mut self, steps: impl IntoIterator<Item = &'s str>) -> Self {
        let void: BTreeSet<&str> = steps.into_iter().collect();
        self.answers
            .retain(|(_, recorded)| !matches!(recorded, Recorded::Vote { step, .. } if void.contains(step.as_str())));
        self
    }
}

/// What a run does with recorded answers, until it needs others.
pub(crate) struct FreshRun<'p> {
    program: &'p Program,
    state: State,
    names: CallNames,
    awaited: BTreeMap<EffectNo, Key>,
    specs: BTreeMap<RequestNo, Value>,
    /// The inputs of all calls.
    pub(crate) calls: BTreeMap<Key, Value>,
    /// The steps of all approvals that were ever open.
    pub(crate) asked: BTreeSet<String>,
    /// The number of votes that the run rejected.
    pub(crate) rejected_votes: usize,
}

impl<'p> FreshRun<'p> {
    /// Runs a program from its start with the recorded answers.
    pub(crate) fn new(program: &'p Program, recording: &Recording) -> Self {
        let mut run = Self {
            program,
            state: State::new(),
            names: CallNames::default(),
            awaited: BTreeMap::new(),
            specs: BTreeMap::new(),
            calls: BTreeMap::new(),
            asked: BTreeSet::new(),
            rejected_votes: 0,
        };
        let (stamp, mut start) = recording.start.clone();
        if let Event::Start { facts, .. } = &mut start {
            for name in program.facts.iter().filter(|name| !facts.contains_key(*name)).cloned().collect::<Vec<_>>() {
                facts.insert(name, Value::Null);
            }
        }
        run.hand(&stamp, start);
        // Answers to what the run has not asked for yet.
        let mut early = Vec::new();
        for (stamp, recorded) in &recording.answers {
            run.fire_timers(stamp);
            early.push((stamp, recorded));
            while let Some(index) = early.iter().position(|(stamp, recorded)| run.answer(stamp, recorded)) {
                early.remove(index);
            }
        }
        run
    }

    /// Hands a recorded answer to the run, if the run awaits it.
    fn answer(&mut self, stamp: &Stamp, recorded: &Recorded) -> bool {
        match recorded {
            Recorded::Time => true,
            Recorded::Result { key, result, usage } => {
                let effect = self.awaited.iter().find(|(_, awaited)| *awaited == key).map(|(effect, _)| *effect);
                let Some(effect) = effect else { return false };
                self.awaited.remove(&effect);
                let settled = Event::Settled { effect, attempt: key.3, result: result.clone(), usage: *usage };
                assert!(self.hand(stamp, settled), "the run awaits the result of {key:?}");
                true
            }
            Recorded::Vote { step, user, choice } => {
                let open = approvals(self.program, &self.state, &self.specs);
                let Some(approval) = open.iter().find(|approval| *approval.step == **step) else { return false };
                let vote = approval.key.answer(Some(user), choice, None);
                self.rejected_votes += usize::from(!self.hand(stamp, vote));
                true
            }
        }
    }

    /// Fires every timer that is due by the time of an event.
    fn fire_timers(&mut self, stamp: &Stamp) {
        while let Some((due_ms, timer)) = self.state.timers().map(|(timer, due_ms)| (due_ms, timer)).min() {
            if due_ms > stamp.now_ms {
                break;
            }
            let fired = self.hand(&Stamp { now_ms: due_ms, ..stamp.clone() }, Event::TimerFired(timer));
            assert!(fired, "a timer of the state can fire");
        }
    }

    /// Hands an event to the run and continues until the event is finished. Returns whether the run accepts it.
    fn hand(&mut self, stamp: &Stamp, event: Event) -> bool {
        let mut stamp = Stamp { now_ms: stamp.now_ms.max(self.state.now_ms()), ..stamp.clone() };
        let mut next = Some(event);
        let mut is_first = true;
        while let Some(event) = next.take() {
            let outcome = match advance(self.program, &mut self.state, &stamp, event) {
                Ok(outcome) => outcome,
                Err(_) if is_first => return false,
                Err(rejected) => panic!("a run that is not finished continues: {rejected}"),
            };
            for command in &outcome.commands {
                self.execute(command);
            }
            is_first = false;
            stamp.fuel = 0;
            next = outcome.more.then_some(Event::Continue);
        }
        true
    }

    fn execute(&mut self, command: &Command) {
        if let Some((effect, key)) = self.names.key(self.program, command)
            && let Command::Perform { input, .. } = command
        {
            self.calls.insert(key.clone(), input.clone());
            self.awaited.insert(effect, key);
        }
        match command {
            Command::Withdraw { effect } => drop(self.awaited.remove(effect)),
            Command::Ask { request, spec } => {
                self.asked.extend(spec.get("step").and_then(Value::as_str).map(str::to_owned));
                self.specs.insert(*request, spec.clone());
            }
            _ => {}
        }
    }

    /// The result of the run, if it has ended.
    pub(crate) fn result(&self) -> Option<&Value> {
        self.state.result().map(|(_, result)| result)
    }

    /// The calls without a recorded result, by step and positions.
    pub(crate) fn pending(&self) -> BTreeSet<(String, Vec<u32>)> {
        self.awaited.values().map(|(step, path, ..)| (step.clone(), path.clone())).collect()
    }

    /// The steps of the open approvals.
    pub(crate) fn approvals(&self) -> BTreeSet<String> {
        let open = approvals(self.program, &self.state, &self.specs);
        open.iter().map(|approval| approval.step.to_string()).collect()
    }
}
