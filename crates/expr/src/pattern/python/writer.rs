//! Writes the engine's pattern in the forms that searching and replacing need.

/// Writes an exact and a rough pattern, because look-around and references make searches of long texts slow.
#[derive(Default)]
pub(super) struct Writer {
    exact: String,
    /// The pattern without anything that needs backtracking. It matches wherever the exact pattern matches.
    rough: String,
    /// The number of open look-around groups, whose content is omitted from the rough pattern.
    hidden: usize,
    /// The position of each `$` in the exact pattern. They are written last, when it is known whether anything follows them.
    dollars: Vec<usize>,
}

/// The finished patterns.
#[derive(Debug)]
pub(super) struct EnginePatterns {
    /// For searches. A `$` at the end consumes the final newline, which needs no look-ahead.
    pub(super) search: String,
    /// For replacements. Every `$` is a look-ahead, so that the match ends before the newline.
    pub(super) replace: String,
    pub(super) rough: String,
}

impl Writer {
    pub(super) fn push(&mut self, text: &str) {
        self.push_two(text, text);
    }

    pub(super) fn push_two(&mut self, exact: &str, rough: &str) {
        self.exact.push_str(exact);
        if self.hidden == 0 {
            self.rough.push_str(rough);
        }
    }

    pub(super) fn open_look_around(&mut self, exact: &str) {
        self.push_two(exact, "");
        self.hidden += 1;
    }

    pub(super) fn close_look_around(&mut self) {
        self.hidden -= 1;
        self.push_two(")", "");
    }

    /// Adds a `$` and returns its number.
    pub(super) fn dollar(&mut self) -> usize {
        self.dollars.push(self.exact.len());
        self.dollars.len() - 1
    }

    /// Writes every `$`. Nothing can follow those in `tails`.
    pub(super) fn finish(self, tails: &[usize]) -> EnginePatterns {
        let mut is_tail = vec![false; self.dollars.len()];
        for tail in tails {
            is_tail[*tail] = true;
        }
        let (mut search, mut replace, mut from) = (String::new(), String::new(), 0);
        for (at, is_tail) in self.dollars.iter().zip(is_tail) {
            let before = &self.exact[from..*at];
            search.extend([before, if is_tail { r"(?:\n?\z)" } else { r"(?=\n?\z)" }]);
            replace.extend([before, r"(?=\n?\z)"]);
            from = *at;
        }
        search.push_str(&self.exact[from..]);
        replace.push_str(&self.exact[from..]);
        EnginePatterns { search, replace, rough: self.rough }
    }
}
