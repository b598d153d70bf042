//! Values as words of a shell command. What a value holds is never a part of the command, wherever the author has put it.

/// One word for a shell, in quotes, whatever the text holds.
pub fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Where a command has come to: what is around the next thing that is put into it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// What was opened and not closed, the innermost last.
    open: Vec<Open>,
    /// Whether the last character takes its meaning from the next.
    escaped: bool,
    /// The character before, which tells where words and comments begin.
    before: Option<char>,
    /// What quotes mean nothing in, or cannot be followed in.
    closed: Option<&'static str>,
    /// The letters of the word that is being read.
    letters: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    Backtick,
    Parenthesis,
}

impl Command {
    /// Goes on with more of the command, as the author has written it.
    pub fn read(&mut self, text: &str) {
        for next in text.chars() {
            self.step(next);
            self.before = Some(next);
        }
    }

    /// What stands before and after a word that is put in here: quotes around it are left for it and opened again behind it.
    ///
    /// # Errors
    ///
    /// The name of the place, if no word can be put there safely.
    pub fn around(&self) -> Result<(&'static str, &'static str), &'static str> {
        // Backticks read what is in them once more, quotes or not.
        let backticks = self.open.contains(&Open::Backtick).then_some("a command in backticks");
        match (self.closed.or(backticks), self.open.last()) {
            (Some(place), _) => Err(place),
            // The character before would take the quote for itself; so it stands for itself.
            (None, Some(Open::Double)) if self.escaped => Ok(("\\\"", "\"")),
            (None, _) if self.escaped => Ok(("\\", "")),
            (None, Some(Open::Double)) => Ok(("\"", "\"")),
            (None, Some(Open::Single)) => Ok(("'", "'")),
            (None, _) => Ok(("", "")),
        }
    }

    /// A word was put in: what comes next stands behind it.
    pub fn put_in(&mut self) {
        self.escaped = false;
        self.before = Some('\'');
        self.letters.clear();
    }

    fn step(&mut self, next: char) {
        if self.closed == Some(COMMENT) && next == '\n' {
            self.closed = None;
        }
        if self.closed.is_some() || std::mem::take(&mut self.escaped) {
            return;
        }
        let inside = self.open.last().copied();
        match (inside, next) {
            (Some(Open::Single), '\'')
            | (Some(Open::Double), '"')
            | (Some(Open::Backtick), '`')
            | (Some(Open::Parenthesis), ')') => {
                self.open.pop();
            }
            (Some(Open::Single), _) => {}
            (_, '\\') => self.escaped = true,
            (_, '`') => self.open.push(Open::Backtick),
            (_, '(') if inside != Some(Open::Double) || self.before == Some('$') => self.open.push(Open::Parenthesis),
            (Some(Open::Double), _) => {}
            (_, '\'') if self.before == Some('$') => self.closed = Some("a text in $'...'"),
            (_, '\'') => self.open.push(Open::Single),
            (_, '"') => self.open.push(Open::Double),
            (_, '#') if self.before.is_none_or(|before| before.is_whitespace() || ";&|(".contains(before)) => {
                self.closed = Some(COMMENT);
            }
            (_, '<') if self.before == Some('<') => self.closed = Some("a here-document"),
            _ => {}
        }
        self.watch(inside, next);
    }

    /// The patterns of a `case` end with a parenthesis that nothing opens, so inside of others it cannot be told where those end.
    fn watch(&mut self, inside: Option<Open>, next: char) {
        if next.is_ascii_alphabetic() {
            self.letters.push(next);
            return;
        }
        if std::mem::take(&mut self.letters) == "case" && inside == Some(Open::Parenthesis) {
            self.closed = Some("a command that `case` is in");
        }
    }
}

const COMMENT: &str = "a comment";

#[cfg(test)]
mod tests {
    use super::*;

    /// The command with a word at each `@`.
    fn filled(written: &str, value: &str) -> Result<String, &'static str> {
        let (mut command, mut filled) = (Command::default(), String::new());
        for (index, part) in written.split('@').enumerate() {
            if index > 0 {
                let (before, after) = command.around()?;
                filled += &[before, &word(value), after].concat();
                command.put_in();
            }
            command.read(part);
            filled += part;
        }
        Ok(filled)
    }

    #[test]
    fn quotes_around_a_word_are_left_for_it() {
        assert_eq!(filled("echo @", "a b").unwrap(), "echo 'a b'");
        assert_eq!(filled(r#"echo "<@>""#, "$(id)").unwrap(), r#"echo "<"'$(id)'">""#);
        assert_eq!(filled("echo '<@>'", "it's").unwrap(), r"echo '<''it'\''s''>'");
        assert_eq!(filled(r#"echo "$(cat @)""#, "f").unwrap(), r#"echo "$(cat 'f')""#);
        assert_eq!(filled(r#"echo "a\"@""#, "f").unwrap(), r#"echo "a\""'f'"""#);
    }

    #[test]
    fn no_word_stands_where_quotes_mean_nothing() {
        for (written, place) in [
            ("true # @", "a comment"),
            ("cat <<END\n@\nEND", "a here-document"),
            (r"echo $'\'@'", "a text in $'...'"),
            (r#"echo "`date` `cat "@"`""#, "a command in backticks"),
            (r#"echo "$(case x in a) echo @;; esac)""#, "a command that `case` is in"),
        ] {
            assert_eq!(filled(written, "x"), Err(place), "{written}");
        }
        assert!(filled("true # not here\necho @ a#@", "x").is_ok());
    }
}
