//! Splits a response into server-sent events, in bounded memory and linear time.

use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, LinesCodec, LinesCodecError};

/// The most bytes of one line, and of the data of one event. An image fits.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Reads the data of server-sent events. Their names and ids are ignored: providers repeat them in the data.
pub(super) struct EventReader {
    buffer: BytesMut,
    lines: LinesCodec,
    /// The data of the current event.
    data: Option<String>,
}

impl Default for EventReader {
    fn default() -> Self {
        Self { buffer: BytesMut::new(), lines: LinesCodec::new_with_max_length(MAX_EVENT_BYTES), data: None }
    }
}

impl EventReader {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The data of the next complete event, if there is one. The end of the response completes the last.
    pub(super) fn next(&mut self, is_end: bool) -> Result<Option<String>, LinesCodecError> {
        while let Some(line) = self.line(is_end)? {
            if line.is_empty() && self.data.is_some() {
                return Ok(self.data.take());
            }
            self.add(&line)?;
        }
        Ok(self.data.take_if(|_| is_end))
    }

    fn line(&mut self, is_end: bool) -> Result<Option<String>, LinesCodecError> {
        if is_end { self.lines.decode_eof(&mut self.buffer) } else { self.lines.decode(&mut self.buffer) }
    }

    fn add(&mut self, line: &str) -> Result<(), LinesCodecError> {
        let Some(value) = line.strip_prefix("data:") else { return Ok(()) };
        let value = value.strip_prefix(' ').unwrap_or(value);
        let data = match self.data.take() {
            Some(data) => data + "\n" + value,
            None => value.to_owned(),
        };
        let is_too_long = data.len() > MAX_EVENT_BYTES;
        self.data = Some(data);
        if is_too_long { Err(LinesCodecError::MaxLineLengthExceeded) } else { Ok(()) }
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
            while let Some(data) = reader.next(false).expect("it is short") {
                events.push(data);
            }
        }
        events.extend(reader.next(true).expect("it is short"));
        events
    }

    #[test]
    fn events_are_the_same_however_lines_end_and_wherever_chunks_are_cut() {
        let text = "\n: comment\nevent: x\ndata: one\n\nid: 1\ndata:two\ndata: three\n\n\ndata: l\u{e4}st";
        for ending in ["\n", "\r\n"] {
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
        assert_eq!(reader.next(false).expect("it may end here"), None);
        reader.push(b"x");
        assert!(matches!(reader.next(false), Err(LinesCodecError::MaxLineLengthExceeded)));
        let mut reader = EventReader::default();
        reader.push(format!("data:{line}\ndata:{line}\n").as_bytes());
        assert!(matches!(reader.next(false), Err(LinesCodecError::MaxLineLengthExceeded)));
        reader = EventReader::default();
        reader.push(b"data: \xff\n");
        assert!(matches!(reader.next(false), Err(LinesCodecError::Io(_))));
    }
}
