//! The names that conditions and templates of a dialect can read, for canonical spelling and suggestions.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::syntax::ast::{Expr, ExprKind};

const MACHINE_ROOTS: &[&str] = &["inputs", "states", "workflow", "env", "loop", "error", "context", "awf"];
const STEPS_ROOTS: &[&str] =
    &["input", "agent", "step", "metadata", "datetime", "error", "attachments", "input_content_type", "run", "budget"];
const SESSION_ROOTS: &[&str] = &["message", "tools", "step", "sequence_index"];
const GRAPH_ROOTS: &[&str] = &["input", "text"];

const STATE: &[&str] = &[
    "Output",
    "Stderr",
    "ExitCode",
    "Status",
    "Response",
    "TokensUsed",
    "TokensInput",
    "TokensOutput",
    "TokensEstimated",
];
const WORKFLOW: &[&str] = &["ID", "Name", "CurrentState", "Duration"];
const LOOP: &[&str] = &["Index", "Index1", "Item", "Length", "First", "Last", "Parent"];
const ERROR: &[&str] = &["Message", "State", "ExitCode", "Type"];
const CONTEXT: &[&str] = &["WorkingDir", "User", "Hostname"];

const AWF: &[&str] = &[
    "config_dir",
    "data_dir",
    "cache_dir",
    "prompts_dir",
    "scripts_dir",
    "skills_dir",
    "roles_dir",
    "workflows_dir",
    "plugins_dir",
];

/// The root of secrets, which conditions and pure steps cannot read.
const SECRET: &str = "secret";

fn roots(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Machine => MACHINE_ROOTS,
        Dialect::Steps => STEPS_ROOTS,
        Dialect::Session => SESSION_ROOTS,
        Dialect::Graph => GRAPH_ROOTS,
        Dialect::Flow => &[],
    }
}

/// The properties of `machine` namespaces, which references in braces may write in any case, with or without `_`.
fn properties(root: &str) -> Option<&'static [&'static str]> {
    match root {
        "workflow" => Some(WORKFLOW),
        "loop" => Some(LOOP),
        "error" => Some(ERROR),
        "context" => Some(CONTEXT),
        "awf" => Some(AWF),
        _ => None,
    }
}

/// Reports names that never exist, as warnings. Secrets, and variables named like a namespace, are errors. `needed` means that a missing
/// name is an error here, not nil.
pub(crate) fn check(expr: &Expr<'_>, dialect: Dialect, needed: bool, findings: &mut Vec<Diagnostic>) {
    let mut variables = Vec::new();
    let consequence = if needed { "this can never be expanded" } else { "this is always nil" };
    walk(expr, &mut variables, &mut |path, variables| {
        if let ExprKind::Let(name, ..) = path.kind {
            if name == SECRET || roots(dialect).contains(&name) {
                let message = format!("`{name}` is a namespace of this dialect, so a variable cannot have its name");
                findings.push(
                    Diagnostic::error(Kind::Redeclared, path.span, message)
                        .with_help("choose another name for the variable"),
                );
            }
            return;
        }
        let (root, keys) = split(path);
        let ExprKind::Name(name) = &root.kind else { return };
        if variables.contains(&&**name) {
            return;
        }
        if name == SECRET {
            findings.push(
                Diagnostic::error(Kind::SecretNotAllowed, path.span, "a secret cannot be read here")
                    .with_help("use secrets only in the fields of steps that call external services"),
            );
        } else if dialect != Dialect::Flow && !roots(dialect).contains(&&**name) {
            let message = format!("unknown name `{name}`, so {consequence}");
            let finding = Diagnostic::warning(Kind::UnknownName, root.span, message);
            findings.push(finding.suggest(name, roots(dialect).iter().copied()));
        } else if dialect == Dialect::Machine {
            findings.extend(unknown_property(name, &keys, consequence));
        }
    });
}

/// Reports the first property that the namespace does not have.
fn unknown_property(root: &str, keys: &[(&str, Span)], consequence: &str) -> Option<Diagnostic> {
    let (known, key, span) = match (root, keys) {
        ("states", [(_, _), (key, span), ..]) => (STATE, *key, *span),
        ("loop", _) => {
            let (key, span) = keys.iter().find(|(key, _)| *key != "Parent")?;
            (LOOP, *key, *span)
        }
        (_, [(key, span), ..]) => (properties(root)?, *key, *span),
        _ => return None,
    };
    if known.contains(&key) {
        return None;
    }
    let message = format!("`{root}` has no property `{key}`, so {consequence}");
    Some(Diagnostic::warning(Kind::UnknownProperty, span, message).suggest(key, known.iter().copied()))
}

/// Reports a property of a state that does not exist, which is an error in templates.
pub(crate) fn unknown_state_property(reference: &Expr<'_>) -> Option<Box<Diagnostic>> {
    let (root, keys) = split(reference);
    let (ExprKind::Name(name), [_, (key, span), ..]) = (&root.kind, &keys[..]) else {
        return None;
    };
    if name != "states" || STATE.contains(key) {
        return None;
    }
    let finding = Diagnostic::error(Kind::UnknownProperty, *span, format!("a state has no property `{key}`"));
    Some(Box::new(finding.suggest(key, STATE.iter().copied())))
}

/// The root of a path and its literal keys, in order.
fn split<'e, 's>(path: &'e Expr<'s>) -> (&'e Expr<'s>, SmallVec<[(&'e str, Span); 4]>) {
    let mut keys = SmallVec::new();
    let mut root = path;
    while let ExprKind::Member(object, key) = &root.kind {
        match &key.kind {
            ExprKind::Str(text) => keys.push((&**text, key.span)),
            // Only the keys before an index are checked.
            _ => keys.clear(),
        }
        root = object;
    }
    keys.reverse();
    (root, keys)
}

/// Replaces properties of `loop`, `context`, `error` and `workflow` by their canonical spelling.
pub(crate) fn canonical(reference: &mut Expr<'_>, in_template: bool) {
    let mut keys: Vec<&mut Cow<'_, str>> = Vec::new();
    let mut part = reference;
    let root = loop {
        match &mut part.kind {
            ExprKind::Member(object, key) => {
                if let ExprKind::Str(text) = &mut key.kind {
                    keys.push(text);
                }
                part = object;
            }
            ExprKind::Name(name) => break name.clone(),
            _ => return,
        }
    };
    keys.reverse();
    if in_template
        && root == "states"
        && let [_, property, ..] = &mut keys[..]
        && *property == "JSON"
    {
        **property = Cow::Borrowed("Response");
    }
    let Some(known) = properties(&root) else { return };
    for key in keys {
        let Some(property) = known.iter().find(|property| matches_ignoring_case(property, key)) else { return };
        *key = Cow::Borrowed(property);
        if *property != "Parent" {
            return;
        }
    }
}

fn matches_ignoring_case(property: &str, written: &str) -> bool {
    let letters = |name: &'_ str| name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect::<String>();
    letters(written) == letters(property)
}

/// Calls `visit` with every path, longest first, and with every `let`, and the `let` variables in scope.
fn walk<'e, 's>(expr: &'e Expr<'s>, variables: &mut Vec<&'s str>, visit: &mut impl FnMut(&'e Expr<'s>, &[&'s str])) {
    match &expr.kind {
        ExprKind::Name(_) => visit(expr, variables),
        ExprKind::Member(object, key) => {
            if let ExprKind::Name(_) = split(expr).0.kind {
                visit(expr, variables);
                // The keys of the path may contain paths.
                let mut part = expr;
                while let ExprKind::Member(object, key) = &part.kind {
                    walk(key, variables, visit);
                    part = object;
                }
            } else {
                walk(object, variables, visit);
                walk(key, variables, visit);
            }
        }
        ExprKind::Let(name, value, body) => {
            visit(expr, variables);
            walk(value, variables, visit);
            variables.push(name);
            walk(body, variables, visit);
            variables.pop();
        }
        _ => expr.parts(&mut |part| walk(part, variables, visit)),
    }
}
