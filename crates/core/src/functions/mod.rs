//! Internal functions, which only the expressions that front-ends generate can call. Each function implements a rule of a dialect.
//! Stored programs contain the names of the functions, so the names must not change.

mod approval;
mod attachments;
mod expansion;
mod inputs;
mod loops_and_times;
mod tools;
mod variables;

use std::sync::LazyLock;

use branchpoint_expr::function::{Function, Functions, OnNil, Outcome, Types, Work};
use branchpoint_expr::{Environment, Limits, View};

pub(crate) use approval::approval_decision;
pub use inputs::{INPUT_TYPES, type_mismatch};
pub use tools::matches_name;
pub use variables::{Typing, is_same, is_web_address};

/// The environment of all expressions of runs. Hosts cannot add functions, so that a run gives the same result everywhere.
///
/// ```
/// use branchpoint_core::functions::ENVIRONMENT;
/// use branchpoint_expr::{Expression, Options, Value};
///
/// let expression = Expression::compile("durationMs('5m')", Options::default().environment(&ENVIRONMENT).generated())?;
/// assert_eq!(expression.value(&ENVIRONMENT.over(&Value::Null)).unwrap(), Value::Int(300_000));
/// # Ok::<(), branchpoint_expr::Problems>(())
/// ```
pub static ENVIRONMENT: LazyLock<Environment> =
    LazyLock::new(|| Environment { limits: Limits::DEFAULT, functions: functions() });

type Implementation = for<'a, 'w> fn(&'w Work<'a>, &'w [View<'a>]) -> Outcome<View<'a>>;

/// Name, minimum and maximum number of arguments, result type, implementation. The implementations check the types of arguments.
const TABLE: &[(&str, (u8, u8), Types, Implementation)] = &[
    ("putPath", (3, 3), Types::OBJECT, variables::put_path),
    ("nested", (1, 1), Types::OBJECT, variables::nested),
    ("pick", (2, 2), Types::OBJECT, variables::pick),
    ("declared", (3, 4), Types::OBJECT, variables::declared),
    ("assigned", (2, 2), Types::ANY, variables::assigned),
    ("wholeNumber", (1, 1), Types::INT, variables::whole_number),
    ("rounds", (3, 3), Types::INT, variables::rounds),
    ("field", (3, 5), Types::ANY, variables::field),
    ("webAddress", (2, 2), Types::STR, variables::web_address),
    ("keyed", (3, 3), Types::OBJECT, variables::keyed),
    ("sameAs", (2, 2), Types::BOOL, variables::same_as),
    ("listed", (1, 1), Types::LIST, variables::listed),
    ("joinTexts", (1, 1), Types::STR.union(Types::NIL), loops_and_times::join_texts),
    ("loopItems", (3, 3), Types::LIST.union(Types::OBJECT), loops_and_times::loop_items),
    ("pickAttachments", (2, 2), Types::LIST, attachments::pick),
    ("durationMs", (1, 1), Types::INT.union(Types::NIL), loops_and_times::duration),
    ("instantMs", (1, 1), Types::INT.union(Types::NIL), loops_and_times::instant),
    ("itemsOf", (1, 1), Types::LIST, expansion::items_of),
    ("integerOf", (1, 1), Types::INT, expansion::integer_of),
    ("expandTemplate", (2, 2), Types::STR, expansion::expand_template),
    ("elapsedText", (2, 2), Types::STR, expansion::elapsed_text),
    ("environmentNames", (1, 1), Types::LIST, expansion::environment_names),
    ("offeredTools", (3, 3), Types::LIST, tools::offered_tools),
    ("approvalAnswer", (1, 1), Types::OBJECT.union(Types::NIL), approval::approval_answer),
    ("approvalChanges", (2, 2), Types::LIST, approval::approval_changes),
    ("callFailed", (2, 2), Types::OBJECT, approval::call_failed),
    ("filledIn", (2, 2), Types::ANY, approval::filled_in),
    ("withDefaults", (2, 2), Types::OBJECT, inputs::with_defaults),
    ("inputProblems", (2, 2), Types::LIST, inputs::problems),
    ("attachmentsIn", (1, 1), Types::LIST.union(Types::NIL), attachments::attachments_in),
    ("storedAttachments", (1, 1), Types::LIST.union(Types::NIL), attachments::stored),
    ("joinAttachments", (1, 1), Types::LIST.union(Types::NIL), attachments::join),
    ("maskedJson", (1, 1), Types::ANY, loops_and_times::masked_json),
    ("toolStates", (4, 4), Types::LIST, tools::tool_states),
];

fn functions() -> Functions {
    let mut functions = Functions::default();
    for (name, (least, most), result, implementation) in TABLE {
        let function = Function::new(*name, *least..=*most, [Types::ANY], *result, *implementation);
        functions.register(function.pure().cost(0).on_nil(OnNil::Call)).expect("the names of the table are unique");
    }
    functions
}
