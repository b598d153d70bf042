//! The condition and template language of Branchpoint.
//!
//! A condition is compiled once, checked before anything runs, evaluated over borrowed data, and explained afterwards.
//! It can be written in five spellings ([`Condition::expression`], [`Condition::group`], [`Condition::targets`],
//! [`Condition::history`], [`Condition::text_match`]); all compile to one form and share one evaluator.
//!
//! ```
//! use branchpoint_expr::Condition;
//!
//! let condition = Condition::compile("inputs.count > 10")?;
//! assert!(condition.evaluate(&serde_json::json!({"inputs": {"count": 11}}))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here knows the clock, the disk, the network or workflows. Evaluation never panics and is bounded in depth,
//! work and size, whatever the text and whatever the data.

mod builtins;
mod check;
mod compile;
mod condition;
mod context;
mod diagnostic;
mod environment;
mod error;
mod eval;
mod explain;
mod expression;
mod fault;
mod formula;
pub mod function;
pub mod limits;
mod located;
mod names;
mod pattern;
mod program;
mod replace;
mod rules;
mod show;
mod syntax;
mod template;
mod time;
mod types;
mod unit;
mod value;
mod work;

pub use builtins::shell_word;
pub use compile::{Bind, Bound};
pub use condition::{Cases, Condition, Gate};
pub use context::{Context, Slots};
pub use diagnostic::{
    Diagnostic, Examined, Kind, Severity, Span, Unread, cap_findings, nearest, render_json, render_sarif,
    render_terminal,
};
pub use environment::{Environment, Over};
pub use error::EvalError;
pub use explain::{Explanation, Part, Phrase, Read, Recorded, change};
pub use expression::{Expression, Form};
pub use fault::shown_value as shown;
pub use formula::{Fillable, Formula};
pub use limits::Limits;
pub use located::{Field, Located, Shape};
pub use program::{Name, Reference};
pub use rules::Dialect;
pub use template::{Escape, Piece, Substitution};
pub use time::{duration_ms, duration_text, instant_ms, iso_at, iso_date_at, iso_utc, seconds_ms};
pub use unit::{Options, Problems};
pub use value::{Fields, List, ListView, Object, ObjectView, Shared, Size, Source, Value, View};
