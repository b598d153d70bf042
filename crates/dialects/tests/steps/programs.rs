//! Programs as text, one for each construct.

use branchpoint_core::ir::print;

use super::loaded;

#[track_caller]
fn program(source: &str) -> String {
    let loaded = loaded(source);
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    print(&loaded.program.expect("the document loads"))
}

macro_rules! programs {
    ($($name:ident: $source:literal,)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), program($source));
        }
    )+};
}

programs! {
    chain: "steps:\n  - {id: a, step_type: text, template: \"A({{input}})\"}\n  - {id: b, step_type: text, template: \"{{step.a.output}}\"}\n",
    fan_out: "steps:\n  - {id: p, step_type: text, template: x, child_steps: [{id: a, step_type: text, template: A}, {id: b, step_type: text, template: B}]}\n",
    effect: "steps:\n  - {id: w, step_type: http, url: \"https://example.com/{{input}}\", headers: {Authorization: \"Bearer {{secret.key}}\"}, timeout: 5s, retry: {max_attempts: 3, delay: 1s, backoff: 2}, on_error: continue}\n",
    on_error: "steps:\n  - {id: w, step_type: prompt_call, on_error: [{id: h, step_type: text, template: \"{{error.message}}\"}]}\n",
    if_else: "steps:\n  - {id: r, step_type: if_else, if: \"input == 'a'\", then_steps: [{id: t, step_type: text, template: T}], child_steps: [{id: k, step_type: text, template: K}]}\n",
    switch: "steps:\n  - {id: s, step_type: switch, discriminator: \"{{metadata.kind}}\", cases: [{name: a, match: [x, y], steps: []}]}\n",
    gate: "steps:\n  - {id: g, step_type: gate, if: \"input != ''\", child_steps: [{id: a, step_type: text, template: A}]}\n  - {id: b, step_type: text, template: B}\n",
    for_each: "steps:\n  - {id: l, step_type: for_each, input_template: \"{{input}}\", limit: 5, body: [{id: b, step_type: text, template: \"{{step.l.item}}\"}]}\n",
    while_loop: "steps:\n  - {id: l, step_type: while, if: \"step.l.iteration < 3\", body: [{id: b, step_type: text, template: \"{{input}}.\"}]}\n",
    parallel: "steps:\n  - {id: p, step_type: parallel, wait: any, fail_fast: false, branches: [{name: a, steps: [{id: t, step_type: text, template: A}]}, {name: b, steps: []}]}\n",
    retry: "steps:\n  - {id: w, step_type: prompt_call, child_steps: [{id: g, step_type: gate, if: \"input == ''\", child_steps: [{id: r, step_type: retry, target_step_id: w, max_retries: 2}]}]}\n",
    join_and_merge: "steps:\n  - {id: p, step_type: text, template: x, child_steps: [{id: a, step_type: text, template: A, child_steps: [{id: j, step_type: join, target: m}]}, {id: g, step_type: gate, if: \"false\", child_steps: [{id: m, step_type: merge}]}]}\n",
    people: "steps:\n  - {id: h, step_type: human_in_the_loop, prompt_template: \"Send {{input}}?\", timeout_seconds: 60, timeout_outcome: fail_run}\n",
    wait: "steps:\n  - {id: w, step_type: wait, duration: \"{{metadata.delay}}\"}\n",
}
