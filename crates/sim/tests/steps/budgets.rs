//! Budgets of documents and steps: one table entry for each rule, with a crash after every event.

use branchpoint_dialects::{agent_programs, load, read};
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, VirtualDriver};
use branchpoint_runners::Call;

/// The result of a run, its calls, and its driver.
struct Ended {
    status: String,
    output: String,
    error: String,
    calls: Vec<String>,
    tokens: u64,
    explained: String,
}

fn text(value: Option<&Value>) -> String {
    value.filter(|value| **value != Value::Null).map(ToString::to_string).unwrap_or_default()
}

/// Runs a document with a script. `calls` are documents that it may call, by name.
fn run_with(source: &str, script: &str, calls: &[(&str, &str)]) -> Ended {
    let program = |source: &str| {
        let loaded = load(source, None);
        loaded.program.unwrap_or_else(|| panic!("{source}\n{:?}", loaded.diagnostics))
    };
    let main = program(source);
    let mut children: std::collections::BTreeMap<std::sync::Arc<str>, _> =
        calls.iter().map(|(name, source)| ((*name).into(), program(source))).collect();
    children.extend(agent_programs(std::iter::once(&main).chain(children.values())).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let mut host = VirtualDriver::in_file(&file, "run".to_owned(), &main, 0).restarting().with_children(&children);
    let facts: Object = main.facts.iter().map(|name| (name.clone(), Value::Null)).collect();
    host.start(Value::from("start"), facts).unwrap();
    let mut script = Script::read(&read(script).unwrap().to_value()).unwrap();
    let mut called = Vec::new();
    host.run_until_idle(&mut |call: &Call| {
        called.push(call.step.as_deref().unwrap_or_default().to_owned());
        script.simulate(call)
    });
    host.advance_clock(3_600_000, &mut |call: &Call| {
        called.push(call.step.as_deref().unwrap_or_default().to_owned());
        script.simulate(call)
    });
    let result = host.result().expect("the run has ended").clone();
    let error = |key: &str| text(result.get("error").and_then(|error| error.get(key)));
    let explained = host.notes().iter().filter_map(|note| match &note.kind {
        branchpoint_core::NoteKind::Decided(decided) if decided.kind == branchpoint_core::ir::DecisionKind::Budget => {
            Some(decided.to_text(&main, "x.yaml", &()))
        }
        _ => None,
    });
    Ended {
        status: text(result.get("status")),
        output: text(result.get("output")),
        error: format!("{} {}: {}", error("step"), error("kind"), error("message")),
        calls: called,
        tokens: host.state().usage().tokens,
        explained: explained.collect(),
    }
}

fn run(source: &str, script: &str) -> Ended {
    run_with(source, script, &[])
}

fn used(step: &str, tokens: u64) -> String {
    format!("{step}: [{{$text: {step}, $usage: {{tokens: {tokens}, cost_micros: {}}}}}]\n", tokens * 1_000)
}

fn model(id: &str) -> String {
    format!("{{id: {id}, step_type: prompt_call, prompt_template: '{{{{input}}}}'}}")
}

#[test]
fn a_document_without_on_budget_fails() {
    let source = format!("budget: {{tokens: 100}}\nsteps: [{}, {}]\n", model("a"), model("b"));
    let ended = run(&source, &(used("a", 150) + &used("b", 1)));
    assert_eq!(ended.error, " budget_exceeded: the budget of 100 tokens is used up: the calls used 150 tokens");
    assert_eq!((ended.status.as_str(), ended.calls.len(), ended.tokens), ("failed", 1, 150));
}

#[test]
fn on_budget_of_a_document_gives_the_output_of_the_run() {
    let source = format!(
        "budget: {{tokens: 100}}\non_budget:\n  - {{id: o, step_type: text, template: '{{{{budget.reason}}}} {{{{budget.tokens}}}} {{{{budget.remaining_tokens}}}} {{{{step.a.output}}}} {{{{input}}}}'}}\n\
         steps: [{{id: s, step_type: text, template: shown, child_steps: [{{id: d, step_type: display_result}}]}}, {}, {}]\n",
        model("a"),
        model("b")
    );
    let ended = run(&source, &(used("a", 150) + &used("b", 1)));
    assert_eq!((ended.status.as_str(), ended.output.as_str()), ("completed", "tokens 150 0 a start"));
    assert!(ended.explained.contains("✓ on_budget: the budget is used up → o\n"), "{}", ended.explained);
    assert!(ended.explained.contains("used by: a 150 tokens, $0.15"), "{}", ended.explained);
}

#[test]
fn a_while_loop_stops_when_its_budget_is_used_up_and_gives_its_best() {
    let source = "steps:\n  - id: loop\n    step_type: while\n    if: 'step.draft.output != \"good\"'\n    budget: {cost_usd: 0.1}\n    \
         on_budget: [{id: best, step_type: text, template: 'best: {{step.draft.output}}, {{budget.reason}}'}]\n    \
         body: [{id: draft, step_type: prompt_call, prompt_template: x}]\n    \
         child_steps: [{id: after, step_type: text, template: '{{input}} after {{step.loop.output}}'}]\n";
    let ended = run(source, &used("draft", 40));
    assert_eq!(ended.calls.len(), 3, "40, 80 and 120 thousandths");
    assert_eq!(ended.output, "best: draft, cost_usd after best: draft, cost_usd");
    assert!(ended.explained.starts_with("loop → on_budget\n"), "{}", ended.explained);
    assert!(ended.explained.contains("the budget of $0.10 is used up: the calls cost $0.12"), "{}", ended.explained);
}

#[test]
fn every_step_with_steps_inside_can_have_a_budget() {
    let parts = [
        ("if_else", "if: 'true', then_steps: [A, B]"),
        ("conditional", "if: 'true', then: [A, B]"),
        ("switch", "discriminator: x, cases: [{name: c, match: x, steps: [A, B]}]"),
        ("for_each", "input_template: '[1, 2]', body: [A, B]"),
        ("while", "if: step.w.iteration < 3, body: [A, B]"),
        ("parallel", "branches: [{name: x, steps: [A, B]}, {name: y, steps: [C]}]"),
    ];
    for (kind, fields) in parts {
        let fields = fields.replace('A', &model("a")).replace('B', &model("b")).replace('C', &model("c"));
        let fields = fields.replace("{{input}}", "{{budget.remaining_tokens}}");
        let document = |on_budget: &str, limit: u64| {
            format!(
                "steps:\n  - {{id: w, step_type: {kind}, budget: {{tokens: {limit}}}, {on_budget} {fields}, child_steps: [{{id: z, step_type: text, template: 'then {{{{input}}}}'}}]}}\n"
            )
        };
        let script = used("a", 60) + &used("b", 60) + &used("c", 10);
        let handler = "on_budget: [{id: o, step_type: text, template: '{{budget.reason}} {{input}}'}],";
        let ended = run(&document(handler, 50), &script);
        assert_eq!(ended.output, "then tokens start", "{kind}: {}", ended.error);
        let failed = run(&document("", 50), &script);
        assert!(
            failed.error.starts_with("w budget_exceeded: the budget of 50 tokens is used up"),
            "{kind}: {}",
            failed.error
        );
        let enough = run(&document(handler, 10_000), &script);
        assert!(enough.output.starts_with("then ") && !enough.output.contains("tokens"), "{kind}: {}", enough.output);
        assert!(enough.calls.len() > ended.calls.len(), "{kind}");
    }
}

#[test]
fn on_error_of_the_step_handles_a_budget_without_steps_of_its_own() {
    let source = format!(
        "steps: [{{id: w, step_type: for_each, input_template: '[1, 2, 3]', budget: {{tokens: 10}}, \
         on_error: [{{id: h, step_type: text, template: 'was {{{{error.kind}}}} of {{{{error.step}}}}'}}], body: [{}]}}]\n",
        model("a")
    );
    assert_eq!(run(&source, &used("a", 10)).output, "was budget_exceeded of w");
}

#[test]
fn nested_budgets_count_for_all() {
    let source = format!(
        "budget: {{tokens: 100}}\non_budget: [{{id: o, step_type: text, template: outer}}]\nsteps:\n  - {{id: w, step_type: for_each, input_template: '[1, 2, 3]', \
         body: [{{id: i, step_type: if_else, if: 'true', budget: {{tokens: 30}}, on_budget: [{{id: n, step_type: text, template: inner}}], then_steps: [{}, {}]}}]}}\n",
        model("a"),
        model("b")
    );
    // Two iterations end by their own budgets; the third call of `a` uses up the outer one.
    let ended = run(&source, &(used("a", 40) + &used("b", 1)));
    assert_eq!((ended.output.as_str(), ended.calls.len()), ("outer", 3));
    let ended = run(&source.replace("tokens: 100", "tokens: 1000"), &(used("a", 40) + &used("b", 1)));
    assert_eq!(ended.output, r#"["inner","inner","inner"]"#);
}

#[test]
fn a_failed_call_and_its_retries_count() {
    let source = "budget: {tokens: 100}\non_budget: [{id: o, step_type: text, template: '{{budget.tokens}}'}]\n\
         steps: [{id: a, step_type: prompt_call, prompt_template: x, retry: {max_attempts: 5, delay: 1s}}]\n";
    let script = "a: [{$error: busy, $again: true, $usage: {tokens: 60}}]\n";
    let ended = run(source, script);
    assert_eq!((ended.output.as_str(), ended.calls.len()), ("120", 2));
}

#[test]
fn called_workflows_share_the_budget_of_their_callers() {
    let child = format!("name: child\nsteps: [{}, {}, {}]\n", model("a"), model("b"), model("c"));
    let source = "budget: {tokens: 100}\non_budget: [{id: o, step_type: text, template: 'used {{budget.tokens}}'}]\n\
         steps: [{id: first, step_type: prompt_call, prompt_template: x}, {id: call, step_type: call_workflow, workflow: child}, {id: z, step_type: text, template: done}]\n";
    let script = used("first", 50) + &used("call/a", 40) + &used("call/b", 40) + &used("call/c", 40);
    let script = script.replace("call/", "");
    let ended = run_with(source, &script, &[("child", &child)]);
    assert_eq!(ended.output, "used 130", "{} {:?}", ended.error, ended.calls);
    assert_eq!(ended.calls, ["first", "a", "b"], "the child had 50 left");
    let ended = run_with(&source.replace("100", "1000"), &script, &[("child", &child)]);
    assert_eq!((ended.output.as_str(), ended.tokens), ("done", 170));
}

#[test]
fn a_called_workflow_that_fails_by_its_own_budget_fails_its_caller() {
    let child = format!("name: child\nbudget: {{tokens: 10}}\nsteps: [{}, {}]\n", model("a"), model("b"));
    let source = "budget: {tokens: 1000}\non_budget: [{id: o, step_type: text, template: used}]\nsteps: [{id: call, step_type: call_workflow, workflow: child}]\n";
    let ended = run_with(source, &(used("a", 40) + &used("b", 40)), &[("child", &child)]);
    assert!(ended.error.starts_with("call callee_failed: "), "{}", ended.error);
}

#[test]
fn turns_of_agents_share_the_budget() {
    let source = "budget: {tokens: 100}\non_budget: [{id: o, step_type: text, template: 'used {{budget.tokens}}'}]\n\
         steps: [{id: act, step_type: agent, prompt: x, tools: [{name: look, description: d, parameters: {type: object}}]}]\n";
    let script = "act: [{$text: no}]\nagent.model: [{$reply: {text: '', toolCalls: [{id: '1', name: look, arguments: {}}], usage: {tokens: 60}}, $usage: {tokens: 60}}]\nagent.tool: [found]\n";
    let ended = run(source, script);
    assert_eq!(ended.output, "used 120", "{} {:?}", ended.error, ended.calls);
}

#[test]
fn time_ends_a_part_and_withdraws_its_calls() {
    let source = "budget: {time: 10s}\non_budget: [{id: o, step_type: text, template: '{{budget.reason}} {{budget.elapsed_s}} {{budget.remaining_s}}'}]\n\
         steps: [{id: a, step_type: prompt_call, prompt_template: x}]\n";
    let ended = run(source, "a: [{$hang: true}]\n");
    assert_eq!(ended.output, "time 10 0");
    assert!(ended.explained.contains("the budget of 10s is used up: it took 10s"), "{}", ended.explained);
}

#[test]
fn usage_can_be_read_everywhere() {
    let source = format!(
        "steps: [{}, {{id: g, step_type: gate, conditions: [{{target: run.tokens, operator: $gte, value: 7}}]}}, \
         {{id: t, step_type: text, template: '{{{{run.tokens}}}} {{{{run.cost_usd}}}} {{{{run.elapsed_s}}}} [{{{{budget.tokens}}}}]'}}]\n",
        model("a")
    );
    assert_eq!(run(&source, &used("a", 7)).output, "7 0.007 0 []");
}

#[test]
fn invalid_budgets_are_refused() {
    let steps = "steps: [{id: t, step_type: text, template: x}]\n";
    let cases = [
        ("budget: {}\n", "bad_budget"),
        ("budget: {tokens: 0}\n", "bad_budget"),
        ("budget: {tokens: x}\n", "bad_budget"),
        ("budget: {cost_usd: 0}\n", "bad_budget"),
        ("budget: {time: 0s}\n", "bad_budget"),
        ("budget: {time: soon}\n", "bad_budget"),
        ("budget: 7\n", "bad_budget"),
        ("on_budget: [{id: o, step_type: text}]\n", "bad_budget"),
        ("budget: {tokens: 1}\non_budget: []\n", "bad_budget"),
        ("budget: {tokens: 1}\non_budget: [{id: t, step_type: text}]\n", "duplicate_id"),
        ("budget: {tokens: 1}\non_budget: [{id: o, step_type: display_result}]\n", "result_in_branch"),
        (
            "budget: {tokens: 1}\non_budget: [{id: o, step_type: retry, target_step_id: t, max_retries: 1}]\n",
            "retry_target",
        ),
    ];
    for (keys, code) in cases {
        let loaded = load(&format!("{keys}{steps}"), None);
        let kinds: Vec<&str> = loaded.diagnostics.iter().map(|found| found.kind.as_str()).collect();
        assert!(loaded.program.is_none() && kinds.contains(&code), "{keys}: {kinds:?}");
    }
    let step = "steps: [{id: t, step_type: text, budget: {tokens: 1}, template: x}]\n";
    let loaded = load(step, None);
    assert_eq!(loaded.diagnostics[0].kind.as_str(), "bad_budget");
    let retry = "steps: [{id: a, step_type: text}, {id: w, step_type: if_else, if: 'true', budget: {tokens: 1}, \
         then_steps: [{id: r, step_type: retry, target_step_id: a, max_retries: 1}]}]\n";
    assert_eq!(load(retry, None).diagnostics[0].kind.as_str(), "retry_target");
}

#[test]
fn unknown_names_of_budgets_are_warned_of() {
    let source = "steps: [{id: t, step_type: text, template: '{{budget.remaning_tokens}} {{run.token}}'}]\n";
    let kinds: Vec<String> =
        load(source, None).diagnostics.iter().map(|found| found.kind.as_str().to_owned()).collect();
    assert_eq!(kinds, ["unknown_reference", "unknown_reference"]);
}

#[test]
fn merges_retries_and_gates_work_inside_a_part() {
    let source = "steps:\n  - id: w\n    step_type: parallel\n    budget: {tokens: 1000}\n    branches:\n      - {name: x, steps: [{id: x1, step_type: text, template: one}, {id: j, step_type: join, target: m}]}\n      \
         - {name: y, steps: [{id: y1, step_type: text, template: two}, {id: m, step_type: merge}]}\n";
    assert_eq!(run(source, "{}").output, r#"{"x":"one","y":"one\ntwo"}"#);
    let source = format!(
        "steps:\n  - {{id: w, step_type: if_else, if: 'true', budget: {{tokens: 1000}}, then_steps: [{}, {{id: g, step_type: gate, if: 'input == \"no\"'}}, {{id: t, step_type: text, template: passed}}]}}\n  - {{id: z, step_type: text, template: 'z{{{{input}}}}'}}\n",
        model("a")
    );
    assert_eq!(run(&source, &used("a", 1)).output, "z");
    let source = format!(
        "steps: [{{id: w, step_type: while, if: step.w.iteration < 1, budget: {{tokens: 100}}, on_budget: [{{id: o, step_type: text, template: '{{{{budget.tokens}}}}'}}], body: [{}, {{id: r, step_type: retry, target_step_id: a, max_retries: 9}}]}}]\n",
        model("a")
    );
    let ended = run(&source, &used("a", 30));
    assert_eq!((ended.output.as_str(), ended.calls.len()), ("120", 4));
}
