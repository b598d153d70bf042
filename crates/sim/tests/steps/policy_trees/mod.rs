//! Random trees with random policies: every covered step run and every iteration has its decisions in order, nothing is sent that a
//! policy has blocked or masked, and a policy that cannot be evaluated blocks. The same with a crash after every event.

mod model;
mod tree;

use branchpoint_core::ir::{DecisionKind, Index, Program};
use branchpoint_core::{Note, NoteKind};
use branchpoint_dialects::read;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, SimulatedAnswer, VirtualDriver};
use branchpoint_runners::Call;

use model::{AN_ERROR, Conduct, conduct};
use tree::{Kind, OnError, Step, Tree, approves, score};

/// The reply to a call: the response of its step, or the rating of a judge.
fn reply(tree: &Tree, call: &Call) -> SimulatedAnswer {
    let name = call.step.as_deref().expect("every call belongs to a step");
    let entry = match name.split_once('.') {
        Some((step, policy)) => match score(step, policy) {
            Some(score) => format!("{{score: {score}, explanation: e}}"),
            None => "{$error: down}".to_owned(),
        },
        None => response(&tree.steps, name).expect("the call belongs to a step of the tree"),
    };
    let script = read(&format!("{{{name}: [{entry}]}}")).expect("the script is YAML").to_value();
    Script::read(&script).expect("the script is valid").simulate(call)
}

fn response(steps: &[Step], id: &str) -> Option<String> {
    steps.iter().find_map(|step| match &step.kind {
        Kind::Call(response) => (step.id == id).then(|| response.clone()),
        Kind::Text => None,
        Kind::If { then_steps, else_steps, .. } => response(then_steps, id).or_else(|| response(else_steps, id)),
        Kind::Each { body, .. } | Kind::While { body, .. } => response(body, id),
        Kind::Parallel(branches) => branches.iter().find_map(|branch| response(branch, id)),
    })
}

/// Runs a tree, and reads from its notes, calls and result what it did.
fn run(tree: &Tree, crashes_in: Option<&std::path::Path>) -> Conduct {
    let loaded = branchpoint_dialects::load(&tree.document(), None);
    let program = loaded.program.unwrap_or_else(|| panic!("{}\n{:?}", tree.document(), loaded.diagnostics));
    let mut host = match crashes_in {
        Some(folder) => VirtualDriver::in_file(&folder.join("store.db"), "run".to_owned(), &program, 0).restarting(),
        None => VirtualDriver::new(&program, 0),
    };
    let account = read("{owner: ada, admins: []}").expect("valid YAML").to_value();
    let fact = |name: &std::sync::Arc<str>| if &**name == "account" { account.clone() } else { Value::Null };
    let facts: Object = program.facts.iter().map(|name| (name.clone(), fact(name))).collect();
    host.start(Value::from(tree.input.as_str()), facts).expect("the run starts");
    let (mut observed, mut approvals, mut judged) = (Conduct::default(), Vec::new(), Vec::new());
    let mut answer = |call: &Call| {
        let name = call.step.as_deref().unwrap_or_default().to_owned();
        if name.contains('.') {
            judged.push((call.effect, call.attempt));
        } else {
            observed.bodies.push((name, call.input.get("body").map(ToString::to_string).unwrap_or_default()));
        }
        reply(tree, call)
    };
    host.run_until_idle(&mut answer);
    while let Some(open) = host.requested_approvals().iter().find(|request| request.is_open).cloned() {
        let text = |key: &str| open.spec.get(key).map(ToString::to_string).unwrap_or_default();
        let (step, prompt) = (text("step"), text("prompt"));
        let value =
            prompt.split_once("asks.\n\n").map(|(_, value)| value.to_owned()).expect("the prompt has the value");
        host.vote(open.request, "ada", if approves(&step) { "approve" } else { "deny" }, None)
            .expect("the vote counts");
        let is_error = value.starts_with(r#"{"kind":"policy_"#);
        approvals.push((step, if is_error { AN_ERROR.to_owned() } else { value }));
        host.run_until_idle(&mut answer);
    }
    observed.asked = approvals;
    let calls = judged.len();
    judged.sort_unstable();
    judged.dedup();
    assert_eq!(judged.len(), calls, "a judge was called twice");
    decisions(&program, host.notes(), &mut observed);
    ending(host.result().expect("the run has ended"), &mut observed);
    observed.bodies.sort();
    observed.asked.sort();
    observed.flags.sort();
    observed
}

/// The branches of the policies in the order in which they were taken.
fn decisions(program: &Program, notes: &[Note], observed: &mut Conduct) {
    for note in notes {
        let NoteKind::Decided(decided) = &note.kind else { continue };
        if decided.kind != DecisionKind::Policy {
            continue;
        }
        let step = program.steps[decided.step.index()].id.to_string();
        let path = note.iterations.iter().map(|round| round.index).collect();
        let branch = decided.chosen().map_or("error".to_owned(), |branch| branch.name.to_string());
        observed.decisions.entry((step, path)).or_default().push(branch);
    }
}

fn ending(result: &Value, observed: &mut Conduct) {
    let text = |value: &Value, key: &str| value.get(key).map(ToString::to_string).unwrap_or_default();
    for flag in result.get("flags").and_then(Value::as_list).unwrap_or_default() {
        observed.flags.push((text(flag, "step"), text(flag, "policy"), text(flag, "on")));
    }
    observed.end = match result.get("error").filter(|error| **error != Value::Null) {
        Some(error) => {
            let message = text(error, "message");
            let begins = message.split_once("`: ").map_or(message.as_str(), |(begins, _)| begins);
            Err((text(error, "kind"), format!("{begins}`: ")))
        }
        None => Ok(text(result, "output")),
    };
}

#[test]
fn policies_decide_as_specified_in_random_trees() {
    for seed in 0..400 {
        let tree = Tree::random(seed);
        assert_eq!(run(&tree, None), conduct(&tree), "seed {seed}: {}", tree.document());
    }
}

#[test]
fn policies_decide_once_with_a_crash_after_every_event() {
    for seed in 1000..1040 {
        let tree = Tree::random(seed);
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        assert_eq!(run(&tree, Some(folder.path())), conduct(&tree), "seed {seed}: {}", tree.document());
    }
}

#[test]
fn the_random_trees_reach_every_consequence() {
    let all: Vec<(Tree, Conduct)> = (0..400).map(Tree::random).map(|tree| (tree.clone(), conduct(&tree))).collect();
    let count = |holds: &dyn Fn(&Conduct) -> bool| all.iter().filter(|(_, conduct)| holds(conduct)).count();
    let decides = |branch: &str| {
        count(&|conduct| conduct.decisions.values().flatten().any(|decision| decision.ends_with(branch)))
    };
    for branch in ["block", "flag", "ask", "mask", "pass", "error"] {
        assert!(decides(branch) > 10, "{branch}: {}", decides(branch));
    }
    for kind in ["policy_blocked", "policy_error"] {
        assert!(count(&|conduct| matches!(&conduct.end, Err((end, _)) if end == kind)) > 10, "{kind}");
    }
    assert!(count(&|conduct| conduct.end.is_ok() && !conduct.decisions.is_empty()) > 50, "runs complete");
    assert!(count(&|conduct| conduct.decisions.keys().any(|(_, path)| path.len() > 1)) > 10, "loops are nested");
    let handles = |steps: &[Step]| steps.iter().any(|step| !matches!(step.on_error, OnError::Fail));
    assert!(all.iter().filter(|(tree, _)| handles(&tree.steps)).count() > 50, "errors are handled");
}
