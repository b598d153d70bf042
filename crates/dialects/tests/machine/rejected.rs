//! Every rule that rejects a state machine or warns about it: the kind of the finding and its place.

use branchpoint_dialects::{Library, load, load_from};
use branchpoint_expr::{Dialect, Severity};

use crate::machine;

/// Loads a document and compares its findings in order: the kind, and the beginning of the text at its place.
#[track_caller]
fn check(source: &str, expect: &[(&str, &str)]) {
    let loaded = load(source, Some(Dialect::Machine));
    let actual: Vec<(&str, &str)> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.span.text(source))).collect();
    let agree = actual.len() == expect.len()
        && actual.iter().zip(expect).all(|(actual, expect)| actual.0 == expect.0 && actual.1.starts_with(expect.1));
    assert!(agree, "{source}\nexpected {expect:?}\nfound    {actual:?}");
    let rejected = loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error);
    assert_eq!(loaded.program.is_none(), rejected, "a document has a program exactly when it has no errors");
    for finding in &loaded.diagnostics {
        assert!(finding.help.is_some() || finding.kind.as_str() == "yaml", "{finding} has no help");
    }
}

/// Like [`check`], for a machine whose first state has these fields.
#[track_caller]
fn state(fields: &str, expect: &[(&str, &str)]) {
    check(&machine(&format!("  a: {{{fields}}}\n")), expect);
}

/// Like [`state`], with a state `b` that runs inside the first one.
#[track_caller]
fn with_b(fields: &str, expect: &[(&str, &str)]) {
    check(&machine(&format!("  a: {{{fields}}}\n  b: {{command: x}}\n")), expect);
}

/// The help of the first finding.
#[track_caller]
fn help_of_first(fields: &str, expect: &str) {
    let loaded = load(&machine(&format!("  a: {{{fields}}}\n")), Some(Dialect::Machine));
    assert_eq!(loaded.diagnostics[0].help.as_deref(), Some(expect));
}

/// The help of the only finding.
#[track_caller]
fn help(fields: &str, expect: &str) {
    let loaded = load(&machine(&format!("  a: {{{fields}}}\n")), Some(Dialect::Machine));
    let helps: Vec<_> = loaded.diagnostics.iter().filter_map(|finding| finding.help.as_deref()).collect();
    assert_eq!(helps, [expect]);
}

#[test]
fn a_document_has_a_name_states_and_a_beginning() {
    check("name: [x\n", &[("yaml", "")]);
    let twice = "name: n\nstates: {initial: a, a: {type: terminal}, a: {type: terminal}}";
    check(twice, &[("yaml", "a")]);
    assert_eq!(load(twice, None).diagnostics[0].kind.as_str(), "yaml", "the readable part shows the dialect");
    check("states: {initial: a, a: {type: terminal}}", &[("missing_field", "states")]);
    check("name: n", &[("missing_field", "name: n")]);
    check("name: n\nstates: {a: {type: terminal}}", &[("missing_field", "{a:")]);
    check("name: n\nstates: [a]", &[("bad_value", "[a]")]);
    check("name: n\nstates: {initial: b, a: {type: terminal}}", &[("unknown_state", "b")]);
    check("- a", &[("bad_value", "- a")]);
}

#[test]
fn unknown_keys_are_reported() {
    state("command: x, on_success: done, comand: y", &[("unknown_key", "comand")]);
    help("command: x, on_success: done, comand: y", "did you mean `command`?");
    check(
        "name: n\noutputs: {}\nstates: {initial: a, a: {type: terminal, colour: red}}",
        &[("unknown_key", "{}"), ("unknown_key", "colour")],
    );
    state("command: x, on_success: done, retry: {attempts: 2}", &[("unknown_key", "attempts")]);
    state("command: x, transitions: [{to: x, goto: done}]", &[("unknown_key", "to")]);
}

#[test]
fn keys_of_lists_are_reported_with_their_position() {
    let source = "name: n\ninputs: [{name: x}, {name: y, pattern: z, validation: {most: 1}}]\nstates:\n  initial: a\n  \
                  a: {command: x, hooks: {pre: [{log: l, lgo: m}]}, transitions: [{goto: done, to: x}]}\n  \
                  done: {type: terminal}\n";
    let messages: Vec<String> =
        load(source, Some(Dialect::Machine)).diagnostics.into_iter().map(|finding| finding.message).collect();
    let paths = [
        "`inputs[1].pattern`",
        "`inputs[1].validation.most`",
        "`states.a.hooks.pre[0].lgo`",
        "`states.a.transitions[0].to`",
    ];
    assert!(
        messages.len() == paths.len() && messages.iter().zip(paths).all(|(messages, path)| messages.starts_with(path)),
        "{messages:?}"
    );
}

#[test]
fn every_kind_needs_its_fields() {
    state("on_success: done", &[("missing_field", "{on_success")]);
    state("type: step, on_success: done", &[("missing_field", "{type")]);
    state("type: agent, prompt: p, on_success: done", &[("missing_field", "{type")]);
    state("type: agent, provider: p, on_success: done", &[("missing_field", "{type")]);
    state("type: parallel, on_success: done", &[("missing_field", "{type")]);
    with_b("type: for_each, body: [b], on_success: done", &[("missing_field", "{type")]);
    with_b("type: while, body: [b], on_success: done", &[("missing_field", "{type")]);
    state("type: while, while: 'true', on_success: done", &[("missing_field", "{type")]);
    state("type: call_workflow, on_success: done", &[("missing_field", "{type")]);
    state("command: x, on_success: done, on_failure: {status: 2}", &[("missing_field", "{status")]);
    state("command: x, transitions: [{when: 'true'}], on_success: done", &[("missing_field", "{when")]);
    with_b("loop: {items: [1], body: [b], on_complete: done}", &[("missing_field", "{items")]);
}

#[test]
fn values_have_their_type_and_range() {
    state("command: x, timeout: soon, on_success: done", &[("bad_value", "soon")]);
    state("command: x, retry: {max_attempts: 0}, on_success: done", &[("bad_value", "0")]);
    state("command: x, retry: {backoff: fast}, on_success: done", &[("bad_value", "fast")]);
    state("command: x, retry: {jitter: 2}, on_success: done", &[("bad_value", "2")]);
    state("command: x, retry: {retryable_exit_codes: [x]}, on_success: done", &[("bad_value", "x")]);
    state("command: x, continue_on_error: maybe, on_success: done", &[("bad_value", "maybe")]);
    state("command: x, on_success: done, on_failure: {message: m, status: 256}", &[("bad_value", "256")]);
    state("command: [x], on_success: done", &[("bad_value", "[x]")]);
    with_b("type: parallel, parallel: [b], strategy: most, on_success: done", &[("bad_value", "most")]);
    with_b("type: parallel, parallel: [b], max_concurrent: -1, on_success: done", &[("bad_value", "-1")]);
    with_b("type: while, while: 'true', max_iterations: 10001, body: [b], on_success: done", &[("bad_value", "10001")]);
    with_b("type: for_each, items: {}, body: [b], on_success: done", &[("bad_value", "{}")]);
    state("type: agent, provider: p, prompt: q, mode: chat, on_success: done", &[("bad_value", "chat")]);
    state("type: agent, provider: p, prompt: q, output_format: xml, on_success: done", &[("bad_value", "xml")]);
    state(
        "type: agent, provider: p, prompt: q, conversation: {max_turns: 101}, on_success: done",
        &[("bad_value", "101")],
    );
    check("name: n\ninputs: {x: {type: string}}\nstates: {initial: a, a: {type: terminal}}", &[]);
    check(
        "name: n\ninputs: [{name: x, type: colour}]\nstates: {initial: a, a: {type: terminal}}",
        &[("bad_value", "colour")],
    );
    check(
        "name: n\ninputs: [{name: x, validation: {pattern: '('}}]\nstates: {initial: a, a: {type: terminal}}",
        &[("bad_value", "'('")],
    );
    check(&machine("  a: {type: parallel, parallel: [done], on_success: done}\n"), &[("bad_value", "done")]);
    state("type: switch, on_success: done", &[("unknown_type", "switch")]);
}

#[test]
fn a_setting_is_given_once() {
    state("command: x, script_file: y, on_success: done", &[("conflict", "y")]);
    state("command: x, transitions: [{goto: done, target: done}]", &[("conflict", "done")]);
    state(
        "command: x, transitions: [{when: 'true', condition: 'true', goto: done}, {goto: done}]",
        &[("conflict", "'true'")],
    );
    state(
        "command: x, transitions: [{when: 'true', if: 'true', goto: done}, {goto: done}]",
        &[("two_conditions", "'true'")],
    );
    with_b("type: while, while: 'true', condition: 'true', body: [b], on_complete: done", &[("conflict", "'true'")]);
    with_b("loop: {type: while, condition: 'true', body: [b]}, body: [b], on_complete: done", &[("conflict", "[b]")]);
    with_b(
        "type: for_each, loop: {type: while, condition: 'true', body: [b]}, on_complete: done",
        &[("conflict", "{type: while")],
    );
    state("agent: {provider: p, prompt: q}, prompt: r, on_success: done", &[("conflict", "r")]);
    let lost = ("unreachable_terminal", "done");
    // A block of another type is an unknown key.
    state("type: terminal, loop: {}", &[("unknown_key", "loop"), lost]);
    state("command: x, type: step, loop: {over: y}, on_success: done", &[("unknown_key", "loop")]);
    with_b("type: step, loop: {type: for_each, items: [1], body: [b], on_complete: done}", &[]);
    state("command: x, on_success: done, hooks: {pre: [{log: a, command: b}]}", &[("conflict", "b")]);
}

#[test]
fn states_that_are_named_exist() {
    let lost = ("unreachable_terminal", "done");
    state("command: x, on_success: dnoe", &[("unknown_state", "dnoe"), lost]);
    help_of_first("command: x, on_success: dnoe", "did you mean `done`?");
    state("command: x, on_success: done, on_failure: f", &[("unknown_state", "f")]);
    state("command: x, transitions: [{goto: t}], on_success: done", &[("unknown_state", "t")]);
    with_b("type: for_each, items: [1], body: [b], on_complete: o", &[("unknown_state", "o"), lost]);
    state("type: for_each, items: [1], body: [m], on_complete: done", &[("unknown_state", "m")]);
    state("type: parallel, parallel: [p], on_success: done", &[("unknown_state", "p")]);
    let from = "type: agent, provider: p, prompt: q, conversation: {continue_from: s}, on_success: done";
    state(from, &[("unknown_state", "s")]);
}

#[test]
fn transitions_and_bodies_are_consistent() {
    state("command: x", &[("no_exit", "a"), ("no_terminal", "a"), ("unreachable_terminal", "done")]);
    state("command: x, transitions: [{when: 'env.X == 1', goto: done}]", &[("no_default", "a")]);
    state("command: x, transitions: [{goto: done}, {goto: done}]", &[("unreachable_transition", "{goto")]);
    with_b("type: for_each, items: [1], body: [b, b], on_complete: done", &[("duplicate_body", "b")]);
    with_b("type: parallel, parallel: [b, b], on_success: done", &[("duplicate_body", "b")]);
    check(&machine("  a: {type: while, while: 'true', body: [a], on_complete: done}\n"), &[("loop_in_itself", "a")]);
    check(
        &machine("  a: {command: x, on_success: done}\n  b: {command: x, on_success: done}\n"),
        &[("unreachable", "b")],
    );
    check("name: n\nstates: {initial: a, a: {command: x, on_success: a}}", &[("no_terminal", "name")]);
}

#[test]
fn conditions_and_templates_compile() {
    state("command: x, transitions: [{when: 'inputs.x >', goto: done}], on_success: done", &[("bad_condition", "")]);
    state("command: x, transitions: [{when: 5, goto: done}], on_success: done", &[("bad_condition", "5")]);
    with_b("type: while, while: '', body: [b], on_complete: done", &[("bad_condition", "")]);
    with_b(
        "type: for_each, items: [1], break_when: 'nope(1)', body: [b], on_complete: done",
        &[("bad_condition", "nope")],
    );
    state(
        "type: agent, provider: p, prompt: q, conversation: {stop_conditions: ['1 +']}, on_success: done",
        &[("bad_condition", "")],
    );
    state("command: 'x {{inputs.a', on_success: done", &[("bad_template", "{{")]);
    state("command: 'x {{states.ghost.Output}}', on_success: done", &[("bad_template", "states.ghost.Output")]);
    state("command: 'x {{states.a.output}}', on_success: done", &[("bad_template", "output")]);
    state("command: 'x {{if inputs.a}}', on_success: done", &[("bad_template", "if inputs.a")]);
    let template = [("unsupported", "template \"x\""), ("bad_template", "template \"x\"")];
    state(r#"command: 'x {{template "x"}}', on_success: done"#, &template);
    state("command: 'x {{awf.dir}}', on_success: done", &[("unknown_property", "dir")]);
    state("command: 'x {{awf.scripts_dir}} {{.awf.config_dir}}', on_success: done", &[]);
    state(
        "command: x, transitions: [{when: 'secret.KEY == 1', goto: done}], on_success: done",
        &[("secret_not_allowed", "secret.KEY")],
    );
    state("command: 'x {{secret.KEY}}', on_success: done", &[]);
    check(
        &machine("  a: {command: x, on_success: end}\n  end: {type: terminal, message: '{{secret.KEY}}'}\n")
            .replace("  done: {type: terminal}\n", ""),
        &[("secret_not_allowed", "secret.KEY")],
    );
}

#[test]
fn names_that_can_never_exist_are_reported() {
    state(
        "command: x, transitions: [{when: 'Inputs.x == 1', goto: done}], on_success: done",
        &[("unknown_name", "Inputs")],
    );
    state(
        "command: x, transitions: [{when: 'states.ghost.ExitCode == 1', goto: done}], on_success: done",
        &[("unknown_name", "states.ghost.ExitCode")],
    );
    state(
        "command: x, transitions: [{when: 'states.a.exit_code == 1', goto: done}], on_success: done",
        &[("unknown_property", "exit_code")],
    );
    help(
        "command: x, transitions: [{when: 'states.a.exit_code == 1', goto: done}], on_success: done",
        "did you mean `ExitCode`?",
    );
    // A state that runs only later has no result yet.
    check(
        &machine(
            "  a: {command: 'x {{escape states.b.Output}}', on_success: b}\n  b: {command: x, on_success: done}\n",
        ),
        &[("unknown_name", "states.b.Output")],
    );
    // A transition back makes the reference valid.
    check(
        &machine(
            "  a: {command: 'x {{escape states.b.Output}}', on_success: b}\n  b: {command: x, on_success: done, on_failure: a}\n",
        ),
        &[],
    );
    // A state may read itself when it has run.
    state("command: x, transitions: [{when: 'states.a.ExitCode == 1', goto: done}], on_success: done", &[]);
}

#[test]
fn variables_are_used_where_they_are_in_scope() {
    let computed = "command: 'x {{env.HOME | escape}} {{index env \"HOME\" | escape}}', transitions: [{when: 'env[inputs.k] == 1', goto: done}], on_success: done";
    state(computed, &[("unknown_name", "env")]);
    let declared = machine(&format!("  a: {{{computed}}}\n")).replace("states:", "env: [HOME]\nstates:");
    check(&declared, &[]);
}

#[test]
fn loop_and_error_variables_are_reported_where_they_never_exist() {
    let (no_loop, no_error) = (("unknown_name", "loop.Item"), ("unknown_name", "error.Message"));
    state("command: 'x {{escape loop.Item}} {{escape error.Message}}', on_success: done", &[no_loop, no_error]);
    state("command: x, transitions: [{when: 'loop.Item == 1', goto: done}], on_success: done", &[no_loop]);
    state("command: x, transitions: [{when: 'error.Message == nil', goto: done}], on_success: done", &[]);
    with_b(
        "type: while, while: 'loop.Index < 2 && error.Message == nil', break_when: 'loop.First', body: [b], on_complete: done",
        &[no_error],
    );
    state(
        "type: agent, provider: p, prompt: q, mode: conversation, conversation: {stop_condition: 'loop.Index > 2'}, on_success: done",
        &[],
    );
    // A state in a loop, at any depth, has the variable `loop`; an inline failure is outside the loop.
    check(
        &machine(
            "  a: {type: for_each, items: [1], body: [p], on_complete: done}\n  p: {type: parallel, parallel: [b]}\n  \
             b: {command: 'x {{loop.Item}}', on_failure: {message: 'no {{loop.Item}}: {{error.Message}}'}}\n",
        ),
        &[no_loop, no_error],
    );
    let hooks = |hook: &str| {
        format!("{}hooks: {{{hook}: [{{log: '{{{{error.Message}}}}'}}]}}\n", machine("  a: {type: terminal}\n"))
    };
    let lost = ("unreachable_terminal", "done");
    check(&hooks("workflow_error"), &[lost]);
    check(&hooks("workflow_end"), &[lost, no_error]);
}

#[test]
fn unsupported_features_are_reported() {
    state("type: operation, operation: http.get, on_success: done", &[("unsupported", "http.get")]);
    state("type: database.query, config: {}, next: done", &[("unsupported", "database.query")]);
    state("use_template: t, command: x, on_success: done", &[("unsupported", "use_template")]);
    // Fields of a plugin or a template are not checked.
    state("type: step, use_template: t, parameters: {a: 1}, next: done", &[("unsupported", "use_template")]);
    state("type: step, operation: github.x, inputs: {a: 1}, outputs: {b: c}", &[("unsupported", "github.x")]);
    // With a command, the type is irrelevant.
    state("type: step, operation: shell, command: x, on_success: done", &[("unknown_key", "operation")]);
    check("name: n\nplugins: []\nstates: {initial: a, a: {type: terminal}}", &[("unsupported", "plugins")]);
}

#[test]
fn inputs_of_operations_are_checked() {
    let http = |inputs: &str| format!("operation: http.request, inputs: {inputs}, on_success: done");
    state(&http("{url: x, method: GET}"), &[]);
    state(&http("{url: x}"), &[("missing_field", "{url: x}")]);
    state(&http("{url: x, method: GET, timeout: soon}"), &[("bad_value", "soon")]);
    state(&http("{url: '{{states.none.Output}}', method: GET}"), &[("bad_template", "states.none.Output")]);
    state(&http("{url: x, method: GET, headers: {A: 'Bearer {{secret.KEY}}'}}"), &[]);
    state(&http("{url: x, method: '{{secret.KEY}}'}"), &[("secret_not_allowed", "secret.KEY")]);
    let notify = |inputs: &str| format!("type: operation, operation: notify.send, inputs: {inputs}, on_success: done");
    state(&notify("{backend: desktop, message: hi, priority: high}"), &[]);
    state(&notify("{backend: webhook, message: hi}"), &[("missing_field", "{backend: webhook, message: hi}")]);
    state(&notify("{backend: pigeon, message: hi}"), &[("bad_value", "pigeon")]);
    state("type: operation, on_success: done", &[("missing_field", "{type: operation, on_success: done}")]);
}

#[test]
fn a_proxy_offers_tools_of_servers_unless_it_intercepts() {
    let agent = |provider: &str, proxy: &str| {
        format!("type: agent, provider: {provider}, prompt: q, mcp_proxy: {proxy}, on_success: done")
    };
    state(&agent("claude", "{}"), &[]);
    state(&agent("claude", "{enable: true}"), &[("unsupported", "{enable: true}")]);
    // A warning, because the original system cannot replace the tools of this program either.
    state(&agent("codex", "{enable: true}"), &[("unsupported", "{enable: true}")]);
    let nothing = "{enable: true, intercept_builtins: false}";
    state(&agent("claude", nothing), &[("bad_value", nothing)]);
    let tools = "{enable: true, intercept_builtins: false, plugin_tools: [{plugin: k, expose: [apply]}]}";
    state(&agent("openai_compatible", tools), &[]);
    state(&agent("claude", tools), &[("unsupported", tools)]);
    let twice =
        "{enable: true, intercept_builtins: false, plugin_tools: [{plugin: k, expose: [a]}, {plugin: k, expose: [b]}]}";
    state(&agent("openai_compatible", twice), &[("bad_value", "k")]);
}

#[test]
fn a_declared_output_is_an_expression() {
    let machine = |from: &str| {
        format!("name: n\noutputs: [{{name: o, from: {from}}}]\nstates: {{initial: a, a: {{type: terminal}}}}")
    };
    check(&machine("inputs.x + 1"), &[]);
    check(&machine("'inputs.x +'"), &[("bad_condition", "'inputs.x +'")]);
    check(&machine("states.b.Output"), &[("unknown_name", "states.b.Output")]);
    check(
        "name: n\noutputs: [{name: o}]\nstates: {initial: a, a: {type: terminal}}",
        &[("missing_field", "{name: o}")],
    );
}

struct Two;

impl Library for Two {
    fn workflow(&self, name: &str) -> Option<String> {
        match name {
            "good" => Some("name: good\nstates: {initial: s, s: {type: terminal}}".into()),
            "bad" => Some("name: bad\nstates: {initial: s, s: {command: x, on_success: nowhere}}".into()),
            "back" => Some("name: back\nstates: {initial: s, s: {type: call_workflow, workflow: main, on_success: t}, t: {type: terminal}}".into()),
            _ => None,
        }
    }

    fn root(&self) -> Option<&str> {
        Some("main")
    }
}

#[track_caller]
fn call(fields: &str, expect: &[(&str, &str)]) {
    let source = machine(&format!("  a: {{type: call_workflow, on_success: done, {fields}}}\n"));
    let loaded = load_from(&source, Some(Dialect::Machine), &Two);
    let actual: Vec<(&str, &str)> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.span.text(&source))).collect();
    assert_eq!(actual, expect);
    assert_eq!(loaded.program.is_some(), expect.is_empty());
}

#[test]
fn called_workflows_are_loaded_with_the_document() {
    call("workflow: good, outputs: {s: x}", &[]);
    call("workflow: nope", &[("unknown_workflow", "nope")]);
    call("workflow: main", &[("circular_call", "main")]);
    call("workflow: back", &[("circular_call", "back")]);
    call("workflow: good, outputs: {t: x}", &[("unknown_state", "t")]);
    call("workflow: good, outputs: {result: x}", &[("unknown_state", "result")]);
    let source = machine("  a: {type: call_workflow, on_success: done, workflow: good, outputs: {result: x}}\n");
    let actual = load_from(&source, Some(Dialect::Machine), &Two).diagnostics;
    let help = "name an output that the called workflow declares under `outputs`, or one of its states";
    assert_eq!(actual[0].help.as_deref(), Some(help), "{actual:?}");
    call("workflow: pack/good", &[("unsupported", "pack/good")]);
    call("workflow: bad", &[("unknown_state", "bad"), ("no_terminal", "bad")]);
}

#[test]
fn an_initial_state_at_the_top_belongs_below_states() {
    let source = "name: x\ninitial: a\nstates:\n  a: {type: terminal}\n";
    let loaded = load(source, Some(Dialect::Machine));
    let findings: Vec<_> =
        loaded.diagnostics.iter().map(|finding| (finding.kind.as_str(), finding.help.as_deref())).collect();
    let misplaced = ("unknown_key", Some("move it below `states`"));
    let missing = ("missing_field", Some("add it: the state that a run begins with"));
    assert_eq!(findings, [misplaced, missing]);
}
