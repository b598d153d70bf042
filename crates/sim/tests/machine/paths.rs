//! Random state machines: the states that a run visits are those that a slow model predicts.
//!
//! The model knows the document as its author would draw it, a list of states with ways between them, and walks it with a
//! stack of loops. It shares nothing with the lowering: no contexts, no places, no scopes.

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

/// Longer walks are cut: a machine may go on for ever.
const LONGEST: usize = 80;

/// Enough for the longest walk that is looked at.
const MOST_OPS: u64 = 3_000;

/// A state of a random machine.
#[derive(Clone, Debug)]
enum State {
    /// A command that fails at every so-manieth run of it; 0 is never.
    Command {
        fails_every: usize,
        /// How often it is tried before it has failed.
        attempts: usize,
        ways: Ways,
    },
    /// A loop over so many items, or while its index is below a number.
    Loop {
        each: bool,
        rounds: usize,
        body: Vec<usize>,
        ways: Ways,
        breaks_at: Option<usize>,
    },
    Terminal,
}

/// Where a state goes on.
#[derive(Clone, Debug, Default)]
struct Ways {
    /// A way that is taken when the state has run so often.
    at_run: Option<(usize, usize)>,
    on_success: Option<usize>,
    on_failure: Option<usize>,
    /// A failure that has no other way ends the run with a message of its own.
    inline: bool,
    continue_on_error: bool,
}

/// What the walk meets.
#[derive(Debug)]
struct Model<'m> {
    states: &'m [State],
    runs: BTreeMap<usize, usize>,
    path: Vec<usize>,
}

/// How a state, or the loop around it, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// On to a state.
    To(usize, bool),
    /// Nowhere, after success or after failure.
    Nowhere(bool),
    /// The run has ended.
    Ended,
}

impl Model<'_> {
    fn run(states: &[State]) -> Vec<usize> {
        let mut model = Model { states, runs: BTreeMap::new(), path: Vec::new() };
        let mut at = 0;
        while let Went::To(next, _) = model.state(at) {
            at = next;
        }
        model.path.truncate(LONGEST);
        model.path
    }

    /// Runs a state with everything inside it, and says where it wants to go.
    fn state(&mut self, at: usize) -> Went {
        if self.path.len() >= LONGEST {
            return Went::Ended;
        }
        self.path.push(at);
        match &self.states[at] {
            State::Terminal => Went::Ended,
            State::Command { fails_every, attempts, ways } => {
                let run = self.runs.entry(at).or_default();
                let mut ok = false;
                for _ in 0..*attempts {
                    *run += 1;
                    ok = *fails_every == 0 || !run.is_multiple_of(*fails_every);
                    if ok {
                        break;
                    }
                }
                choose(ways, *run, ok)
            }
            State::Loop { rounds, body, ways, breaks_at, .. } => {
                let ended = self.looped(at, *rounds, body, *breaks_at);
                match ended {
                    Went::Nowhere(ok) => choose(ways, 0, ok),
                    other => other,
                }
            }
        }
    }

    /// `Nowhere` says that the loop has ended by itself, well or badly.
    fn looped(&mut self, at: usize, rounds: usize, body: &[usize], breaks_at: Option<usize>) -> Went {
        for round in 0..rounds {
            let mut position = 0;
            while position < body.len() {
                let member = body[position];
                match self.state(member) {
                    Went::Ended => return Went::Ended,
                    Went::To(to, _) if to == at => position += 1,
                    Went::To(to, ok) => match body.iter().position(|member| *member == to) {
                        Some(inside) => position = inside,
                        None => return Went::To(to, ok),
                    },
                    Went::Nowhere(true) => position += 1,
                    Went::Nowhere(false) if continues(&self.states[member]) => position += 1,
                    Went::Nowhere(false) => return Went::Nowhere(false),
                }
            }
            if breaks_at == Some(round) {
                break;
            }
        }
        Went::Nowhere(true)
    }
}

fn ways(state: &State) -> Option<&Ways> {
    match state {
        State::Command { ways, .. } | State::Loop { ways, .. } => Some(ways),
        State::Terminal => None,
    }
}

fn continues(state: &State) -> bool {
    ways(state).is_some_and(|ways| ways.continue_on_error)
}

fn choose(ways: &Ways, run: usize, ok: bool) -> Went {
    if let Some((_, to)) = ways.at_run.filter(|(at, _)| *at == run) {
        return Went::To(to, ok);
    }
    if !ok && !ways.continue_on_error && ways.inline {
        return Went::Ended;
    }
    let named = if ok || ways.continue_on_error { ways.on_success } else { ways.on_failure };
    named.map_or(Went::Nowhere(ok), |to| Went::To(to, ok))
}

/// A small generator of numbers: the same seed gives the same machine.
struct Dice(u64);

impl Dice {
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
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 4 + dice.below(6);
    let mut states = Vec::new();
    for at in 0..count {
        let mut target = |percent: usize| dice.chance(percent).then(|| dice.below(count + 1));
        let on_success = Some(target(100).unwrap_or(count));
        let mut ways =
            Ways { at_run: None, on_success, on_failure: target(60), inline: false, continue_on_error: false };
        ways.inline = ways.on_failure.is_none() && dice.chance(30);
        if dice.chance(50) {
            ways.at_run = Some((1 + dice.below(3), dice.below(count + 1)));
        }
        ways.continue_on_error = dice.chance(15);
        let inner: Vec<usize> = (at + 1..count).filter(|_| dice.chance(40)).take(3).collect();
        states.push(if inner.is_empty() || dice.chance(45) {
            State::Command { fails_every: dice.below(4), attempts: 1 + dice.below(4) / 2, ways }
        } else {
            ways.at_run = None;
            let breaks_at = dice.chance(30).then(|| dice.below(3));
            State::Loop { each: dice.chance(50), rounds: dice.below(4), body: inner, ways, breaks_at }
        });
    }
    let held: Vec<usize> = states
        .iter()
        .filter_map(|state| match state {
            State::Loop { body, .. } => Some(body.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    for at in held {
        // A member of a body may leave it to the body where it goes on.
        if let State::Command { ways, .. } | State::Loop { ways, .. } = &mut states[at]
            && dice.chance(40)
        {
            ways.on_success = None;
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
        let Some(ways) = ways(state) else { continue };
        if let Some((run, to)) = ways.at_run {
            let when = format!("states.s{at}.Stderr == 'run {run}'");
            let _ = writeln!(text, "    transitions:\n      - {{when: \"{when}\", goto: s{to}}}");
        }
        let named = [("on_success", ways.on_success), ("on_failure", ways.on_failure)];
        for (key, to) in named.into_iter().filter_map(|(key, to)| Some((key, to?))) {
            let _ = writeln!(text, "    {key}: s{to}");
        }
        if ways.inline {
            let _ = writeln!(text, "    on_failure: {{message: it is over, status: 9}}");
        }
        if ways.continue_on_error {
            text.push_str("    continue_on_error: true\n");
        }
    }
    text
}

/// Commands fail as the machine says, and tell how often they have run.
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
        if self.calls > 2 * LONGEST {
            // The rest of a walk without an end is of no interest.
            return Answer::Missing;
        }
        Answer::Process(ProcessResult::new(exit, "", format!("run {run}")))
    }
}

fn visited(states: &[State], source: &str) -> Vec<usize> {
    let loaded = load(source, Some(Dialect::Machine));
    let errors: Vec<_> = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    let mut program = loaded.program.unwrap_or_else(|| panic!("{source}\n{errors:?}"));
    // A loop over nothing that leads to itself is legal and never ends.
    program.limits.ops = MOST_OPS;
    let mut host = VirtualDriver::new(&program, 0);
    host.start(Value::Null, Object::default()).expect("a run can start");
    let mut commands = Commands { states, runs: BTreeMap::new(), calls: 0 };
    host.run_until_idle(&mut |call| commands.answer(call).into());
    let began = host.notes().iter().filter_map(|note| match note.kind {
        NoteKind::Began(step, _) => Some(&*program.steps[step.index()].id),
        _ => None,
    });
    // An inline failure is an end, not a state.
    let began = began.filter(|name| !name.starts_with("__inline"));
    began.map(|name| name[1..].parse().expect("states are numbered")).take(LONGEST).collect()
}

#[test]
fn random_machines_visit_what_the_model_predicts() {
    let mut walked = 0;
    for seed in 0..MACHINES {
        let states = machine(seed);
        let source = yaml(&states);
        let loaded = load(&source, Some(Dialect::Machine));
        // No terminal state may be in reach, and a state may lack a way on: such a document is refused.
        if loaded.program.is_none() {
            continue;
        }
        walked += 1;
        let predicted = Model::run(&states);
        assert_eq!(visited(&states, &source), predicted, "seed {seed}\n{source}");
    }
    assert!(walked > 120, "only {walked} machines could be run");
}
