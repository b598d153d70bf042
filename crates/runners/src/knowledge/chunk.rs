//! Splitting texts into passages that overlap.

/// How texts are split, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// The most bytes of a passage.
    pub passage: usize,
    /// The bytes of a passage that the next one repeats, so that a sentence at a boundary is complete in one of them.
    pub overlap: usize,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self { passage: 1_600, overlap: 200 }
    }
}

/// Places where a passage may end, the best first: before a heading, between paragraphs, lines, sentences and words.
const BREAKS: [&str; 7] = ["\n#", "\n\n", "\n", ". ", "? ", "! ", " "];

/// Splits a text into passages that are not blank. Each is a part of the text; together they cover it.
///
/// ```
/// use branchpoint_runners::knowledge::{ChunkSize, passages};
///
/// let size = ChunkSize { passage: 12, overlap: 0 };
/// assert_eq!(passages("One line.\nAnother one.", size), ["One line.", "Another one."]);
/// ```
pub fn passages(text: &str, size: ChunkSize) -> Vec<&str> {
    let mut passages = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = end(text, start, size.passage);
        let passage = text[start..end].trim();
        if !passage.is_empty() {
            passages.push(passage);
        }
        if end == text.len() {
            break;
        }
        start = next(text, start, end, size.overlap);
    }
    passages
}

/// The end of the passage that begins at `start`: at the best break in the second half of the passage, else where it is full.
fn end(text: &str, start: usize, most: usize) -> usize {
    let full = text.floor_char_boundary(start + most);
    // A character that is larger than a passage is not split.
    let full = if full <= start { text.ceil_char_boundary(start + 1) } else { full };
    if full == text.len() {
        return full;
    }
    let middle = text.ceil_char_boundary(start + (full - start) / 2);
    let window = &text[middle..full];
    let good = BREAKS.iter().find_map(|mark| {
        let at = window.rfind(mark)?;
        // A heading begins the next passage, and a full stop ends this one.
        Some(middle + at + mark.bytes().filter(|byte| *byte != b'#').count())
    });
    good.unwrap_or(full)
}

/// The start of the next passage: the overlap before the end of this one, at the beginning of a word.
fn next(text: &str, start: usize, end: usize, overlap: usize) -> usize {
    let back = text.ceil_char_boundary(end.saturating_sub(overlap));
    let is_word = text[..back].ends_with(char::is_whitespace);
    let word = if is_word { back } else { text[back..end].find(char::is_whitespace).map_or(end, |at| back + at) };
    // Every passage begins after the one before it.
    if word > start { word } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, passage: usize, overlap: usize) -> Vec<&str> {
        passages(text, ChunkSize { passage, overlap })
    }

    #[test]
    fn a_short_text_is_one_passage_and_a_blank_one_is_none() {
        assert_eq!(split(" one two ", 20, 5), ["one two"]);
        assert_eq!(split(" \n\n ", 20, 5), [""; 0]);
        assert_eq!(split("", 20, 5), [""; 0]);
    }

    #[test]
    fn passages_end_at_the_best_break_and_overlap() {
        assert_eq!(split("First part here.\n\nSecond part.", 24, 0), ["First part here.", "Second part."]);
        assert_eq!(split("intro text is\n# Heading\nmore", 20, 0), ["intro text is", "# Heading\nmore"]);
        assert_eq!(split("one two three four", 12, 6), ["one two", "two three", "three four"]);
        assert_eq!(split("One thing. Another one is long", 16, 0), ["One thing.", "Another one is", "long"]);
    }

    #[test]
    fn passages_cover_every_text_within_their_size() {
        let long = "ä".repeat(5_000);
        let words = "word ".repeat(3_000) + &"x".repeat(4_000) + "\n\n€ end";
        for text in [&*long, &*words, "😀😀😀😀", "a b c d e f", "\n\n\n\n\n\n"] {
            for (passage, overlap) in [(1, 0), (2, 1), (7, 3), (100, 20), (1_600, 200), (100, 99)] {
                let parts = split(text, passage, overlap);
                let mut position = 0;
                for part in &parts {
                    assert!(part.len() <= passage.max(4), "{} bytes of {passage}", part.len());
                    let at = part.as_ptr() as usize - text.as_ptr() as usize;
                    assert!(text.get(position..at).is_none_or(|gap| gap.trim().is_empty()), "nothing is left out");
                    position = at + part.len();
                }
                assert!(text[position..].trim().is_empty());
            }
        }
    }
}
