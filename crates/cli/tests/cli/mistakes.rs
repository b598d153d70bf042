//! The mistakes that people make first: each message says what happened, where, and what to do.

use super::running::{Place, err, exits, out};

/// Runs a command over one file, and expects each of these lines in what it prints.
#[track_caller]
fn check(name: &str, text: &str, arguments: &[&str], code: i32, expect: &[&str]) {
    let place = Place::new(&[(name, text)]);
    let output = place.run(arguments);
    let printed = out(&output) + &err(&output);
    exits(&output, code);
    for part in expect {
        assert!(printed.contains(part), "{part:?} is not in\n{printed}");
    }
}

#[test]
fn a_line_of_wrong_indentation_is_shown_with_the_line_it_belongs_to() {
    let text = "name: a\nsteps:\n  - id: ask\n    step_type: text\n     template: hello\n";
    let expect = [
        "error[yaml]: wrong indentation: this line begins with 5 spaces",
        "a.yaml:5:6",
        "help: indent it by 4 spaces, like the field `step_type` in line 4",
    ];
    check("a.yaml", text, &["check", "a.yaml"], 2, &expect);
}

#[test]
fn an_empty_file_is_called_empty() {
    for text in ["", "# only a comment\n", "---\n"] {
        let expect = ["error[unknown_dialect]: the document is empty", "begin with `branchpoint new NAME`"];
        check("a.yaml", text, &["check", "a.yaml"], 2, &expect);
    }
}

const COMPARE: &str = "name: a\nsteps:\n  - id: count\n    step_type: text\n    template: 'PART'\n  - id: route\n    \
                       step_type: if_else\n    if: 'input > 3'\n    then_steps: [{id: t, step_type: text, template: t}]\n";

#[test]
fn text_compared_with_a_number_fails_with_the_line_of_the_step_and_a_conversion() {
    let run = ["run", "a.yaml"];
    let expect = [
        "`>` cannot compare the text \"5\" with the number 3; convert the text with `float(...)`",
        " --> a.yaml:6:5",
        "branchpoint explain condition_type",
    ];
    check("a.yaml", &COMPARE.replace("PART", "5"), &run, 3, &expect);
    check("a.yaml", &COMPARE.replace("PART", "many"), &run, 3, &["with the number 3; the text is not a number"]);
}

#[test]
fn the_newline_of_a_command_in_a_comparison_is_named() {
    let text = COMPARE.replace("step_type: text\n    template: 'PART'", "step_type: command\n    command: echo 5");
    let expect =
        ["the text \"5\\n\" with the number 3; remove the newline and convert the text with `float(trim(...))`"];
    check("a.yaml", &text, &["run", "a.yaml"], 3, &expect);
    let mended = text.replace("input > 3", "float(trim(input)) > 3");
    check("a.yaml", &mended, &["run", "a.yaml"], 0, &[]);
}

#[test]
fn a_filter_in_a_template_of_steps_is_explained() {
    let text = "steps:\n  - {id: a, step_type: text, template: '{{input | upper}}'}\n";
    let expect = [
        "warning[unknown_reference]: `input | upper` is not a reference, so this is always empty",
        "a.yaml:2:",
        "templates of this dialect have no filters: write `{{input}}`; a condition can call `upper(input)`",
    ];
    check("a.yaml", text, &["check", "a.yaml"], 0, &expect);
}

#[test]
fn step_types_of_other_systems_are_translated() {
    for (written, meant) in
        [("shell", "command"), ("llm", "prompt_call"), ("approval", "human_in_the_loop"), ("if", "if_else")]
    {
        let text = format!("steps:\n  - {{id: a, step_type: {written}}}\n");
        let error = format!("error[unknown_step_type]: there is no step type `{written}`");
        let help = format!("did you mean `{meant}`?");
        check("a.yaml", &text, &["check", "a.yaml"], 2, &[&error, &help]);
    }
    let text = "steps:\n  - {id: a, step_type: teleport}\n";
    check("a.yaml", text, &["check", "a.yaml"], 2, &["common step types: prompt_call, agent, command"]);
}

const GOOD: &str = "steps:\n  - {id: a, step_type: text, template: x}\n";
const TWICE: &str = "steps:\n  - id: one\n    step_type: text\n  - id: one\n    step_type: text\n";

#[test]
fn a_directory_is_checked_with_all_workflows_in_it() {
    let place = Place::new(&[("good.yaml", GOOD), ("package.json", "{\"name\": \"x\"}"), (".gitignore", "ignored/\n")]);
    for folder in ["deep/er", "ignored"] {
        std::fs::create_dir_all(place.path().join(folder)).expect("a folder");
        std::fs::write(place.path().join(folder).join("bad.yml"), TWICE).expect("it is written");
    }
    let output = place.run(&["check", "."]);
    exits(&output, 2);
    assert!(out(&output).contains("deep/er/bad.yml:4:9"), "{}", out(&output));
    assert!(!out(&output).contains("ignored"), "{}", out(&output));
    assert_eq!(err(&output), "2 files checked: 1 error (1 other file skipped: not a workflow)\n");
    let output = place.run(&["check", ".", "--dialect", "flow"]);
    exits(&output, 1);
    assert!(
        err(&output).contains("no workflow found in .: its 3 YAML and JSON files are not workflows"),
        "{}",
        err(&output)
    );
}

#[test]
fn an_unknown_input_is_refused_with_the_name_that_was_meant() {
    check("a.yaml", GOOD, &["run", "a.yaml", "-i", "inpt=x"], 1, &["has no input `inpt`", "did you mean `input`?"]);
    check("a.yaml", GOOD, &["run", "a.yaml", "-i", "metdata.x=y"], 1, &["did you mean `metadata.x`?"]);
    let graph = r#"{"nodes": [{"id": "s", "type": "start"}], "connections": []}"#;
    check("g.json", graph, &["run", "g.json", "-i", "inptu=x"], 1, &["has no input `inptu`", "did you mean `input`?"]);
}

const MACHINE: &str = "name: m\ninputs: [{name: branch, type: string}]\nstates:\n  initial: a\n  a:\n    command: 'true'\n    \
                       transitions:\n      - {when: 'inputs.brnch == \"main\"', goto: done}\n      - goto: done\n  \
                       done: {type: terminal}\n";

#[test]
fn an_undeclared_input_of_a_machine_is_warned_of() {
    let expect = ["warning[unknown_input]: the input `brnch` is not declared", "m.yaml:8:", "did you mean `branch`?"];
    check("m.yaml", MACHINE, &["check", "m.yaml"], 0, &expect);
    let far = MACHINE.replace("brnch", "tag");
    check("m.yaml", &far, &["check", "m.yaml"], 0, &["declare it at the top of the document: `inputs: [{name: tag,"]);
    check("m.yaml", &MACHINE.replace("brnch", "branch"), &["check", "--deny-warnings", "m.yaml"], 0, &["all good"]);
    check("m.yaml", MACHINE, &["run", "m.yaml", "-i", "barnch=x"], 0, &["no input `barnch`; did you mean `branch`?"]);
}

#[test]
fn braces_that_are_never_closed_are_warned_of() {
    let text = "steps:\n  - id: a\n    step_type: text\n    template: 'Hello {{input'\n";
    let expect = ["warning[unclosed_placeholder]: `{{` is not closed", "a.yaml:4:22", "help: write `{{input}}`"];
    check("a.yaml", text, &["check", "a.yaml"], 0, &expect);
    let prose = text.replace("{{input", "{{ in braces, {{\"json\": 1");
    check("a.yaml", &prose, &["check", "--deny-warnings", "a.yaml"], 0, &["all good"]);
}

#[test]
fn a_trailing_comma_in_json_is_warned_of() {
    let text = "{\"steps\": [\n  {\"id\": \"a\", \"step_type\": \"text\", \"template\": \"x\"},\n]}\n";
    let expect = ["warning[not_json]: a trailing comma is not JSON", "a.json:2:52", "help: remove the comma"];
    check("a.json", text, &["check", "a.json"], 0, &expect);
    check("a.yaml", text, &["check", "--deny-warnings", "a.yaml"], 0, &["all good"]);
    check(
        "a.json",
        "{'steps': [{'step_type': 'text'}]}",
        &["check", "a.json"],
        0,
        &["it is not JSON: ", "name the file `.yaml`"],
    );
}

#[test]
fn a_run_without_the_input_that_its_steps_read_is_warned_of() {
    let text = "steps:\n  - {id: a, step_type: text, template: 'Hello {{input}}'}\n";
    let expect =
        ["warning[missing_input]: the run was started without an input", "a.yaml:2:", "give it with `-i input=TEXT`"];
    check("a.yaml", text, &["run", "a.yaml"], 0, &expect);
    let given = Place::new(&[("a.yaml", text)]).run(&["run", "a.yaml", "-i", "input=Ada"]);
    assert!(!err(&given).contains("missing_input"), "{}", err(&given));
}

#[test]
fn an_unknown_kind_of_document_shows_how_each_dialect_begins() {
    let expect = [
        "error[unknown_dialect]: unrecognised workflow format",
        "steps    {name: x, steps: [{id: a, step_type: text",
        "flow     {\"name\": \"x\", \"steps\": [",
        "machine  {name: x, states: {initial: a",
        "graph    {\"nodes\": [",
        "session  {\"steps\": [{\"name\": ",
    ];
    check("a.yaml", "title: x\ntasks: [1]\n", &["check", "a.yaml"], 2, &expect);
    check(
        "a.yaml",
        "step: [1]\n",
        &["check", "a.yaml"],
        2,
        &["`step` is not a key of any dialect", "did you mean `steps`?"],
    );
    check("a.yaml", "just text\n", &["check", "a.yaml"], 2, &["a workflow is an object, and this is text"]);
}

#[test]
fn the_examples_of_beginnings_are_workflows() {
    let place = Place::new(&[("a.yaml", "title: x\n")]);
    let printed = out(&place.run(&["check", "a.yaml"]));
    let mut seen = 0;
    for dialect in ["steps", "flow", "machine", "graph", "session"] {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(&format!("{dialect} ")));
        std::fs::write(place.path().join("b.yaml"), line.expect("each has a line").trim()).expect("it is written");
        let output = place.run(&["check", "--format", "json", "b.yaml"]);
        let findings: serde_json::Value = serde_json::from_str(&out(&output)).expect("it is JSON");
        assert_eq!(findings["files"][0]["dialect"], dialect, "{findings:#}");
        seen += usize::from(findings["errors"] == 0);
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_duplicate_id_is_shown_with_both_places() {
    let expect =
        ["the id `one` is used by two steps", "a.yaml:4:9", "note: the first step `one` is here", "a.yaml:2:9"];
    check("a.yaml", TWICE, &["check", "a.yaml"], 2, &expect);
    let place = Place::new(&[("a.yaml", TWICE)]);
    let findings: serde_json::Value =
        serde_json::from_str(&out(&place.run(&["check", "--format", "json", "a.yaml"]))).expect("it is JSON");
    assert_eq!(findings["files"][0]["diagnostics"][0]["related"]["line"], 2, "{findings:#}");
    let findings: serde_json::Value =
        serde_json::from_str(&out(&place.run(&["check", "--format", "sarif", "a.yaml"]))).expect("it is JSON");
    let related = &findings["runs"][0]["results"][0]["relatedLocations"][0];
    assert_eq!(related["physicalLocation"]["region"]["startLine"], 2, "{findings:#}");
}

const HELLO: &str = "steps:\n  - {id: a, step_type: text, template: hello}\n";

#[test]
fn mistakes_on_the_command_line_get_a_remedy() {
    let cases: [(&[&str], i32, &[&str]); 14] = [
        (&["new", "absent/a"], 1, &["there is no folder absent", "mkdir -p absent"]),
        (&["run", "."], 1, &["cannot read .: it is a folder", "help: name a file in it"]),
        (&["run", "a.yaml", "-i", "foo"], 1, &["`-i foo` has no `=`", "write -i foo=TEXT, or -i foo:=JSON"]),
        (&["run", "a.yaml", "-i", "nput=x"], 1, &["did you mean `input`? Give its input as `input=TEXT`"]),
        (&["run", "a.yaml", "--tag", ""], 1, &["a tag must not be empty"]),
        (&["run", "a.yaml", "--store", "a.yaml"], 4, &["the file is not a database; name another file with --store"]),
        (&["runs", "list", "--limit", "0"], 1, &["write a whole number of at least 1"]),
        (&["work", "--calls", "many"], 1, &["write a whole number of at least 1"]),
        (&["serve", "--listen", "127.0.0.1"], 1, &["write an IP address and a port, such as 127.0.0.1:8080"]),
        (&["serve", "--grace", "10s"], 1, &["write a whole number of seconds, such as 30"]),
        (&["secrets", "set", "a b"], 1, &["`a b` cannot be the name of a secret", "letters, digits and `_`"]),
        (&["secrets", "set", "EMPTY"], 1, &["the secret is empty", "| branchpoint secrets set EMPTY"]),
        (&["runs", "import", "a.yaml"], 1, &["is not an export of `branchpoint runs export`"]),
        (&["check", "empty"], 1, &["no workflow found in empty: it has no YAML or JSON files"]),
    ];
    for (arguments, code, expect) in cases {
        let place = Place::new(&[("a.yaml", HELLO)]);
        std::fs::create_dir(place.path().join("empty")).expect("there is room for a folder");
        let output = place.run(arguments);
        exits(&output, code);
        for part in expect {
            assert!(err(&output).contains(part), "{part:?} of {arguments:?} is not in\n{}", err(&output));
        }
    }
}

#[test]
fn an_unknown_field_without_a_similar_name_gets_the_names_of_all() {
    let text = "name: a\nstates:\n  initial: a\n  a: {command: ls, retry: {tries: 2}, on_success: done}\n  done: {type: terminal}\n";
    let expect =
        ["`states.a.retry.tries` is an unknown field", "remove it, or use one of the fields `", "`max_attempts`"];
    check("a.yaml", text, &["check", "a.yaml"], 0, &expect);
}

#[test]
fn a_wrong_duration_is_named() {
    let text = "steps:\n  - {id: a, step_type: wait, duration: soon}\n";
    check("a.yaml", text, &["check", "a.yaml"], 2, &["`soon` is not a duration", "write a number of seconds"]);
}

#[test]
fn a_dry_run_says_why_it_stops_at_a_call_that_never_ends() {
    let files =
        [("a.yaml", "steps:\n  - {id: a, step_type: command, command: ls}\n"), ("s.yaml", "a: [{$hang: true}]\n")];
    let output = Place::new(&files).run(&["run", "a.yaml", "--dry-run", "-s", "s.yaml"]);
    exits(&output, 1);
    assert!(err(&output).contains("cannot continue: the answer of a call is `$hang`"), "{}", err(&output));
}

#[test]
fn a_misspelt_setting_is_reported_with_its_line() {
    let files = [("a.yaml", HELLO), ("branchpoint.toml", "[people]\nownr = \"ada\"\n")];
    let place = Place::new(&files);
    for arguments in [["check", "a.yaml"], ["run", "a.yaml"]] {
        let output = place.run(&arguments);
        let text = err(&output);
        assert!(text.contains("branchpoint.toml:2 is invalid: unknown field `ownr` in `people`"), "{text}");
        assert!(text.contains("help: did you mean `owner`?"), "{text}");
    }
}

#[test]
fn a_repeated_start_shows_an_empty_input() {
    let place = Place::new(&[("a.yaml", HELLO)]);
    exits(&place.run(&["run", "a.yaml", "--id", "one"]), 0);
    let other = place.run(&["run", "a.yaml", "--id", "one", "-i", "input=x"]);
    exits(&other, 1);
    assert!(err(&other).contains("input: the run has empty text, this start has x"), "{}", err(&other));
}

#[test]
fn a_document_that_is_read_as_another_dialect_is_named() {
    let looks = |dialect: &str| format!("the document looks like `steps`, but it was read as `{dialect}`");
    check("a.yaml", HELLO, &["run", "a.yaml", "--dialect", "flow"], 2, &[&looks("flow")]);
    check("a.yaml", HELLO, &["session", "a.yaml"], 2, &[&looks("session")]);
}
