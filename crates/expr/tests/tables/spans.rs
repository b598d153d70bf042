//! Findings point at the very place: kind, the text there, and help where there is some.

use branchpoint_expr::{Condition, Diagnostic, Dialect, Expression, Located, Options, Problems, Shape, Span};

fn first(problems: Result<impl Sized, Problems>, source: &str) -> Diagnostic {
    match problems {
        Err(problems) => problems.first().clone(),
        Ok(_) => panic!("{source} compiles"),
    }
}

/// The cause of the first error, and the text it points at.
#[track_caller]
fn check_in(dialect: Dialect, source: &str, cause: &str, place: &str) {
    let finding = first(Condition::expression(source, Options::dialect(dialect)), source);
    assert_eq!((finding.cause().as_str(), finding.span.text(source)), (cause, place), "{source}: {finding}");
}

#[track_caller]
fn check(source: &str, cause: &str, place: &str) {
    check_in(Dialect::Machine, source, cause, place);
}

#[test]
fn syntax() {
    check("inputs.a ==", "syntax", "");
    check("inputs.a = 1", "syntax", "=");
    check("inputs.a == 1)", "syntax", ")");
    check("(inputs.a == 1", "syntax", "");
    check("inputs.a & inputs.b", "syntax", "&");
    check("inputs.a == 'open", "syntax", "'");
    check("inputs.a == 'a\nb'", "syntax", "'");
    check("inputs.a == `open", "syntax", "`");
    check("inputs.a == '\\q'", "syntax", "\\");
    check("inputs.a == '\\u{110000}'", "syntax", "\\");
    check("/* open", "syntax", "/* open");
    check("inputs.a == 12abc", "syntax", "12a");
    check("inputs.a == 1é", "syntax", "1é");
    check("inputs.a == 0x", "syntax", "0x");
    check("inputs.a == 0b12", "syntax", "0b12");
    check("inputs.a == 1e999", "syntax", "1e999");
    check("inputs.a.", "syntax", "");
    check("inputs.5 == 1", "syntax", ".5");
    check("inputs[ == 1", "syntax", "==");
    check("inputs.a ? 1", "syntax", "");
    check("[1, 2", "syntax", "");
    check("{'a' 1}", "syntax", "1");
    check("let x 5; x", "syntax", "5");
    check("true && let x = 1; x", "syntax", "let");
    check("true and and", "syntax", "and");
    check("inputs.a ?? 1 == 1", "syntax", "==");
    check("inputs.a | 5", "syntax", "5");
    check("ü§", "syntax", "§");
    check("$x", "syntax", "$x");
    check("", "syntax", "");
    check("{{inputs.a + 1}} == 1", "syntax", " + 1");
    check("{{inputs.a", "syntax", "{{");
}

#[test]
fn names_functions_and_arguments() {
    check("hasPrefx(inputs.a, 'x')", "unknown_function", "hasPrefx");
    check("shellQuote(inputs.a)", "unknown_function", "shellQuote");
    check("len()", "wrong_arity", "len()");
    check("true && len(1, 2) == 1", "wrong_arity", "len(1, 2)");
    check("any(inputs.list)", "wrong_arity", "any(inputs.list)");
    check("let len = 5; true", "redeclared", "let len = 5; true");
    check("let inputs = 1; inputs > 0", "redeclared", "let inputs = 1; inputs > 0");
    check("true && any(inputs.list, let secret = 1; secret > #)", "redeclared", "let secret = 1; secret > #");
    check_in(Dialect::Steps, "let metadata = 1; true", "redeclared", "let metadata = 1; true");
    check_in(Dialect::Session, "let tools = 1; true", "redeclared", "let tools = 1; true");
    check_in(Dialect::Graph, "let text = 1; true", "redeclared", "let text = 1; true");
    check("# == 1", "no_element", "#");
    check("any(inputs.list, #acc)", "no_element", "#acc");
    check("secret.KEY == 'x'", "secret_not_allowed", "secret.KEY");
    check_in(Dialect::Flow, "name == 1", "unknown_name", "name");
}

#[test]
fn literals_that_cannot_work() {
    check("true == 1", "type_clash", "true == 1");
    check("!'x'", "type_clash", "'x'");
    check("inputs.s contains 5", "type_clash", "5");
    check("inputs.a && 'x'", "type_clash", "'x'");
    check("len(5) > 1", "type_clash", "5");
    check("'a' < 1", "type_clash", "'a' < 1");
    check("1 < inputs.a < 'x' + 1", "type_clash", "'x' + 1");
    check("[1].a == 1", "type_clash", "[1]");
    check("inputs.a[true]", "type_clash", "true");
    check("inputs.a / 0 == 1", "zero_divisor", "0");
    check("inputs.a == 9223372036854775808", "integer_range", "9223372036854775808");
    check("inputs.a matches '('", "bad_regex", "'('");
    check("inputs.a matches '(?=a)'", "bad_regex", "'(?=a)'");
    check("'yes'", "not_boolean", "'yes'");
    check("len('abc') + 1 * 2 // sum", "not_boolean", "len('abc') + 1 * 2 // sum");
}

#[test]
fn names_that_can_never_exist_are_warned_of_at_their_place() {
    let check = |source: &str, kind: &str, place: &str, help: Option<&str>| {
        let condition = Condition::compile(source).expect("it compiles");
        let warnings: Vec<_> = condition.warnings().iter().map(|w| (w.kind.as_str(), w.span.text(source))).collect();
        assert_eq!(warnings, [(kind, place)], "{source}");
        assert_eq!(condition.warnings()[0].help.as_deref(), help, "{source}");
    };
    check("input.count > 1", "unknown_name", "input", Some("did you mean `inputs`?"));
    check("states.check.Outptu == ''", "unknown_property", "Outptu", Some("did you mean `Output`?"));
    check("loop.Parent.Indx == 1", "unknown_property", "Indx", Some("did you mean `Index`?"));
    check("any(inputs.list, # == wrokflow.ID)", "unknown_name", "wrokflow", Some("did you mean `workflow`?"));
    check("zzz == 1", "unknown_name", "zzz", None);
}

#[test]
fn errors_of_an_evaluation_point_at_the_part_that_failed() {
    let check = |source: &str, detail: &str, place: &str| {
        let context = serde_json::json!({"inputs": {"s": "x", "n": 0, "list": [1, "a"], "max": i64::MAX}});
        let error = Condition::compile(source).expect("it compiles").evaluate(&context).expect_err("it fails");
        assert_eq!((error.detail.as_str(), error.span.text(source)), (detail, place), "{source}");
        assert_eq!(error.kind.as_str(), "condition_error", "{source}");
    };
    check("true && inputs.s > 1", "wrong_kind", "inputs.s > 1");
    check("1 / inputs.n == 1", "division_by_zero", "1 / inputs.n");
    check("inputs.max + 1 == 1", "out_of_range", "inputs.max + 1");
    check("inputs.s.deep == 1", "wrong_kind", "inputs.s.deep");
    check("any(inputs.list, # > 0 && # > 1 || # < 0)", "wrong_kind", "# > 0");
    check("int(inputs.s) == 1", "bad_argument", "int(inputs.s)");
    check("fromJSON(inputs.s) == 1", "bad_json", "fromJSON(inputs.s)");
    check("inputs.s matches inputs.s + '('", "bad_regex", "inputs.s matches inputs.s + '('");
    check("inputs.s", "not_boolean", "inputs.s");
    check("(inputs.n ? 1 : 2) == 1", "wrong_kind", "inputs.n");
}

#[test]
fn spans_in_templates_are_spans_in_the_whole_text() {
    let check = |dialect: Dialect, source: &str, cause: &str, place: &str| {
        let finding = first(Expression::template(source, Options::dialect(dialect)), source);
        assert_eq!((finding.cause().as_str(), finding.span.text(source)), (cause, place), "{source}: {finding}");
    };
    check(Dialect::Machine, "a {{inputs.x}} {{shout inputs.y}}", "unknown_function", "shout");
    check(Dialect::Machine, "a {{inputs.x + 1}}", "unknown_function", "inputs.x");
    check(Dialect::Machine, "a {{states.check.Nope}} b", "unknown_property", "Nope");
    check(Dialect::Machine, "a {{inputs.x", "syntax", "{{");
    check(Dialect::Machine, "é {{inputs.a.}} b", "syntax", "");
    check(Dialect::Flow, "é {{ $x + }}", "syntax", "");
    check(Dialect::Flow, "é {{ $x }} {{ len() }}", "wrong_arity", "len()");
    check(Dialect::Flow, "é {{ name }}", "unknown_name", "name");
}

/// A document's value whose text stands letter for letter in the source, from `start` on.
fn verbatim(source: &str, start: usize, text: &str) -> Located {
    let at = u32::try_from(start).expect("examples are short");
    assert!(source[start..].starts_with(text), "the text is there");
    Located {
        shape: Shape::Str { text: text.into(), verbatim: Some(at) },
        span: Span::new(start - 1, start + text.len() + 1),
    }
}

#[test]
fn spans_in_expressions_of_documents_are_spans_in_the_document() {
    let source = r#"{"if": "inputs.a == 1 &&& true"}"#;
    let located = verbatim(source, 8, "inputs.a == 1 &&& true");
    let finding = first(Condition::if_key(&located, Options::default()), source);
    assert_eq!(finding.span.text(source), "&");
    assert_eq!(finding.span.line_column(source), (1, 25));
    // Text that the document writes with escapes has the place of the whole.
    let source = r#"{"if": "inputs.a == \"x"}"#;
    let located =
        Located { shape: Shape::Str { text: "inputs.a == \"x".into(), verbatim: None }, span: Span::new(7, 24) };
    let finding = first(Condition::if_key(&located, Options::default()), source);
    assert_eq!(finding.span.text(source), r#""inputs.a == \"x""#);
    // A place beyond every text is cut, not reckoned around.
    let far = Located {
        shape: Shape::Str { text: "{{ $x + }}".into(), verbatim: Some(u32::MAX - 1) },
        span: Span::new(0, 0),
    };
    let _ = first(Expression::document(&far, Options::dialect(Dialect::Flow)), "a far text");
}

#[test]
fn all_mistakes_are_reported_in_document_order() {
    let source = "len() == 1 && nope(1) && !'x' && inputs.a / 0 > 1";
    let problems = Condition::compile(source).expect_err("it is wrong four times");
    let causes: Vec<_> = problems.0.iter().map(|problem| problem.cause().as_str()).collect();
    assert_eq!(causes, ["wrong_arity", "unknown_function", "type_clash", "zero_divisor"]);
    assert!(problems.0.iter().all(|problem| problem.kind.as_str() == "bad_condition"));
}

#[test]
fn more_mistakes_than_a_person_reads_are_counted() {
    let source = format!("len([{}]) == 1", vec!["nope(1)"; 1000].join(", "));
    let problems = Condition::compile(&source).expect_err("it is wrong a thousand times").0;
    assert_eq!(problems.len(), 51);
    assert_eq!(problems[50].message, "and 950 more, the first of them here");
    assert_eq!(problems[50].span.start, problems[49].span.start + 9);
    let source = vec!["zzz == 1"; 100].join(" && ");
    let condition = Condition::compile(&source).expect("names are only warned of");
    assert_eq!(condition.warnings().len(), 51);
}
