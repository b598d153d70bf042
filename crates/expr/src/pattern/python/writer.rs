//! The engine's pattern while it is written, in the forms it is needed in.

/// Writes the pattern twice, because look-around and references make a search slow on long texts.
#[derive(Default)]
pub(super) struct Writer {
    exact: String,
    /// The pattern without what makes an engine backtrack: wherever the exact one matches, this one does.
    rough: String,
    /// How many of the open groups look around; what is inside them is left out of the rough pattern.
    hidden: usize,
    /// Where each `$` belongs in the exact pattern; it is written at the end, when it is known what can follow it.
    dollars: Vec<usize>,
}

/// The finished forms.
#[derive(Debug)]
pub(super) struct EnginePatterns {
    /// For yes or no. A `$` after which nothing can come takes the final newline in, which needs no looking ahead.
    pub(super) search: String,
    /// For replacing. Every `$` looks ahead, so that the match ends before the newline.
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

    /// Leaves room for a `$` and tells its number.
    pub(super) fn dollar(&mut self) -> usize {
        self.dollars.push(self.exact.len());
        self.dollars.len() - 1
    }

    /// Writes every `$`; after those in `tails` nothing can come.
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
