use std::sync::Arc;

use branchpoint_backend::Priority;
use branchpoint_core::ir::{ExprId, View};
use branchpoint_core::{Event, LIMITS_VIEW};
use branchpoint_expr::Expression;
use branchpoint_runners::Answer;

use super::*;
use crate::host::testing::{self, Place};
use crate::host::{Start, Ticket, TurnOutput};

/// A program with limits.
fn limited(mut program: Program, limits: &str) -> Program {
    let value = ExprId(u32::try_from(program.exprs.len()).expect("it is small"));
    program.exprs.push(Expression::constant(serde_json::from_str(limits).expect("this is JSON")));
    program.views.push(View { name: LIMITS_VIEW.into(), value });
    program
}

/// Hosts over one store, under a virtual clock, and the calls that they perform.
struct Processes {
    place: Place,
    hosts: Vec<Option<Host>>,
    /// Calls in flight: the host, the run and the call.
    calls: Vec<(usize, RunNo, Call)>,
    now_ms: i64,
    workflow: WorkflowNo,
    operator: BTreeMap<String, RunLimits>,
    /// The ids of runs in the order of their first calls.
    order: Vec<String>,
}

impl Processes {
    fn new(program: &Program, hosts: usize) -> Self {
        Self::with_operator(program, hosts, "{}")
    }

    fn with_operator(program: &Program, hosts: usize, operator: &str) -> Self {
        let place = Place::new();
        let workflow = testing::save(&testing::open(&place.file()), "workflow", program);
        let operator = serde_json::from_str::<Value>(operator).ok();
        let operator = operator.and_then(|limits| RunLimits::from_value(&limits).ok());
        let operator = operator.into_iter().map(|limits| ("workflow".to_owned(), limits)).collect();
        let (calls, order) = (Vec::new(), Vec::new());
        let mut processes = Self { place, hosts: Vec::new(), calls, now_ms: 0, workflow, operator, order };
        for _ in 0..hosts {
            processes.hosts.push(None);
            processes.restart(processes.hosts.len() - 1);
        }
        processes
    }

    fn restart(&mut self, at: usize) {
        let store = testing::open(&self.place.file());
        let host = Host::new(store, "test", DrivenRuns::All, Arc::new(|_| Value::Null), self.now_ms);
        self.hosts[at] = Some(host.expect("it starts").with_run_limits(self.operator.clone()));
    }

    /// Ends a process without letting it write anything.
    fn kill(&mut self, at: usize) {
        self.hosts[at] = None;
        self.calls.retain(|(host, ..)| *host != at);
    }

    fn start(&mut self, at: usize, id: &str, input: &str, priority: i64) {
        let priority = Priority::new(priority).expect("it is valid");
        let start = Start { priority, ..Start::new(self.workflow, id.into(), input.into()) };
        self.hosts[at].as_mut().expect("it lives").start(start, Ticket(1));
        self.turn(at);
    }

    fn turn(&mut self, at: usize) {
        let Some(host) = &mut self.hosts[at] else { return };
        host.poll_store().expect("the store works");
        host.release_dead_owners().expect("the store works");
        for output in host.turn(self.now_ms).expect("the store works") {
            match output {
                TurnOutput::Perform { run, call, .. } => {
                    if !self.order.iter().any(|id| **id == *call.run) {
                        self.order.push(call.run.to_string());
                    }
                    self.calls.push((at, run, call));
                }
                TurnOutput::Withdraw { run, effect, .. } => {
                    self.calls.retain(|(_, of, call)| (*of, call.effect) != (run, effect));
                }
                _ => {}
            }
        }
    }

    /// All hosts do what they can without new events.
    fn settle(&mut self) {
        for _ in 0..8 {
            (0..self.hosts.len()).for_each(|at| self.turn(at));
        }
    }

    /// Ends a call in flight.
    fn answer(&mut self, index: usize) {
        let (at, run, call) = self.calls.remove(index);
        self.hosts[at].as_mut().expect("it lives").settle(run, &call, Answer::data("done"));
    }

    fn in_flight(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.calls.iter().map(|(.., call)| call.run.to_string()).collect();
        ids.sort();
        ids
    }

    fn store(&self) -> &crate::store::Store {
        self.hosts.iter().flatten().next().expect("one lives").store()
    }

    fn run(&self, id: &str) -> RunNo {
        self.store().run(id).expect("it reads").expect("it exists").run
    }

    fn queued(&self, id: &str) -> Option<(u64, String)> {
        let queued = self.store().queued(self.run(id), self.now_ms).expect("it reads");
        queued.map(|queued| (queued.position, queued.reason))
    }

    /// Answers calls one by one, the oldest first, until none is left.
    fn finish(&mut self) {
        self.settle();
        while !self.calls.is_empty() {
            self.answer(0);
            self.settle();
        }
    }
}

const PER_INPUT: &str = r#"{"concurrent": 2, "per": "{{input}}"}"#;

#[test]
fn only_so_many_runs_of_a_group_are_driven_at_once() {
    let mut host = Processes::new(&limited(testing::calling(), PER_INPUT), 1);
    for (id, input) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("a4", "a")] {
        host.start(0, id, input, 0);
    }
    host.settle();
    assert_eq!(host.in_flight(), ["a1", "a2", "b1"]);
    assert_eq!(host.queued("a3"), Some((1, "2 of 2 runs of group `a` are running".into())));
    assert_eq!(host.queued("a4").expect("it is queued").0, 2);
    assert_eq!((host.queued("a1"), host.queued("b1")), (None, None));
    let row = host.store().row(host.run("a3")).expect("it reads");
    assert_eq!(row.status, Status::Running, "a queued run is running");
    host.finish();
    assert_eq!(host.order, ["a1", "a2", "b1", "a3", "a4"]);
    assert_eq!(host.store().counts().expect("it reads"), [("completed".into(), 5)]);
    assert_eq!(host.store().value::<u32>("SELECT count(*) FROM queue", []).expect("it reads"), 0);
    assert_eq!(host.store().value::<u32>("SELECT count(*) FROM queue_turns", []).expect("it reads"), 0);
}

#[test]
fn higher_priorities_go_first_then_earlier_starts() {
    let mut host = Processes::new(&limited(testing::calling(), r#"{"concurrent": 1}"#), 1);
    for (id, priority) in [("first", 0), ("low", -1), ("normal 1", 0), ("high", 100), ("normal 2", 0)] {
        host.start(0, id, "x", priority);
        host.settle();
    }
    let positions = ["high", "normal 1", "normal 2", "low"].map(|id| host.queued(id).expect("it is queued").0);
    assert_eq!(positions, [1, 2, 3, 4]);
    host.finish();
    assert_eq!(host.order, ["first", "high", "normal 1", "normal 2", "low"]);
}

#[test]
fn groups_of_equal_priority_take_turns() {
    let program = limited(testing::calling(), r#"{"concurrent": 5, "per": "{{input}}"}"#);
    // The operator lets one run of the workflow work at a time, whatever its group is.
    let mut host = Processes::with_operator(&program, 1, r#"{"concurrent": 1}"#);
    for number in 0..6 {
        host.start(0, &format!("busy{number}"), "busy", 0);
    }
    host.settle();
    for (id, input) in [("b0", "b"), ("c0", "c"), ("b1", "b")] {
        host.start(0, id, input, 0);
    }
    assert_eq!(
        host.queued("c0"),
        Some((1, "1 of 1 runs of workflow `workflow` are running (limit of the operator)".into()))
    );
    host.finish();
    assert_eq!(host.order, ["busy0", "b0", "c0", "busy1", "b1", "busy2", "busy3", "busy4", "busy5"]);
}

#[test]
fn a_rate_is_a_sliding_window_of_starts() {
    let mut host = Processes::new(&limited(testing::calling(), r#"{"rate": "2/10s"}"#), 1);
    let mut starts = Vec::new();
    for number in 0..7 {
        host.start(0, &format!("run{number}"), "x", 0);
    }
    host.now_ms = 1;
    host.settle();
    assert_eq!(host.queued("run2"), Some((1, "the rate 2/10s of workflow `workflow` is used up for 10 s".into())));
    for now_ms in (0..60_000).step_by(500) {
        host.now_ms = now_ms;
        host.settle();
        starts.resize(host.order.len(), now_ms);
        if !host.calls.is_empty() && now_ms % 1_500 == 0 {
            host.answer(0);
        }
    }
    assert_eq!(starts.len(), 7, "all have started: {starts:?}");
    for first in 0..5 {
        assert!(starts[first + 2] - starts[first] >= 10_000, "three starts in ten seconds: {starts:?}");
        assert!(starts[first + 2] - starts[first] <= 11_000, "the rate is not used: {starts:?}");
    }
    assert_eq!(host.hosts[0].as_ref().expect("it lives").slots.next_ms, None);
}

#[test]
fn a_run_that_waits_gives_its_slot_back_and_asks_for_one_again() {
    let program = testing::program(|b, null, end| {
        let last =
            testing::call(b, branchpoint_core::ir::builder::effect(branchpoint_core::effect::Kind::Tool), null, end);
        vec![testing::wait(b, last)]
    });
    let mut host = Processes::new(&limited(program, r#"{"concurrent": 1}"#), 1);
    host.start(0, "one", "x", 0);
    host.start(0, "two", "x", 0);
    host.settle();
    assert!(host.queued("one").is_none() && host.queued("two").is_none(), "both wait for a timer");
    host.now_ms = 20;
    host.settle();
    assert_eq!(host.in_flight(), ["one"]);
    assert_eq!(host.queued("two"), Some((1, "1 of 1 runs of workflow `workflow` are running".into())));
    host.finish();
    assert_eq!(host.store().counts().expect("it reads"), [("completed".into(), 2)]);
}

#[test]
fn a_rejected_or_cancelled_run_leaves_the_queue() {
    let mut host = Processes::new(&limited(testing::calling(), r#"{"concurrent": 1}"#), 1);
    for id in ["one", "two", "three"] {
        host.start(0, id, "x", 0);
    }
    host.settle();
    let two = host.run("two");
    host.hosts[0].as_mut().expect("it lives").send(two, Event::Cancel { reason: None }, Ticket(2));
    host.settle();
    assert_eq!(host.store().row(two).expect("it reads").status, Status::Cancelled);
    assert_eq!(host.queued("three").expect("it is queued").0, 1);
    host.finish();
    assert_eq!(host.order, ["one", "three"], "a run that was cancelled in the queue calls nothing");
}

#[test]
fn child_runs_use_the_slot_of_their_root() {
    let children = BTreeMap::from([("child".into(), limited(testing::calling(), r#"{"concurrent": 1}"#))]);
    let parent = limited(testing::parent(), r#"{"concurrent": 1}"#);
    let mut host = Processes::new(&testing::calling(), 1);
    host.workflow = testing::save_with(host.store(), "parent", &parent, &children);
    host.start(0, "one", "x", 0);
    host.start(0, "two", "x", 0);
    host.settle();
    assert_eq!(host.calls.len(), 1, "{:?}", host.in_flight());
    assert!(host.queued("two").is_some());
    host.finish();
    assert_eq!(host.store().counts().expect("it reads"), [("completed".into(), 4)]);
}

#[test]
fn a_tree_that_waits_gives_its_slot_back() {
    let child = testing::program(|b, null, end| {
        let last =
            testing::call(b, branchpoint_core::ir::builder::effect(branchpoint_core::effect::Kind::Tool), null, end);
        vec![testing::wait(b, last)]
    });
    let children = BTreeMap::from([("child".into(), child)]);
    let mut host = Processes::new(&testing::calling(), 1);
    let parent = limited(testing::parent(), r#"{"concurrent": 1}"#);
    host.workflow = testing::save_with(host.store(), "parent", &parent, &children);
    host.start(0, "one", "x", 0);
    host.start(0, "two", "x", 0);
    host.settle();
    assert!(host.queued("one").is_none() && host.queued("two").is_none(), "the child runs of both wait for a timer");
    host.now_ms = 20;
    host.settle();
    assert_eq!(host.calls.len(), 1, "the calls of the child run of the other are held");
    host.finish();
    assert_eq!(host.store().counts().expect("it reads"), [("completed".into(), 4)]);
}

#[test]
fn groups_contain_no_secrets() {
    let limits: RunLimits =
        RunLimits::from_value(&serde_json::from_str(PER_INPUT).expect("this is JSON")).expect("they are valid");
    let secrets = Secrets::from_values(["pa55word".into()]);
    let start = (&Value::from("user pa55word"), &Object::default());
    let limits = slot_limits(Some(&limits), None, start, &secrets).expect("there are limits");
    assert_eq!(limits.document.group, "user ***");
    assert_eq!(slot_limits(None, None, start, &secrets), None);
}

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        usize::try_from((self.0 >> 33) % u64::try_from(end).expect("it is small")).expect("it is small")
    }
}

/// Three processes start runs, end calls, are killed and restarted. At no time are more runs of a group driven than its limit says, no
/// slot stays empty while a run waits for it, and every run ends.
#[test]
fn limits_hold_over_processes_and_kills() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let program = limited(testing::calling(), PER_INPUT);
        let mut processes = Processes::with_operator(&program, 3, r#"{"concurrent": 4}"#);
        let mut started = 0;
        for _ in 0..120 {
            match random.below(10) {
                0..=3 if started < 60 => {
                    let group = ["a", "b", "c"][random.below(3)];
                    let at = random.below(3);
                    if processes.hosts[at].is_some() {
                        let priority = i64::try_from(random.below(3)).expect("it is small") - 1;
                        processes.start(at, &format!("{group}{started}"), group, priority);
                        started += 1;
                    }
                }
                4..=7 if !processes.calls.is_empty() => processes.answer(random.below(processes.calls.len())),
                8 => {
                    let at = random.below(3);
                    if processes.hosts.iter().flatten().count() > 1 { processes.kill(at) } else { processes.settle() }
                }
                9 => {
                    let at = random.below(3);
                    if processes.hosts[at].is_none() {
                        processes.restart(at);
                    }
                }
                _ => processes.now_ms += 10,
            }
            let at = random.below(3);
            processes.turn(at);
            check_limits(&processes);
        }
        (0..3).for_each(|at| {
            if processes.hosts[at].is_none() {
                processes.restart(at);
            }
        });
        for _ in 0..1_000 {
            processes.settle();
            check_limits(&processes);
            if processes.calls.is_empty() {
                break;
            }
            check_use(&processes);
            let index = random.below(processes.calls.len());
            processes.answer(index);
        }
        let counts = processes.store().counts().expect("it reads");
        assert_eq!(counts, [("completed".to_owned(), u64::try_from(started).expect("it is small"))], "seed {seed}");
    }
}

/// The runs with calls in flight respect the limits.
#[track_caller]
fn check_limits(processes: &Processes) {
    let mut runs: Vec<(RunNo, char)> =
        processes.calls.iter().map(|(_, run, call)| (*run, call.run.chars().next().unwrap_or_default())).collect();
    runs.sort_unstable();
    runs.dedup();
    assert!(runs.len() <= 4, "{runs:?}");
    for group in ['a', 'b', 'c'] {
        assert!(runs.iter().filter(|(_, of)| *of == group).count() <= 2, "{runs:?}");
    }
}

/// A queued run waits for a limit that is used up.
#[track_caller]
fn check_use(processes: &Processes) {
    let store = processes.store();
    let sql = "SELECT run FROM queue WHERE state = 1";
    for run in store.rows(sql, [], |row| row.get(0).map(RunNo)).expect("it reads") {
        let queued = store.queued(run, processes.now_ms).expect("it reads").expect("it is queued");
        assert!(queued.reason.contains(" are running"), "{queued:?}");
    }
}

/// With one slot and several groups that always have queued runs, no group waits longer than one turn of each other group.
#[test]
fn no_group_starves() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let program = limited(testing::calling(), r#"{"concurrent": 9, "per": "{{input}}"}"#);
        let mut host = Processes::with_operator(&program, 1, r#"{"concurrent": 1}"#);
        let mut queued: BTreeMap<&str, usize> = BTreeMap::new();
        for number in 0..40 {
            let group = ["busy", "busy", "busy", "busy", "b", "c"][random.below(6)];
            host.start(0, &format!("{group} {number}"), group, 0);
            *queued.entry(group).or_default() += 1;
        }
        host.finish();
        let groups: Vec<&str> = host.order.iter().map(|id| id.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(groups.len(), 40);
        // The first run was admitted before the others came.
        let mut left = queued.clone();
        *left.entry(groups[0]).or_default() -= 1;
        let mut last: Vec<&str> = vec![groups[0]];
        for group in &groups[1..] {
            let waiting = left.iter().filter(|(_, count)| **count > 0).map(|(name, _)| *name);
            let position = |name: &str| last.iter().rposition(|of| *of == name).map_or(0, |at| at + 1);
            let longest = waiting.min_by_key(|name| position(name)).expect("one waits");
            assert_eq!(position(group), position(longest), "seed {seed}: {groups:?}");
            *left.entry(*group).or_default() -= 1;
            last.push(*group);
        }
    }
}
