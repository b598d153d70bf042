//! Diagnostics as data, and their renderers.

mod kind;
mod position;
mod render;
mod sarif;
mod span;
mod suggest;
mod window;

use std::fmt;

pub use kind::Kind;
pub use render::{render_json, render_terminal};
pub use sarif::{SourceFindings, UnreadableSource, render_sarif};
pub use span::Span;
pub use suggest::nearest;

/// The severity of a diagnostic.
///
/// ```
/// # use branchpoint_expr::*;
/// let condition = Condition::compile("inputs.a == 1 && nowhere == 1")?;
/// assert_eq!(condition.warnings()[0].severity, Severity::Warning);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The document is rejected.
    Error,
    /// The document loads, but is probably wrong.
    Warning,
}

/// A finding in a source text: what is wrong, where, and what to do.
///
/// ```
/// # use branchpoint_expr::*;
/// let problems = Condition::compile("lne(a) > 1").unwrap_err();
/// let finding = problems.first();
/// assert_eq!((finding.kind, finding.detail), (Kind::BadCondition, Some(Kind::UnknownFunction)));
/// assert_eq!(finding.help.as_deref(), Some("did you mean `len`?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable name, as in the dialect's spec.
    pub kind: Kind,
    /// The exact cause, where the dialect has one kind for several causes.
    pub detail: Option<Kind>,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence for people.
    pub message: String,
    /// The location in the source text.
    pub span: Span,
    /// The remedy.
    pub help: Option<String>,
    /// A related location, such as the first of two equal names.
    pub related: Option<Box<Related>>,
}

/// A second location of a finding.
///
/// ```
/// # use branchpoint_expr::*;
/// let finding = Diagnostic::error(Kind::UnknownName, Span::new(9, 10), "the name `a` is used twice");
/// let finding = finding.with_related(Span::new(0, 1), "it is used here first");
/// assert_eq!(finding.related.unwrap().span, Span::new(0, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The location in the source text.
    pub span: Span,
    /// A few words about it.
    pub message: String,
}

impl Diagnostic {
    /// An error without help.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let finding = Diagnostic::error(Kind::UnknownFunction, Span::new(0, 3), "unknown function `lne`");
    /// assert_eq!(finding.severity, Severity::Error);
    /// ```
    pub fn error(kind: Kind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, detail: None, severity: Severity::Error, message: message.into(), span, help: None, related: None }
    }

    /// A warning without help.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let finding = Diagnostic::warning(Kind::UnknownName, Span::default(), "unknown name `a`");
    /// assert_eq!(finding.severity, Severity::Warning);
    /// ```
    pub fn warning(kind: Kind, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(kind, span, message) }
    }

    /// Adds a remedy.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let finding = Diagnostic::error(Kind::UnknownFunction, Span::new(0, 3), "unknown function `lne`");
    /// assert_eq!(finding.with_help("write `len`").help.as_deref(), Some("write `len`"));
    /// ```
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a related location.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let finding = Diagnostic::error(Kind::UnknownName, Span::new(9, 10), "the name `a` is used twice");
    /// assert_eq!(finding.with_related(Span::new(0, 1), "first here").related.unwrap().message, "first here");
    /// ```
    #[must_use]
    pub fn with_related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related = Some(Box::new(Related { span, message: message.into() }));
        self
    }

    /// Adds a "did you mean" if a candidate is similar to the name as written.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let finding = Diagnostic::error(Kind::UnknownFunction, Span::new(0, 3), "unknown function `lne`");
    /// assert_eq!(finding.suggest("lne", ["len", "max"]).help.as_deref(), Some("did you mean `len`?"));
    /// ```
    #[must_use]
    pub fn suggest<'c>(self, written: &str, candidates: impl IntoIterator<Item = &'c str>) -> Self {
        match nearest(written, candidates) {
            Some(near) => self.with_help(format!("did you mean `{near}`?")),
            None => self,
        }
    }

    /// The exact cause: `detail` if there is one, else `kind`.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Condition::compile("1 +").unwrap_err().first().cause(), Kind::Syntax);
    /// ```
    pub fn cause(&self) -> Kind {
        self.detail.unwrap_or(self.kind)
    }

    /// Replaces the kind by the dialect's kind and keeps the old one as detail.
    #[must_use]
    pub(crate) fn renamed(mut self, kind: Kind) -> Self {
        if self.kind != kind {
            self.detail = Some(self.cause());
            self.kind = kind;
        }
        self
    }
}

/// Limits the number of errors and of warnings. If some are omitted, one more finding says how many.
///
/// ```
/// use branchpoint_expr::{Diagnostic, Kind, Span, cap_findings};
///
/// let findings = (0..100).map(|at| Diagnostic::error(Kind::Syntax, Span::new(at, at + 1), "odd")).collect();
/// let capped = cap_findings(findings, 10);
/// assert_eq!((capped.len(), &*capped[10].message), (11, "and 90 more, the first of them here"));
/// ```
pub fn cap_findings(findings: Vec<Diagnostic>, most: usize) -> Vec<Diagnostic> {
    let mut seen = [0, 0];
    let mut rest: [Option<(Diagnostic, usize)>; 2] = [None, None];
    let mut listed = Vec::new();
    for finding in findings {
        let severity = usize::from(finding.severity == Severity::Warning);
        seen[severity] += 1;
        if seen[severity] <= most {
            listed.push(finding);
        } else {
            rest[severity].get_or_insert((finding, 0)).1 += 1;
        }
    }
    listed.extend(rest.into_iter().flatten().map(|(first, count)| {
        let message = format!("and {count} more, the first of them here");
        Diagnostic { message, help: None, related: None, ..first }
    }));
    listed
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}
