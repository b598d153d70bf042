//! The compilation of one condition or template: the program so far and its findings.

use std::sync::Arc;

use crate::Kind;
use crate::check;
use crate::child_nodes::MAX_NODE_DEPTH;
use crate::compile::{Bind, Compiler, Place, joined};
use crate::diagnostic::{Diagnostic, Severity, Span, cap_findings};
use crate::dialect::Dialect;
use crate::draft::Draft;
use crate::environment::Environment;
use crate::limits::{self, Limits};
use crate::located::{Located, Shape};
use crate::names;
use crate::program::{Access, Id, Key, Name, Node, Path, Program};
use crate::syntax::{self, ast::Expr};
use crate::template::Scope;
use crate::types::Types;

/// Options for compiling a condition or template.
///
/// ```
/// # use branchpoint_expr::*;
/// let options = Options { dialect: Dialect::Flow, ..Options::default() };
/// assert!(Condition::expression("$a == 1", options).is_ok());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Options<'o> {
    /// The dialect.
    pub dialect: Dialect,
    /// The bindings of names to slots, if the host has slots.
    pub bind: Option<&'o dyn Bind>,
    /// The limits and host functions; `None` means the standard environment.
    pub environment: Option<&'o Environment>,
    /// Whether the text was generated: names are not checked, and the text is not stored.
    pub generated: bool,
}

impl<'o> Options<'o> {
    /// Options for a dialect, with names looked up when evaluating.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert!(Condition::expression("$a == 1", Options::dialect(Dialect::Flow)).is_ok());
    /// ```
    pub fn dialect(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }

    /// Sets the bindings of names to slots.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// struct Nothing;
    /// impl Bind for Nothing {
    ///     fn bind(&self, _: &[&str]) -> Option<Binding> {
    ///         None
    ///     }
    /// }
    ///
    /// assert!(Condition::expression("a == 1", Options::default().bound(&Nothing)).is_ok());
    /// ```
    #[must_use]
    pub fn bound(self, bind: &'o dyn Bind) -> Self {
        Self { bind: Some(bind), ..self }
    }

    /// Sets the limits and functions of a host.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let options = Options::default().environment(Environment::standard());
    /// assert!(Condition::expression("a == 1", options).is_ok());
    /// ```
    #[must_use]
    pub fn environment(self, environment: &'o Environment) -> Self {
        Self { environment: Some(environment), ..self }
    }

    /// Marks the text as generated: names are not checked, and the text is not stored.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// let warnings = |options| Ok::<_, Problems>(Condition::expression("my_slot == 1", options)?.warnings().len());
    /// assert_eq!(warnings(Options::default())?, 1);
    /// assert_eq!(warnings(Options::default().generated())?, 0);
    /// # Ok::<(), Problems>(())
    /// ```
    #[must_use]
    pub fn generated(self) -> Self {
        Self { generated: true, ..self }
    }

    fn limits(&self) -> &'o Limits {
        self.environment.map_or(&Limits::DEFAULT, |environment| &environment.limits)
    }
}

/// The findings for a condition or template that does not compile, in document order.
///
/// ```
/// # use branchpoint_expr::*;
/// let Problems(findings) = Condition::compile("1 +").unwrap_err();
/// assert_eq!(findings.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Problems(pub Vec<Diagnostic>);

impl Problems {
    /// The first error in document order.
    ///
    /// ```
    /// # use branchpoint_expr::*;
    /// assert_eq!(Condition::compile("1 +").unwrap_err().first().kind, Kind::BadCondition);
    /// ```
    pub fn first(&self) -> &Diagnostic {
        self.0
            .iter()
            .find(|finding| finding.severity == Severity::Error)
            .expect("problems are reported only when there is an error")
    }
}

/// A placeholder for a node that could not be compiled. Compiling continues to find more problems, but the program is discarded.
pub(crate) const UNKNOWN: Id = 0;

pub(crate) struct Unit<'o> {
    pub(crate) program: Draft,
    pub(crate) options: Options<'o>,
    pub(crate) findings: Vec<Diagnostic>,
    /// The variables of blocks of templates.
    pub(crate) scope: Scope,
}

impl<'o> Unit<'o> {
    pub(crate) fn new(options: Options<'o>) -> Self {
        Self { program: Draft::default(), options, findings: Vec::new(), scope: Scope::default() }
    }

    /// Returns the finished program with its warnings, or all findings if there are errors.
    pub(crate) fn finish(mut self, root: Id) -> Result<(Program, Vec<Diagnostic>), Problems> {
        let most = self.options.limits().nodes;
        if self.program.nodes.len() > most {
            let span = self.program.spans.get(root as usize).copied().unwrap_or_default();
            let message = format!("the text compiles to more than {most} parts");
            self.error(Kind::NodeLimit, span, message);
        }
        // A program with fewer nodes cannot be nested so deeply.
        if self.program.nodes.len() > usize::from(MAX_NODE_DEPTH) && self.program.node_depth() > MAX_NODE_DEPTH {
            let span = self.program.spans.get(root as usize).copied().unwrap_or_default();
            let message = format!("functions and blocks are nested more than {MAX_NODE_DEPTH} deep");
            self.error(Kind::DepthLimit, span, message).help = Some("split the template".into());
        }
        let refused = self.findings.iter().any(|finding| finding.severity == Severity::Error);
        let findings = cap_findings(self.findings, limits::FINDINGS);
        if refused {
            return Err(Problems(findings));
        }
        Ok((self.program.finish(root), findings))
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.options.dialect
    }

    pub(crate) fn error(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.findings.push(Diagnostic::error(kind, span, message));
        self.findings.last_mut().expect("one was pushed just now")
    }

    pub(crate) fn warn(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.findings.push(Diagnostic::warning(kind, span, message));
        self.findings.last_mut().expect("one was pushed just now")
    }

    /// Compiles an expression and returns its possible result types.
    pub(crate) fn expression(&mut self, text: &str, place: Place) -> (Id, Types) {
        let parsed = syntax::parse(text, self.dialect().grammar(), self.options.limits());
        self.compile_tree(parsed.map_err(|finding| vec![*finding]), place, self.dialect().access())
    }

    /// Checks and compiles a syntax tree. Errors get the kind of the dialect.
    pub(crate) fn compile_tree(
        &mut self,
        parsed: Result<Expr<'_>, Vec<Diagnostic>>,
        place: Place,
        access: Access,
    ) -> (Id, Types) {
        let dialect = self.dialect();
        let mut findings = Vec::new();
        let mut compiled = (UNKNOWN, Types::ANY);
        match parsed {
            Err(refused) => findings = refused,
            Ok(expr) => {
                let types = check::check(&expr, &self.options, &mut findings);
                // The names in generated expressions do not come from the document.
                if !self.options.generated {
                    let needed = dialect == Dialect::Machine && access == Access::Required;
                    names::check(&expr, dialect, needed, &mut findings);
                }
                if findings.iter().all(|finding| finding.severity == Severity::Warning) {
                    compiled = (self.compile(&expr, place, access), types);
                }
            }
        }
        self.findings.extend(findings.into_iter().map(|mut finding| {
            finding.span = place.of(finding.span);
            let keeps_name = finding.severity == Severity::Warning || finding.kind == Kind::SecretNotAllowed;
            if keeps_name {
                finding
            } else {
                let name = dialect.refusal(finding.kind);
                finding.renamed(name)
            }
        }));
        compiled
    }

    fn compile(&mut self, expr: &Expr<'_>, place: Place, access: Access) -> Id {
        let options = self.options;
        let mut compiler = Compiler {
            dialect: options.dialect,
            bind: options.bind,
            program: &mut self.program,
            access,
            variables: Vec::new(),
            elements: Vec::new(),
            open_locals: 0,
            place,
        };
        compiler.node(expr)
    }

    /// Compiles a condition that is written as an expression, whose result can be a boolean or nil.
    pub(crate) fn condition(&mut self, text: &str, place: Place) -> Id {
        let first = self.program.nodes.len();
        let (id, types) = self.expression(text, place);
        // Generated expressions are never shown.
        if !self.options.generated && first < self.program.nodes.len() {
            let start = match place {
                Place::From(start) => Some(start),
                Place::At(_) => None,
            };
            self.program.store_text(first, start, text);
        }
        if !types.meets(Types::BOOL | Types::NIL) {
            let dialect = self.dialect();
            let span = place.of(Span::new(0, text.len()));
            let finding = Diagnostic::error(
                Kind::NotBoolean,
                span,
                format!("a condition must be true or false, but this is {types}"),
            );
            self.findings.push(finding.renamed(dialect.refusal(Kind::NotBoolean)));
        }
        id
    }

    /// Compiles a path with fixed names.
    pub(crate) fn known_path(&mut self, parts: &[&str], access: Access, span: Span) -> Id {
        let bound = self.options.bind.and_then(|bind| bind.bind(parts));
        let used = bound.map_or(1, |bound| bound.parts.min(parts.len()));
        let root = Name { text: joined(&parts[..used]), slot: bound.map(|bound| bound.slot) };
        let keys = parts[used..].iter().map(|part| Key::Field(Arc::from(*part))).collect();
        self.program.path(Path { root, keys, access, coerce: false, parent: 0 }, span)
    }

    pub(crate) fn emit_all(&mut self, wrap: fn(crate::program::Ids) -> Node, ids: &[Id], span: Span) -> Id {
        let ids = self.program.ids(ids);
        self.program.emit(wrap(ids), span)
    }
}

/// The position of the text of a document's value.
pub(crate) fn place_of(located: &Located) -> Place {
    match located.shape {
        Shape::Str { verbatim: Some(start), .. } => Place::From(start),
        _ => Place::At(located.span),
    }
}
