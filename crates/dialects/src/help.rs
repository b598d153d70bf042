//! The help for findings of `steps` and `flow` without help; most of them come from compiling expressions.

use branchpoint_core::RunKinds as _;
use branchpoint_expr::{Diagnostic, Kind, Severity};

use crate::DocumentKinds as _;

/// The finding with help, if it is an error.
pub(crate) fn with_help(finding: Diagnostic) -> Diagnostic {
    if finding.help.is_some() || finding.severity == Severity::Warning {
        return finding;
    }
    let help = help(finding.cause()).or_else(|| help(finding.kind));
    finding.with_help(help.unwrap_or("run `branchpoint explain` with the name of this error"))
}

fn help(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::NotBoolean => "compare it with something, such as `== 'yes'`",
        Kind::UnknownFunction => "docs/spec lists the functions of each dialect",
        Kind::BadRegex => "correct the regular expression; a backslash escapes the next character",
        Kind::BadTemplate => "write a reference between `{{` and `}}`, such as `{{input}}`",
        Kind::BadExpression => "write an expression such as `a == 'x' && b > 1`, with texts in quotes",
        Kind::TypeMismatch | Kind::Incomparable => "write a value of the expected type",
        Kind::Parse => "write it in the form of its type, such as 2026-02-18T12:00:00Z for a time",
        Kind::BadField | Kind::InvalidConfig | Kind::InvalidFlow => "write a valid value",
        Kind::InvalidCondition => "write {\"variable\": …, \"operator\": …, \"value\": …}",
        Kind::CircularCall => "repeat with a loop, or with a retry",
        Kind::NodeLimit | Kind::DepthLimit => "split it into smaller parts",
        Kind::SecretNotAllowed => "use secrets only in the fields of steps that call external services",
        _ => return None,
    })
}
