//! Texts of models while they stream.

use std::collections::HashMap;

use branchpoint_core::EffectNo;

use crate::app::App;

/// The longest text of one call that is streamed, in bytes. The whole text is in the output of the step.
const LONGEST: usize = 256 * 1024;

/// The maximum number of calls whose texts stream at the same time.
const CALLS: usize = 1_024;

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

/// The texts of calls that have not been published yet.
#[derive(Debug, Default)]
pub(super) struct TextBuffer(HashMap<(String, EffectNo), StreamedText>);

/// The text of one call.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamedText {
    /// The part that was not published.
    pub(super) text: String,
    /// The length of the published part in UTF-16 units, as pages count.
    pub(super) offset: usize,
    bytes: usize,
    is_over: bool,
    is_changed: bool,
}

impl TextBuffer {
    fn add(&mut self, run: &str, effect: EffectNo, piece: TextPiece<'_>) {
        let key = (run.to_owned(), effect);
        if !self.0.contains_key(&key) && self.0.len() >= CALLS {
            return;
        }
        let streamed = self.0.entry(key).or_default();
        match piece {
            TextPiece::Next(text) if streamed.bytes + text.len() <= LONGEST => {
                streamed.bytes += text.len();
                streamed.text.push_str(text);
                streamed.is_changed = true;
            }
            TextPiece::Next(_) => {}
            TextPiece::Restart => *streamed = StreamedText { is_changed: true, ..StreamedText::default() },
            TextPiece::End => streamed.is_over = true,
        }
    }

    /// The texts to publish. They count as published from now on.
    pub(super) fn take(&mut self) -> Vec<((String, EffectNo), StreamedText)> {
        let mut changed = Vec::new();
        self.0.retain(|key, streamed| {
            if streamed.is_changed {
                changed.push((key.clone(), streamed.clone()));
                streamed.offset += streamed.text.encode_utf16().count();
                streamed.text.clear();
                streamed.is_changed = false;
            }
            !streamed.is_over
        });
        changed
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

    #[test]
    fn texts_are_published_in_order_and_bounded() {
        let mut buffer = TextBuffer::default();
        let effect = EffectNo(1);
        buffer.add("r", effect, TextPiece::Next("Hä"));
        buffer.add("r", effect, TextPiece::Next("l"));
        let first = buffer.take().remove(0).1;
        assert_eq!((first.text.as_str(), first.offset), ("Häl", 0));
        buffer.add("r", effect, TextPiece::Next("lo"));
        let second = buffer.take().remove(0).1;
        assert_eq!((second.text.as_str(), second.offset), ("lo", 3));
        buffer.add("r", effect, TextPiece::Next(&"x".repeat(LONGEST)));
        assert!(buffer.take().is_empty());
        buffer.add("r", effect, TextPiece::Restart);
        assert_eq!(buffer.take().remove(0).1.offset, 0);
        buffer.add("r", effect, TextPiece::End);
        assert!(buffer.take().is_empty() && buffer.0.is_empty());
    }
}
