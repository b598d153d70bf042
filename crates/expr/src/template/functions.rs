//! Functions in the templates of `machine`: `{{escape inputs.name}}`, `{{states.list.Output | trimSpace | split ","}}`.
//!
//! What comes over a pipe is the first argument of the next function. An argument may be a call in parentheses:
//! `{{join (split inputs.names ",") " | "}}`.

use std::borrow::Cow;

use crate::Kind;
use crate::builtins;
use crate::compile::Place;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::{Access, Id, Node};
use crate::unit::{UNKNOWN, Unit};
use crate::value::Value;

/// A template function, the builtin that does its work, and how many arguments it takes.
const FUNCTIONS: [(&str, &str, usize); 6] = [
    ("escape", "shellQuote", 1),
    ("json", "toJSON", 1),
    ("split", "splitTrimmed", 2),
    ("join", "join", 2),
    ("trimSpace", "trimSpace", 1),
    ("len", "len", 1),
];

const INDEX: &str = "index";
const READ_FILE: &str = "readFile";
/// How deep calls may stand in calls: far more than anyone writes, and few enough to be read by recursion.
const DEEPEST: usize = 16;
const BLOCKS: [&str; 9] = ["if", "else", "end", "range", "with", "define", "template", "block", "break"];

/// Calls joined by `|`.
pub(super) struct Pipeline<'t> {
    stages: Vec<Stage<'t>>,
}

struct Stage<'t> {
    function: Option<(&'t str, Span)>,
    arguments: Vec<(Argument<'t>, Span)>,
}

enum Argument<'t> {
    Reference(&'t str),
    Text(Cow<'t, str>),
    Int(i64),
    /// Calls in parentheses, and where their text begins.
    Calls(Pipeline<'t>, u32),
}

/// Reads calls and pipes. None: this is a plain reference.
pub(super) fn parse(content: &str) -> Result<Option<Pipeline<'_>>, Box<Diagnostic>> {
    parse_inside(content, 0)
}

fn parse_inside(content: &str, depth: usize) -> Result<Option<Pipeline<'_>>, Box<Diagnostic>> {
    if depth > DEEPEST {
        let message = format!("calls stand in calls at most {DEEPEST} deep");
        return Err(Box::new(Diagnostic::error(Kind::Syntax, Span::new(0, content.len()), message)));
    }
    let words = words(content)?;
    let mut stages = Vec::new();
    for stage in words.split(|(word, _)| *word == "|") {
        stages.push(parse_stage(stage, content, stages.is_empty(), depth)?);
    }
    let plain = matches!(
        &stages[..],
        [Stage { function: None, arguments }] if !matches!(arguments[..], [(Argument::Calls(..), _)])
    );
    Ok(if plain { None } else { Some(Pipeline { stages }) })
}

fn parse_stage<'t>(
    words: &[(&'t str, Span)],
    content: &str,
    first: bool,
    depth: usize,
) -> Result<Stage<'t>, Box<Diagnostic>> {
    let Some(((word, span), rest)) = words.split_first() else {
        let span = Span::new(0, content.len());
        return Err(Box::new(Diagnostic::error(Kind::Syntax, span, "there is nothing between the braces here")));
    };
    if BLOCKS.contains(word) {
        let finding = Diagnostic::error(Kind::Syntax, *span, format!("`{word}` blocks are not offered in templates"));
        let finding = finding.with_help("branch with transitions instead");
        return Err(Box::new(Diagnostic { detail: Some(Kind::Unsupported), ..finding }));
    }
    let known = FUNCTIONS.iter().map(|(name, ..)| *name).chain([INDEX, READ_FILE]);
    if known.clone().any(|name| name == *word) {
        let arguments = rest.iter().map(|word| argument(*word, depth)).collect::<Result<_, _>>()?;
        return Ok(Stage { function: Some((word, *span)), arguments });
    }
    if first && rest.is_empty() {
        return Ok(Stage { function: None, arguments: vec![argument(words[0], depth)?] });
    }
    if word.contains('.') {
        let message = format!("`{word}` is a reference, and only a function can have something after it");
        return Err(Box::new(Diagnostic::error(Kind::UnknownFunction, *span, message)));
    }
    let finding = Diagnostic::error(Kind::UnknownFunction, *span, format!("there is no template function `{word}`"));
    Err(Box::new(finding.suggest(word, known)))
}

fn argument((word, span): (&str, Span), depth: usize) -> Result<(Argument<'_>, Span), Box<Diagnostic>> {
    if let Some(inner) = word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return calls(inner, span, depth);
    }
    let quoted = word.len() >= 2 && word.starts_with(['"', '\'', '`']);
    let argument = if quoted {
        match crate::syntax::string_literal(word) {
            Some(text) => Argument::Text(text),
            None => return Err(Box::new(Diagnostic::error(Kind::Syntax, span, "this text is not closed"))),
        }
    } else if let Ok(int) = word.parse() {
        Argument::Int(int)
    } else {
        Argument::Reference(word)
    };
    Ok((argument, span))
}

/// What stands in parentheses: calls, or a reference that needed none.
fn calls(inner: &str, span: Span, depth: usize) -> Result<(Argument<'_>, Span), Box<Diagnostic>> {
    let (open, start) = (span.start + 1, span.start as usize + 1);
    match parse_inside(inner, depth + 1) {
        Ok(Some(calls)) => Ok((Argument::Calls(calls, open), span)),
        Ok(None) => {
            let (reference, blanks) = (inner.trim(), inner.len() - inner.trim_start().len());
            let span = Span::new(start + blanks, start + blanks + reference.len());
            argument((reference, span), depth + 1)
        }
        Err(mut finding) => {
            finding.span = Span::new(start + finding.span.start as usize, start + finding.span.end as usize);
            Err(finding)
        }
    }
}

/// Words apart by blanks; quotes and parentheses keep their blanks; `|` stands alone.
fn words(content: &str) -> Result<Vec<(&str, Span)>, Box<Diagnostic>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    let mut depth = 0_usize;
    for (at, c) in content.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        let ends = quote.is_none() && depth == 0 && (c.is_whitespace() || c == '|');
        if ends {
            if let Some(start) = start.take() {
                words.push((&content[start..at], Span::new(start, at)));
            }
            if c == '|' {
                words.push((&content[at..=at], Span::new(at, at + 1)));
            }
            continue;
        }
        start.get_or_insert(at);
        match quote {
            Some(open) if open == c => quote = None,
            Some(open) => escaped = c == '\\' && open != '`',
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None if c == '(' => depth += 1,
            None if c == ')' => depth = depth.saturating_sub(1),
            None => {}
        }
    }
    if let Some(start) = start {
        let span = Span::new(start, content.len());
        if quote.is_some() || depth > 0 {
            let what = if quote.is_some() { "text" } else { "parenthesis" };
            return Err(Box::new(Diagnostic::error(Kind::Syntax, span, format!("this {what} is not closed"))));
        }
        words.push((&content[start..], span));
    }
    Ok(words)
}

impl Unit<'_> {
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline<'_>, place: Place) -> Id {
        let mut piped = None;
        for stage in &pipeline.stages {
            let mut arguments: Vec<Id> = piped.into_iter().collect();
            arguments.extend(stage.arguments.iter().map(|(argument, span)| self.argument(argument, *span, place)));
            piped = Some(match stage.function {
                Some((function, span)) => self.template_call(function, place.of(span), &arguments),
                None => arguments[0],
            });
        }
        piped.unwrap_or(UNKNOWN)
    }

    fn argument(&mut self, argument: &Argument<'_>, span: Span, place: Place) -> Id {
        match argument {
            Argument::Text(text) => self.program.constant(Value::from(&**text), place.of(span)),
            Argument::Int(int) => self.program.constant(Value::Int(*int), place.of(span)),
            Argument::Reference(reference) => {
                self.named_reference(reference, place.after(span.start), Access::Required)
            }
            Argument::Calls(calls, start) => self.pipeline(calls, place.after(*start)),
        }
    }

    fn template_call(&mut self, function: &str, span: Span, arguments: &[Id]) -> Id {
        let wanted = match function {
            INDEX => 2,
            READ_FILE => 1,
            _ => FUNCTIONS.iter().find(|(name, ..)| *name == function).map_or(0, |(.., arity)| *arity),
        };
        if arguments.len() != wanted {
            let message = format!("{function} takes {wanted} arguments, not {}", arguments.len());
            let finding = Diagnostic::error(Kind::WrongArity, span, message).named(Kind::BadTemplate);
            self.findings.push(finding);
            return UNKNOWN;
        }
        match function {
            INDEX => {
                let (object, key) = (arguments[0], arguments[1]);
                self.program.emit(Node::Member { object, key, access: Access::Required }, span)
            }
            READ_FILE => {
                let bind = self.options.bind;
                self.program.file(arguments[0], span, |name| Some(bind?.bind(&[name])?.slot))
            }
            _ => {
                let builtin =
                    FUNCTIONS.iter().find(|(name, ..)| *name == function).map_or("", |(_, builtin, _)| builtin);
                let arguments = self.program.ids(arguments);
                self.program.emit(Node::Call { builtin: builtins::inner(builtin), arguments }, span)
            }
        }
    }
}
