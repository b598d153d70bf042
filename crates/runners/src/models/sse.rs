//! Splits a response into server-sent events, in bounded memory and linear time.

/// The most bytes of one line, and of the data of one event. An image fits.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Reads the data of server-sent events. Their names and ids are ignored: providers repeat them in the data.
#[derive(Default)]
pub(super) struct EventReader {
    buffer: Vec<u8>,
    /// Where the current line starts in the buffer.
    start: usize,
    /// How far the buffer was searched for the end of that line.
    searched: usize,
    /// Whether the last line ended with CR: an LF right after it belongs to the same line ending.
    after_cr: bool,
    /// The data of the current event.
    data: Option<Vec<u8>>,
}

/// A line or an event has more than [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLong;

impl EventReader {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// The data of the next complete event, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, EventTooLong> {
        while let Some((start, end)) = self.line()? {
            if start < end {
                self.field(start, end)?;
            } else if self.data.is_some() {
                return Ok(self.data.take());
            }
        }
        Ok(None)
    }

    /// The data of an event that the end of the response completes.
    pub(super) fn finish(mut self) -> Result<Option<Vec<u8>>, EventTooLong> {
        self.field(self.start, self.buffer.len())?;
        Ok(self.data)
    }

    /// The next complete line, without its ending.
    fn line(&mut self) -> Result<Option<(usize, usize)>, EventTooLong> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.start;
            }
        }
        let found = self.buffer[self.searched..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(length) = found else {
            self.searched = self.buffer.len();
            return if self.searched - self.start > MAX_EVENT_BYTES { Err(EventTooLong) } else { Ok(None) };
        };
        let line = (self.start, self.searched + length);
        self.after_cr = self.buffer[line.1] == b'\r';
        self.start = line.1 + 1;
        self.searched = self.start;
        Ok(Some(line))
    }

    fn field(&mut self, start: usize, end: usize) -> Result<(), EventTooLong> {
        let Some(value) = self.buffer[start..end].strip_prefix(b"data:") else { return Ok(()) };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        if self.data.as_ref().is_some_and(|data| data.len() > MAX_EVENT_BYTES) { Err(EventTooLong) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a text that arrives in pieces of a size.
    fn events(text: &str, piece: usize) -> Vec<String> {
        let mut reader = EventReader::default();
        let mut events = Vec::new();
        for piece in text.as_bytes().chunks(piece) {
            reader.push(piece);
            while let Some(data) = reader.next().expect("it is short") {
                events.push(data);
            }
        }
        events.extend(reader.finish().expect("it is short"));
        events.into_iter().map(|data| String::from_utf8(data).expect("this is text")).collect()
    }

    #[test]
    fn events_are_the_same_however_lines_end_and_wherever_chunks_are_cut() {
        let text = "\n: comment\nevent: x\ndata: one\n\nid: 1\ndata:two\ndata: three\n\n\ndata: l\u{e4}st";
        for ending in ["\n", "\r\n", "\r"] {
            let text = text.replace('\n', ending);
            for piece in 1..=text.len() {
                assert_eq!(events(&text, piece), ["one", "two\nthree", "l\u{e4}st"], "{ending:?} {piece}");
            }
        }
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let line = "x".repeat(MAX_EVENT_BYTES / 2);
        let mut reader = EventReader::default();
        reader.push(format!("{line}{line}").as_bytes());
        assert_eq!(reader.next(), Ok(None));
        reader.push(b"x");
        assert_eq!(reader.next(), Err(EventTooLong));
        let mut reader = EventReader::default();
        reader.push(format!("data:{line}\ndata:{line}\n").as_bytes());
        assert_eq!(reader.next(), Err(EventTooLong));
    }
}
