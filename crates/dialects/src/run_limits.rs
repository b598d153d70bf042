//! Limits on the runs of a workflow: the key `limits`, the same in every dialect. Hosts read them from a view of the program.

use branchpoint_core::ir::{ExprId, Program, View};
use branchpoint_core::{GroupKey, InvalidLimits, LIMITS_VIEW, MAX_LIMITED_RUNS, Rate, RunLimits};
use branchpoint_expr::{Diagnostic, Expression, Kind, Located};

use crate::DocumentKinds as _;
use crate::fields::{Access, Check, Path, Style, Table, Type, Unknown, field};

/// The style of limits. Unknown fields are errors, which [`RunLimits`] finds.
pub(crate) const STYLE: Style = Style { unknown: Unknown::None, ..Style::of(Kind::BadLimits) };

/// The description of the field in every document.
pub(crate) const ABOUT: &str = "How many runs are driven at once, and how often runs start; others are queued.";

/// The fields of limits.
pub(crate) const FIELDS: Table = &[
    field(
        "concurrent",
        Type::Int(1, MAX_LIMITED_RUNS as i64),
        "The number of runs of a group that are driven at once.",
    ),
    field(
        "per",
        Type::Form(r"\{\{.+\}\}", |key| key.parse::<GroupKey>().is_ok(), "text with a placeholder of an input"),
        "The key of the groups, such as `{{metadata.customer}}`; all runs are one group if absent.",
    ),
    field(
        "rate",
        Type::Form(
            r"^\s*[0-9]+\s*/.+$",
            |rate| rate.parse::<Rate>().is_ok(),
            "a rate, such as `10/min`, `100/h` or `3/30s`, in a window of at most a day",
        ),
        "The number of runs of a group that start in a time.",
    ),
];

/// Reads the limits of a document; none if it has none, or invalid ones.
pub(crate) fn read(document: &Located, findings: &mut Vec<Diagnostic>) -> Option<RunLimits> {
    let written = document.given("limits")?;
    let before = findings.len();
    if !Check::new(STYLE, findings).object(Path::Root("limits"), written, &[FIELDS]) || findings.len() > before {
        return None;
    }
    match RunLimits::from_value(&written.to_value()) {
        Ok(limits) => Some(limits),
        Err(invalid) => {
            let help = match &invalid {
                InvalidLimits::Unknown(name) => format!("remove `{name}`"),
                _ => "such as `limits: {concurrent: 5}` or `limits: {rate: 10/min}`".to_owned(),
            };
            findings.push(Diagnostic::error(Kind::BadLimits, written.span, invalid.to_string()).with_help(help));
            None
        }
    }
}

/// Adds the limits to a program, for hosts.
pub(crate) fn add_view(program: &mut Program, limits: &RunLimits) {
    let value = ExprId(u32::try_from(program.exprs.len()).unwrap_or(u32::MAX));
    program.exprs.push(Expression::constant(limits.to_value()));
    program.views.push(View { name: LIMITS_VIEW.into(), value });
}
