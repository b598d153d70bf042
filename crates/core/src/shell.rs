//! Safe insertion of values into shell commands. A value is always one quoted word and never shell syntax.
//!
//! The parser follows only the grammar that all shells share: quotes, escapes, comments, and simple substitutions. A value inside or
//! after any other syntax is rejected.

use branchpoint_expr::Escape;
pub use branchpoint_expr::shell_word as word;

/// Returns an escaper for the values of placeholders in a shell command, for [`Form::Escaped`](branchpoint_expr::Form::Escaped).
///
/// ```
/// use branchpoint_core::shell;
///
/// let mut escape = shell::escape();
/// escape.text("echo \"");
/// assert_eq!(escape.value(), Ok(("\"", "\"")));
/// ```
pub fn escape() -> Box<dyn Escape> {
    Box::new(Command::default())
}

impl Escape for Command {
    fn text(&mut self, text: &str) {
        self.read(text);
    }

    fn value(&mut self) -> Result<(&'static str, &'static str), String> {
        let quotes = self.word_quotes();
        self.insert_word();
        quotes.map_err(|place| format!("a value cannot be inserted into {place}, because quoting does not work there"))
    }

    fn help(&self) -> &'static str {
        "pass the value in `env` or `stdin`"
    }
}

/// The syntactic state at the end of a command that is being assembled: the context of the next inserted word.
#[derive(Clone, Debug, Default)]
pub struct Command {
    state: State,
    /// The content of the current substitution.
    substitution: String,
    /// Whether the position is inside a word. A comment can only begin outside of words.
    in_word: bool,
    /// Whether the word has an unquoted bracket, so that the rest may be arithmetic.
    has_bracket: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text(Quote),
    Single,
    /// After a backslash.
    Escaped(Quote),
    /// After a dollar sign.
    Dollar(Quote),
    /// After a character that may begin an operator: `(`, `<` and `>`.
    Operator(char),
    /// After `>&` or `<&`, and whether the number of a descriptor, or `-`, has begun.
    Descriptor(bool),
    Comment,
    /// In a simple substitution that ends with this character, and the quotes that enclose it.
    Substitution(char, Quote),
    /// After syntax that the parser does not follow, with its name.
    Unsupported(&'static str),
}

impl Default for State {
    fn default() -> Self {
        Self::Text(Quote::None)
    }
}

/// Whether a substitution with this character stays simple: the character cannot begin or end a quote, a substitution or a comment.
fn is_simple(next: char) -> bool {
    next.is_ascii_alphanumeric() || " _-+.,:/=%@*?".contains(next)
}

impl Command {
    /// Reads the next part of the command, as its author wrote it.
    ///
    /// ```
    /// use branchpoint_core::shell::Command;
    ///
    /// let mut command = Command::default();
    /// command.read("echo 'hello");
    /// assert!(command.is_quoted());
    /// ```
    pub fn read(&mut self, text: &str) {
        for next in text.chars() {
            self.state = match self.state {
                State::Text(quote) => self.text(quote, next),
                State::Single if next == '\'' => State::Text(Quote::None),
                // A continued line does not end the word.
                State::Escaped(quote) if next == '\n' => State::Text(quote),
                State::Escaped(quote) => self.within(quote),
                State::Dollar(quote) => self.dollar(quote, next),
                State::Operator(first) => self.operator(first, next),
                State::Descriptor(has_begun) => self.descriptor(has_begun, next),
                State::Comment if next == '\n' => State::Text(Quote::None),
                State::Substitution(end, quote) if next == end => self.substituted(quote),
                State::Substitution(..) if !is_simple(next) => State::Unsupported(SUBSTITUTION),
                State::Substitution(end, quote) => {
                    self.substitution.push(next);
                    State::Substitution(end, quote)
                }
                same => same,
            };
        }
    }

    /// The text before and after a word inserted here: it closes the quotes that enclose the word and opens them again.
    ///
    /// # Errors
    ///
    /// The name of the syntax, if no word can be inserted safely.
    ///
    /// ```
    /// use branchpoint_core::shell::{Command, word};
    ///
    /// let mut command = Command::default();
    /// command.read("echo \"Hello ");
    /// let (before, after) = command.word_quotes().unwrap();
    /// assert_eq!([before, &word("$(id)"), after].concat(), "\"'$(id)'\"");
    /// ```
    pub fn word_quotes(&self) -> Result<(&'static str, &'static str), &'static str> {
        match self.state {
            State::Text(Quote::None) | State::Operator(_) if self.has_bracket => Err("brackets"),
            State::Text(Quote::None) | State::Operator('(') => Ok(("", "")),
            State::Text(Quote::Double) => Ok(("\"", "\"")),
            State::Single => Ok(("'", "'")),
            State::Operator(_) => Ok((" ", "")),
            State::Escaped(_) => Err("the place after a backslash"),
            State::Dollar(_) => Err("the place after a dollar sign"),
            State::Descriptor(_) => Err(REDIRECTION),
            State::Comment => Err("a comment"),
            State::Substitution(..) => Err(SUBSTITUTION),
            State::Unsupported(place) => Err(place),
        }
    }

    /// Whether the command continues inside quotes.
    ///
    /// ```
    /// use branchpoint_core::shell::Command;
    ///
    /// let mut command = Command::default();
    /// command.read("echo \"");
    /// assert!(command.is_quoted());
    /// ```
    pub fn is_quoted(&self) -> bool {
        matches!(self.state, State::Single | State::Text(Quote::Double))
    }

    /// Records that a word was inserted here.
    ///
    /// ```
    /// use branchpoint_core::shell::Command;
    ///
    /// let mut command = Command::default();
    /// command.read("cat <");
    /// command.insert_word();
    /// assert_eq!(command.word_quotes(), Ok(("", "")));
    /// ```
    pub fn insert_word(&mut self) {
        self.in_word = true;
        if let State::Operator(_) = self.state {
            self.state = State::Text(Quote::None);
        }
    }

    fn text(&mut self, quote: Quote, next: char) -> State {
        match (quote, next) {
            (_, '\\') => return State::Escaped(quote),
            (_, '$') => {
                self.in_word = true;
                return State::Dollar(quote);
            }
            (_, '`') => return State::Substitution('`', quote),
            (Quote::Double, '"') => return self.within(Quote::None),
            (Quote::None, '"') => return self.within(Quote::Double),
            (Quote::None, '\'') => {
                self.in_word = true;
                return State::Single;
            }
            (Quote::None, '#') if !self.in_word => return State::Comment,
            (Quote::None, '(' | '<' | '>') => {
                self.end_word();
                return State::Operator(next);
            }
            (Quote::None, '[') => self.has_bracket = true,
            (Quote::None, ' ' | '\t' | '\n' | ';' | '&' | '|' | ')') => {
                self.end_word();
                return State::Text(quote);
            }
            _ => {}
        }
        self.within(quote)
    }

    fn dollar(&mut self, quote: Quote, next: char) -> State {
        match next {
            '(' => State::Substitution(')', quote),
            '{' => State::Substitution('}', quote),
            '[' => State::Unsupported(SUBSTITUTION),
            '\'' if quote == Quote::None => State::Unsupported("a text in $'...'"),
            // A parameter of one character, such as `$$`, is complete.
            '$' | '#' | '*' | '?' | '!' | '-' | '@' => self.within(quote),
            next => self.text(quote, next),
        }
    }

    fn operator(&mut self, first: char, next: char) -> State {
        match (first, next) {
            ('(', '(') => State::Unsupported("arithmetic"),
            ('<', '<') => State::Unsupported("a here-document"),
            ('<' | '>', '&') => State::Descriptor(false),
            (_, next) => self.text(Quote::None, next),
        }
    }

    /// Reads the number of a descriptor after `>&`. Some shells evaluate this operand once more, so anything else is rejected.
    fn descriptor(&mut self, has_begun: bool, next: char) -> State {
        match next {
            '0'..='9' | '-' => State::Descriptor(true),
            ' ' | '\t' if !has_begun => State::Descriptor(false),
            ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>' if has_begun => self.text(Quote::None, next),
            _ => State::Unsupported(REDIRECTION),
        }
    }

    /// Ends a substitution. A `case` pattern ends with an unpaired parenthesis, which does not end the substitution.
    fn substituted(&mut self, quote: Quote) -> State {
        let content = std::mem::take(&mut self.substitution);
        if content.split_whitespace().any(|word| word == "case") {
            State::Unsupported(SUBSTITUTION)
        } else {
            self.within(quote)
        }
    }

    fn within(&mut self, quote: Quote) -> State {
        self.in_word = true;
        State::Text(quote)
    }

    fn end_word(&mut self) {
        (self.in_word, self.has_bracket) = (false, false);
    }
}

const REDIRECTION: &str = "a redirection";
const SUBSTITUTION: &str = "a substitution, or the text after one that is not simple";

#[cfg(test)]
mod tests {
    use super::*;

    /// Replaces each `@@` of a command by the value as a word.
    fn filled(written: &str, value: &str) -> Result<String, &'static str> {
        let (mut command, mut filled) = (Command::default(), String::new());
        for (index, part) in written.split("@@").enumerate() {
            if index > 0 {
                let (before, after) = command.word_quotes()?;
                filled += &[before, &word(value), after].concat();
                command.insert_word();
            }
            command.read(part);
            filled += part;
        }
        Ok(filled)
    }

    #[test]
    fn quotes_are_closed_before_a_word_and_opened_after_it() {
        assert_eq!(filled("echo @@", "a b").unwrap(), "echo 'a b'");
        assert_eq!(filled(r#"echo "<@@>""#, "$(id)").unwrap(), r#"echo "<"'$(id)'">""#);
        assert_eq!(filled("echo '<@@>'", "it's").unwrap(), r"echo '<''it'\''s''>'");
        assert_eq!(
            filled(r#"D=$(date +%s); echo "${D} @@" $D/@@"#, "f").unwrap(),
            r#"D=$(date +%s); echo "${D} "'f'"" $D/'f'"#
        );
        assert_eq!(filled(r#"echo "a\"@@""#, "f").unwrap(), r#"echo "a\""'f'"""#);
        assert!(filled("true # isn't it\n(echo @@ a#@@) | [ @@ = x ]", "x").is_ok());
    }

    #[test]
    fn a_word_may_follow_a_redirection_to_a_descriptor() {
        for written in [
            "echo >&2 @@",
            "echo 2>&1 @@",
            "cat <&3 @@",
            "cat 3<&- @@",
            "echo >& 2 @@",
            "(echo >&2)@@",
            "echo >&2;@@",
            "echo >&2\n@@",
            "echo >&2 \"@@\"",
            "echo a >&2 # b\n@@",
            "echo 2>&1 >@@",
            "echo >&2>@@",
        ] {
            assert!(filled(written, "x").is_ok(), "{written}: {:?}", filled(written, "x"));
        }
        assert_eq!(filled("echo >&2 @@", "a b").unwrap(), "echo >&2 'a b'");
    }

    #[test]
    fn a_word_is_rejected_where_quoting_does_not_work() {
        for written in [
            "true # @@",
            "echo >&@@",
            "echo >& @@",
            "cat <&@@",
            "echo >&2@@",
            "echo >&-@@",
            "echo >&$x @@",
            "echo >&x @@",
            "echo >&2#@@",
            "cat <<END\n@@\nEND",
            r"echo $'\'@@'",
            "echo `cat @@`",
            r#"echo "$(cat @@)""#,
            r#"echo "\\$(@@)""#,
            r#"echo "${x:-@@}""#,
            "echo $((@@ + 1))",
            "((y=@@))",
            "echo $[@@]",
            "a[@@]=1",
            r"echo \@@",
            "echo $@@",
            r#"echo "$(echo ${x%)} '@@')""#,
            r#"echo "$(case x in a) echo @@;; esac)""#,
        ] {
            assert!(filled(written, "x").is_err(), "{written}: {:?}", filled(written, "x"));
        }
    }
}
