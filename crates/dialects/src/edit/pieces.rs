//! A changed text as pieces of its source and new text, from which the edits of the source follow.

use std::ops::Range;

use super::TextEdit;

/// A text while it is edited.
pub(super) struct Pieces(Vec<Piece>);

enum Piece {
    Source(Range<usize>),
    New(String),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Source(range) => range.len(),
            Self::New(text) => text.len(),
        }
    }

    fn part(&self, range: Range<usize>) -> Self {
        match self {
            Self::Source(source) => Self::Source(source.start + range.start..source.start + range.end),
            Self::New(text) => Self::New(text[range].to_owned()),
        }
    }
}

impl Pieces {
    pub(super) fn new(source: &str) -> Self {
        let length = source.len();
        Self(vec![Piece::Source(0..length)])
    }

    /// Applies replacements of the present text, which are sorted and do not overlap.
    pub(super) fn replace(&mut self, edits: &[(Range<usize>, String)]) {
        let old = std::mem::take(&mut self.0);
        let mut reader = PieceReader { pieces: &old, piece: 0, used: 0, at: 0 };
        for (range, by) in edits {
            reader.copy_to(range.start, Some(&mut self.0));
            reader.copy_to(range.end, None);
            if !by.is_empty() {
                self.0.push(Piece::New(by.clone()));
            }
        }
        reader.copy_to(usize::MAX, Some(&mut self.0));
    }

    /// The edits that make the text from its source, in the order of the source.
    pub(super) fn edits(&self, source: &str) -> Vec<TextEdit> {
        let mut edits = Vec::new();
        let (mut at, mut pending) = (0, String::new());
        let end = Piece::Source(source.len()..source.len());
        for piece in self.0.iter().chain([&end]) {
            match piece {
                Piece::New(text) => pending.push_str(text),
                Piece::Source(range) => {
                    edits.extend(trimmed(source, at..range.start, &pending));
                    pending.clear();
                    at = range.end;
                }
            }
        }
        edits
    }
}

/// Reads pieces once, from the first to the last.
struct PieceReader<'p> {
    pieces: &'p [Piece],
    piece: usize,
    /// The bytes of the present piece that are read.
    used: usize,
    at: usize,
}

impl PieceReader<'_> {
    /// Copies or skips what is before a position.
    fn copy_to(&mut self, end: usize, mut out: Option<&mut Vec<Piece>>) {
        while let Some(piece) = self.pieces.get(self.piece).filter(|_| self.at < end) {
            let step = (piece.len() - self.used).min(end - self.at);
            if let Some(out) = out.as_mut().filter(|_| step > 0) {
                out.push(piece.part(self.used..self.used + step));
            }
            self.at += step;
            self.used += step;
            if self.used == piece.len() {
                (self.piece, self.used) = (self.piece + 1, 0);
            }
        }
    }
}

/// The edit of a range without what is the same at its beginning and its end; none if nothing differs.
fn trimmed(source: &str, range: Range<usize>, text: &str) -> Option<TextEdit> {
    let old = &source[range.clone()];
    let start: usize = old.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (&old[start..], &text[start..]);
    let end: usize =
        old.chars().rev().zip(new.chars().rev()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let edit = TextEdit { start: range.start + start, end: range.end - end, text: new[..new.len() - end].to_owned() };
    (edit.start < edit.end || !edit.text.is_empty()).then_some(edit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_edits_are_edits_of_the_source() {
        let source = "one two three";
        let mut pieces = Pieces::new(source);
        pieces.replace(&[(0..0, "zero ".to_owned()), (4..7, "2".to_owned())]);
        // The text is "zero one 2 three".
        pieces.replace(&[(5..9, String::new()), (9..10, "II".to_owned()), (16..16, " four".to_owned())]);
        let edits = pieces.edits(source);
        let mut text = source.to_owned();
        for edit in edits.iter().rev() {
            text.replace_range(edit.start..edit.end, &edit.text);
        }
        assert_eq!(text, "zero II three four");
        assert_eq!(edits.len(), 2);
        assert_eq!(trimmed(source, 4..7, "two"), None);
    }
}
