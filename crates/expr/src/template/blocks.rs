//! Parses blocks of templates into statements: `{{if …}}`, `{{range …}}`, `{{with …}}`, variables, comments and trim markers.

use super::placeholders::Part;
use crate::Kind;
use crate::diagnostic::{Diagnostic, Span};

/// The maximum nesting of blocks.
pub(super) const MAX_DEPTH: usize = 32;
/// The maximum number of `{{else if}}` of a block.
const MAX_CHAIN: usize = 100;

/// A statement of a template.
#[derive(Debug)]
pub(super) enum Statement<'t> {
    Text(&'t str, usize),
    Value(Action<'t>),
    /// `$x := v` declares a variable, `$x = v` changes one.
    Set {
        variable: &'t str,
        declares: bool,
        value: Action<'t>,
    },
    If(Block<'t>),
    With(Block<'t>),
    Range(Block<'t>),
    Break(Span),
    Continue(Span),
}

/// The content of a placeholder, and its position in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action<'t> {
    pub(super) content: &'t str,
    pub(super) start: usize,
}

/// A block: its head and its two bodies.
#[derive(Debug)]
pub(super) struct Block<'t> {
    /// The variables that the head declares: one, or the index and the element of a range.
    pub(super) variables: Vec<&'t str>,
    pub(super) head: Action<'t>,
    pub(super) body: Vec<Statement<'t>>,
    pub(super) otherwise: Vec<Statement<'t>>,
}

const CLOSE: &str = "write `{{end}}` after it; a secret cannot be inside a block";
const CLOSED: &str = "remove it; a secret cannot be inside a block";

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Whether a template has more than text and values, and so must be parsed by [`statements`].
pub(super) fn has_blocks(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| match part {
        Part::Text(_) => false,
        Part::Placeholder { content, .. } => {
            let (action, before, after) = strip_trim_markers(content, 0);
            before || after || names_variable(action.content) || is_comment(&action) || Keyword::of(&action).is_some()
        }
    })
}

/// Parses the parts of a text as statements.
pub(super) fn statements<'t>(text: &'t str, parts: &[Part<'t>]) -> Parsed<Vec<Statement<'t>>> {
    let mut reader = Reader { tokens: tokens(text, parts), at: 0, depth: 0, in_range: false };
    let all = reader.body()?;
    match reader.tokens.get(reader.at) {
        None => Ok(all),
        Some(token) => refuse(token.span(), "`{{else}}` or `{{end}}` without an open block", CLOSED),
    }
}

/// A piece of the text, after trim markers were applied.
enum Token<'t> {
    Text(&'t str, usize),
    Action(Action<'t>),
}

impl Token<'_> {
    fn span(&self) -> Span {
        match self {
            Self::Text(text, start) => Span::new(*start, start + text.len()),
            Self::Action(action) => action.span(),
        }
    }
}

impl Action<'_> {
    pub(super) fn span(&self) -> Span {
        Span::new(self.start, self.start + self.content.len())
    }
}

fn tokens<'t>(text: &'t str, parts: &[Part<'t>]) -> Vec<Token<'t>> {
    let mut tokens = Vec::new();
    let mut trims = false;
    for part in parts {
        match *part {
            Part::Text(span) => {
                let whole = span.text(text);
                let written = if trims { whole.trim_start() } else { whole };
                let start = span.start as usize + whole.len() - written.len();
                tokens.push(Token::Text(written, start));
                trims = false;
            }
            Part::Placeholder { content, start } => {
                let (action, before, after) = strip_trim_markers(content, start);
                if let (true, Some(Token::Text(written, _))) = (before, tokens.last_mut()) {
                    *written = written.trim_end();
                }
                trims = after;
                // A comment separates the texts around it, so that markers trim only adjacent text.
                tokens.push(if is_comment(&action) { Token::Text("", action.start) } else { Token::Action(action) });
            }
        }
    }
    tokens
}

/// Removes trim markers from the content of a placeholder, and returns whether there was one on each side. A space must separate
/// a marker from the content: `{{-3}}` is a number.
fn strip_trim_markers(content: &str, start: usize) -> (Action<'_>, bool, bool) {
    let space = char::is_whitespace;
    let before = content.strip_prefix('-').filter(|rest| rest.starts_with(space) || rest.is_empty());
    let inner = before.unwrap_or(content);
    let start = start + content.len() - inner.len();
    let after = inner.strip_suffix('-').filter(|rest| rest.ends_with(space));
    let inner = after.unwrap_or(inner);
    let blank = inner.len() - inner.trim_start().len();
    (Action { content: inner.trim(), start: start + blank }, before.is_some(), after.is_some())
}

fn is_comment(action: &Action<'_>) -> bool {
    action.content.starts_with("/*") && action.content.ends_with("*/")
}

/// Whether there is a `$` outside quotes.
fn names_variable(content: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for c in content.chars() {
        match quote {
            _ if std::mem::take(&mut escaped) => {}
            Some(open) if c == open => quote = None,
            Some(open) => escaped = c == '\\' && open != '`',
            None if c == '$' => return true,
            None if matches!(c, '"' | '\'' | '`') => quote = Some(c),
            None => {}
        }
    }
    false
}

/// The keywords of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    If,
    With,
    Range,
    Else,
    End,
    Break,
    Continue,
    Unsupported,
}

impl Keyword {
    fn of(action: &Action<'_>) -> Option<Self> {
        Some(match action.content.split(char::is_whitespace).next()? {
            "if" => Self::If,
            "with" => Self::With,
            "range" => Self::Range,
            "else" => Self::Else,
            "end" => Self::End,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" | "template" | "block" => Self::Unsupported,
            _ => return None,
        })
    }
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    in_range: bool,
}

impl<'t> Reader<'t> {
    /// Parses statements up to an `else`, an `end`, or the end of the text.
    fn body(&mut self) -> Parsed<Vec<Statement<'t>>> {
        let mut statements = Vec::new();
        while let Some(token) = self.tokens.get(self.at) {
            let action = match *token {
                Token::Text(text, start) => {
                    statements.push(Statement::Text(text, start));
                    self.at += 1;
                    continue;
                }
                Token::Action(action) => action,
            };
            let word = Keyword::of(&action);
            if matches!(word, Some(Keyword::Else | Keyword::End)) {
                break;
            }
            self.at += 1;
            statements.push(self.statement(action, word)?);
        }
        Ok(statements)
    }

    fn statement(&mut self, action: Action<'t>, word: Option<Keyword>) -> Parsed<Statement<'t>> {
        let in_range = |statement| {
            if self.in_range {
                return Ok(statement);
            }
            refuse(action.span(), "`break` and `continue` are for `range` blocks", "remove it")
        };
        match word {
            Some(Keyword::If) => self.block(action, false, (action, 0)).map(Statement::If),
            Some(Keyword::With) => self.block(action, false, (action, 0)).map(Statement::With),
            Some(Keyword::Range) => self.block(action, true, (action, 0)).map(Statement::Range),
            Some(Keyword::Break) => in_range(Statement::Break(action.span())),
            Some(Keyword::Continue) => in_range(Statement::Continue(action.span())),
            Some(Keyword::Unsupported) => {
                let word = action.content.split(char::is_whitespace).next().unwrap_or_default();
                let message = format!("`{word}` is not supported in templates");
                let finding = Diagnostic::error(Kind::Syntax, action.span(), message);
                let finding = finding.with_help("write the text where it is used");
                Err(Box::new(Diagnostic { detail: Some(Kind::Unsupported), ..finding }))
            }
            Some(Keyword::Else | Keyword::End) => unreachable!("they end a body"),
            None => match assignment(action) {
                Some((variables, declares, value)) => match variables[..] {
                    [variable] => Ok(Statement::Set { variable, declares, value }),
                    _ => refuse(
                        action.span(),
                        "only one variable can be set here",
                        "set each variable in its own braces",
                    ),
                },
                None => Ok(Statement::Value(action)),
            },
        }
    }

    /// Parses a block. `chain` is the action that begins the whole `if` chain, and the number of `else if` after it.
    fn block(&mut self, action: Action<'t>, is_range: bool, chain: (Action<'t>, usize)) -> Parsed<Block<'t>> {
        self.depth += usize::from(chain.1 == 0);
        if self.depth > MAX_DEPTH || chain.1 > MAX_CHAIN {
            let message = match chain.1 {
                0 => format!("blocks are nested more than {MAX_DEPTH} deep"),
                _ => format!("a block has more than {MAX_CHAIN} `else if`"),
            };
            let finding = Diagnostic::error(Kind::TemplateLimit, chain.0.span(), message);
            return Err(Box::new(finding.with_help("split the template")));
        }
        let (variables, head) = head(action, if is_range { 2 } else { 1 })?;
        // The `else` of a range is outside the range.
        let outer = self.in_range;
        self.in_range |= is_range;
        let body = self.body()?;
        self.in_range = outer;
        let otherwise = self.otherwise(is_range, chain)?;
        self.depth -= usize::from(chain.1 == 0);
        Ok(Block { variables, head, body, otherwise })
    }

    /// Parses the statements between `else` and `end`. `{{else if …}}` is an `if` in the `else` that ends with the same `end`.
    fn otherwise(&mut self, is_range: bool, chain: (Action<'t>, usize)) -> Parsed<Vec<Statement<'t>>> {
        let unclosed = || refuse(chain.0.span(), "the block has no `{{end}}`", CLOSE);
        let Some(Token::Action(action)) = self.tokens.get(self.at) else {
            return unclosed();
        };
        let action = *action;
        self.at += 1;
        if Keyword::of(&action) == Some(Keyword::End) {
            return Ok(Vec::new());
        }
        let rest = action.content["else".len()..].trim_start();
        let inner = Action { content: rest, start: action.start + action.content.len() - rest.len() };
        let next = (chain.0, chain.1 + 1);
        match Keyword::of(&inner) {
            _ if rest.is_empty() => {}
            Some(Keyword::If) if !is_range => return Ok(vec![Statement::If(self.block(inner, false, next)?)]),
            Some(Keyword::With) if !is_range => return Ok(vec![Statement::With(self.block(inner, false, next)?)]),
            _ => return refuse(inner.span(), "only `if` and `with` can follow `else`", "write `{{else}}`"),
        }
        let otherwise = self.body()?;
        match self.tokens.get(self.at) {
            Some(Token::Action(end)) if Keyword::of(end) == Some(Keyword::End) => {
                self.at += 1;
                Ok(otherwise)
            }
            Some(token) => refuse(token.span(), "the block has a second `{{else}}`", "remove one of them"),
            None => unclosed(),
        }
    }
}

/// Parses the variables and the value of a block's head.
fn head(action: Action<'_>, most: usize) -> Parsed<(Vec<&str>, Action<'_>)> {
    let word = action.content.split(char::is_whitespace).next().unwrap_or_default();
    let rest = action.content[word.len()..].trim_start();
    let rest = Action { content: rest, start: action.start + action.content.len() - rest.len() };
    if rest.content.is_empty() {
        return refuse(action.span(), format!("`{word}` needs a value"), format!("write `{{{{{word} value}}}}`"));
    }
    match assignment(rest) {
        Some((variables, true, value)) if variables.len() <= most => Ok((variables, value)),
        Some(_) => refuse(rest.span(), "the block cannot declare these variables", "write `$x := value`"),
        None => Ok((Vec::new(), rest)),
    }
}

/// Parses `$x := v`, `$i, $x := v` or `$x = v` into the variables, whether they are declared, and the value.
fn assignment(action: Action<'_>) -> Option<(Vec<&str>, bool, Action<'_>)> {
    let mut variables = Vec::new();
    let mut rest = action.content;
    loop {
        let name = rest.strip_prefix('$')?;
        let length = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        variables.push(&name[..length]);
        rest = name[length..].trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    let declares = rest.starts_with(":=");
    let value = rest.strip_prefix(":=").or_else(|| rest.strip_prefix('='))?.trim_start();
    let named = variables.iter().all(|variable| !variable.is_empty());
    let start = action.start + action.content.len() - value.len();
    named.then_some((variables, declares, Action { content: value, start }))
}

fn refuse<T>(span: Span, message: impl Into<String>, help: impl Into<String>) -> Parsed<T> {
    Err(Box::new(Diagnostic::error(Kind::Syntax, span, message).with_help(help)))
}
