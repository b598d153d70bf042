//! The functions of the language: one table, with what each takes and gives.

mod attachments;
mod collections;
mod encoding;
mod expansion;
mod inputs;
mod lines;
mod numbers;
mod people;
mod strings;
mod tools;
mod variables;

pub(crate) use collections::{compare, sorted};
pub use inputs::{INPUT_TYPES, misfit};
pub(crate) use numbers::{as_float, finite};
pub use people::approval_decision;
pub use tools::matches_name;
pub(crate) use variables::{assign, declare, is_web_address, same};

use serde::{Deserialize, Serialize};

use crate::fault::Outcome;
use crate::types::Types;
use crate::value::View;
use crate::work::Work;

/// What a function gives when an argument is nil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnNil {
    Nil,
    False,
    /// The function looks at nil itself.
    Asks,
}

/// One function of the language.
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) least: u8,
    pub(crate) most: u8,
    /// What each argument may be; the last entry stands for all that follow.
    pub(crate) takes: &'static [Types],
    pub(crate) gives: Types,
    pub(crate) on_nil: OnNil,
    pub(crate) run: Run,
}

pub(crate) type Run = for<'a, 'w> fn(&'w Work<'a>, &'w [View<'a>]) -> Outcome<View<'a>>;

/// Any number of arguments.
const MANY: u8 = u8::MAX;

const STR: Types = Types::STR;
const INT: Types = Types::INT;
const NUMBER: Types = Types::NUMBER;
const LIST: Types = Types::LIST;
const OBJECT: Types = Types::OBJECT;
const BOOL: Types = Types::BOOL;
const ANY: Types = Types::ANY;

const fn function(name: &'static str, arity: (u8, u8), takes: &'static [Types], gives: Types, run: Run) -> Builtin {
    Builtin { name, least: arity.0, most: arity.1, takes, gives, on_nil: OnNil::Nil, run }
}

const fn test(name: &'static str, run: Run) -> Builtin {
    Builtin { on_nil: OnNil::False, ..function(name, (2, 2), &[STR, STR], BOOL, run) }
}

/// A function of values of any kind, which looks at each itself.
const fn asks(name: &'static str, arity: (u8, u8), gives: Types, run: Run) -> Builtin {
    Builtin { on_nil: OnNil::Asks, ..function(name, arity, &[ANY], gives, run) }
}

/// A number, or a list of them.
const NUMBERS: &[Types] = &[union(NUMBER, LIST)];

pub(crate) static TABLE: &[Builtin] = &[
    test("contains", strings::contains),
    test("has_prefix", strings::has_prefix),
    test("has_suffix", strings::has_suffix),
    test("hasPrefix", strings::has_prefix),
    test("hasSuffix", strings::has_suffix),
    function("len", (1, 1), &[union(STR, union(LIST, OBJECT))], INT, collections::len),
    Builtin { on_nil: OnNil::Asks, ..function("type", (1, 1), &[ANY], STR, encoding::type_name) },
    function("int", (1, 1), &[union(NUMBER, STR)], INT, numbers::int),
    function("float", (1, 1), &[union(NUMBER, STR)], Types::FLOAT, numbers::float),
    function("string", (1, 1), &[ANY], STR, encoding::string),
    function("abs", (1, 1), &[NUMBER], NUMBER, numbers::abs),
    function("ceil", (1, 1), &[NUMBER], NUMBER, numbers::ceil),
    function("floor", (1, 1), &[NUMBER], NUMBER, numbers::floor),
    function("round", (1, 1), &[NUMBER], NUMBER, numbers::round),
    function("trim", (1, 2), &[STR], STR, strings::trim),
    function("trimPrefix", (1, 2), &[STR], STR, strings::trim_prefix),
    function("trimSuffix", (1, 2), &[STR], STR, strings::trim_suffix),
    function("upper", (1, 1), &[STR], STR, strings::upper),
    function("lower", (1, 1), &[STR], STR, strings::lower),
    function("split", (2, 3), &[STR, STR, INT], LIST, strings::split),
    function("splitAfter", (2, 3), &[STR, STR, INT], LIST, strings::split_after),
    function("replace", (3, 4), &[STR, STR, STR, INT], STR, strings::replace),
    function("repeat", (2, 2), &[STR, INT], STR, strings::repeat),
    function("join", (1, 2), &[LIST, STR], STR, strings::join),
    function("indexOf", (2, 2), &[STR, STR], INT, strings::index_of),
    function("lastIndexOf", (2, 2), &[STR, STR], INT, strings::last_index_of),
    function("max", (1, MANY), NUMBERS, union(NUMBER, Types::NIL), numbers::max),
    function("min", (1, MANY), NUMBERS, union(NUMBER, Types::NIL), numbers::min),
    function("mean", (1, MANY), NUMBERS, NUMBER, numbers::mean),
    function("median", (1, MANY), NUMBERS, NUMBER, numbers::median),
    function("first", (1, 1), &[LIST], ANY, collections::first),
    function("last", (1, 1), &[LIST], ANY, collections::last),
    function("take", (2, 2), &[LIST, INT], LIST, collections::take),
    function("get", (2, 2), &[union(STR, union(LIST, OBJECT)), union(STR, NUMBER)], ANY, collections::get),
    function("keys", (1, 1), &[OBJECT], LIST, collections::keys),
    function("values", (1, 1), &[OBJECT], LIST, collections::values),
    function("toPairs", (1, 1), &[OBJECT], LIST, collections::to_pairs),
    function("fromPairs", (1, 1), &[LIST], OBJECT, collections::from_pairs),
    function("reverse", (1, 1), &[LIST], LIST, collections::reverse),
    function("uniq", (1, 1), &[LIST], LIST, collections::uniq),
    function("concat", (1, MANY), &[LIST], LIST, collections::concat),
    function("flatten", (1, 1), &[LIST], LIST, collections::flatten),
    function("sort", (1, 2), &[LIST, STR], LIST, collections::sort),
    function("toJSON", (1, 1), &[ANY], STR, encoding::to_json),
    function("fromJSON", (1, 1), &[STR], ANY, encoding::from_json),
    function("toBase64", (1, 1), &[STR], STR, encoding::to_base64),
    function("fromBase64", (1, 1), &[STR], STR, encoding::from_base64),
    function("bitand", (2, 2), &[INT], INT, numbers::bitand),
    function("bitor", (2, 2), &[INT], INT, numbers::bitor),
    function("bitxor", (2, 2), &[INT], INT, numbers::bitxor),
    function("bitnand", (2, 2), &[INT], INT, numbers::bitnand),
    function("bitnot", (1, 1), &[INT], INT, numbers::bitnot),
    function("bitshl", (2, 2), &[INT], INT, numbers::bitshl),
    function("bitshr", (2, 2), &[INT], INT, numbers::bitshr),
    function("bitushr", (2, 2), &[INT], INT, numbers::bitushr),
    Builtin { on_nil: OnNil::Asks, ..function("shellQuote", (1, 1), &[ANY], STR, strings::shell_quote) },
    function("splitTrimmed", (2, 2), &[STR, STR], LIST, strings::split_trimmed),
    asks("putPath", (3, 3), OBJECT, variables::put_path),
    asks("nested", (1, 1), OBJECT, variables::nested),
    asks("pick", (2, 2), OBJECT, variables::pick),
    asks("declared", (3, 4), OBJECT, variables::declared),
    asks("assigned", (2, 2), ANY, variables::assigned),
    asks("wholeNumber", (1, 1), INT, variables::whole_number),
    asks("rounds", (3, 3), INT, variables::rounds),
    asks("field", (3, 5), ANY, variables::field),
    asks("webAddress", (2, 2), STR, variables::web_address),
    asks("keyed", (3, 3), OBJECT, variables::keyed),
    asks("sameAs", (2, 2), BOOL, variables::same_as),
    asks("listed", (1, 1), LIST, variables::listed),
    asks("joinTexts", (1, 1), union(STR, Types::NIL), lines::join_texts),
    asks("loopItems", (3, 3), union(LIST, OBJECT), lines::loop_items),
    asks("pickAttachments", (2, 2), LIST, attachments::pick),
    asks("durationMs", (1, 1), union(INT, Types::NIL), lines::duration),
    asks("instantMs", (1, 1), union(INT, Types::NIL), lines::instant),
    asks("itemsOf", (1, 1), LIST, expansion::items_of),
    asks("integerOf", (1, 1), INT, expansion::integer_of),
    asks("expandTemplate", (2, 2), STR, expansion::expand_template),
    asks("elapsedText", (2, 2), STR, expansion::elapsed_text),
    asks("offeredTools", (3, 3), LIST, tools::offered_tools),
    asks("approvalAnswer", (1, 1), union(OBJECT, Types::NIL), people::approval_answer),
    asks("callFailed", (2, 2), OBJECT, people::call_failed),
    asks("filledIn", (2, 2), ANY, people::filled_in),
    function("trimSpace", (1, 1), &[STR], STR, strings::trim_space),
    asks("environmentNames", (1, 1), LIST, expansion::environment_names),
    asks("withDefaults", (2, 2), OBJECT, inputs::with_defaults),
    asks("inputProblems", (2, 2), LIST, inputs::problems),
];

/// Functions that documents cannot call by name: templates, conditions and programs of a dialect are made of them.
const INNER: [&str; 31] = [
    "shellQuote",
    "splitTrimmed",
    "putPath",
    "nested",
    "pick",
    "declared",
    "assigned",
    "wholeNumber",
    "rounds",
    "field",
    "webAddress",
    "keyed",
    "sameAs",
    "listed",
    "joinTexts",
    "loopItems",
    "pickAttachments",
    "durationMs",
    "instantMs",
    "itemsOf",
    "integerOf",
    "expandTemplate",
    "elapsedText",
    "offeredTools",
    "approvalAnswer",
    "callFailed",
    "filledIn",
    "trimSpace",
    "environmentNames",
    "withDefaults",
    "inputProblems",
];

const fn union(left: Types, right: Types) -> Types {
    left.union(right)
}

/// Names that the `flow` dialect's documents use for the same functions.
const FLOW_NAMES: [(&str, &str); 3] = [("strip", "trim"), ("toJson", "toJSON"), ("toString", "string")];

/// The position of a function in the table. Documents do not see the inner ones.
pub(crate) fn find(name: &str, flow_names: bool, inner_too: bool) -> Option<usize> {
    let meant = FLOW_NAMES.iter().find(|(alias, _)| flow_names && *alias == name).map_or(name, |(_, meant)| meant);
    TABLE.iter().position(|builtin| builtin.name == meant).filter(|_| inner_too || !INNER.contains(&name))
}

/// The position of a function that the compiler itself names.
pub(crate) fn inner(name: &str) -> u16 {
    let found = TABLE.iter().position(|builtin| builtin.name == name).and_then(|at| u16::try_from(at).ok());
    found.expect("the compiler names only functions that exist")
}

/// A function whose second argument is an expression about an element.
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

/// What a predicate function takes: arguments beside the predicate, and whether the predicate may be left out.
pub(crate) struct Signature {
    pub(crate) fold: Fold,
    pub(crate) extra: u8,
    pub(crate) optional: bool,
    /// Whether the predicate must give a boolean.
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

/// The predicate function of a name.
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

/// Whether the second argument of this function is an expression about an element.
pub(crate) fn takes_predicate(name: &str) -> bool {
    FOLDS.iter().any(|(known, _)| *known == name)
}

/// All names that can be called, for "did you mean".
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let callable = TABLE.iter().map(|builtin| builtin.name).filter(|name| !INNER.contains(name));
    callable.chain(FOLDS.iter().map(|(name, _)| *name))
}
