//! Conditions and templates that are typed, checked, bounded and explained.
//!
//! This crate is the condition and template language of Branchpoint. It knows no workflows, clock, disk or network, and it is
//! useful wherever users write rules: alerts, routing, feature flags, pricing. This page is a tour of ten minutes.
//!
//! # Compile once, evaluate often
//!
//! A condition is compiled from text and evaluated over a *context*: JSON, or values of your own.
//!
//! ```
//! use branchpoint_expr::Condition;
//! use serde_json::json;
//!
//! let condition = Condition::compile("inputs.count > 10 && inputs.mode == 'prod'")?;
//! assert!(condition.evaluate(&json!({"inputs": {"count": 11, "mode": "prod"}}))?);
//! assert!(!condition.evaluate(&json!({"inputs": {"count": 11, "mode": "test"}}))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are three outcomes: true, false and an error. An error never picks a branch, so a text where a number belongs does not
//! silently count as false. A missing value is nil, and nil is not greater than anything.
//!
//! ```
//! # use branchpoint_expr::{Condition, Kind};
//! # use serde_json::json;
//! let condition = Condition::compile("count > 10")?;
//! assert_eq!(condition.evaluate(&json!({})), Ok(false));
//! assert_eq!(condition.evaluate(&json!({"count": "many"})).unwrap_err().detail, Kind::WrongKind);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Find mistakes before anything runs
//!
//! Unknown functions, wrong arguments and types that can never fit are reported when compiling, with a place in the text and help.
//! A [`Diagnostic`] is data; [`render_terminal`], [`render_json`] and [`render_sarif`] show it.
//!
//! ```
//! # use branchpoint_expr::{Condition, Kind};
//! let problems = Condition::compile("lne(name) > 3").unwrap_err();
//! assert_eq!(problems.first().cause(), Kind::UnknownFunction);
//! assert_eq!(problems.first().help.as_deref(), Some("did you mean `len`?"));
//! assert_eq!(problems.first().span.text("lne(name) > 3"), "lne");
//! ```
//!
//! # Explain a decision
//!
//! [`Condition::explain`] runs the same evaluation with recording on. It gives one sentence, and a tree of all parts.
//!
//! ```
//! # use branchpoint_expr::Condition;
//! # use serde_json::json;
//! let condition = Condition::compile("check.ExitCode == 0 && len(files) > 1")?;
//! let explanation = condition.explain(&json!({"check": {"ExitCode": 2}, "files": []}));
//! assert_eq!(explanation.sentence, "false because check.ExitCode is 2, expected 0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Compute values and fill in templates
//!
//! An [`Expression`] gives a value of any type. A template is text with placeholders; a [`Dialect`] decides how they are written and
//! what a missing value means. A template is expanded once: what a placeholder gives is never expanded again.
//!
//! ```
//! # use branchpoint_expr::{Dialect, Expression, Options, Value};
//! # use serde_json::json;
//! let total = Expression::compile("sum(map(items, .price * .qty))", Options::default())?;
//! let order = json!({"items": [{"price": 2.5, "qty": 2}, {"price": 1, "qty": 3}]});
//! assert_eq!(total.value(&order)?, Value::Int(8));
//!
//! let greeting = Expression::template("Hello {{ $name }}!", Options::dialect(Dialect::Flow))?;
//! assert_eq!(greeting.value(&json!({"name": "Ada"}))?, Value::from("Hello Ada!"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Add functions and set limits
//!
//! An [`Environment`] holds what a host adds: functions with name, arity, types, purity and cost ([`function`]), and [`Limits`] on
//! depth, parts, steps, output and regular expressions. Give it when compiling and when evaluating.
//!
//! ```
//! use branchpoint_expr::function::{Function, Types};
//! use branchpoint_expr::{Condition, Environment, Kind, Options};
//! use serde_json::json;
//!
//! let mut environment = Environment::default();
//! environment.limits.steps = 1_000;
//! environment.functions.register(
//!     Function::new("slug", 1..=1, [Types::STR], Types::STR, |work, arguments| {
//!         work.text(&arguments[0].expect_text("slug()")?.to_lowercase().replace(' ', "-"))
//!     })
//!     .pure()
//!     .cost(10),
//! )?;
//!
//! let condition = Condition::expression("slug(title) == 'my-day'", Options::default().environment(&environment))?;
//! assert!(condition.evaluate(&environment.over(&json!({"title": "My Day"})))?);
//!
//! let long = Condition::expression("all(1..1000, # > 0)", Options::default().environment(&environment))?;
//! assert_eq!(long.evaluate(&environment.over(&json!({}))).unwrap_err().detail, Kind::StepLimit);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Evaluate without looking up names
//!
//! A host with values in numbered slots binds names when compiling ([`Bind`]); evaluating then reads the slots directly and allocates
//! nothing for ordinary comparisons. A host with values of another kind implements [`Context`].
//!
//! ```
//! use branchpoint_expr::{Bind, Binding, Condition, Options, Slots, Value};
//!
//! struct Inputs;
//!
//! impl Bind for Inputs {
//!     fn bind(&self, path: &[&str]) -> Option<Binding> {
//!         path.starts_with(&["inputs", "count"]).then_some(Binding { slot: 0, parts: 2 })
//!     }
//! }
//!
//! let condition = Condition::expression("inputs.count > 10", Options::default().bound(&Inputs))?;
//! assert!(condition.evaluate(&Slots(&[Value::Int(11)]))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Structured conditions
//!
//! A condition can be written in five spellings: as an expression ([`Condition::expression`]), a typed group ([`Condition::group`]),
//! a target list ([`Condition::targets`]), history conditions ([`Condition::history`]) or a text match ([`Condition::text_match`]).
//! All compile to one form and share one evaluator.
//!
//! Evaluation never panics and is bounded in depth, work and size, whatever the text and whatever the data.

mod builtins;
mod check;
mod child_nodes;
mod compile;
mod compiled;
mod condition;
mod context;
mod diagnostic;
mod dialect;
mod display;
mod draft;
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
mod replacements;
mod syntax;
mod template;
mod time;
mod types;
mod unit;
mod value;
mod well_formed;
mod work;

pub use builtins::shell_word;
pub use compile::{Bind, Binding};
pub use compiled::Compiled;
pub use condition::{Cases, Condition, Gate};
pub use context::{Context, Slots};
pub use diagnostic::{
    Diagnostic, Kind, Related, Severity, SourceFindings, Span, UnreadableSource, cap_findings, nearest, render_json,
    render_sarif, render_terminal,
};
pub use dialect::Dialect;
pub use environment::{Environment, WithEnvironment};
pub use error::EvalError;
pub use explain::{Explanation, Part, Phrase, Read, RecordedContext, change};
pub use expression::{Expression, Form};
pub use fault::preview_value as preview;
pub use formula::{Fillable, Formula};
pub use limits::Limits;
pub use located::{Field, Located, Shape};
pub use program::{Name, Reference};
pub use template::{Escape, Piece, Substitution};
pub use time::{duration_ms, duration_text, instant_ms, iso_at, iso_date_at, iso_utc, seconds_ms};
pub use unit::{Options, Problems};
pub use value::{Fields, List, ListView, Object, ObjectView, Shared, Size, Source, Value, View};
