//! Blocks of templates: choices, repetition, variables, comments, trim markers, and the functions that go with them.

use branchpoint_expr::{Dialect, Expression, Options};
use serde_json::{Value as Json, json};

fn render(template: &str, context: &Json) -> String {
    match Expression::text(template, Options::dialect(Dialect::Machine)) {
        Err(problems) => format!("refused {}: {}", problems.first().cause(), problems.first().message),
        Ok(template) => match template.value(context) {
            Ok(value) => value.to_string(),
            Err(error) => format!("failed {}: {}", error.detail, error.message),
        },
    }
}

fn context() -> Json {
    json!({
        "inputs": {
            "name": "ada", "none": null, "empty": "", "zero": 0, "n": 3, "half": 1.5, "yes": true, "no": false,
            "list": ["x", "y", "z"], "nothing": [], "map": {"zebra": 1, "ant": 2}, "html": "<a b='c'>",
            "people": [{"name": "Ann", "age": 3}, {"name": "Bob", "tags": ["q"]}], "path": "a/b.txt", "quote": "it's",
        },
        "states": {"build": {"Output": "ok\n", "ExitCode": 0}},
    })
}

#[track_caller]
fn check(template: &str, expect: &str) {
    assert_eq!(render(template, &context()), expect, "{template}");
}

#[track_caller]
fn check_start(template: &str, expect: &str) {
    let got = render(template, &context());
    assert!(got.starts_with(expect), "{template}: {got}");
}

#[test]
fn if_takes_the_first_branch_that_is_not_empty() {
    check("{{if inputs.yes}}a{{else}}b{{end}}", "a");
    check("{{if .inputs.no}}a{{else}}b{{end}}", "b");
    check("<{{if inputs.no}}a{{end}}>", "<>");
    for empty in ["none", "empty", "zero", "no", "nothing"] {
        check(&format!("{{{{if inputs.{empty}}}}}a{{{{else}}}}b{{{{end}}}}"), "b");
    }
    for filled in ["name", "n", "half", "yes", "list", "map"] {
        check(&format!("{{{{if inputs.{filled}}}}}a{{{{else}}}}b{{{{end}}}}"), "a");
    }
    let chain = "{{if eq inputs.n 1}}one{{else if eq inputs.n 2}}two{{else if eq inputs.n 3}}three{{else}}more{{end}}";
    check(chain, "three");
    check("{{if inputs.yes}}{{if inputs.no}}a{{else}}b{{end}}{{else}}c{{end}}", "b");
    check("{{if $x := inputs.name}}<{{$x}}>{{end}}", "<ada>");
}

#[test]
fn range_repeats_its_body() {
    check("{{range inputs.list}}<{{.}}>{{end}}", "<x><y><z>");
    check("{{range $x := inputs.list}}{{$x}},{{end}}", "x,y,z,");
    check("{{range $i, $x := inputs.list}}{{$i}}={{$x}} {{end}}", "0=x 1=y 2=z ");
    // Maps keep the order of the document.
    check("{{range $k, $v := inputs.map}}{{$k}}{{$v}};{{end}}", "zebra1;ant2;");
    check("{{range inputs.nothing}}a{{else}}none{{end}}", "none");
    check("{{range inputs.none}}a{{else}}none{{end}}", "none");
    check("{{range 3}}{{.}}{{end}}", "012");
    check("{{range inputs.people}}{{.name}} {{end}}", "Ann Bob ");
    check("{{range inputs.people}}{{inputs.name}}{{$.inputs.n}}{{end}}", "ada3ada3");
    check("{{range $p := inputs.people}}{{$p.name}}{{end}}", "AnnBob");
    check(
        "{{range inputs.list}}{{$outer := .}}{{range inputs.list}}{{$outer}}{{.}} {{end}}{{end}}",
        "xx xy xz yx yy yz zx zy zz ",
    );
    check_start(
        "{{range inputs.name}}a{{end}}",
        "failed wrong_kind: `range` takes a list, an object or a whole number",
    );
    check_start("{{range inputs.people}}{{.tags}}{{end}}", "failed missing_variable");
}

#[test]
fn ranges_are_left_by_break_and_continue() {
    check(r#"{{range inputs.list}}{{if eq . "y"}}{{break}}{{end}}{{.}}{{end}}!"#, "x!");
    check(r#"{{range inputs.list}}{{if eq . "y"}}{{continue}}{{end}}{{.}}{{end}}!"#, "xz!");
    // What was written of a round before it is left stays.
    check(r#"{{range inputs.list}}[{{if eq . "y"}}{{continue}}{{end}}]{{end}}"#, "[][[]");
    check("{{range inputs.list}}{{range inputs.list}}{{.}}{{break}}{{end}}-{{end}}", "x-x-x-");
    check_start("{{break}}", "refused syntax: `break` and `continue` are for `range` blocks");
    check_start("{{range inputs.list}}{{else}}{{break}}{{end}}", "refused syntax");
}

#[test]
fn with_changes_the_dot() {
    check("{{with inputs.name}}<{{.}}>{{end}}", "<ada>");
    check("{{with inputs.empty}}a{{else}}b{{end}}", "b");
    check("{{with $m := inputs.map}}{{.ant}}{{$m.zebra}}{{end}}", "21");
    check("{{with inputs.none}}a{{else with inputs.name}}{{.}}{{end}}", "ada");
}

#[test]
fn variables_keep_values() {
    check("{{$x := 1}}{{$x}}{{$x = 2}}{{$x}}", "12");
    check("{{$last := \"\"}}{{range inputs.list}}{{$last = .}}{{end}}{{$last}}", "z");
    check("{{$p := inputs.people}}{{$p[0].name}}", "Ann");
    check_start("{{if inputs.yes}}{{$x := 1}}{{end}}{{$x}}", "refused unknown_name: unknown variable `$x`");
    check_start("{{$x = 1}}", "refused unknown_name");
}

#[test]
fn comments_and_trim_markers_leave_nothing() {
    check("a{{/* b }} c */}}d", "ad");
    check("a  {{- /* b */ -}}  d", "ad");
    check("a \n {{- inputs.n -}} \n b", "a3b");
    check("{{if inputs.yes -}}  x  {{- end}}.", "x.");
    check("{{range $i, $x := inputs.list}}\n{{- if $i}}, {{end -}}\n{{$x}}{{end}}", "x, y, z");
    check("{{-3}}", "-3");
    // A marker trims only the text next to it.
    check("a {{/* b */}}{{- inputs.n}}", "a 3");
}

#[test]
fn functions_of_blocks() {
    check("{{and inputs.yes inputs.name}} {{and inputs.no inputs.missing}}", "ada false");
    check("{{or inputs.empty inputs.name}} {{or inputs.name inputs.missing}}", "ada ada");
    check("{{not inputs.no}}{{not inputs.name}}", "truefalse");
    check(r#"{{eq inputs.name "bob" "ada"}}{{ne inputs.name "ada"}}"#, "truefalse");
    check("{{lt inputs.n 4}}{{le inputs.n 3}}{{gt inputs.n 3}}{{ge inputs.n 3.0}}", "truetruefalsetrue");
    check_start("{{eq inputs.name 3}}", "failed wrong_kind: `eq` cannot compare");
    check_start("{{lt inputs.name 3}}", "failed wrong_kind");
    check(r#"{{default "d" inputs.missing}}{{inputs.empty | default "e"}}{{inputs.name | default "f"}}"#, "deada");
    check(r#"{{inputs.missing | default "p"}}"#, "p");
    check("{{index inputs.people 1 \"tags\" 0}}", "q");
    check("{{slice inputs.name 1}} {{slice inputs.name 0 2}} {{slice inputs.list 1 2}}", r#"da ad ["y"]"#);
    check("{{if and (gt inputs.n 1) (lt (len inputs.list) 5)}}in{{end}}", "in");
    check(
        "{{html inputs.html}} {{js inputs.html}} {{urlquery inputs.html}}",
        "&lt;a b=&#39;c&#39;&gt; \\u003Ca b\\u003D\\'c\\'\\u003E %3Ca+b%3D%27c%27%3E",
    );
    check("{{escape inputs.path}} {{escape inputs.quote}} {{escape inputs.empty}}", r"a/b.txt 'it'\''s' ''");
}

#[test]
fn values_are_printed_by_verbs() {
    check(r#"{{printf "%s has %d" inputs.name inputs.n}}"#, "ada has 3");
    check(r#"{{printf "%v %v %v" inputs.list inputs.half inputs.none}}"#, r#"["x","y","z"] 1.5 null"#);
    check(r#"{{printf "%5d|%-5d|%05d|%+d" inputs.n inputs.n inputs.n inputs.n}}"#, "    3|3    |00003|+3");
    check(r#"{{printf "%.2f %8.3f %e" inputs.half inputs.half inputs.half}}"#, "1.50    1.500 1.500000e+00");
    check(
        r#"{{printf "%q %t %x %X %o %b %c %%" "a\"b" inputs.yes 255 255 8 5 65}}"#,
        r#""a\"b" true ff FF 10 101 A %"#,
    );
    check(r#"{{printf "%-6s|%6s|%.1s" inputs.name inputs.name inputs.name}}"#, "ada   |   ada|a");
    check(r#"{{inputs.n | printf "%03d"}}"#, "003");
    check(r#"{{print inputs.n inputs.n "a" 1}}{{println "x" 2}}"#, "3 3a1x 2\n");
    check_start(r#"{{printf "%d" inputs.name}}"#, "failed bad_argument: printf cannot write");
    check_start(r#"{{printf "%d"}}"#, "failed bad_argument: printf has more verbs");
    check_start(r#"{{printf "a" 1}}"#, "failed bad_argument: printf has no verb");
    check_start(r#"{{printf "%9999999999999999999999d" 1}}"#, "failed bad_argument: printf writes fields");
    check_start(r#"{{printf "%" 1}}"#, "failed bad_argument");
}

#[test]
fn what_a_block_yields_is_not_expanded_again() {
    let context = json!({"inputs": {"evil": "{{inputs.secret}}", "list": ["{{end}}", "{{$x}}"], "secret": "s"}});
    assert_eq!(
        render("{{range inputs.list}}{{.}}{{end}}{{with inputs.evil}}{{.}}{{end}}", &context),
        "{{end}}{{$x}}{{inputs.secret}}"
    );
}

#[test]
fn broken_blocks_are_refused_at_their_place() {
    check_start("{{if inputs.yes}}a", "refused syntax: the block has no `{{end}}`");
    check_start("{{range inputs.list}}a{{else}}b", "refused syntax: the block has no `{{end}}`");
    check_start("a{{end}}", "refused syntax: `{{else}}` or `{{end}}` without an open block");
    check_start("{{if inputs.yes}}a{{else}}b{{else}}c{{end}}", "refused syntax: the block has a second `{{else}}`");
    check_start("{{if}}a{{end}}", "refused syntax: `if` needs a value");
    check_start(
        "{{range inputs.list}}{{else if inputs.no}}{{end}}",
        "refused syntax: only `if` and `with` can follow `else`",
    );
    check_start("{{if $a, $b := inputs.map}}{{end}}", "refused syntax");
    check_start("{{template \"x\"}}", "refused unsupported: `template` is not supported");
    check_start("{{define \"x\"}}{{end}}", "refused unsupported");
    check_start(
        "{{range inputs.list}}{{readFile .}}{{end}}",
        "refused bad_argument: readFile cannot be used inside a block",
    );
    let problems = Expression::text("ab {{if inputs.yes}}", Options::dialect(Dialect::Machine)).unwrap_err();
    assert_eq!((problems.first().span.start, problems.first().span.end), (5, 18));
}

#[test]
fn blocks_have_limits() {
    let nested = "{{if inputs.yes}}".repeat(33) + &"{{end}}".repeat(33);
    check_start(&nested, "refused template_limit: blocks are nested more than 32 deep");
    let nested = "{{if inputs.yes}}".repeat(32) + "x" + &"{{end}}".repeat(32);
    check(&nested, "x");
    check_start("{{range 10001}}{{end}}", "failed template_limit: a `range` has at most 10000 rounds");
    check(&"{{range 10000}}{{end}}".repeat(2), "");
    check_start("{{range 10000}}{{range 1000}}aaaaaaaaaaaaaaaaaaaa{{end}}{{end}}", "failed template_limit");
    check_start("{{range 10000}}{{range 10000}}{{end}}{{end}}", "failed step_limit");
    check_start(&"{{if inputs.yes}}a{{end}}".repeat(1001), "refused template_limit: the template has more than 1000");
}

#[test]
fn long_chains_are_limited_before_they_are_compiled() {
    let pipe = |stages: usize| format!("{{{{inputs.name{}}}}}", "|trimSpace".repeat(stages));
    check(&pipe(31), "ada");
    check_start(&pipe(32), "refused depth_limit: more than 32 functions are joined");
    check_start(&pipe(90_000).replace("}}", "|readFile}}"), "refused depth_limit");
    let chain =
        |branches: usize| format!("{{{{if inputs.no}}}}{}{{{{end}}}}", "{{else if inputs.yes}}x".repeat(branches));
    check(&chain(100), "x");
    check_start(&chain(101), "refused template_limit: a block has more than 100 `else if`");
    let or = (0..10).fold("inputs.name".to_owned(), |inner, _| format!("or {} ({inner})", "inputs.empty ".repeat(90)));
    check_start(&format!("{{{{{or}}}}}"), "refused depth_limit: functions and blocks are nested more than 512 deep");
    // Many unknown variables cost no more than a few.
    let declared: Vec<String> = (0..900).map(|at| format!("{{{{$v{at} := 1}}}}")).collect();
    let unknown = declared.concat() + &"{{$unknown}}".repeat(15_000);
    check_start(&unknown, "refused unknown_name");
}

#[test]
fn files_are_read_before_blocks() {
    check_start("{{if inputs.no}}{{readFile inputs.path}}{{end}}", "refused bad_argument");
    check_start("{{$x := inputs.path}}{{readFile $x}}", "refused bad_argument");
    let template = "{{$text := readFile (slice inputs.path 0 1)}}{{if inputs.yes}}{{$text}}{{end}}";
    let template = Expression::text(template, Options::dialect(Dialect::Machine)).unwrap();
    assert_eq!(template.file_names().len(), 1);
    let mut context = context();
    context["file:0"] = json!("content");
    assert_eq!(template.value(&context).unwrap().to_string(), "content");
}

#[test]
fn a_dollar_in_quotes_is_text() {
    let value =
        |text: &str| Expression::template(text, Options::dialect(Dialect::Machine)).unwrap().value(&context()).unwrap();
    assert_eq!(value(r#"{{escape "$HOME"}}"#).to_string(), "'$HOME'");
    assert_eq!(format!("{:?}", value(" {{inputs.list}} ")), r#"["x","y","z"]"#);
}

#[test]
fn names_in_blocks_are_known() {
    let template = "{{if inputs.a}}{{inputs.b}}{{else}}{{range inputs.c}}{{env.HOME}}{{.d}}{{end}}{{end}}";
    let references = Expression::text(template, Options::dialect(Dialect::Machine)).unwrap().references();
    let mut names: Vec<String> = references.iter().map(|reference| reference.parts.join(".")).collect();
    names.sort();
    assert_eq!(names, ["env.HOME", "inputs.a", "inputs.b", "inputs.c"]);
}
