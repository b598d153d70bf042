//! The values, spans and errors of the reader.

use branchpoint_dialects::DocumentKinds as _;
use branchpoint_dialects::read;
use branchpoint_expr::{Kind, Located, Shape, render_terminal};
use serde_json::{Value, json};

#[track_caller]
fn check(source: &str, expect: &Value) {
    match read(source) {
        Ok(actual) => assert_eq!(&value(&actual), expect, "{source}"),
        Err(findings) => panic!("{source}\n{findings:#?}"),
    }
}

/// Checks the source text of a value (`a.0`) or of a key (`a.0 b:`).
#[track_caller]
fn check_place(source: &str, path: &str, expect: &str) {
    let root = read(source).unwrap_or_else(|findings| panic!("{source}\n{findings:#?}"));
    let (path, key) = path.split_once(' ').map_or((path, None), |(path, key)| (path, key.strip_suffix(':')));
    let actual = path.split('.').filter(|part| !part.is_empty()).fold(&root, |at, part| match part.parse::<usize>() {
        Ok(index) => &at.items().unwrap()[index],
        Err(_) => at.get(part).unwrap(),
    });
    let span = key.map_or(actual.span, |key| actual.fields().iter().find(|field| &*field.key == key).unwrap().key_span);
    assert_eq!(source.get(span.range()).unwrap(), expect, "{source}");
}

/// Checks the verbatim position of the text under `a`.
#[track_caller]
fn check_verbatim(source: &str, text: &str, expect: Option<usize>) {
    let root = read(source).unwrap_or_else(|findings| panic!("{source}\n{findings:#?}"));
    let Shape::Str { text: actual, verbatim } = &root.get("a").unwrap().shape else { panic!("{source}") };
    assert_eq!(&**actual, text, "{source}");
    assert_eq!(verbatim.map(|start| start as usize), expect, "{source}");
    if let Some(start) = expect {
        assert_eq!(&source[start..start + text.len()], text, "{source}");
    }
}

/// Checks all findings: the kind, the text at the place, and a part of the message or the help.
#[track_caller]
fn rejected(source: &str, expect: &[(Kind, &str, &str)]) {
    let findings = read(source).expect_err(source);
    assert_eq!(findings.len(), expect.len(), "{source}\n{findings:#?}");
    for (finding, (kind, marked, part)) in findings.iter().zip(expect) {
        assert_eq!(finding.kind, *kind, "{source}\n{finding}");
        assert_eq!(source.get(finding.span.range()), Some(*marked), "{source}\n{finding}");
        assert!(finding.to_string().contains(part), "{source}\n{finding}");
    }
}

fn value(located: &Located) -> Value {
    match &located.shape {
        Shape::Null => Value::Null,
        Shape::Bool(bool) => json!(bool),
        Shape::Int(int) => json!(int),
        Shape::Float(float) => json!(float),
        Shape::Str { text, .. } => json!(**text),
        Shape::List(items) => items.iter().map(value).collect(),
        Shape::Object(fields) => fields.iter().map(|field| (field.key.to_string(), value(&field.value))).collect(),
    }
}

fn count(located: &Located) -> usize {
    let inside: usize = match &located.shape {
        Shape::List(items) => items.iter().map(count).sum(),
        Shape::Object(fields) => fields.iter().map(|field| count(&field.value)).sum(),
        _ => 0,
    };
    inside + 1
}

#[test]
fn yaml_is_read_with_the_core_schema() {
    check("", &json!(null));
    check("# only a comment\n", &json!(null));
    check("---\n", &json!(null));
    check("a: 1\nb: [x, 2.5, ~]\nc: {d: yes}\n", &json!({"a": 1, "b": ["x", 2.5, null], "c": {"d": "yes"}}));
    check("- true\n- no\n- 7.0\n- 0x1F\n- 0o17\n- '7'\n- \"true\"", &json!([true, "no", 7, 31, 15, "7", "true"]));
    check("a:\nb: \nc: ''", &json!({"a": null, "b": null, "c": ""}));
    check("a: |\n  x\n  y\nb: >-\n  x\n  y\n", &json!({"a": "x\ny\n", "b": "x y"}));
    check("%YAML 1.2\n---\na: 1\n...\n", &json!({"a": 1}));
    check("a: 2026-01-31\nb: 12:30:45", &json!({"a": "2026-01-31", "b": "12:30:45"}));
}

#[test]
fn json_is_read_as_json() {
    check(r#"{"a":1,"b":[true,null,-2.5e+3]}"#, &json!({"a": 1, "b": [true, null, -2500]}));
    check("{\n\t\"a\":\t[\n\t1\t,\n\t2]\n}\t\n", &json!({"a": [1, 2]}));
    check("{\"a\"\n:\n1}", &json!({"a": 1}));
    check(r#"["\ud83d\ude42", "\u00e9\/\b\f\n\r\t\"\\"]"#, &json!(["🙂", "é/\u{8}\u{c}\n\r\t\"\\"]));
    check(
        "[\"\u{7f}\u{80}\u{85}\u{2028}\u{feff}\u{fffe}\u{ffff}\"]",
        &json!(["\u{7f}\u{80}\u{85}\u{2028}\u{feff}\u{fffe}\u{ffff}"]),
    );
    check("\u{feff}[1]", &json!([1]));
    let key = "k".repeat(100_000);
    check(&format!("{{\"{key}\": 1}}"), &json!({key: 1}));
    // Almost JSON is YAML: a comment, a comma too many.
    check("{\"a\": 1, # one\n \"b\": [2,],}", &json!({"a": 1, "b": [2]}));
}

#[test]
fn keys_are_text_and_merge_keys_are_ordinary_keys() {
    check(
        "1: a\n0x10: b\ntrue: c\n1.50: d\n.nan: e\n\"~\": f\n",
        &json!({"1": "a", "0x10": "b", "true": "c", "1.50": "d", ".nan": "e", "~": "f"}),
    );
    check("a: &k {x: 1}\nb:\n  <<: *k\n", &json!({"a": {"x": 1}, "b": {"<<": {"x": 1}}}));
    check("a: &k name\n*k : 1\n? b\n: 2\n", &json!({"a": "name", "name": 1, "b": 2}));
    rejected("~: 1\n: 2\n", &[(Kind::BadField, "~", "a key is null"), (Kind::BadField, "", "a key is null")]);
    rejected(
        "? [1, 2]\n: 3\nnull: 4",
        &[(Kind::BadField, "[1, 2]", "cannot be a key"), (Kind::BadField, "null", "quotes")],
    );
    rejected("a: &k [1]\n*k : 2", &[(Kind::BadField, "*k", "cannot be a key")]);
}

#[test]
fn tags_of_the_core_schema_are_supported_and_others_rejected() {
    check(
        "- !!str 7\n- !!int '7'\n- !!float 7\n- ! 7\n- !!bool true\n- !!null ''\n- !!str",
        &json!(["7", 7, 7, "7", true, null, ""]),
    );
    check("a: !!map {b: !!seq [1]}\nc: !!seq\n- 2", &json!({"a": {"b": [1]}, "c": [2]}));
    rejected(
        "a: !include x.yaml\nb: !!binary aGk=\nc: !!set {d}\n!e f: 1",
        &[
            (Kind::Yaml, "!include", "`!include` has no meaning"),
            (Kind::Yaml, "!!binary", "quotes"),
            (Kind::Yaml, "!!set", "no meaning"),
            (Kind::Yaml, "!e", "no meaning"),
        ],
    );
    rejected(
        "- !!int x\n- !!seq {}\n- !!int 1.5",
        &[(Kind::Yaml, "x", "`!!int`"), (Kind::Yaml, "!!seq", "an object"), (Kind::Yaml, "1.5", "tag")],
    );
}

#[test]
fn numbers_outside_of_json_are_rejected() {
    rejected(
        "- .inf\n- -.INF\n- .NaN\n- 1e400",
        &[
            (Kind::Yaml, ".inf", "quotes"),
            (Kind::Yaml, "-.INF", ""),
            (Kind::Yaml, ".NaN", ""),
            (Kind::Yaml, "1e400", "number"),
        ],
    );
    rejected("[1e400]", &[(Kind::Yaml, "1e400", "number")]);
}

#[test]
fn places_are_bytes_of_the_source() {
    for start in ["", "\u{feff}", "# é\n", "---\r\n"] {
        for newline in ["\n", "\r\n"] {
            let source = format!(
                "{start}ä: 'ö'{newline}steps:{newline}  - id: \"ü 🙂\"{newline}    n: [1, {{x: y}}]  {newline}# end{newline}"
            );
            check_place(&source, "ä", "'ö'");
            check_place(&source, " ä:", "ä");
            check_place(&source, "steps.0.id", "\"ü 🙂\"");
            check_place(&source, "steps.0 id:", "id");
            check_place(&source, "steps.0.n", "[1, {x: y}]");
            check_place(&source, "steps.0.n.1", "{x: y}");
            check_place(&source, "steps.0.n.1.x", "y");
            check_place(&source, "steps.0.n.0", "1");
        }
    }
}

#[test]
fn collections_without_brackets_end_with_their_last_value() {
    let source = "a:\n- - 1\n- 2 # two\n\n# b follows\nb:\n  - c: 3\n    d:\n  -\n# end\n";
    check_place(source, "", &source[..source.len() - "\n# end\n".len()]);
    check_place(source, "a", "- - 1\n- 2");
    check_place(source, "a.0", "- 1");
    check_place(source, "b.0", "c: 3\n    d:");
    check_place(source, "b.0.d", "");
    check_place("a:\n- # - first\n  x\n- y", "a", "- # - first\n  x\n- y");
    check_place("a: # -\n  - x", "a", "- x");
    check_place("? a\n: - 1\n  - 2\n", "a", "- 1\n  - 2");
    check_place("[a: 1, b]", "0", "a: 1");
    check_place("a: &x 1\nb: [*x]\nc:\n  - *x\n", "c", "- *x");
    check_place("{\"a\": [ ] , \"b\":{ } }", "b", "{ }");
    check_place("a:\n  &x\n  b: 1\n", "a", "b: 1");
}

#[test]
fn text_has_the_position_of_its_first_character_if_it_is_verbatim() {
    check_verbatim("a: text", "text", Some(3));
    check_verbatim("é: 1\na: \"ü x\"", "ü x", Some(10));
    check_verbatim("a: 'x'", "x", Some(4));
    check_verbatim("a: 'it''s'", "it's", None);
    check_verbatim("a: \"x\\ny\"", "x\ny", None);
    check_verbatim("a: ''", "", Some(4));
    check_verbatim("a: one\n  two", "one two", None);
    check_verbatim("a: |\n  x\n", "x\n", Some(7));
    check_verbatim("a: |-\r\n  x\r\n", "x", Some(9));
    check_verbatim("a: |\r\n  x\r\n", "x\n", None);
    check_verbatim("a: >-\n    x y\n", "x y", Some(10));
    check_verbatim("a: |2\n    x\n", "  x\n", Some(8));
    check_verbatim("a: |\n  x\n  y\n", "x\ny\n", None);
    check_verbatim("a: |\n\n  x\n", "\nx\n", None);
    check_verbatim("{\"a\": \"x\"}", "x", Some(7));
    check_verbatim("{\"a\": \"\\u0078\"}", "x", None);
    // By chance, the source has the unescaped text at the same place.
    check_verbatim("{\"a\": \"\\\\\"}", "\\", Some(7));
    check_verbatim("a: !!str 12", "12", Some(9));
}

#[test]
fn an_alias_has_the_places_of_its_definition() {
    let source = "a: &x {k: text}\nb: *x\n";
    check(source, &json!({"a": {"k": "text"}, "b": {"k": "text"}}));
    check_place(source, "b", "{k: text}");
    check_place(source, "b.k", "text");
    check("- &a 1\n- *a\n- &a 2\n- *a\n", &json!([1, 1, 2, 2]));
    rejected(
        "a: *x\nb: *y\n*z : 1",
        &[(Kind::Yaml, "*x", "`&x`"), (Kind::Yaml, "*y", "quotes"), (Kind::Yaml, "*z", "`&z`")],
    );
    rejected("a: &x [1, *x]", &[(Kind::Yaml, "*x", "inside the value of its own anchor")]);
}

#[test]
fn a_duplicate_key_is_rejected_with_both_places() {
    let twice = (Kind::BadField, "a", "`a` is given twice: at line 1, column 1 and at line 3, column 1");
    rejected("a: 1\nb: 2\na: 3\n", &[twice]);
    rejected("{\"a\": 1,\n \"a\": 2}", &[(Kind::BadField, "\"a\"", "at line 1, column 2 and at line 2, column 2")]);
    rejected("1: a\n'1': b", &[(Kind::BadField, "'1'", "`1` is given twice")]);
    rejected(
        "a: {x: 1, x: 2}\nb: {y: 1, y: 2, y: 3}\na: 1",
        &[
            (Kind::BadField, "x", "at line 1, column 5 and at line 1, column 11"),
            (Kind::BadField, "y", "at line 2, column 5 and at line 2, column 11"),
            (Kind::BadField, "y", "at line 2, column 5 and at line 2, column 17"),
            (Kind::BadField, "a", "at line 1, column 1 and at line 3, column 1"),
        ],
    );
    // Problems in the target of an alias are reported once.
    rejected("- &a {x: 1, x: 2}\n- *a\n- *a", &[(Kind::BadField, "x", "twice")]);
    // In a large object, where keys are looked up by an index.
    let many = (0..100).map(|n| format!("k{n}: {n}")).collect::<Vec<_>>().join("\n");
    rejected(
        &format!("{many}\nk77: 0\nk3: 0\n"),
        &[(Kind::BadField, "k77", "line 78"), (Kind::BadField, "k3", "line 4")],
    );
}

#[test]
fn problems_before_a_syntax_error_are_reported() {
    rejected(
        "a: 1\na: 2\nb: *x\nc: [1,\n",
        &[(Kind::BadField, "a", "twice"), (Kind::Yaml, "*x", "`&x`"), (Kind::Yaml, "[", "never closed")],
    );
}

#[test]
fn findings_beyond_a_limit_are_counted() {
    let findings = read(&"a: 1\n".repeat(1000)).unwrap_err();
    assert_eq!(findings.len(), 51);
    assert!(findings[50].message.contains("949 more problems"), "{}", findings[50]);
}

#[test]
fn a_second_document_is_rejected() {
    rejected("a: 1\n---\nb: 2\n", &[(Kind::Yaml, "---", "a second document")]);
    rejected("--- 1\n...\n2\n", &[(Kind::Yaml, "2", "a file of its own")]);
    rejected("[1]\n[2]", &[(Kind::Yaml, "[", "")]);
}

#[test]
fn syntax_errors_have_help() {
    let yaml = |source, marked, part| rejected(source, &[(Kind::Yaml, marked, part)]);
    yaml("a:\n\tb: 1", "\t", "indent with spaces");
    yaml("a:\n  b: 1\n\tc: 2", "\t", "indent with spaces");
    yaml("a: 'x", "'", "this quote is never closed");
    yaml("a: \"x\nb: 1", "b", "close the quote in a line before");
    yaml("a: \"x\" y", "y", "follows the closing quote");
    yaml("a: \"\\d\"", "\"", "single quotes");
    yaml("{\"a\": \"\\ud83d\"}", "\"", "half of a character");
    yaml("a: [1, 2", "[", "close it with `]`");
    yaml("a: {b: 1]", "{", "closed by `]`");
    yaml("a: ]", "]", "closes nothing");
    yaml("a: [1, 2\nb: 3", ":", "is the `[` at line 1, column 4 closed?");
    yaml("a: b: c", ":", "contains `: ` in quotes");
    yaml("a:\n  b: 1\n c: 2", "c", "indent it by 2 spaces, like the field `b` in line 2");
    yaml("- a\nb: 1", "b", "`-` is missing");
    yaml("a: 1\nb", "b", "`:` is missing after this key");
    yaml("a: @x", "@", "put the text in quotes");
    yaml("a: 1\u{0}", "\u{0}", "U+0000");
    yaml("[1,,2]", ",", "a value is missing here");
    yaml("a: *", "*", "a name is missing");
    yaml("a: !x!y 1", "!", "this tag has no meaning");
    yaml("%FOO", "", "the text is not YAML");
}

#[test]
fn a_placeholder_without_quotes_is_explained() {
    let help = "text that begins with `{{` must be in quotes";
    rejected("a: {{ x }}", &[(Kind::BadField, "{ x }", help)]);
    rejected("a: {{ x }} y", &[(Kind::BadField, "{ x }", help), (Kind::Yaml, "y", help)]);
}

#[test]
fn nesting_is_bounded() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let block = |levels: usize| format!("{}x", "- ".repeat(levels));
    let flow = |levels: usize| format!("a: {}1{}", "{a: ".repeat(levels - 1), "}".repeat(levels - 1));
    for make in [&deep as &dyn Fn(usize) -> String, &block, &flow] {
        assert!(read(&make(100)).is_ok());
        assert_eq!(read(&make(101)).unwrap_err()[0].kind, Kind::DepthLimit);
        assert_eq!(read(&make(100_000)).unwrap_err()[0].kind, Kind::DepthLimit);
    }
    for open in ["[", "{", "{a: ", "{\"a\":", "[a: [", "- ", "? ", "? - ", "- ? "] {
        let findings = read(&open.repeat(100_000)).unwrap_err();
        assert!(findings.iter().any(|finding| finding.kind == Kind::DepthLimit), "{open}\n{findings:#?}");
    }
    // Through aliases, one level each.
    let chain = |levels: usize| {
        let links: Vec<_> = (1..levels - 1).map(|n| format!("- &a{n} [*a{}]", n - 1)).collect();
        format!("- &a0 [x]\n{}", links.join("\n"))
    };
    assert!(read(&chain(100)).is_ok());
    assert_eq!(read(&chain(101)).unwrap_err()[0].kind, Kind::DepthLimit);
}

#[test]
fn an_alias_bomb_of_many_values_is_rejected() {
    let bomb: Vec<_> = (1..30).map(|n| format!("- &a{n} [*a{0}, *a{0}]", n - 1)).collect();
    let findings = read(&format!("- &a0 [x]\n{}", bomb.join("\n"))).unwrap_err();
    assert_eq!((findings.len(), findings[0].kind), (1, Kind::NodeLimit));
}

/// Checks that a document exceeds the limit on aliases at this place, and has no other finding.
#[track_caller]
fn exceeds_alias_limit(source: &str, place: &str) {
    let findings = read(source).expect_err("it is rejected");
    let actual: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.span.text(source))).collect();
    assert_eq!(actual, [(Kind::AliasLimit, place)]);
    assert!(findings[0].help.is_some());
}

#[test]
fn the_bytes_added_by_aliases_of_any_shape_are_bounded() {
    let text = "x".repeat(1_000_000);
    // Wide: one long text many times. Eight times are eight million bytes; the ninth is more than 8 MiB.
    let wide = |times: usize| format!("- &a {text}\n{}", "- *a\n".repeat(times));
    assert!(read(&wide(8)).is_ok());
    exceeds_alias_limit(&wide(9), "*a");
    exceeds_alias_limit(&wide(100_000), "*a");
    // Deep: each level doubles the one before.
    let levels: Vec<_> = (1..10).map(|n| format!("- &a{n} [*a{0}, *a{0}]", n - 1)).collect();
    exceeds_alias_limit(&format!("- &a0 {text}\n{}", levels.join("\n")), "*a2");
    // Lists of aliases of lists, and objects.
    let lists = format!("- &a [{text}]\n- &b [*a, *a, *a]\n- &c {{k: *b, l: *b}}\n- [*c, *c, *c]\n");
    exceeds_alias_limit(&lists, "*b");
    let objects = format!("- &a {{k: {text}}}\n- {{b: *a, c: {{d: *a, e: [*a, *a, *a, *a, *a, *a, *a]}}}}\n");
    exceeds_alias_limit(&objects, "*a");
    // Merge keys are ordinary keys, and their values count as well.
    let merged = (0..9).map(|n| format!("o{n}:\n  <<: *a\n")).collect::<Vec<_>>().concat();
    exceeds_alias_limit(&format!("base: &a\n  k: {text}\n{merged}"), "*a");
}

#[test]
fn keys_from_aliases_count_as_well() {
    // The parser accepts keys of up to 1,024 characters, so the test needs many.
    let key = "k".repeat(1_000);
    let objects = |count: usize| format!("- &a {key}\n{}", "- *a : 1\n".repeat(count));
    assert!(read(&objects(8_000)).is_ok());
    exceeds_alias_limit(&objects(9_000), "*a");
    // Keys inside the target of an alias.
    let inside = format!("- &a {{{key}: 1}}\n{}", "- *a\n".repeat(9_000));
    exceeds_alias_limit(&inside, "*a");
}

#[test]
fn documents_of_a_megabyte_with_aliases_are_read_or_rejected() {
    // Many small aliases add little.
    let step = "- {id: x, tags: *tags, on: *yes}\n";
    let source = format!("- &tags [a, b, c]\n- &yes true\n{}", step.repeat(20_000));
    assert!(source.len() > 650_000);
    assert!(read(&source).is_ok());
    // Half of the text is an anchor, half of it aliases.
    let source = format!("- &a {}\n{}", "x".repeat(500_000), "- *a\n".repeat(100_000));
    exceeds_alias_limit(&source, "*a");
    let source = format!("- &a [{}]\n{}", "abcdefgh, ".repeat(50_000), "- *a\n".repeat(100_000));
    assert_eq!(read(&source).unwrap_err()[0].kind, Kind::NodeLimit);
}

#[test]
fn the_number_of_values_is_bounded() {
    let json = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
    assert_eq!(count(&read(&json(199_999)).unwrap()), 200_000);
    let too_many = [
        json(200_000),
        format!("- &a 1\n{}", "- *a\n".repeat(199_999)),
        format!("[{}]", "a: 1,".repeat(100_000)),
        // So many that the reader stops before the end of the document.
        format!("[{}1]", "[],".repeat(310_000)),
    ];
    for source in too_many {
        let findings = read(&source).unwrap_err();
        assert_eq!((findings.len(), findings[0].kind), (1, Kind::NodeLimit), "{}", &source[..20]);
    }
}

#[test]
fn the_length_of_a_text_is_bounded() {
    let most = 8 * 1024 * 1024;
    check(&format!("a: {}", "x".repeat(most - 3)), &json!({"a": "x".repeat(most - 3)}));
    rejected(&" ".repeat(most + 1), &[(Kind::SizeLimit, "", "8388608")]);
}

#[test]
fn a_document_of_a_megabyte_is_read() {
    let step = "- id: step\n  type: if_else\n  text: |\n    Dear {{ name }},\n    hello.\n  tags: [a, b]\n  on: true\n";
    let steps = 1_000_000 / step.len() + 1;
    let source = step.repeat(steps);
    assert!(source.len() >= 1_000_000);
    assert_eq!(count(&read(&source).unwrap()), 1 + steps * 8);
    let last = format!("{}.text", steps - 1);
    check_place(&source, &last, "Dear {{ name }},\n    hello.");
}

/// A `yaml` block of the page is a document. A `text` block after it is the printed error; without one, the document can be read.
#[test]
fn the_page_about_yaml_shows_the_printed_errors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics/yaml.md");
    let page = std::fs::read_to_string(path).unwrap();
    let blocks: Vec<_> = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect();
    assert!(blocks.len() >= 4);
    for (at, (words, text)) in blocks.iter().enumerate().filter(|(_, (words, _))| *words == "yaml") {
        match blocks.get(at + 1) {
            Some(("text", shown)) => {
                let findings = read(text).expect_err(text);
                let printed = render_terminal(&findings, text, "document.yaml", false);
                assert_eq!(printed.trim_end(), shown.trim_end(), "{words}\n{printed}");
            }
            _ => assert!(read(text).is_ok(), "{text}"),
        }
    }
}
