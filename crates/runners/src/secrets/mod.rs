//! Secret values: filled in when a call is made, and masked in logs and traces. Data contains only references to them.

mod encoding;
mod finder;
mod redact;
pub(crate) mod redact_stream;
mod shared;
mod unwrap;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use branchpoint_core::effect::{
    Body, Content, HttpResponse, ModelResult, PathKey, ProcessResult, SecretForm, SecretText, Stream,
};
use branchpoint_core::ir::{Program, ViewId};
use branchpoint_core::shell;
use branchpoint_core::{AttemptError, State, view};
use branchpoint_expr::{Object, Value};

use crate::local::SecretStore;
use crate::runner::Answer;
pub use encoding::Encoding;
use finder::BEGINNING_BYTES;
pub use finder::{Finder, PartialSecret, SecretMatch};
pub use redact::Untruncated;
pub use shared::SharedSecrets;

/// The text that replaces a secret.
pub const MASK: &str = "***";
const PREFIXES: [&str; 4] = ["SECRET_", "API_KEY", "PASSWORD", "TOKEN"];

/// Words in the names of secret headers and variables. Separators in a name are ignored.
const WORDS: [&str; 4] = ["APIKEY", "PASSWORD", "SECRET", "TOKEN"];

/// A set of secret values, the longest first because one may be a part of another.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
    /// Finds them in a text in every encoding; created when it is first needed.
    finder: OnceLock<Option<Arc<Finder>>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} secrets", self.values.len())
    }
}

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Eq for Secrets {}

impl Secrets {
    /// The values of inputs with secret names, such as `api_key`, including the values inside lists and objects. Secret names inside an input
    /// count too (`metadata.api_key`), but for text only: numbers there are mostly counts, such as `token_count`.
    ///
    /// ```
    /// use branchpoint_expr::{Object, Value};
    /// use branchpoint_runners::Secrets;
    ///
    /// let inputs: Object = [("api_key".into(), "pa55word".into()), ("name".into(), "Ada".into())].into_iter().collect();
    /// assert_eq!(Secrets::of(&Value::from(inputs)).values(), ["pa55word"]);
    /// ```
    pub fn of(inputs: &Value) -> Self {
        let mut secrets = Self::default();
        for (name, value) in inputs.as_object().into_iter().flatten() {
            let mut texts = Vec::new();
            secret_texts(value, is_secret_input(name), is_secret_input(name), &mut texts);
            secrets.add(texts);
        }
        secrets
    }

    /// The secrets in a program: defaults of inputs with secret names.
    ///
    /// ```
    /// use branchpoint_core::ir::builder::Builder;
    /// use branchpoint_runners::Secrets;
    ///
    /// assert!(Secrets::in_program(&Builder::sample()).values().is_empty());
    /// ```
    pub fn in_program(program: &Program) -> Self {
        let defaults = program.views.iter().position(|view| &*view.name == "defaults");
        let defaults = defaults.and_then(|id| u32::try_from(id).ok()).map(ViewId);
        defaults
            .and_then(|id| view(program, &State::new(), id).ok())
            .map(|inputs| Self::of(&inputs))
            .unwrap_or_default()
    }

    /// The secrets in the environment of this process: variables with secret names, and the variables in `named`. Short values are left out,
    /// because other texts contain them by accident.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::of_environment(&["PATH".into()].into());
    /// assert!(!secrets.values().is_empty());
    /// ```
    pub fn of_environment(named: &BTreeSet<String>) -> Self {
        const LETTERS: usize = 8;
        let secret =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let secret = secret
            .filter(|(name, value)| (named.contains(name) || is_secret_name(name)) && value.trim().len() >= LETTERS);
        Self::from_values(secret.map(|(_, value)| value.trim().to_owned()))
    }

    /// A set of values.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55word".into()]);
    /// assert_eq!(secrets.mask("my pa55word"), "my ***");
    /// ```
    pub fn from_values(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets = Self::default();
        secrets.add(values);
        secrets
    }

    /// The values, the longest first: one secret may be the beginning of another.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::from_values(["short".into(), "longer one".into()]);
    /// assert_eq!(secrets.values(), ["longer one", "short"]);
    /// ```
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Adds values, such as those of a host's store. Blank ones are ignored.
    ///
    /// ```
    /// let mut secrets = branchpoint_runners::Secrets::default();
    /// secrets.add(["pa55word", " "]);
    /// assert_eq!(secrets.values().len(), 1);
    /// ```
    pub fn add(&mut self, values: impl IntoIterator<Item = impl Into<String>>) {
        let before = self.values.len();
        self.values.extend(values.into_iter().map(Into::into).filter(|value| !value.trim().is_empty()));
        if self.values.len() == before {
            return;
        }
        self.values.sort_by(|a, b| (Reverse(a.len()), a).cmp(&(Reverse(b.len()), b)));
        self.values.dedup();
        self.finder = OnceLock::new();
    }

    /// Masks the secrets in an answer. It is for the secrets that a call was given: an answer that repeats them must not be stored with them.
    pub(crate) fn mask_answer(&self, answer: Answer) -> Answer {
        if self.values.is_empty() {
            return answer;
        }
        let text = |text: &Arc<str>| Arc::from(self.mask(text).as_ref());
        let failed = |failed: AttemptError| AttemptError { message: text(&failed.message), ..failed };
        match answer {
            Answer::Model(result) => Answer::Model(ModelResult { value: self.mask_value(&result.value), ..result }),
            Answer::Data(content) => Answer::Data(Content { value: self.mask_value(&content.value), ..content }),
            Answer::Http(HttpResponse { status, headers, body }) => {
                let headers = self.mask_value(&Value::from(headers)).as_object().cloned().unwrap_or_default();
                let body = match body {
                    Body::Text(body) => Body::Text(text(&body)),
                    Body::Decoded(value) => Body::Decoded(self.mask_value(&value)),
                };
                Answer::Http(HttpResponse { status, headers, body })
            }
            Answer::Process(ProcessResult { exit_code, stdout, stderr, cut }) => {
                let cut_text = |stream, whole: &Arc<str>| {
                    if cut == Some(stream) { self.mask_truncated(whole).into() } else { text(whole) }
                };
                let (stdout, stderr) = (cut_text(Stream::Out, &stdout), cut_text(Stream::Err, &stderr));
                Answer::Process(ProcessResult { exit_code, stdout, stderr, cut })
            }
            Answer::Failed(why) => Answer::Failed(failed(why)),
            Answer::Spent { failed: why, usage } => Answer::Spent { failed: failed(why), usage },
            Answer::Judged { result, usage } => {
                Answer::Judged { result: result.map(|value| self.mask_value(&value)).map_err(failed), usage }
            }
            Answer::Missing => Answer::Missing,
        }
    }

    /// Masks secrets in a text, in every encoding, and beginnings of secrets before a `…`. Values should still be masked before they are
    /// truncated, because a beginning without `…` is not recognised.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55 word".into()]);
    /// assert_eq!(secrets.mask("?key=pa55%20word"), "?key=***");
    /// ```
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask_from(text, 0)
    }

    /// A truncated text without a partial secret at its end. Complete secrets stay.
    pub(crate) fn without_partial_secret(&self, text: String) -> String {
        let end = self.partial_secret(&text).hidden_from;
        if text.len() - end < BEGINNING_BYTES { text } else { format!("{}{MASK}", &text[..end]) }
    }

    /// Masks the secrets in a truncated text, including a partial secret at its end.
    fn mask_truncated(&self, text: &str) -> String {
        let end = self.partial_secret(text).hidden_from;
        let masked = self.mask(&text[..end]).into_owned();
        if end < text.len() { masked + MASK } else { masked }
    }

    /// Masks the secrets in a text and returns the text from an offset on. Secrets that begin before the offset are recognised.
    pub(crate) fn mask_from<'t>(&self, text: &'t str, from: usize) -> Cow<'t, str> {
        let mut ranges = self.finder().map(|finder| finder.find(text)).unwrap_or_default();
        ranges.retain(|secret| secret.end > from);
        if ranges.is_empty() {
            return Cow::Borrowed(&text[from..]);
        }
        let mut masked = String::with_capacity(text.len() - from);
        let mut copied_to = from;
        for secret in ranges {
            masked.push_str(&text[copied_to..secret.start.max(copied_to)]);
            masked.push_str(MASK);
            copied_to = secret.end;
        }
        masked.push_str(&text[copied_to..]);
        Cow::Owned(masked)
    }

    /// Masks the secrets in a value at any depth, including keys. A number that is a secret becomes text.
    ///
    /// ```
    /// use branchpoint_expr::Value;
    ///
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55word".into()]);
    /// assert_eq!(secrets.mask_value(&vec![Value::from("pa55word")].into()), vec![Value::from("***")].into());
    /// ```
    #[must_use]
    pub fn mask_value(&self, value: &Value) -> Value {
        if self.values.is_empty() { value.clone() } else { self.mask_parts(value, &mut HashMap::new()) }
    }

    /// Masked lists and objects are cached by identity, so that a shared one is masked once.
    fn mask_parts(&self, value: &Value, masked: &mut HashMap<usize, Value>) -> Value {
        let identity = match value {
            Value::Str(text) => {
                return match self.mask(text) {
                    Cow::Borrowed(_) => value.clone(),
                    Cow::Owned(masked) => Value::from(masked),
                };
            }
            Value::Int(_) | Value::Float(_) if self.values.contains(&value.to_string()) => return Value::from(MASK),
            Value::List(items) => items.identity(),
            Value::Object(fields) => fields.identity(),
            _ => return value.clone(),
        };
        if let Some(masked) = masked.get(&identity) {
            return masked.clone();
        }
        let result = if let Value::Object(fields) = value {
            let fields = fields.iter().map(|(key, value)| (self.mask(key).into(), self.mask_parts(value, masked)));
            Value::from(fields.collect::<Object>())
        } else {
            let items = value.as_list().unwrap_or_default().iter();
            Value::from(items.map(|item| self.mask_parts(item, masked)).collect::<Vec<_>>())
        };
        masked.insert(identity, result.clone());
        result
    }

    /// The end of a text that must be held back because it may be the beginning of a secret.
    ///
    /// ```
    /// let secrets = branchpoint_runners::Secrets::from_values(["pa55word".into()]);
    /// assert_eq!(secrets.partial_secret("it is pa55").hidden_from, 6);
    /// ```
    pub fn partial_secret(&self, text: &str) -> PartialSecret {
        let nothing = || PartialSecret { hidden_from: text.len(), needed_from: text.len() };
        self.finder().map_or_else(nothing, |finder| finder.partial_secret(text))
    }

    /// The length of the longest encoded secret, with line breaks.
    ///
    /// ```
    /// assert_eq!(branchpoint_runners::Secrets::default().longest(), 0);
    /// ```
    pub fn longest(&self) -> usize {
        self.finder().map_or(0, Finder::longest)
    }

    fn finder(&self) -> Option<&Finder> {
        self.finder.get_or_init(|| Finder::of(&self.values).map(Arc::new)).as_deref()
    }
}

/// Whether an input is secret by its name, in upper or lower case.
pub(crate) fn is_secret_input(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a header or an environment variable is secret by its name, in upper or lower case. Such names are not chosen by the author of
/// the workflow, so the words may be anywhere in them.
///
/// ```
/// use branchpoint_runners::is_secret_name;
///
/// assert!(is_secret_name("X-Api-Key") && !is_secret_name("Accept"));
/// ```
pub fn is_secret_name(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Fills the secrets that a call names into its input. Returns the input and the values of these secrets.
///
/// The places of secrets are defined by the effect, never by data; see [`SecretText`]. Everything else is left unchanged, even if it looks
/// like a reference.
///
/// # Errors
///
/// The store does not have a secret, or a secret cannot be inserted at its place.
///
/// ```
/// use std::sync::Arc;
///
/// use branchpoint_core::effect::{SecretForm, SecretText};
/// use branchpoint_expr::Value;
///
/// let form = SecretForm::Credential { before: "Bearer ".into(), secret: "TOKEN".into() };
/// let texts = [SecretText { at: vec!["authorization".into()], form }];
/// let store: branchpoint_runners::SecretStore = Arc::new(|name| (name == "TOKEN").then(|| "pa55word".into()));
/// let (filled, used) = branchpoint_runners::resolve(&Value::Null, &texts, &store)?;
/// assert_eq!(filled.get("authorization"), Some(&"Bearer pa55word".into()));
/// # Ok::<(), String>(())
/// ```
pub fn resolve(input: &Value, texts: &[SecretText], store: &SecretStore) -> Result<(Value, Vec<String>), String> {
    let mut known = Vec::new();
    let mut input = input.clone();
    for SecretText { at, form } in texts {
        input = match form {
            SecretForm::Plain | SecretForm::ShellWord => {
                let is_word = *form == SecretForm::ShellWord;
                change_at(&input, at, &mut |parts| joined(parts, store, is_word, &mut known))?
            }
            SecretForm::Credential { before, secret } => {
                let value = store(secret).ok_or_else(|| missing(secret))?;
                known.push(value.clone());
                insert_at(&input, at, Value::from(format!("{before}{value}")))
            }
        };
    }
    Ok((input, known))
}

fn missing(name: &str) -> String {
    format!("the secret `{name}` is not set; set it in the environment or in the file of `[secrets]`")
}

/// Inserts a value at a path. Missing objects on the path are created.
fn insert_at(value: &Value, path: &[PathKey], more: Value) -> Value {
    let Some((PathKey::Field(key), rest)) = path.split_first() else { return more };
    let mut fields = value.as_object().cloned().unwrap_or_default();
    let within = insert_at(fields.get(key).unwrap_or(&Value::Null), rest, more);
    fields.insert(key.clone(), within);
    Value::from(fields)
}

/// Changes the value at a path. A path that does not exist changes nothing.
fn change_at(
    value: &Value,
    path: &[PathKey],
    change: &mut dyn FnMut(&Value) -> Result<Value, String>,
) -> Result<Value, String> {
    let Some((key, rest)) = path.split_first() else { return change(value) };
    match (value, key) {
        (Value::Object(fields), PathKey::Field(key)) if fields.contains_key(key) => {
            let mut fields = Object::clone(fields);
            fields[key] = change_at(&fields[key], rest, change)?;
            Ok(Value::from(fields))
        }
        (Value::List(items), PathKey::Item(at)) => {
            let mut items = items.to_vec();
            if let Some(item) = usize::try_from(*at).ok().and_then(|at| items.get_mut(at)) {
                *item = change_at(item, rest, change)?;
            }
            Ok(Value::from(items))
        }
        _ => Ok(value.clone()),
    }
}

/// Joins parts of text and references to secrets. Secrets in shell commands are quoted; the quoted form is added to `known`, so that it is
/// masked too.
fn joined(
    parts: &Value,
    store: &SecretStore,
    is_read_by_shell: bool,
    known: &mut Vec<String>,
) -> Result<Value, String> {
    let Some(parts) = parts.as_list() else { return Ok(parts.clone()) };
    let mut text = String::new();
    let mut command = shell::Command::default();
    for (at, part) in parts.iter().enumerate() {
        let Some(name) = part.get("secret").and_then(Value::as_str).filter(|_| at % 2 == 1) else {
            let part = part.to_string();
            command.read(&part);
            text.push_str(&part);
            continue;
        };
        let secret = store(name).ok_or_else(|| missing(name))?;
        if is_read_by_shell {
            let around = command.word_quotes();
            let (before, after) = around.map_err(|place| format!("the secret `{name}` cannot be put into {place}"))?;
            let word = shell::word(&secret);
            text.extend([before, &word, after]);
            command.insert_word();
            known.extend(Some(word).filter(|word| !word.contains(&secret)));
        } else {
            text.push_str(&secret);
        }
        known.push(secret);
    }
    Ok(Value::from(text))
}

/// Collects the texts under secret names in a value, and the numbers if `has_numbers`. Booleans and null are not secrets: masking them
/// would hide half of every trace.
fn secret_texts(value: &Value, is_named: bool, has_numbers: bool, texts: &mut Vec<String>) {
    match value {
        Value::Str(text) if is_named => texts.push(text.to_string()),
        Value::Int(_) | Value::Float(_) if is_named && has_numbers => texts.push(value.to_string()),
        Value::List(items) => items.iter().for_each(|item| secret_texts(item, is_named, has_numbers, texts)),
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, value)| secret_texts(value, is_named || is_secret_input(name), has_numbers, texts));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
