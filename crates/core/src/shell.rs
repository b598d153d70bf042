//! Values as words of a shell command. What a value holds is never a part of the command, wherever the author has put it.
//!
//! Only as much of a shell's grammar is followed as is the same everywhere: quotes, escapes, comments, and substitutions that are
//! plain. Where a value stands in anything else, or behind something that was not followed, it is refused.

use branchpoint_expr::Escape;
pub use branchpoint_expr::shell_word as word;

/// Escapes the values of placeholders in a shell command: [`Form::Escaped`](branchpoint_expr::Form::Escaped) takes it.
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
        let around = self.word_quotes();
        self.insert_word();
        around.map_err(|place| format!("a value cannot be put into {place}, where the shell does not read quotes"))
    }

    fn help(&self) -> &'static str {
        "hand it over in `env` or `stdin`"
    }
}

/// Where a command has come to: what is around the next thing that is put into it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    state: State,
    /// What the substitution holds that is being read.
    held: String,
    /// Whether a word begins here: only there a comment can.
    in_word: bool,
    /// Whether the word has a bracket that is not in quotes: what follows may be arithmetic.
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
    /// Behind a backslash.
    Escaped(Quote),
    /// Behind a dollar sign.
    Dollar(Quote),
    /// Behind characters that may begin something else: `(`, `<` and `>`.
    Behind(char),
    /// Behind `>&` or `<&`, and whether the number of a descriptor, or `-`, has begun.
    Descriptor(bool),
    Comment,
    /// In a substitution that ends with this character, if it is plain, and with this around it.
    Plain(char, Quote),
    /// From here on nothing is known.
    Lost(&'static str),
}

impl Default for State {
    fn default() -> Self {
        Self::Text(Quote::None)
    }
}

/// What a plain substitution holds: nothing that a quote, a substitution or a comment could begin or end with.
fn is_plain(next: char) -> bool {
    next.is_ascii_alphanumeric() || " _-+.,:/=%@*?".contains(next)
}

impl Command {
    /// Reads more of the command, as its author wrote it.
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
                // A line that goes on with the next is one word if it was one before.
                State::Escaped(quote) if next == '\n' => State::Text(quote),
                State::Escaped(quote) => self.within(quote),
                State::Dollar(quote) => self.dollar(quote, next),
                State::Behind(first) => self.behind(first, next),
                State::Descriptor(has_begun) => self.descriptor(has_begun, next),
                State::Comment if next == '\n' => State::Text(Quote::None),
                State::Plain(end, quote) if next == end => self.substituted(quote),
                State::Plain(..) if !is_plain(next) => State::Lost(SUBSTITUTION),
                State::Plain(end, quote) => {
                    self.held.push(next);
                    State::Plain(end, quote)
                }
                same => same,
            };
        }
    }

    /// The text before and after a word that is put in here: it closes the quotes around the word and opens them again.
    ///
    /// # Errors
    ///
    /// The name of the place, if no word can be put there safely.
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
            State::Text(Quote::None) | State::Behind(_) if self.has_bracket => Err("brackets"),
            State::Text(Quote::None) | State::Behind('(') => Ok(("", "")),
            State::Text(Quote::Double) => Ok(("\"", "\"")),
            State::Single => Ok(("'", "'")),
            State::Behind(_) => Ok((" ", "")),
            State::Escaped(_) => Err("a place behind a backslash"),
            State::Dollar(_) => Err("a place behind a dollar sign"),
            State::Descriptor(_) => Err(REDIRECTION),
            State::Comment => Err("a comment"),
            State::Plain(..) => Err(SUBSTITUTION),
            State::Lost(place) => Err(place),
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

    /// Notes that a word was put in here.
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
        if let State::Behind(_) = self.state {
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
            (_, '`') => return State::Plain('`', quote),
            (Quote::Double, '"') => return self.within(Quote::None),
            (Quote::None, '"') => return self.within(Quote::Double),
            (Quote::None, '\'') => {
                self.in_word = true;
                return State::Single;
            }
            (Quote::None, '#') if !self.in_word => return State::Comment,
            (Quote::None, '(' | '<' | '>') => {
                self.end_word();
                return State::Behind(next);
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
            '(' => State::Plain(')', quote),
            '{' => State::Plain('}', quote),
            '[' => State::Lost(SUBSTITUTION),
            '\'' if quote == Quote::None => State::Lost("a text in $'...'"),
            // A parameter of one character, such as `$$`, begins nothing.
            '$' | '#' | '*' | '?' | '!' | '-' | '@' => self.within(quote),
            next => self.text(quote, next),
        }
    }

    fn behind(&mut self, first: char, next: char) -> State {
        match (first, next) {
            ('(', '(') => State::Lost("arithmetic"),
            ('<', '<') => State::Lost("a here-document"),
            ('<' | '>', '&') => State::Descriptor(false),
            (_, next) => self.text(Quote::None, next),
        }
    }

    /// What follows `>&` is the number of a descriptor, not a file. Some shells evaluate it once more, so only numbers are followed.
    fn descriptor(&mut self, has_begun: bool, next: char) -> State {
        match next {
            '0'..='9' | '-' => State::Descriptor(true),
            ' ' | '\t' if !has_begun => State::Descriptor(false),
            ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' | '<' | '>' if has_begun => self.text(Quote::None, next),
            _ => State::Lost(REDIRECTION),
        }
    }

    /// The patterns of a `case` end with a parenthesis that nothing opens, so that is not the end of what `case` is in.
    fn substituted(&mut self, quote: Quote) -> State {
        let held = std::mem::take(&mut self.held);
        if held.split_whitespace().any(|word| word == "case") { State::Lost(SUBSTITUTION) } else { self.within(quote) }
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
const SUBSTITUTION: &str = "a substitution, or behind one that is not plain";

#[cfg(test)]
mod tests {
    use super::*;

    /// The command with a word at each `@@`.
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
    fn quotes_around_a_word_are_left_for_it() {
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
    fn no_word_stands_where_quotes_mean_nothing() {
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
