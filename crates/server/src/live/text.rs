//! Texts of models while they stream.

use std::collections::HashMap;

use branchpoint_core::EffectNo;

use crate::app::App;

/// The longest text of one call that is streamed, in bytes. The whole text is in the output of the step.
const LONGEST: usize = 256 * 1024;

/// The maximum number of calls whose texts stream at the same time.
const CALLS: usize = 1_024;

/// The size of all these texts in bytes. What exceeds it is not streamed.
const ALL_BYTES: usize = 32 * 1024 * 1024;

/// A piece of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextPiece<'t> {
    /// The next part.
    Next(&'t str),
    /// The text begins again.
    Restart,
    /// The text is complete.
    End,
}

/// The texts of calls while they stream.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    texts: HashMap<(String, EffectNo), StreamedText>,
    /// The size of all texts.
    bytes: usize,
}

/// The text of one call, kept whole until the call is over: a client that comes later needs its beginning.
#[derive(Debug, Default)]
struct StreamedText {
    text: String,
    /// The size of the published part.
    published: usize,
    /// The length of the published part in UTF-16 units, as pages count.
    offset: usize,
    /// A piece has exceeded a limit. The pieces after it would continue another text.
    is_full: bool,
    is_over: bool,
    is_changed: bool,
}

/// What there is to publish of the text of one call.
#[derive(Debug)]
pub(super) struct TextUpdate {
    pub(super) run: String,
    pub(super) effect: EffectNo,
    /// The new part, and its offset.
    pub(super) piece: Option<(String, usize)>,
    /// The whole text, for clients that have followed a run since the last update.
    pub(super) whole: Option<String>,
}

impl TextBuffer {
    fn add(&mut self, run: &str, effect: EffectNo, piece: TextPiece<'_>) {
        let key = (run.to_owned(), effect);
        if !self.texts.contains_key(&key) && self.texts.len() >= CALLS {
            return;
        }
        let streamed = self.texts.entry(key).or_default();
        match piece {
            TextPiece::Next(text) => {
                streamed.is_full |= streamed.text.len() + text.len() > LONGEST || self.bytes + text.len() > ALL_BYTES;
                if !streamed.is_full {
                    self.bytes += text.len();
                    streamed.text.push_str(text);
                    streamed.is_changed = true;
                }
            }
            TextPiece::Restart => {
                self.bytes -= streamed.text.len();
                *streamed = StreamedText { is_changed: true, ..StreamedText::default() };
            }
            TextPiece::End => streamed.is_over = true,
        }
    }

    /// The updates to publish. They count as published from now on.
    pub(super) fn take(&mut self, with_whole: bool) -> Vec<TextUpdate> {
        let mut updates = Vec::new();
        let Self { texts, bytes } = self;
        texts.retain(|(run, effect), streamed| {
            let piece = streamed.take_piece();
            let whole = with_whole.then(|| streamed.text.clone()).filter(|text| !text.is_empty());
            if piece.is_some() || whole.is_some() {
                updates.push(TextUpdate { run: run.clone(), effect: *effect, piece, whole });
            }
            if streamed.is_over {
                *bytes -= streamed.text.len();
            }
            !streamed.is_over
        });
        updates
    }
}

impl StreamedText {
    fn take_piece(&mut self) -> Option<(String, usize)> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let text = self.text[self.published..].to_owned();
        let offset = self.offset;
        self.published = self.text.len();
        self.offset += text.encode_utf16().count();
        Some((text, offset))
    }
}

impl App {
    /// Takes a piece of the text of a call. It returns quickly, because the call waits for it.
    pub(crate) fn add_text(&self, run: &str, effect: EffectNo, piece: TextPiece<'_>) {
        let mut text = self.live.text.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        text.add(run, effect, piece);
        drop(text);
        self.live.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(buffer: &mut TextBuffer) -> Vec<(String, usize)> {
        buffer.take(false).into_iter().filter_map(|update| update.piece).collect()
    }

    #[test]
    fn texts_are_published_in_order_and_bounded() {
        let mut buffer = TextBuffer::default();
        let effect = EffectNo(1);
        buffer.add("r", effect, TextPiece::Next("Hä"));
        buffer.add("r", effect, TextPiece::Next("l"));
        assert_eq!(pieces(&mut buffer), [("Häl".to_owned(), 0)]);
        buffer.add("r", effect, TextPiece::Next("lo"));
        assert_eq!(pieces(&mut buffer), [("lo".to_owned(), 3)]);
        buffer.add("r", effect, TextPiece::Next(&"x".repeat(LONGEST)));
        // A shorter piece would follow a gap.
        buffer.add("r", effect, TextPiece::Next("y"));
        assert!(buffer.take(false).is_empty());
        buffer.add("r", effect, TextPiece::Restart);
        assert_eq!(pieces(&mut buffer), [(String::new(), 0)]);
        buffer.add("r", effect, TextPiece::End);
        assert!(buffer.take(false).is_empty() && buffer.texts.is_empty());
        assert_eq!(buffer.bytes, 0);
    }

    #[test]
    fn a_client_that_comes_later_gets_the_whole_text() {
        let mut buffer = TextBuffer::default();
        buffer.add("r", EffectNo(1), TextPiece::Next("Tides "));
        buffer.take(false);
        let update = buffer.take(true).remove(0);
        assert_eq!((update.piece, update.whole.as_deref()), (None, Some("Tides ")));
        buffer.add("r", EffectNo(1), TextPiece::Next("follow"));
        let update = buffer.take(true).remove(0);
        assert_eq!((update.piece, update.whole.as_deref()), (Some(("follow".to_owned(), 6)), Some("Tides follow")));
    }

    #[test]
    fn the_size_of_all_texts_is_bounded() {
        let mut buffer = TextBuffer::default();
        let long = "x".repeat(LONGEST);
        let fitting = ALL_BYTES / LONGEST;
        for n in 0..=fitting {
            buffer.add(&format!("r{n}"), EffectNo(1), TextPiece::Next(&long));
        }
        assert_eq!((pieces(&mut buffer).len(), buffer.bytes), (fitting, ALL_BYTES));
        buffer.add("r0", EffectNo(1), TextPiece::End);
        buffer.take(false);
        buffer.add("later", EffectNo(1), TextPiece::Next("fits"));
        assert_eq!(pieces(&mut buffer), [("fits".to_owned(), 0)]);
    }
}
