//! Properties of every text: no panic, spans inside the text, and JSON read as by `serde_json`.

use branchpoint_dialects::DocumentKinds as _;
use branchpoint_dialects::read;
use branchpoint_expr::{Kind, Located, Shape, Span};
use proptest::prelude::*;
use serde_json::Value;

/// Pieces of YAML syntax, and some invalid ones.
const PIECES: &[&str] = &[
    "a",
    "b",
    "é",
    "🙂",
    "1",
    "-1.5",
    "true",
    "~",
    " ",
    "  ",
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    "\t",
    ": ",
    ":",
    "- ",
    "-",
    "? ",
    "?",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "'",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    "\\ud83d\\ude42",
    "|\n",
    ">-\n",
    "|2\n",
    "#",
    " # c\n",
    "&a ",
    "*a",
    "*a ",
    "&b ",
    "*b",
    "!!str ",
    "! ",
    "!x ",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "<<",
    "{{ x }}",
    "\u{feff}",
    "\u{0}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    ".inf",
    "0x1F",
    "a: 1\n",
    "- b\n",
];

const DOCUMENTS: &[&str] = &[
    "steps:\n  - id: greet\n    type: text\n    text: \"Hé {{ name }}\"\n  - id: ask\n    if: >\n      a &&\n      b\n    tags: [x, y]\n",
    "base: &base {retries: 3, on: [a, b]}\nuse:\n- *base\n- <<: *base\n  more: 'it''s'\n",
    "{\n\t\"name\": \"f\\u00e9\",\n\t\"list\": [1, 2.5, true, null, {\"a\": []}]\n}\n",
    "? a\n: b\n? |\n  long\n: - c\n  - d\n",
    "%YAML 1.2\n---\na: |+\n  x\n\n   y\n\nb: >-\n  folded\n  text\n...\n",
];

proptest! {
    #[test]
    fn any_text_is_read_or_rejected(source in any::<String>()) {
        verify(&source);
    }

    #[test]
    fn any_pieces_of_yaml_are_read_or_rejected(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        verify(&pieces.concat());
    }

    #[test]
    fn a_broken_document_is_read_or_rejected(
        document in prop::sample::select(DOCUMENTS),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, prop::sample::select(PIECES)), 1..5),
    ) {
        verify(&edited(document, edits));
    }

    #[test]
    fn every_json_document_is_read_as_json(value in json(), layout in layout()) {
        let source = written(&value, &layout);
        prop_assert!(same(&read(&source).unwrap(), &value), "{source}");
    }

    #[test]
    fn json_after_a_comment_is_read_as_yaml_to_the_same_values(value in json(), layout in layout()) {
        // JSON allows these characters in a string and YAML does not.
        let json = written(&value, &layout).replace(|c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'), "x");
        agrees(&format!("# YAML\n{json}"), &serde_json::from_str(&json).unwrap());
    }

    #[test]
    fn json_for_serde_is_read_to_the_same_values(
        value in json(),
        layout in layout(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, prop::sample::select(PIECES)), 0..3),
    ) {
        let source = edited(&written(&value, &layout), edits);
        if let Ok(expect @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(&source) {
            agrees(&source, &expect);
        }
    }
}

type Edits = Vec<(prop::sample::Index, usize, &'static str)>;

fn edited(source: &str, edits: Edits) -> String {
    let mut letters: Vec<char> = source.chars().collect();
    for (at, removed, piece) in edits {
        let at = at.index(letters.len() + 1);
        letters.splice(at..(at + removed).min(letters.len()), piece.chars());
    }
    letters.into_iter().collect()
}

/// Checks that a text is read to a value, unless it has a duplicate key, of which serde keeps the last.
#[track_caller]
fn agrees(source: &str, expect: &Value) {
    match read(source) {
        Ok(found) => assert!(same(&found, expect), "{source:?}"),
        Err(findings) => {
            assert!(findings.iter().all(|f| f.message.contains("given twice")), "{source:?}\n{findings:#?}");
        }
    }
}

/// Reads a text and checks the properties of the result.
#[track_caller]
fn verify(source: &str) {
    match read(source) {
        Ok(root) => verify_places(source, &root),
        Err(findings) => {
            assert!(!findings.is_empty());
            for finding in &findings {
                assert!(source.get(finding.span.range()).is_some(), "{source:?}\n{finding:?}");
                let mut known = [Kind::Yaml, Kind::BadField, Kind::DepthLimit, Kind::NodeLimit].iter();
                assert!(known.any(|kind| *kind == finding.kind), "{finding:?}");
            }
            assert!(findings.is_sorted_by_key(|finding| finding.span.start), "{findings:#?}");
        }
    }
}

#[track_caller]
fn verify_places(source: &str, located: &Located) {
    let held = |span: Span| source.get(span.range()).unwrap_or_else(|| panic!("{source:?}\n{span:?}"));
    held(located.span);
    match &located.shape {
        Shape::Str { text, verbatim: Some(start) } => {
            assert_eq!(source.get(*start as usize..*start as usize + text.len()), Some(&**text), "{source:?}");
        }
        Shape::Str { text, verbatim: None } => {
            let written = held(located.span);
            assert!(written != &**text && written.trim_matches(['\'', '"']) != &**text, "{source:?}\n{text:?}");
        }
        Shape::List(items) => items.iter().for_each(|item| verify_places(source, item)),
        Shape::Object(fields) => fields.iter().for_each(|field| {
            held(field.key_span);
            assert!(!fields.iter().any(|other| !std::ptr::eq(other, field) && other.key == field.key), "{source:?}");
            verify_places(source, &field.value);
        }),
        Shape::Float(float) => assert!(float.is_finite()),
        Shape::Null | Shape::Bool(_) | Shape::Int(_) => {}
    }
}

fn same(located: &Located, value: &Value) -> bool {
    match (&located.shape, value) {
        (Shape::Null, Value::Null) => true,
        (Shape::Bool(bool), Value::Bool(expect)) => bool == expect,
        (Shape::Int(int), Value::Number(number)) => match number.as_i64() {
            Some(expect) => *int == expect,
            None => number.as_f64().is_some_and(|expect| near(*int as f64, expect)),
        },
        (Shape::Float(float), Value::Number(number)) => number.as_f64().is_some_and(|expect| near(*float, expect)),
        (Shape::Str { text, .. }, Value::String(expect)) => **text == **expect,
        (Shape::List(items), Value::Array(expect)) => {
            items.len() == expect.len() && items.iter().zip(expect).all(|(item, expect)| same(item, expect))
        }
        (Shape::Object(fields), Value::Object(expect)) => {
            let held = |key: &str| expect.get(key);
            fields.len() == expect.len()
                && fields.iter().all(|field| held(&field.key).is_some_and(|expect| same(&field.value, expect)))
        }
        _ => false,
    }
}

/// Whether floats are equal up to the last digit, which `serde_json` may round differently.
fn near(float: f64, expect: f64) -> bool {
    (float - expect).abs() <= (expect.abs() * 1e-15).max(f64::MIN_POSITIVE)
}

fn json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![any::<String>(), "[a-z\\-#:,&*!?{}\\[\\]'\"\\\\ \t\n\r\u{7f}-\u{a0}]{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-100..100_i64).prop_map(|tenths| Value::from(tenths as f64 / 10.0)),
        text.clone().prop_map(Value::from),
    ];
    let any = leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    });
    any.prop_map(|value| if value.is_array() || value.is_object() { value } else { Value::from(vec![value]) })
}

/// The layout of JSON: the text between its tokens in turn, and whether characters beyond ASCII are escaped.
fn layout() -> impl Strategy<Value = (Vec<&'static str>, bool)> {
    const BLANKS: &[&str] = &["", "", " ", "\n", "\t", "\r\n", "\n\t\t", "  \n", "\r"];
    (prop::collection::vec(prop::sample::select(BLANKS), 1..8), any::<bool>())
}

fn written(value: &Value, (blanks, escape): &(Vec<&str>, bool)) -> String {
    let mut out = String::new();
    let mut blanks = blanks.iter().cycle();
    let (mut in_string, mut escaped) = (false, false);
    for letter in value.to_string().chars() {
        let token = !in_string && matches!(letter, '[' | ']' | '{' | '}' | ',' | ':');
        if token {
            out.push_str(blanks.next().unwrap());
        }
        if *escape && !letter.is_ascii() {
            out.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(letter);
        }
        if token {
            out.push_str(blanks.next().unwrap());
        }
        in_string ^= letter == '"' && !escaped;
        escaped = in_string && letter == '\\' && !escaped;
    }
    out
}
