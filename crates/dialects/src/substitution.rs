//! Warns about data in shell commands: a value that is not quoted for the shell can run any command.

use std::path::Path;

use branchpoint_core::shell;
use branchpoint_core::variables::{is_identifier, is_reserved};
use branchpoint_expr::{
    Diagnostic, Dialect, Expression, Form, Kind, Located, Options, Piece, Reference, Shape, Substitution,
};

use crate::DocumentKinds as _;

/// Programs that read a command in the argument after `-c`.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish"];

const ESCAPE: &str = "write `{{escape …}}` or `{{… | escape}}`, without quotes around it";
const NO_QUOTES: &str = "remove the quotes around the placeholder: `escape` adds its own";
const ARGUMENT: &str = "pass the value as an argument: `\"$1\"` in the command, and after it `sh` and the placeholder";

/// Warnings about the placeholders of a shell command that insert unquoted values. `is_safe` returns whether the
/// value of a name is never data: a number, or a word of the document.
pub(crate) fn check_command(
    command: &Located,
    dialect: Dialect,
    is_safe: impl Fn(&Reference) -> bool,
) -> Vec<Diagnostic> {
    let mut shell = shell::Command::default();
    let mut findings = Vec::new();
    // A command that names secrets of the host is a list of texts and secrets.
    for part in command.items().unwrap_or_else(|| std::slice::from_ref(command)) {
        if !matches!(part.shape, Shape::Str { .. }) {
            shell.insert_word();
            continue;
        }
        // Compile errors are reported elsewhere.
        let Ok(text) = Expression::with_form(part, Form::Text, Options::dialect(dialect)) else { return findings };
        for piece in text.pieces() {
            match piece {
                Piece::Text(text) => shell.read(&text),
                Piece::Value(value) => {
                    findings.extend(finding(&value, shell.is_quoted(), &is_safe));
                    shell.insert_word();
                }
            }
        }
    }
    findings
}

fn finding(value: &Substitution, is_quoted: bool, is_safe: &impl Fn(&Reference) -> bool) -> Option<Diagnostic> {
    if value.is_escaped {
        let message = format!(
            "`escape` of `{}` adds quotes of its own, and inside quotes the shell reads them as text or ends the quotes",
            names(value)
        );
        let finding = Diagnostic::warning(Kind::EscapeInQuotes, value.span, message).with_help(NO_QUOTES);
        return is_quoted.then_some(finding);
    }
    is_data(value, is_safe).then(|| {
        let message = format!("`{}` becomes a part of the shell command, and whatever it holds can run", names(value));
        let help = match input_variable(value) {
            Some(name) => format!("{ESCAPE}; or read the environment variable `\"${name}\"`"),
            None => ESCAPE.to_owned(),
        };
        Diagnostic::warning(Kind::UnquotedSubstitution, value.span, message).with_help(help)
    })
}

fn is_data(value: &Substitution, is_safe: &impl Fn(&Reference) -> bool) -> bool {
    !value.is_plain && !value.references.iter().all(is_safe)
}

/// The names that a value refers to.
fn names(value: &Substitution) -> String {
    // The content of a file is named after the file.
    let written = value.references.iter().filter(|reference| !reference.parts[0].starts_with("file:"));
    written.map(|reference| reference.parts.join(".")).collect::<Vec<_>>().join("`, `")
}

/// The environment variable that has the same value.
fn input_variable(value: &Substitution) -> Option<&str> {
    let [reference] = &value.references[..] else { return None };
    let name = match &reference.parts[..] {
        [root, name] if matches!(&**root, "inputs" | "env") => name,
        _ => return None,
    };
    (is_identifier(name) && !is_reserved(name)).then_some(&**name)
}

/// Warnings about a program and its arguments that are a shell with a command: `["sh", "-c", "echo {{input}}"]`.
pub(crate) fn check_arguments(
    words: &[&Located],
    dialect: Dialect,
    is_safe: impl Fn(&Reference) -> bool,
) -> Option<Diagnostic> {
    let literal = |word: &Located| word.text().filter(|text| !text.contains("{{")).cloned();
    let program = literal(words.first()?)?;
    let name = Path::new(&*program).file_name()?.to_str()?;
    let is_command_flag = |word: &&&Located| {
        literal(word).is_some_and(|flag| flag.starts_with('-') && !flag.starts_with("--") && flag.contains('c'))
    };
    let flag = words.iter().skip(1).position(|word| is_command_flag(&word))? + 1;
    let command = words.get(flag + 1).filter(|_| SHELLS.contains(&name))?;
    let text = Expression::with_form(command, Form::Text, Options::dialect(dialect)).ok()?;
    let value = text.pieces().into_iter().find_map(|piece| match piece {
        Piece::Value(value) if is_data(&value, &is_safe) => Some(value),
        _ => None,
    })?;
    let value_names = names(&value);
    let message = format!("`{value_names}` becomes a part of a command of `{name}`, and whatever it holds can run");
    Some(Diagnostic::warning(Kind::UnquotedSubstitution, value.span, message).with_help(ARGUMENT))
}
