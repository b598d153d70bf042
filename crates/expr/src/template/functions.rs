//! Parses and compiles function calls in templates of `machine`: `{{states.list.Output | trimSpace | split ","}}`.
//!
//! An argument can be a call in parentheses: `{{join (split inputs.names ",") " | "}}`.

use std::borrow::Cow;

use crate::Kind;
use crate::builtins;
use crate::compile::Place;
use crate::diagnostic::{Diagnostic, Span};
use crate::program::{Access, Id, Node};
use crate::syntax::ast::Binary;
use crate::unit::{UNKNOWN, Unit};
use crate::value::Value;

/// A template function.
struct Function {
    name: &'static str,
    least: usize,
    most: usize,
    /// Whether a piped value is the last argument. It is the first argument of functions such as `split` and `join`.
    piped_last: bool,
    call: Call,
}

/// How a function is compiled.
#[derive(Clone, Copy)]
enum Call {
    Builtin(&'static str),
    Index,
    ReadFile,
    Slice,
    And,
    Or,
    Not,
    Default,
    NotEqual,
    Order(Binary),
}

const MANY: usize = 100;

const fn piped_first(name: &'static str, least: usize, most: usize, call: Call) -> Function {
    Function { name, least, most, piped_last: false, call }
}

const fn piped_last(name: &'static str, least: usize, most: usize, call: Call) -> Function {
    Function { name, least, most, piped_last: true, call }
}

const FUNCTIONS: [Function; 25] = [
    piped_first("escape", 1, 1, Call::Builtin("shellEscape")),
    piped_first("json", 1, 1, Call::Builtin("toJSON")),
    piped_first("split", 2, 2, Call::Builtin("splitTrimmed")),
    piped_first("join", 2, 2, Call::Builtin("join")),
    piped_first("trimSpace", 1, 1, Call::Builtin("trimSpace")),
    piped_first("len", 1, 1, Call::Builtin("len")),
    piped_first("index", 2, MANY, Call::Index),
    piped_first("readFile", 1, 1, Call::ReadFile),
    piped_first("slice", 1, 3, Call::Slice),
    piped_last("and", 1, MANY, Call::And),
    piped_last("or", 1, MANY, Call::Or),
    piped_last("not", 1, 1, Call::Not),
    piped_last("default", 2, 2, Call::Default),
    piped_last("eq", 2, MANY, Call::Builtin("templateEqual")),
    piped_last("ne", 2, 2, Call::NotEqual),
    piped_last("lt", 2, 2, Call::Order(Binary::Less)),
    piped_last("le", 2, 2, Call::Order(Binary::LessOrEqual)),
    piped_last("gt", 2, 2, Call::Order(Binary::Greater)),
    piped_last("ge", 2, 2, Call::Order(Binary::GreaterOrEqual)),
    piped_last("print", 0, MANY, Call::Builtin("print")),
    piped_last("println", 0, MANY, Call::Builtin("println")),
    piped_last("printf", 1, MANY, Call::Builtin("printf")),
    piped_last("html", 1, 1, Call::Builtin("html")),
    piped_last("js", 1, 1, Call::Builtin("js")),
    piped_last("urlquery", 1, 1, Call::Builtin("urlquery")),
];

/// The maximum nesting of calls, which are parsed recursively.
const DEEPEST: usize = 16;
/// The maximum number of functions in a pipeline.
const MAX_STAGES: usize = 32;

/// Function calls joined by `|`.
pub(super) struct Pipeline<'t> {
    stages: Vec<Stage<'t>>,
}

struct Stage<'t> {
    function: Option<(&'static Function, Span)>,
    arguments: Vec<(Argument<'t>, Span)>,
}

impl Stage<'_> {
    fn is_default(&self) -> bool {
        self.function.is_some_and(|(function, _)| matches!(function.call, Call::Default))
    }
}

enum Argument<'t> {
    Reference(&'t str),
    Text(Cow<'t, str>),
    Constant(Value),
    /// Calls in parentheses, and the position of their text.
    Calls(Pipeline<'t>, u32),
}

/// Parses calls and pipes; `None` for a plain reference.
pub(super) fn parse(content: &str) -> Result<Option<Pipeline<'_>>, Box<Diagnostic>> {
    parse_inside(content, 0)
}

fn parse_inside(content: &str, depth: usize) -> Result<Option<Pipeline<'_>>, Box<Diagnostic>> {
    if depth > DEEPEST {
        let message = format!("calls are nested more than {DEEPEST} deep");
        return Err(Box::new(Diagnostic::error(Kind::Syntax, Span::new(0, content.len()), message)));
    }
    let words = words(content)?;
    let mut stages = Vec::new();
    for stage in words.split(|(word, _)| *word == "|") {
        if stages.len() >= MAX_STAGES {
            let message = format!("more than {MAX_STAGES} functions are joined by `|`");
            let finding = Diagnostic::error(Kind::DepthLimit, Span::new(0, content.len()), message);
            return Err(Box::new(finding.with_help("keep the result in a variable: `{{$x := …}}`")));
        }
        stages.push(parse_stage(stage, content, stages.is_empty(), depth)?);
    }
    let plain = matches!(
        &stages[..],
        [Stage { function: None, arguments }] if matches!(arguments[..], [(Argument::Reference(_), _)])
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
        return Err(Box::new(Diagnostic::error(Kind::Syntax, span, "a value or a function is missing")));
    };
    if let Some(function) = FUNCTIONS.iter().find(|function| function.name == *word) {
        let arguments = rest.iter().map(|word| argument(*word, depth)).collect::<Result<_, _>>()?;
        return Ok(Stage { function: Some((function, *span)), arguments });
    }
    if first && rest.is_empty() {
        return Ok(Stage { function: None, arguments: vec![argument(words[0], depth)?] });
    }
    if word.contains('.') {
        let message = format!("`{word}` is a reference, but only a function can have arguments");
        return Err(Box::new(Diagnostic::error(Kind::UnknownFunction, *span, message)));
    }
    let finding = Diagnostic::error(Kind::UnknownFunction, *span, format!("unknown template function `{word}`"));
    Err(Box::new(finding.suggest(word, FUNCTIONS.iter().map(|function| function.name))))
}

fn argument((word, span): (&str, Span), depth: usize) -> Result<(Argument<'_>, Span), Box<Diagnostic>> {
    if let Some(inner) = word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return calls(inner, span, depth);
    }
    let quoted = word.len() >= 2 && word.starts_with(['"', '\'', '`']);
    let argument = if quoted {
        match crate::syntax::string_literal(word) {
            Some(text) => Argument::Text(text),
            None => return Err(Box::new(Diagnostic::error(Kind::Syntax, span, "the text is not closed"))),
        }
    } else if let Some(constant) = constant(word) {
        Argument::Constant(constant)
    } else {
        Argument::Reference(word)
    };
    Ok((argument, span))
}

/// Parses a number, a boolean or nil.
fn constant(word: &str) -> Option<Value> {
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "nil" => Some(Value::Null),
        word if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
            let float = || word.parse().ok().filter(|float: &f64| float.is_finite()).map(Value::Float);
            word.parse().ok().map(Value::Int).or_else(float)
        }
        _ => None,
    }
}

/// Parses the content of parentheses: calls, or a reference.
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

/// Splits content at blanks outside quotes and parentheses. `|` is always a separate word.
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
            return Err(Box::new(Diagnostic::error(Kind::Syntax, span, format!("the {what} is not closed"))));
        }
        words.push((&content[start..], span));
    }
    Ok(words)
}

impl Unit<'_> {
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline<'_>, place: Place) -> Id {
        let mut piped = None;
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let piped_last = stage.function.is_some_and(|(function, _)| function.piped_last);
            // The value that a default replaces may be missing, also if it is piped.
            let feeds_default = stage.function.is_none() && pipeline.stages.get(at + 1).is_some_and(Stage::is_default);
            let access = if stage.is_default() || feeds_default { Access::Absent } else { Access::Required };
            let arguments = stage.arguments.iter();
            let mut ids: Vec<Id> =
                arguments.map(|(argument, span)| self.argument(argument, *span, place, access)).collect();
            ids.splice(if piped_last { ids.len()..ids.len() } else { 0..0 }, piped);
            piped = Some(match stage.function {
                Some((function, span)) => self.template_call(function, place.of(span), &ids),
                None => ids[0],
            });
        }
        piped.unwrap_or(UNKNOWN)
    }

    fn argument(&mut self, argument: &Argument<'_>, span: Span, place: Place, access: Access) -> Id {
        match argument {
            Argument::Text(text) => self.program.constant(Value::from(&**text), place.of(span)),
            Argument::Constant(constant) => self.program.constant(constant.clone(), place.of(span)),
            Argument::Reference(reference) => self.template_reference(reference, place.after(span.start), access),
            Argument::Calls(calls, start) => self.pipeline(calls, place.after(*start)),
        }
    }

    fn template_call(&mut self, function: &Function, span: Span, arguments: &[Id]) -> Id {
        if !(function.least..=function.most).contains(&arguments.len()) {
            let wanted = match (function.least, function.most) {
                (least, MANY) => format!("at least {least}"),
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            let message = format!("{} takes {wanted} arguments, not {}", function.name, arguments.len());
            let finding = Diagnostic::error(Kind::WrongArity, span, message).renamed(Kind::BadTemplate);
            self.findings.push(finding);
            return UNKNOWN;
        }
        match function.call {
            Call::Builtin(builtin) => self.call_builtin(builtin, arguments, span),
            Call::Index => {
                let member = |unit: &mut Self, object, key| {
                    unit.program.emit(Node::Member { object, key, access: Access::Required }, span)
                };
                arguments[1..].iter().fold(arguments[0], |object, key| member(self, object, *key))
            }
            Call::ReadFile => self.read_file(arguments[0], span),
            Call::Slice => {
                let (from, to) = (arguments.get(1).copied(), arguments.get(2).copied());
                self.program.emit(Node::Slice { object: arguments[0], from, to }, span)
            }
            Call::Not => {
                let filled = self.program.emit(Node::Filled(arguments[0]), span);
                self.program.emit(Node::Not(filled), span)
            }
            Call::NotEqual => {
                let equal = self.call_builtin("templateEqual", arguments, span);
                self.program.emit(Node::Not(equal), span)
            }
            Call::Order(operator) => self.program.emit(Node::Binary(operator, arguments[0], arguments[1]), span),
            Call::Default => self.first_filled(&[arguments[1], arguments[0]], span, true),
            Call::Or => self.first_filled(arguments, span, true),
            Call::And => self.first_filled(arguments, span, false),
        }
    }

    fn call_builtin(&mut self, builtin: &str, arguments: &[Id], span: Span) -> Id {
        let arguments = self.program.ids(arguments);
        self.program.emit(Node::Call { builtin: builtins::inner(builtin), arguments }, span)
    }

    /// Compiles `or` and `and`: the first value that is not empty (or empty, for `and`), else the last. Later values are not evaluated.
    fn first_filled(&mut self, values: &[Id], span: Span, filled: bool) -> Id {
        let Some((last, before)) = values.split_last() else { return UNKNOWN };
        before.iter().rev().fold(*last, |rest, value| {
            let Some(local) = self.local(span) else { return UNKNOWN };
            let local_value = self.program.emit(Node::Local(local), span);
            let is_filled = self.program.emit(Node::Filled(local_value), span);
            let (then, otherwise) = if filled { (local_value, rest) } else { (rest, local_value) };
            let body = self.program.emit(Node::Conditional(is_filled, then, otherwise), span);
            self.program.emit(Node::Let { local, value: *value, body }, span)
        })
    }

    /// Compiles `readFile`. The host reads all files before the template is expanded, so a file cannot depend on blocks.
    fn read_file(&mut self, name: Id, span: Span) -> Id {
        if self.scope.is_in_block || self.reads_local(name) {
            let message =
                "readFile cannot be used inside a block or with a variable: files are read before blocks are expanded";
            let finding = Diagnostic::error(Kind::BadArgument, span, message).renamed(Kind::BadTemplate);
            self.findings
                .push(finding.with_help("read the file before the block: `{{$text := readFile inputs.file}}`"));
            return UNKNOWN;
        }
        let bind = self.options.bind;
        self.program.file(name, span, |name| Some(bind?.bind(&[name])?.slot))
    }

    /// Whether a value depends on a variable of the template.
    fn reads_local(&self, id: Id) -> bool {
        let mut stack = vec![id];
        while let Some(node) = stack.pop().and_then(|id| self.program.nodes.get(id as usize)) {
            if matches!(node, Node::Local(_)) {
                return true;
            }
            stack.extend(self.program.children(*node));
        }
        false
    }
}
