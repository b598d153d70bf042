//! The character classes of RE2: in brackets, Perl and Unicode.

use super::Translator;
use crate::pattern::PatternError;
use crate::pattern::scanner::{Scanner, literal, quote};

/// The short names of general categories, without surrogates (`Cs`), which no text contains.
const CATEGORIES: [&str; 37] = [
    "C", "Cc", "Cf", "Cn", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs", "LC",
];
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

impl Translator<'_> {
    /// Translates a class, after its `[`.
    pub(super) fn class(&mut self) -> Result<(), PatternError> {
        self.out.push('[');
        if self.scan.eat("^") {
            self.out.push('^');
        }
        // A `]` in the first position is literal.
        let mut first = true;
        while first || !self.scan.eat("]") {
            first = false;
            self.refuse_set_operation()?;
            self.class_item()?;
        }
        self.out.push(']');
        Ok(())
    }

    fn class_item(&mut self) -> Result<(), PatternError> {
        if self.posix()? {
            return Ok(());
        }
        let mark = self.scan.mark();
        if self.scan.eat("\\") {
            match self.scan.next() {
                Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => {
                    push_perl(&mut self.out, c);
                    return Ok(());
                }
                Some(c @ ('p' | 'P')) => return push_unicode(&mut self.scan, &mut self.out, c == 'P'),
                _ => self.scan.back_to(mark),
            }
        }
        let low = self.class_char()?;
        self.refuse_set_operation()?;
        self.out.push_str(&literal(low));
        if self.scan.rest().starts_with("-]") || !self.scan.eat("-") {
            return Ok(());
        }
        let high = self.class_char()?;
        if high < low {
            return self.scan.fail("the range in brackets runs backwards");
        }
        self.out.push('-');
        self.out.push_str(&literal(high));
        Ok(())
    }

    fn class_char(&mut self) -> Result<char, PatternError> {
        match self.scan.next() {
            None => self.scan.fail("`[` is not closed"),
            Some('\\') => match self.scan.next() {
                None => self.scan.fail("`[` is not closed"),
                Some(c) => self.escaped(c),
            },
            Some(c) => Ok(c),
        }
    }

    /// Rejects doubled signs, which are set operations in other engines. In RE2 they are members of the class, which is rarely what
    /// the author means.
    fn refuse_set_operation(&mut self) -> Result<(), PatternError> {
        for sign in ["&&", "--", "~~"] {
            if self.scan.eat(sign) {
                let escaped = &sign[..1];
                return self
                    .scan
                    .fail(&format!("`{sign}` in brackets: set operations are not supported; write `\\{escaped}`"));
            }
        }
        Ok(())
    }

    /// Translates `[:alpha:]` and `[:^alpha:]`. `[:` without an end is two characters.
    fn posix(&mut self) -> Result<bool, PatternError> {
        let mark = self.scan.mark();
        let named = if self.scan.eat("[:") { self.scan.until(":]") } else { None };
        let Some(name) = named else {
            self.scan.back_to(mark);
            return Ok(false);
        };
        if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return self.scan.fail(&format!("{} is not the name of a class", quote(name)));
        }
        self.out.extend(["[:", name, ":]"]);
        Ok(true)
    }
}

/// Writes `\d`, `\s`, `\w` and their opposites, which are ASCII, and `\s` without the vertical tab.
pub(super) fn push_perl(out: &mut String, letter: char) {
    out.push_str(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r\x20]",
        'S' => r"[^\t\n\x0C\r\x20]",
        'w' => "[0-9A-Za-z_]",
        _ => "[^0-9A-Za-z_]",
    });
}

/// Translates the name after `\p` or `\P`: `L`, `{Lu}`, `{Greek}`, `{^Greek}`. RE2 supports only categories and scripts.
pub(super) fn push_unicode(scan: &mut Scanner<'_>, out: &mut String, opposite: bool) -> Result<(), PatternError> {
    let name = if scan.eat("{") { scan.until("}") } else { Some(scan.take_while(1, |_| true)) };
    let Some(name) = name else {
        return scan.fail("`{` is not closed");
    };
    let (name, opposite) = match name.strip_prefix('^') {
        Some(name) => (name, !opposite),
        None => (name, opposite),
    };
    let key = if name == "Any" {
        ""
    } else if CATEGORIES.contains(&name) {
        "gc="
    } else if name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
        "sc="
    } else {
        return scan.fail(&format!("{} is not a Unicode category or script", quote(name)));
    };
    out.extend([if opposite { r"\P{" } else { r"\p{" }, key, name, "}"]);
    Ok(())
}
