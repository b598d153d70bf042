//! The table of built-in functions: name, number and types of arguments, result type, implementation.

mod collections;
mod encoding;
mod numbers;
mod print;
mod strings;

pub(crate) use collections::sort_by_keys;
pub(crate) use numbers::{as_float, finite};
pub use strings::shell_word;

use std::cmp::Ordering::{Greater, Less};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use numbers::{bits, extreme, round_with, shift};
use serde::{Deserialize, Serialize};
use strings::{pair, split_at, with_blank};

use crate::function::{Function, MANY, OnNil, RunBuiltin};
use crate::types::Types;
use crate::value::View;

const STR: Types = Types::STR;
const INT: Types = Types::INT;
const NUMBER: Types = Types::NUMBER;
const LIST: Types = Types::LIST;
const OBJECT: Types = Types::OBJECT;
const BOOL: Types = Types::BOOL;
const ANY: Types = Types::ANY;

const fn function(
    name: &'static str,
    arity: (u8, u8),
    takes: &'static [Types],
    gives: Types,
    run: RunBuiltin,
) -> Function {
    Function::builtin(name, arity, takes, gives, OnNil::Nil, run)
}

const fn test(name: &'static str, run: RunBuiltin) -> Function {
    Function::builtin(name, (2, 2), &[STR, STR], BOOL, OnNil::False, run)
}

/// A function of one value of any kind, nil included.
const fn any(name: &'static str, gives: Types, run: RunBuiltin) -> Function {
    Function::builtin(name, (1, 1), &[ANY], gives, OnNil::Call, run)
}

/// A function of any number of values of any kind, nil included.
const fn variadic(name: &'static str, least: u8, gives: Types, run: RunBuiltin) -> Function {
    Function::builtin(name, (least, MANY), &[ANY], gives, OnNil::Call, run)
}

/// A number, or a list of them.
const NUMBERS: &[Types] = &[union(NUMBER, LIST)];

/// The built-in functions. Stored programs refer to them by position, so new ones are added at the end.
pub(crate) static TABLE: &[Function] = &[
    test("contains", |_, a| pair("contains()", a).map(|(text, part)| View::Bool(text.contains(part)))),
    test("has_prefix", |_, a| pair("has_prefix()", a).map(|(text, part)| View::Bool(text.starts_with(part)))),
    test("has_suffix", |_, a| pair("has_suffix()", a).map(|(text, part)| View::Bool(text.ends_with(part)))),
    test("hasPrefix", |_, a| pair("hasPrefix()", a).map(|(text, part)| View::Bool(text.starts_with(part)))),
    test("hasSuffix", |_, a| pair("hasSuffix()", a).map(|(text, part)| View::Bool(text.ends_with(part)))),
    function("len", (1, 1), &[union(STR, union(LIST, OBJECT))], INT, collections::len),
    any("type", STR, |_, a| Ok(View::Str(a[0].type_name()))),
    function("int", (1, 1), &[union(NUMBER, STR)], INT, numbers::int),
    function("float", (1, 1), &[union(NUMBER, STR)], Types::FLOAT, numbers::float),
    function("string", (1, 1), &[ANY], STR, |work, a| work.text_form(a[0]).map(View::Str)),
    function("abs", (1, 1), &[NUMBER], NUMBER, numbers::abs),
    function("ceil", (1, 1), &[NUMBER], NUMBER, |_, a| round_with("ceil()", a[0], f64::ceil)),
    function("floor", (1, 1), &[NUMBER], NUMBER, |_, a| round_with("floor()", a[0], f64::floor)),
    function("round", (1, 1), &[NUMBER], NUMBER, |_, a| round_with("round()", a[0], f64::round)),
    function("trim", (1, 2), &[STR], STR, strings::trim),
    function("trimPrefix", (1, 2), &[STR], STR, |_, a| {
        with_blank("trimPrefix()", a).map(|(whole, part)| View::Str(whole.strip_prefix(part).unwrap_or(whole)))
    }),
    function("trimSuffix", (1, 2), &[STR], STR, |_, a| {
        with_blank("trimSuffix()", a).map(|(whole, part)| View::Str(whole.strip_suffix(part).unwrap_or(whole)))
    }),
    function("upper", (1, 1), &[STR], STR, |work, a| work.text(&a[0].expect_text("upper()")?.to_uppercase())),
    function("lower", (1, 1), &[STR], STR, |work, a| work.text(&a[0].expect_text("lower()")?.to_lowercase())),
    function("split", (2, 3), &[STR, STR, INT], LIST, |work, a| split_at(work, "split()", a, false)),
    function("splitAfter", (2, 3), &[STR, STR, INT], LIST, |work, a| split_at(work, "splitAfter()", a, true)),
    function("replace", (3, 4), &[STR, STR, STR, INT], STR, strings::replace),
    function("repeat", (2, 2), &[STR, INT], STR, strings::repeat),
    function("join", (1, 2), &[LIST, STR], STR, strings::join),
    function("indexOf", (2, 2), &[STR, STR], INT, |_, a| {
        pair("indexOf()", a).map(|(whole, part)| strings::position(whole, whole.find(part)))
    }),
    function("lastIndexOf", (2, 2), &[STR, STR], INT, |_, a| {
        pair("lastIndexOf()", a).map(|(whole, part)| strings::position(whole, whole.rfind(part)))
    }),
    function("max", (1, MANY), NUMBERS, union(NUMBER, Types::NIL), |work, a| extreme(work, "max()", a, Greater)),
    function("min", (1, MANY), NUMBERS, union(NUMBER, Types::NIL), |work, a| extreme(work, "min()", a, Less)),
    function("mean", (1, MANY), NUMBERS, NUMBER, numbers::mean),
    function("median", (1, MANY), NUMBERS, NUMBER, numbers::median),
    function("first", (1, 1), &[LIST], ANY, |_, a| Ok(a[0].expect_list("first()")?.get(0).unwrap_or(View::Null))),
    function("last", (1, 1), &[LIST], ANY, collections::last),
    function("take", (2, 2), &[LIST, INT], LIST, collections::take),
    function("get", (2, 2), &[union(STR, union(LIST, OBJECT)), union(STR, NUMBER)], ANY, collections::get),
    function("keys", (1, 1), &[OBJECT], LIST, |work, a| {
        collections::entries(work, "keys()", a[0], |(key, _)| View::Str(key))
    }),
    function("values", (1, 1), &[OBJECT], LIST, |work, a| {
        collections::entries(work, "values()", a[0], |(_, value)| value)
    }),
    function("toPairs", (1, 1), &[OBJECT], LIST, collections::to_pairs),
    function("fromPairs", (1, 1), &[LIST], OBJECT, collections::from_pairs),
    function("reverse", (1, 1), &[LIST], LIST, collections::reverse),
    function("uniq", (1, 1), &[LIST], LIST, collections::uniq),
    function("concat", (1, MANY), &[LIST], LIST, collections::concat),
    function("flatten", (1, 1), &[LIST], LIST, collections::flatten),
    function("sort", (1, 2), &[LIST, STR], LIST, collections::sort),
    function("toJSON", (1, 1), &[ANY], STR, |work, a| work.json_form(a[0]).map(View::Str)),
    function("fromJSON", (1, 1), &[STR], ANY, encoding::from_json),
    function("toBase64", (1, 1), &[STR], STR, |work, a| {
        work.text(&BASE64_STANDARD.encode(a[0].expect_text("toBase64()")?))
    }),
    function("fromBase64", (1, 1), &[STR], STR, encoding::from_base64),
    function("bitand", (2, 2), &[INT], INT, |_, a| bits("bitand()", a, |left, right| left & right)),
    function("bitor", (2, 2), &[INT], INT, |_, a| bits("bitor()", a, |left, right| left | right)),
    function("bitxor", (2, 2), &[INT], INT, |_, a| bits("bitxor()", a, |left, right| left ^ right)),
    // "And not", as in the original language: the bits of the left operand that the right one does not have.
    function("bitnand", (2, 2), &[INT], INT, |_, a| bits("bitnand()", a, |left, right| left & !right)),
    function("bitnot", (1, 1), &[INT], INT, |_, a| Ok(View::Int(!a[0].expect_integer("bitnot()")?))),
    function("bitshl", (2, 2), &[INT], INT, |_, a| shift("bitshl()", a, |int, by| int.checked_shl(by).unwrap_or(0))),
    function("bitshr", (2, 2), &[INT], INT, |_, a| shift("bitshr()", a, |int, by| int >> by.min(63))),
    function("bitushr", (2, 2), &[INT], INT, |_, a| {
        shift("bitushr()", a, |int, by| int.cast_unsigned().checked_shr(by).unwrap_or(0).cast_signed())
    }),
    any("shellQuote", STR, strings::shell_quote),
    function("splitTrimmed", (2, 2), &[STR, STR], LIST, strings::split_trimmed),
    function("trimSpace", (1, 1), &[STR], STR, |_, a| Ok(View::Str(a[0].expect_text("trimSpace()")?.trim()))),
    variadic("templateEqual", 2, BOOL, print::template_equal),
    variadic("print", 0, STR, print::print),
    variadic("println", 0, STR, print::println),
    variadic("printf", 1, STR, print::printf),
    any("html", STR, print::html),
    any("js", STR, print::js),
    any("urlquery", STR, print::urlquery),
    any("shellEscape", STR, strings::shell_escape),
];

/// Functions that documents cannot call by name, because only compiled templates use them.
const INNER: [&str; 11] = [
    "shellQuote",
    "splitTrimmed",
    "trimSpace",
    "templateEqual",
    "print",
    "println",
    "printf",
    "html",
    "js",
    "urlquery",
    "shellEscape",
];

const fn union(left: Types, right: Types) -> Types {
    left.union(right)
}

/// Names that the `flow` dialect's documents use for the same functions.
const FLOW_NAMES: [(&str, &str); 3] = [("strip", "trim"), ("toJson", "toJSON"), ("toString", "string")];

/// The position of a built-in function that documents can call.
pub(crate) fn find(name: &str, flow_names: bool) -> Option<u16> {
    let canonical = FLOW_NAMES.iter().find(|(alias, _)| flow_names && *alias == name).map_or(name, |(_, name)| name);
    position(canonical).filter(|_| !INNER.contains(&name))
}

/// The position of a function that the compiler calls by name.
pub(crate) fn inner(name: &str) -> u16 {
    position(name).expect("the compiler names only functions that exist")
}

fn position(name: &str) -> Option<u16> {
    TABLE.iter().position(|builtin| builtin.name == name).and_then(|at| u16::try_from(at).ok())
}

/// Whether a host's function cannot have this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    position(name).is_some() || takes_predicate(name) || FLOW_NAMES.iter().any(|(alias, _)| *alias == name)
}

/// A function whose second argument is evaluated for every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fold {
    All,
    Any,
    None,
    One,
    Filter,
    Map,
    Count,
    Find,
    FindIndex,
    FindLast,
    FindLastIndex,
    Sum,
    SortBy,
    GroupBy,
    Reduce,
}

/// The signature of a predicate function: arguments beside the predicate, and whether the predicate is optional.
pub(crate) struct Signature {
    pub(crate) fold: Fold,
    pub(crate) extra: u8,
    pub(crate) optional: bool,
    /// Whether the predicate must return a boolean.
    pub(crate) boolean: bool,
    pub(crate) gives: Types,
}

pub(crate) const FOLDS: [(&str, Fold); 15] = [
    ("all", Fold::All),
    ("any", Fold::Any),
    ("none", Fold::None),
    ("one", Fold::One),
    ("filter", Fold::Filter),
    ("map", Fold::Map),
    ("count", Fold::Count),
    ("find", Fold::Find),
    ("findIndex", Fold::FindIndex),
    ("findLast", Fold::FindLast),
    ("findLastIndex", Fold::FindLastIndex),
    ("sum", Fold::Sum),
    ("sortBy", Fold::SortBy),
    ("groupBy", Fold::GroupBy),
    ("reduce", Fold::Reduce),
];

/// Finds a predicate function by name.
pub(crate) fn fold(name: &str) -> Option<Signature> {
    let (_, fold) = *FOLDS.iter().find(|(known, _)| *known == name)?;
    let gives = match fold {
        Fold::All | Fold::Any | Fold::None | Fold::One => BOOL,
        Fold::Filter | Fold::Map | Fold::SortBy => LIST,
        Fold::Count => INT,
        Fold::Sum => NUMBER,
        Fold::GroupBy => OBJECT,
        Fold::Find | Fold::FindLast | Fold::Reduce => ANY,
        Fold::FindIndex | Fold::FindLastIndex => union(INT, Types::NIL),
    };
    Some(Signature {
        fold,
        extra: u8::from(matches!(fold, Fold::SortBy | Fold::Reduce)),
        optional: matches!(fold, Fold::Sum | Fold::Count),
        boolean: !matches!(fold, Fold::Map | Fold::Sum | Fold::SortBy | Fold::GroupBy | Fold::Reduce),
        gives,
    })
}

/// Whether the second argument of this function is evaluated for every element.
pub(crate) fn takes_predicate(name: &str) -> bool {
    FOLDS.iter().any(|(known, _)| *known == name)
}

/// All names that documents can call, for suggestions.
pub(crate) fn names<'n>() -> impl Iterator<Item = &'n str> {
    let callable = TABLE.iter().map(|builtin| &*builtin.name).filter(|name| !INNER.contains(name));
    callable.chain(FOLDS.iter().map(|(name, _)| *name))
}
