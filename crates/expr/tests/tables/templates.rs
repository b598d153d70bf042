//! Templates of the five dialects.

use branchpoint_expr::{Dialect, Expression, Options};
use serde_json::{Value as Json, json};

/// What a template gives, as JSON; or `refused <cause>`, or `failed <cause>`.
fn render(dialect: Dialect, template: &str, context: &Json) -> String {
    match Expression::template(template, Options::dialect(dialect)) {
        Err(problems) => format!("refused {}", problems.first().cause()),
        Ok(template) => match template.value(context) {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("failed {}", error.detail),
        },
    }
}

#[track_caller]
fn check_machine(template: &str, expect: &str) {
    let context = json!({
        "inputs": {
            "name": "it's", "csv": " a, b ,c ", "list": ["x", "y"], "map": {"k": [1, 2.5]}, "n": 3, "flag": "true",
            "file": "notes.txt", "braces": "{{inputs.n}}", "none": null, "blank": "  ", "text": "läßt",
        },
        "states": {
            "check": {"Output": " ok\n", "ExitCode": 0, "Response": {"score": 7}},
            "my-step": {"Output": "dashed"},
        },
        "loop": {"Index": 2, "Index1": 3, "First": false, "Parent": {"Index": 0}},
        "context": {"WorkingDir": "/srv"},
        "workflow": {"ID": "w1", "CurrentState": "check"},
        "env": {"HOME": "/home/me"},
    });
    assert_eq!(render(Dialect::Machine, template, &context), expect, "{template}");
}

#[test]
fn machine_references_are_inserted_in_their_text_form() {
    check_machine("plain", r#""plain""#);
    check_machine("", r#""""#);
    check_machine("n is {{inputs.n}}!", r#""n is 3!""#);
    check_machine("{{ .inputs.n }} {{inputs.list}}", r#""3 [\"x\",\"y\"]""#);
    check_machine("<{{inputs.map}}>", r#""<{\"k\":[1,2.5]}>""#);
    check_machine("<{{states.check.Output}}>", r#""< ok\n>""#);
    check_machine("{{states.my-step.Output}}.", r#""dashed.""#);
    check_machine("{{states['my-step'].Output}}.", r#""dashed.""#);
    check_machine("{{inputs.list[0]}}{{inputs.list[-1]}}", r#""xy""#);
    check_machine("{{inputs[\"n\"]}};", r#""3;""#);
    check_machine("{{env.HOME}}/x", r#""/home/me/x""#);
    // Templates show inputs as they were given; only conditions coerce them.
    check_machine("{{inputs.flag}}", r#""true""#);
    check_machine("{{inputs.none}}.", r#""null.""#);
    // What a substitution yields is never expanded again.
    check_machine("{{inputs.braces}};{{inputs.n}}", r#""{{inputs.n}};3""#);
}

#[test]
fn machine_templates_of_one_placeholder_keep_the_type() {
    check_machine("{{inputs.n}}", "3");
    check_machine(" {{inputs.list}} ", r#"["x","y"]"#);
    check_machine("{{states.check.Response}}", r#"{"score":7}"#);
    check_machine("{{inputs.missing}}", "null");
}

#[test]
fn machine_properties_of_namespaces_come_in_any_case() {
    check_machine("{{loop.index}}/{{loop.Index1}}/{{loop.index_1}}", r#""2/3/3""#);
    check_machine("{{loop.parent.index}}.", r#""0.""#);
    check_machine("{{context.working_dir}}:{{context.WORKINGDIR}}", r#""/srv:/srv""#);
    check_machine("{{workflow.current_state}} {{workflow.id}}", r#""check w1""#);
    // The names of states and inputs are the author's own, and case counts.
    check_machine("{{inputs.N}}.", "failed missing_variable");
    check_machine("{{states.check.JSON.score}}!", r#""7!""#);
}

#[test]
fn machine_functions_take_arguments_apart_by_blanks_and_pipes() {
    check_machine("echo {{escape inputs.name}}", r#""echo 'it'\\''s'""#);
    check_machine("{{inputs.list | escape}}", r#""'[\"x\",\"y\"]'""#);
    check_machine("{{json inputs.map}};", r#""{\"k\":[1,2.5]};""#);
    check_machine("{{json inputs.name}};", r#""\"it's\";""#);
    check_machine("{{split inputs.csv \",\"}}", r#"["a","b","c"]"#);
    check_machine("{{split inputs.csv ','}};", r#""[\"a\",\"b\",\"c\"];""#);
    check_machine("{{inputs.csv | split \",\" | join \"-\"}}", r#""a-b-c""#);
    check_machine("{{join inputs.list \" + \"}}", r#""x + y""#);
    check_machine("{{join inputs.list `|`}}", r#""x|y""#);
    check_machine("{{split \"a\\\"b\" \"\\\"\"}}", r#"["a","b"]"#);
    check_machine("<{{trimSpace states.check.Output}}>", r#""<ok>""#);
    check_machine("<{{trimSpace inputs.blank}}>", r#""<>""#);
    check_machine("{{len inputs.list}}", "2");
    check_machine("{{len inputs.text}} {{len inputs.map}}", r#""4 1""#);
    check_machine("{{index inputs.list 1}}", r#""y""#);
    check_machine("{{index inputs.map \"k\" | json}};", r#""[1,2.5];""#);
    check_machine("{{index inputs.list -1}}", r#""y""#);
    check_machine("{{index inputs.list 9}}", "failed missing_variable");
}

#[test]
fn machine_calls_stand_in_calls_in_parentheses() {
    check_machine("{{join (split .inputs.csv \",\") \" | \"}}", r#""a | b | c""#);
    check_machine("{{len (split (trimSpace inputs.csv) \",\")}}", "3");
    check_machine("{{(split inputs.csv \",\") | join \"-\"}}", r#""a-b-c""#);
    check_machine("{{(split inputs.csv \",\")}}", r#"["a","b","c"]"#);
    check_machine("{{index (split inputs.csv \",\") 0}}", r#""a""#);
    check_machine("{{escape ( inputs.name )}}", r#""'it'\\''s'""#);
    check_machine("{{split \"a)b\" \")\"}}", r#"["a","b"]"#);
    check_machine("{{join (split inputs.csv \",\" \"-\"}}", "refused syntax");
    check_machine("{{join (shout inputs.csv) \"-\"}}", "refused unknown_function");
    check_machine("{{join (split inputs.csv) \"-\"}}", "refused wrong_arity");
    check_machine("{{len ()}}", "refused syntax");
    check_machine(&format!("{{{{len {}inputs.csv{}}}}}", "(len ".repeat(40), ")".repeat(40)), "refused syntax");
}

#[test]
fn machine_mistakes_in_templates_are_reported() {
    check_machine("{{inputs.missing}} x", "failed missing_variable");
    check_machine("{{inputs.n.deep}} x", "failed missing_variable");
    check_machine("{{len inputs.n}}", "failed wrong_kind");
    check_machine("{{join inputs.map \",\"}}", "failed wrong_kind");
    check_machine("{{inputs.n", "refused syntax");
    check_machine("{{}}", "refused syntax");
    check_machine("{{inputs.n + 1}}", "refused unknown_function");
    check_machine("{{shout inputs.n}}", "refused unknown_function");
    check_machine("{{split inputs.csv}}", "refused wrong_arity");
    check_machine("{{inputs.csv | split}}", "refused wrong_arity");
    check_machine("{{inputs.csv | }}", "refused syntax");
    check_machine("{{states.check.Outptu}}", "refused unknown_property");
    check_machine("{{split inputs.csv \",}}", "refused syntax");
    check_machine("{{inputs.list[--1]}}", "refused syntax");
}

#[test]
fn machine_files_are_named_first_and_read_by_the_host() {
    let text = "{{readFile inputs.file}}|{{readFile \"b.txt\" | trimSpace}}|{{inputs.file}}";
    let template = Expression::template(text, Options::default()).expect("it compiles");
    let mut context = json!({"inputs": {"file": "notes.txt"}});
    let names: Vec<_> = template.files(&context).expect("names").iter().map(ToString::to_string).collect();
    assert_eq!(names, ["notes.txt", "b.txt"]);
    assert_eq!(template.value(&context).expect_err("the files are not read").detail.as_str(), "missing_variable");
    context["file:0"] = json!("first {{inputs.file}}");
    context["file:1"] = json!(" second\n");
    assert_eq!(template.value(&context).expect("they are read").to_string(), "first {{inputs.file}}|second|notes.txt");
}

#[track_caller]
fn check_flow(template: &str, expect: &str) {
    let context = json!({
        "n": 2, "name": "Ada", "list": [{"a": 1}, {"b": 2}, {"a": null}], "map": {"any key": [10, 20]}, "none": null,
        "a b": "spaced", "braces": "{{ $n }}", "empty": "",
    });
    assert_eq!(render(Dialect::Flow, template, &context), expect, "{template}");
}

#[test]
fn flow_placeholders_hold_expressions() {
    check_flow("{{ $n + 1 }}", "3");
    check_flow("{{$n}} of {{ $name }}", r#""2 of Ada""#);
    check_flow("  {{ $list }}\n", r#"[{"a":1},{"b":2},{"a":null}]"#);
    check_flow("{{ $\"a b\" }}!", r#""spaced!""#);
    check_flow("{{ $map.\"any key\"[-1] }}", "20");
    check_flow("{{ $map[\"any key\"][$n - 1] }}", "20");
    check_flow("{{ $list[*].a }}", "[1,null]");
    check_flow("{{ '}}' + \"{{\" }}", r#""}}{{""#);
    check_flow("{{ toJson($list[0]) }} {{ strip(' x ') }} {{ toString(1.0) }}", r#""{\"a\":1} x 1""#);
    check_flow("{{ $missing ?? $none ?? 'x' }}", r#""x""#);
    check_flow("{{ $missing || $empty || 'y' }}", r#""y""#);
    check_flow("{{ $n && $name }}", r#""Ada""#);
    check_flow("{{ $braces }}-", r#""{{ $n }}-""#);
    check_flow("{{ never closed", r#""{{ never closed""#);
    check_flow("{{ $none }}.", r#""null.""#);
}

#[test]
fn flow_mistakes_in_templates_are_reported() {
    check_flow("{{ $missing }}", "failed missing_variable");
    check_flow("{{ $list[7] }}", "failed missing_variable");
    check_flow("{{ $name.first }}", "failed missing_variable");
    check_flow("{{ $n[*] }}", "failed missing_variable");
    check_flow("{{ $n + $name }}", "failed wrong_kind");
    // What is certain to fail fails where it is: the document may never get there.
    check_flow("{{ $n / 0 }}", "failed division_by_zero");
    check_flow("{{ 1 + 'a' }}", "failed wrong_kind");
    check_flow("{{ name }}", "refused unknown_name");
    check_flow("{{ nope($n) }}", "refused unknown_function");
    check_flow("{{ }}", "refused syntax");
    check_flow("{{ $ }}", "refused syntax");
}

#[track_caller]
fn check_steps(template: &str, expect: &str) {
    let context = json!({
        "input": "{\"user\": {\"name\": \"Ada\", \"tags\": [\"x\", \"y\"]}}", "metadata": {"a": {"b": 1.0}, "list": [1]},
        "datetime Europe/Berlin": "2026-02-18T13:00", "attachments[0].name": "a.pdf", "braces": "{{input}}",
        "agent": {"input": "{{input}}"},
    });
    assert_eq!(render(Dialect::Steps, template, &context), expect, "{template}");
}

#[test]
fn steps_references_read_json_in_text_and_missing_is_empty() {
    check_steps("Hi {{ input.user.name }}", r#""Hi Ada""#);
    check_steps("{{input.user.tags.1}}{{input.user.tags[0]}}", r#""yx""#);
    check_steps("{{metadata.a.b}}|{{metadata.list}}|{{metadata.a}}", r#""1|[1]|{\"b\":1}""#);
    check_steps("<{{metadata.none}}>", r#""<>""#);
    check_steps("{{metadata.none}}", "null");
    check_steps("{{metadata.a}}", r#"{"b":1}"#);
    check_steps("{{ datetime   Europe/Berlin }}h", r#""2026-02-18T13:00h""#);
    check_steps("{{attachments[0].name}};", r#""a.pdf;""#);
    check_steps("{{agent.input}}.", r#""{{input}}.""#);
    check_steps("<{{ 1 + }}>", r#""<>""#);
    check_steps("{{ never closed", r#""{{ never closed""#);
}

#[test]
fn steps_warns_of_a_placeholder_that_is_not_a_reference() {
    let template = Expression::template("<{{ a b c }}>", Options::dialect(Dialect::Steps)).expect("it compiles");
    let warnings: Vec<_> = template.warnings().iter().map(|warning| warning.kind.as_str()).collect();
    assert_eq!(warnings, ["unknown_reference"]);
}

#[test]
fn graph_has_one_exact_placeholder() {
    let check = |template: &str, previous: Json, expect: &str| {
        let context = json!({"PREVIOUS_OUTPUT": previous});
        assert_eq!(render(Dialect::Graph, template, &context), expect, "{template}");
    };
    check("say {{PREVIOUS_OUTPUT}} and {{PREVIOUS_OUTPUT}}", json!("hi"), r#""say hi and hi""#);
    check("say {{ PREVIOUS_OUTPUT }}", json!("hi"), r#""say {{ PREVIOUS_OUTPUT }}""#);
    check("{{previous_output}} {{x}}", json!("hi"), r#""{{previous_output}} {{x}}""#);
    check("<{{PREVIOUS_OUTPUT}}>", json!({"a": [1.0, "é"]}), r#""<{\"a\":[1,\"é\"]}>""#);
    check("<{{PREVIOUS_OUTPUT}}>", Json::Null, r#""<>""#);
    check("<{{PREVIOUS_OUTPUT}}>", json!("{{PREVIOUS_OUTPUT}}"), r#""<{{PREVIOUS_OUTPUT}}>""#);
}

#[test]
fn session_texts_hold_no_placeholders() {
    let context = json!({"message": "hi"});
    assert_eq!(render(Dialect::Session, "{{message}} {{ $x }}", &context), r#""{{message}} {{ $x }}""#);
}

#[test]
fn a_document_is_expanded_in_its_texts_and_not_in_its_keys() {
    let document = json!({"to": ["{{ $who }}", "x {{ $who }}"], "{{ $who }}": {"n": 1, "t": "{{ $n }}"}});
    let document = crate::located(&document);
    let compiled = Expression::document(&document, Options::dialect(Dialect::Flow)).expect("it compiles");
    let value = compiled.value(&json!({"who": "Ada", "n": [1]})).expect("it has a value");
    assert_eq!(value.to_string(), r#"{"to":["Ada","x Ada"],"{{ $who }}":{"n":1,"t":[1]}}"#);
}

#[test]
fn replacements_work_one_on_the_result_of_the_other() {
    let rules = crate::located(&json!([
        {"pattern": "(\\w+)@(\\w+)", "substitution": "\\2 at \\1"},
        {"pattern": "at", "substitution": "AT"},
        {"pattern": "(?P<last>.)$", "substitution": "[\\g<last>]"},
    ]));
    let compiled = Expression::replacements(&rules, Options::dialect(Dialect::Steps)).expect("it compiles");
    let value = compiled.value(&json!({"input": "me@home"})).expect("it has a value");
    assert_eq!(value.to_string(), "home AT m[e]");
    assert_eq!(compiled.value(&json!({})).expect("nothing is empty text").to_string(), "");
}

#[test]
fn a_key_that_is_written_out_belongs_to_the_reference() {
    let check = |template: &str, expect: &[&str]| {
        let compiled = Expression::text(template, Options::dialect(Dialect::Machine)).expect("it compiles");
        let read: Vec<String> = compiled.references().iter().map(|reference| reference.parts.join(".")).collect();
        assert_eq!(read, expect, "{template}");
    };
    check("{{env.HOME}} {{env[\"USER\"]}}", &["env.HOME", "env.USER"]);
    check("{{index .env \"HOME\"}}", &["env.HOME"]);
    check("{{index (index inputs.list 1) \"k\"}}", &["inputs.list.1.k"]);
    check("{{index env inputs.name}}", &["env", "inputs.name"]);
}

#[test]
fn an_unknown_root_is_always_nil_in_an_expression_and_an_error_in_text() {
    let warnings_of = |compiled: Result<Expression, branchpoint_expr::Problems>| -> Vec<String> {
        let warnings = compiled.expect("it compiles").warnings().to_vec();
        warnings.into_iter().map(|warning| warning.message).collect()
    };
    let options = Options::dialect(Dialect::Machine);
    let fails = "unknown name `input`, so this can never be expanded";
    assert_eq!(warnings_of(Expression::text("x {{input.n}}", options)), [fails]);
    let nil = "unknown name `input`, so this is always nil";
    assert_eq!(warnings_of(Expression::compile("input.n", options)), [nil]);
}
