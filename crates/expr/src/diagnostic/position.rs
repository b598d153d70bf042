//! Line and column numbers of many positions in one text.

/// The start of a text: line and column count from 1.
const FIRST: (usize, usize) = (1, 1);

/// The number of bytes between two marks.
const STRIDE: usize = 1024;

/// Finds lines and columns in a text that is read once. A lookup reads at most [`STRIDE`] bytes, however long the line is.
pub(super) struct Positions<'s> {
    source: &'s str,
    /// The line and column of every byte whose position is a multiple of the stride.
    marks: Vec<(usize, usize)>,
}

impl<'s> Positions<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let mut marks = Vec::with_capacity(source.len() / STRIDE + 1);
        let mut position = FIRST;
        for chunk in source.as_bytes().chunks(STRIDE) {
            marks.push(position);
            position = after(position, chunk);
        }
        if source.len().is_multiple_of(STRIDE) {
            marks.push(position);
        }
        Self { source, marks }
    }

    /// The line and column of a byte, counted from 1, columns in characters.
    pub(super) fn line_column(&self, at: usize) -> (usize, usize) {
        let (mark, rest) = self.nearest(self.source.floor_char_boundary(at));
        after(mark, rest)
    }

    /// The last mark before a byte, and the bytes between them.
    fn nearest(&self, at: usize) -> ((usize, usize), &'s [u8]) {
        let mark = at / STRIDE;
        (self.marks[mark], &self.source.as_bytes()[mark * STRIDE..at])
    }
}

/// The line and column of one byte, without building marks.
pub(super) fn line_column(source: &str, at: usize) -> (usize, usize) {
    after(FIRST, &source.as_bytes()[..source.floor_char_boundary(at)])
}

/// The position after some bytes. Continuation bytes of UTF-8 are not counted.
fn after((line, column): (usize, usize), bytes: &[u8]) -> (usize, usize) {
    let characters = |bytes: &[u8]| bytes.iter().filter(|byte| !matches!(byte, 0x80..0xC0)).count();
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        None => (line, column + characters(bytes)),
        Some(last) => {
            let lines = bytes[..last].split(|byte| *byte == b'\n').count();
            (line + lines, 1 + characters(&bytes[last + 1..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_change_no_position_and_bound_the_work() {
        let long_line = "ü".repeat(3 * STRIDE);
        let texts =
            ["", "\n", "a\nü\n\nb", &"\n".repeat(2 * STRIDE), &long_line, &format!("{long_line}\nx\n{long_line}")];
        for text in texts {
            let positions = Positions::new(text);
            for at in (0..text.len() + 3).step_by(7).chain([STRIDE - 1, STRIDE, STRIDE + 1, text.len()]) {
                assert_eq!(positions.line_column(at), line_column(text, at), "{at} of {}", text.len());
                assert!(positions.nearest(at.min(text.len())).1.len() < STRIDE);
            }
        }
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_column("a\nüb", 4), (2, 2));
        assert_eq!(line_column("a\nüb", 3), (2, 1));
        assert_eq!(line_column("a\n", 9), (2, 1));
    }
}
