//! Where inputs come from.

use branchpoint_expr::Dialect;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Select, select};
use serde_json::{Map, Value as Json, json};

/// Roots of the dialects' contexts, and one that none has.
pub(crate) const ROOTS: [&str; 9] = ["inputs", "states", "input", "metadata", "message", "tools", "text", "loop", "x"];

/// Pieces of expressions and templates, good and bad, apart by blanks.
const TOKENS: &str = r#"inputs states input x $x $"ab" a true false nil null 0 1 2.5 1e9 0x1F 9223372036854775807
    9223372036854775808 1_000 .5 'a' "b\n" 'ä🙂' `raw``x` ' " ` ( ) [ ] { } {{ }} {{inputs.a}} {{.states.check.Output}}
    . ?. .. ? : ?: ?? , ; | || && ! == != < <= > >= = + - * / % ** ^ # #index #acc not in contains startsWith endsWith
    matches and or let if else len( map( filter( any( reduce( sum( sortBy( groupBy( split( repeat( fromJSON( toJSON(
    count( escape readFile index trimSpace json // /* */ \ é [*] [-1] [1:2] .field secret.KEY {{a[--1]}}"#;

const TEXTS: &[&str] = &[
    "",
    " ",
    "3 days ago",
    "[1, 2]",
    "{\"a\": {\"b\": 1}}",
    "{{ $x }}",
    "\u{0}",
    "\u{feff}",
    "a\nb",
    "9223372036854775808",
];
const WORDS: &str =
    "a Ab true FALSE 12 -3.5 1e400 007 null now 2026-02-18T12:00:00Z 2026-02-18 (?=a)b ^a+$ {{inputs.a}}
    }} läßt 🙂 '";

/// One of the words of a list.
fn word(list: &'static str) -> Select<&'static str> {
    select(list.split_whitespace().collect::<Vec<_>>())
}

pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof![
        2 => word(WORDS).prop_map(String::from),
        1 => select(TEXTS).prop_map(String::from),
        1 => "[a-zA-Z0-9 .{}$]{0,12}",
        1 => any::<String>(),
    ]
    .boxed()
}

/// Any text at all, or pieces of the language in any order.
pub(crate) fn soup() -> BoxedStrategy<String> {
    let tokens = (vec(word(TOKENS), 0..24), select(&["", " ", "\n"][..]));
    prop_oneof![4 => tokens.prop_map(|(tokens, gap)| tokens.join(gap)), 1 => any::<String>()].boxed()
}

/// JSON of any shape.
pub(crate) fn any_json() -> BoxedStrategy<Json> {
    let number = prop_oneof![
        (-5_i64..20).prop_map(|int| json!(int)),
        select(&[i64::MIN, i64::MAX, 9_007_199_254_740_993][..]).prop_map(|int| json!(int)),
        select(&[0.5, -0.0, 2.0, 1e300, 9.3e18, 1e-9][..]).prop_map(|float| json!(float)),
        Just(json!(u64::MAX)),
    ];
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        3 => number,
        3 => text().prop_map(Json::from),
    ];
    let keys = select(&["a", "b", "count", "mode", "check", "Output", "ExitCode", "my-step", "ä", ""][..]);
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let fields = vec((keys.clone(), inner.clone()), 0..5).prop_map(object);
        prop_oneof![vec(inner, 0..5).prop_map(Json::from), fields]
    })
    .boxed()
}

/// The values a condition can see: some of the roots.
pub(crate) fn context() -> BoxedStrategy<Json> {
    vec((select(&ROOTS[..]), any_json()), 0..8).prop_map(object).boxed()
}

fn object(fields: Vec<(&str, Json)>) -> Json {
    Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

/// An expression that mostly compiles.
pub(crate) fn expression(dialect: Dialect) -> BoxedStrategy<String> {
    let sign = if dialect == Dialect::Flow { "$" } else { "" };
    let path = (select(&ROOTS[..]), vec(word(".a .b .count .mode ['my-step'] [0] [-1]"), 0..3));
    let leaf = prop_oneof![
        3 => path.prop_map(move |(root, keys)| format!("{sign}{root}{}", keys.concat())),
        2 => word("1 -3 2.5 0 'a' '12' 'true' true false nil [] {}").prop_map(String::from),
    ];
    leaf.prop_recursive(5, 24, 3, compound).boxed()
}

fn compound(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let operator = prop_oneof![
        9 => word("== != < <= > >= + - * / % ** && || in contains startsWith endsWith matches ?? ?: .."),
        1 => Just("not in"),
    ];
    let function = word(
        "len type int float string abs round trim upper first last keys values toPairs fromPairs reverse uniq flatten sort
        max mean median sum toJSON fromJSON toBase64 bitnot count",
    );
    let fold = word("all any none one filter map count find findIndex findLast sum sortBy groupBy reduce");
    let body = select(&["# == 1", "# > #index", ".a", "true", "#", "len(string(#)) > 1", "[#, #index]"][..]);
    let (one, two) = (inner.clone(), (inner.clone(), inner.clone()));
    let three = (inner.clone(), inner.clone(), inner.clone());
    prop_oneof![
        4 => (one.clone(), operator, one.clone()).prop_map(|(left, op, right)| format!("({left}) {op} ({right})")),
        1 => three.clone().prop_map(|(a, b, c)| format!("({a}) < ({b}) <= ({c})")),
        1 => three.prop_map(|(a, b, c)| format!("(({a}) ? ({b}) : ({c}))")),
        1 => (word("! - + not"), one.clone()).prop_map(|(sign, operand)| format!("{sign} ({operand})")),
        2 => (function, one.clone()).prop_map(|(function, argument)| format!("{function}({argument})")),
        2 => (fold, one, body).prop_map(|(fold, list, body)| format!("{fold}({list}, {body})")),
        1 => two.clone().prop_map(|(list, key)| format!("({list})[{key}]")),
        1 => two.clone().prop_map(|(list, to)| format!("({list})[1:{to}]")),
        1 => two.prop_map(|(value, body)| format!("(let v = {value}; [v, {body}])")),
        1 => vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
    ]
    .boxed()
}

/// A text with placeholders of any dialect.
pub(crate) fn template() -> BoxedStrategy<String> {
    let known = [
        "{{inputs.a}}",
        "{{ input.a.b }}",
        "{{PREVIOUS_OUTPUT}}",
        "{{states.check.Output | trimSpace | split \",\" | join \"-\"}}",
        "{{escape inputs.mode}}",
        "{{ $x ?? 'none' }}",
        "{{readFile inputs.a}}",
        "{{if inputs.a}}",
        "{{- else if gt (len inputs.mode) 1 -}}",
        "{{else}}",
        "{{end}}",
        "{{end}}",
        "{{range inputs.list}}",
        "{{range $i, $x := states -}}",
        "{{with $x := inputs}}",
        "{{$x := inputs.a}}",
        "{{$x = .}}",
        "{{.}}",
        "{{.a.b}}",
        "{{$x.a | default \"d\"}}",
        "{{break}}",
        "{{continue}}",
        "{{/* }} */ -}}",
        "{{printf \"%v %5d %q\" inputs.a $i .}}",
        "{{and inputs.a (or . $x) | not}}",
    ];
    let placeholder = prop_oneof![
        select(known.to_vec()).prop_map(String::from),
        soup().prop_map(|inside| format!("{{{{{inside}}}}}")),
    ];
    vec(prop_oneof![2 => placeholder, 1 => text()], 0..9).prop_map(|parts| parts.concat()).boxed()
}

/// JSON that looks like a condition of some spelling, with mistakes.
pub(crate) fn structured() -> BoxedStrategy<Json> {
    let keys = word(
        "combinator conditions variable operator value type target value_type match if on_match cases name discriminator
        sequence window pattern substitution steps description zzz",
    );
    let words = word(
        "and or not all any equals not_equals greater_than contains is_empty $eq $ne $lt $gte $in $nin $regex $not_regex
        $empty auto string number boolean date datetime array object relative_time input input_length metadata.a tool_used
        sequence_match message_contains message_regex not_recently_used equal continue stop {{inputs.a}} {{$x.a}} {{input}}",
    );
    let leaf = prop_oneof![
        3 => words.prop_map(Json::from),
        2 => any_json(),
        1 => soup().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        let fields = vec((keys.clone(), inner.clone()), 0..7).prop_map(object);
        prop_oneof![3 => fields, 2 => vec(inner, 0..4).prop_map(Json::from)]
    })
    .boxed()
}

/// A condition of one of the structured spellings that mostly compiles.
pub(crate) fn condition() -> BoxedStrategy<Json> {
    let operand = prop_oneof![
        any_json(),
        word("{{inputs.a}} {{input}} {{metadata.a}} x{{input.b}}y {{$x}}").prop_map(Json::from),
    ];
    let typed = (
        operand.clone(),
        word("equals not_equals greater_than less_than_or_equal contains not_contains starts_with is_empty is_not_empty"),
        operand.clone(),
        word("auto auto string number boolean datetime array object"),
    )
        .prop_map(|(variable, operator, value, ty)| {
            json!({"variable": variable, "operator": operator, "value": value, "type": ty})
        });
    let target = (
        word("input input_length input_content_type metadata.a metadata.a.b"),
        word("$eq $ne $lt $lte $gt $gte $in $nin $regex $not_regex $empty $not_empty equals"),
        operand,
        word("string string number boolean date datetime relative_time"),
    )
        .prop_map(|(target, operator, value, ty)| {
            json!({"target": target, "operator": operator, "value": value, "value_type": ty})
        });
    let group = typed.prop_recursive(3, 12, 4, |inner| {
        (word("and or not"), vec(inner, 1..4)).prop_map(|(combinator, mut conditions)| {
            conditions.truncate(if combinator == "not" { 1 } else { usize::MAX });
            json!({"combinator": combinator, "conditions": conditions})
        })
    });
    let targets = (word("all any"), vec(prop_oneof![3 => target, 1 => group.clone()], 1..4));
    prop_oneof![
        group.prop_map(|group| json!({"if": group.clone(), "group": group})),
        targets.prop_map(|(mode, conditions)| json!({"match": mode, "conditions": conditions})),
    ]
    .boxed()
}
