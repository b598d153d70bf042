//! Random state machines: the states that a run visits are those that a slow model predicts.
//!
//! The model has the states of the document and the transitions between them, and walks them with a stack of loops. It shares
//! nothing with the lowering: no contexts, no places, no scopes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use branchpoint_core::NoteKind;
use branchpoint_core::effect::ProcessResult;
use branchpoint_core::ir::Index;
use branchpoint_dialects::load;
use branchpoint_expr::{Dialect, Object, Severity, Value};
use branchpoint_host::VirtualDriver;
use branchpoint_runners::{Answer, Call};

/// How many machines are tried.
const MACHINES: u64 = 300;

/// The longest walk that is compared, because a machine may run for ever.
const MAX_WALK: usize = 80;

/// The limit of ops of a run, enough for the longest walk.
const MAX_OPS: u64 = 3_000;

/// A state of a random machine.
#[derive(Clone, Debug)]
enum State {
    /// A command of which every n-th run fails; 0 means that none fails.
    Command {
        fails_every: usize,
        /// The number of attempts of one run.
        attempts: usize,
        transitions: Transitions,
    },
    /// A loop over some items, or while its index is below a number.
    Loop {
        each: bool,
        rounds: usize,
        body: Vec<usize>,
        transitions: Transitions,
        breaks_at: Option<usize>,
    },
    Terminal,
}

/// The transitions of a state.
#[derive(Clone, Debug, Default)]
struct Transitions {
    /// A transition that applies in one run of the state: the number of the run and the target.
    at_run: Option<(usize, usize)>,
    on_success: Option<usize>,
    on_failure: Option<usize>,
    /// Whether a failure without a transition ends the run with an inline message.
    inline: bool,
    continue_on_error: bool,
}

/// The states and the progress of a walk.
#[derive(Debug)]
struct Model<'m> {
    states: &'m [State],
    runs: BTreeMap<usize, usize>,
    path: Vec<usize>,
}

/// How a state or its loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Continues at a state.
    To(usize, bool),
    /// Without a next state, after success or failure.
    Nowhere(bool),
    /// The run has ended.
    Ended,
}

impl Model<'_> {
    fn run(states: &[State]) -> Vec<usize> {
        let mut model = Model { states, runs: BTreeMap::new(), path: Vec::new() };
        let mut at = 0;
        while let Exit::To(next, _) = model.state(at) {
            at = next;
        }
        model.path.truncate(MAX_WALK);
        model.path
    }

    /// Runs a state with everything inside it.
    fn state(&mut self, at: usize) -> Exit {
        if self.path.len() >= MAX_WALK {
            return Exit::Ended;
        }
        self.path.push(at);
        match &self.states[at] {
            State::Terminal => Exit::Ended,
            State::Command { fails_every, attempts, transitions } => {
                let run = self.runs.entry(at).or_default();
                let mut ok = false;
                for _ in 0..*attempts {
                    *run += 1;
                    ok = *fails_every == 0 || !run.is_multiple_of(*fails_every);
                    if ok {
                        break;
                    }
                }
                choose(transitions, *run, ok)
            }
            State::Loop { rounds, body, transitions, breaks_at, .. } => {
                let ended = self.repeat_body(at, *rounds, body, *breaks_at);
                match ended {
                    Exit::Nowhere(ok) => choose(transitions, 0, ok),
                    other => other,
                }
            }
        }
    }

    /// Runs a loop. `Exit::Nowhere` means that the loop has ended by itself, with success or failure.
    fn repeat_body(&mut self, at: usize, rounds: usize, body: &[usize], breaks_at: Option<usize>) -> Exit {
        for round in 0..rounds {
            let mut position = 0;
            while position < body.len() {
                let member = body[position];
                match self.state(member) {
                    Exit::Ended => return Exit::Ended,
                    Exit::To(to, _) if to == at => position += 1,
                    Exit::To(to, ok) => match body.iter().position(|member| *member == to) {
                        Some(inside) => position = inside,
                        None => return Exit::To(to, ok),
                    },
                    Exit::Nowhere(true) => position += 1,
                    Exit::Nowhere(false) if continues(&self.states[member]) => position += 1,
                    Exit::Nowhere(false) => return Exit::Nowhere(false),
                }
            }
            if breaks_at == Some(round) {
                break;
            }
        }
        Exit::Nowhere(true)
    }
}

fn transitions(state: &State) -> Option<&Transitions> {
    match state {
        State::Command { transitions, .. } | State::Loop { transitions, .. } => Some(transitions),
        State::Terminal => None,
    }
}

fn continues(state: &State) -> bool {
    transitions(state).is_some_and(|transitions| transitions.continue_on_error)
}

fn choose(transitions: &Transitions, run: usize, ok: bool) -> Exit {
    if let Some((_, to)) = transitions.at_run.filter(|(at, _)| *at == run) {
        return Exit::To(to, ok);
    }
    if !ok && !transitions.continue_on_error && transitions.inline {
        return Exit::Ended;
    }
    let named = if ok || transitions.continue_on_error { transitions.on_success } else { transitions.on_failure };
    named.map_or(Exit::Nowhere(ok), |to| Exit::To(to, ok))
}

/// A random number generator. Equal seeds give equal machines.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits fit") % bound
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// States 0 to n, of which the last is terminal. Loops hold states with higher numbers, so none holds itself.
fn machine(seed: u64) -> Vec<State> {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 4 + rng.below(6);
    let mut states = Vec::new();
    for at in 0..count {
        let mut target = |percent: usize| rng.chance(percent).then(|| rng.below(count + 1));
        let on_success = Some(target(100).unwrap_or(count));
        let mut transitions =
            Transitions { at_run: None, on_success, on_failure: target(60), inline: false, continue_on_error: false };
        transitions.inline = transitions.on_failure.is_none() && rng.chance(30);
        if rng.chance(50) {
            transitions.at_run = Some((1 + rng.below(3), rng.below(count + 1)));
        }
        transitions.continue_on_error = rng.chance(15);
        let inner: Vec<usize> = (at + 1..count).filter(|_| rng.chance(40)).take(3).collect();
        states.push(if inner.is_empty() || rng.chance(45) {
            State::Command { fails_every: rng.below(4), attempts: 1 + rng.below(4) / 2, transitions }
        } else {
            transitions.at_run = None;
            let breaks_at = rng.chance(30).then(|| rng.below(3));
            State::Loop { each: rng.chance(50), rounds: rng.below(4), body: inner, transitions, breaks_at }
        });
    }
    let members: Vec<usize> = states
        .iter()
        .filter_map(|state| match state {
            State::Loop { body, .. } => Some(body.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    for at in members {
        // A state of a body may have no transition; the next state of the body follows.
        if let State::Command { transitions, .. } | State::Loop { transitions, .. } = &mut states[at]
            && rng.chance(40)
        {
            transitions.on_success = None;
        }
    }
    states.push(State::Terminal);
    states
}

/// The document, as an author would write it.
fn yaml(states: &[State]) -> String {
    let mut text = String::from("name: random\nstates:\n  initial: s0\n");
    for (at, state) in states.iter().enumerate() {
        let _ = writeln!(text, "  s{at}:");
        match state {
            State::Terminal => text.push_str("    type: terminal\n"),
            State::Command { attempts, .. } => {
                let _ = writeln!(text, "    command: run\n    retry: {{max_attempts: {attempts}, initial_delay: 1s}}");
            }
            State::Loop { each, rounds, body, breaks_at, .. } => {
                let body = body.iter().map(|member| format!("s{member}")).collect::<Vec<_>>().join(", ");
                let over = if *each {
                    let items = (0..*rounds).map(|item| item.to_string()).collect::<Vec<_>>().join(", ");
                    format!("type: for_each\n    items: [{items}]")
                } else {
                    format!("type: while\n    while: \"loop.Index < {rounds}\"")
                };
                let _ = writeln!(text, "    {over}\n    body: [{body}]");
                if let Some(round) = breaks_at {
                    let _ = writeln!(text, "    break_when: \"loop.Index == {round}\"");
                }
            }
        }
        let Some(transitions) = transitions(state) else { continue };
        if let Some((run, to)) = transitions.at_run {
            let when = format!("states.s{at}.Stderr == 'run {run}'");
            let _ = writeln!(text, "    transitions:\n      - {{when: \"{when}\", goto: s{to}}}");
        }
        let named = [("on_success", transitions.on_success), ("on_failure", transitions.on_failure)];
        for (key, to) in named.into_iter().filter_map(|(key, to)| Some((key, to?))) {
            let _ = writeln!(text, "    {key}: s{to}");
        }
        if transitions.inline {
            let _ = writeln!(text, "    on_failure: {{message: it is over, status: 9}}");
        }
        if transitions.continue_on_error {
            text.push_str("    continue_on_error: true\n");
        }
    }
    text
}

/// Commands that fail as the machine defines, and print the number of their run.
struct Commands<'m> {
    states: &'m [State],
    runs: BTreeMap<String, usize>,
    calls: usize,
}

impl Commands<'_> {
    fn answer(&mut self, call: &Call) -> Answer {
        self.calls += 1;
        let name = call.step.as_deref().unwrap_or_default().to_owned();
        let at: usize = name[1..].parse().expect("states are numbered");
        let run = self.runs.entry(name).or_default();
        *run += 1;
        let State::Command { fails_every, .. } = self.states[at] else { panic!("only commands are run") };
        let exit = i32::from(fails_every != 0 && run.is_multiple_of(fails_every));
        if self.calls > 2 * MAX_WALK {
            // An endless walk is compared up to its longest length only.
            return Answer::Missing;
        }
        Answer::Process(ProcessResult::new(exit, "", format!("run {run}")))
    }
}

fn visited(states: &[State], source: &str) -> Vec<usize> {
    let loaded = load(source, Some(Dialect::Machine));
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let mut program = loaded.program.unwrap_or_else(|| panic!("{source}\n{errors:?}"));
    // A loop over no items that leads to itself is valid and never ends.
    program.limits.ops = MAX_OPS;
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).expect("the run starts");
    let mut commands = Commands { states, runs: BTreeMap::new(), calls: 0 };
    host.run_until_idle(&mut |call| commands.answer(call).into());
    let began = host.notes().iter().filter_map(|note| match note.kind {
        NoteKind::Began(step, _) => Some(&*program.steps[step.index()].id),
        _ => None,
    });
    // An inline failure is an end, not a state.
    let began = began.filter(|name| !name.starts_with("__inline"));
    began.map(|name| name[1..].parse().expect("states are numbered")).take(MAX_WALK).collect()
}

#[test]
fn random_machines_visit_what_the_model_predicts() {
    let mut walked = 0;
    for seed in 0..MACHINES {
        let states = machine(seed);
        let source = yaml(&states);
        let loaded = load(&source, Some(Dialect::Machine));
        // A document without a reachable terminal state, or with a state without a transition, is rejected.
        if loaded.program.is_none() {
            continue;
        }
        walked += 1;
        let predicted = Model::run(&states);
        assert_eq!(visited(&states, &source), predicted, "seed {seed}\n{source}");
    }
    assert!(walked > 120, "only {walked} machines could be run");
}
