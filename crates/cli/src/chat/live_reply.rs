//! Prints the agent's reply while it arrives.

use std::io::{IsTerminal, Write, stdout};
use std::sync::{Arc, Mutex, PoisonError};

use branchpoint_runners::models::{Listener, Piece};

use crate::terminal::visible;

/// Prints replies as they arrive, on a terminal. It stores the printed reply, so that the reply is not printed again.
#[derive(Clone)]
pub(super) struct LiveReply(Arc<Mutex<Reply>>);

struct Reply {
    /// The printed part of the last reply.
    text: String,
    is_over: bool,
    to: Option<Box<dyn Write + Send>>,
}

impl LiveReply {
    /// Prints for people at a terminal only. Other readers get complete replies without discarded ones.
    pub(super) fn new(for_people: bool) -> Self {
        let to = for_people && stdout().is_terminal();
        Self::to(to.then(|| Box::new(stdout()) as Box<dyn Write + Send>))
    }

    fn to(to: Option<Box<dyn Write + Send>>) -> Self {
        Self(Arc::new(Mutex::new(Reply { text: String::new(), is_over: true, to })))
    }

    pub(super) fn listener(&self) -> Listener {
        let words = self.clone();
        Arc::new(move |_, piece| words.0.lock().unwrap_or_else(PoisonError::into_inner).add(piece))
    }

    /// Begins or ends a turn: ends an unfinished line and clears the printed reply.
    pub(super) fn reset(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reset();
    }

    /// Whether a text is the reply that was printed last.
    pub(super) fn was_printed(&self, text: &str) -> bool {
        let reply = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reply.is_over && reply.text == text
    }
}

impl Reply {
    fn reset(&mut self) {
        self.add(Piece::End);
        self.text.clear();
    }

    fn add(&mut self, piece: Piece<'_>) {
        let Some(to) = &mut self.to else { return };
        if matches!(piece, Piece::Text(_)) && std::mem::take(&mut self.is_over) {
            self.text.clear();
        }
        let printed = match piece {
            Piece::Text(text) => {
                self.text.push_str(text);
                text
            }
            _ if self.text.is_empty() => "",
            Piece::End if std::mem::replace(&mut self.is_over, true) => "",
            Piece::End => "\n",
            Piece::Restart => {
                self.text.clear();
                "\n(Discarded; the model is called again.)\n"
            }
        };
        // A reader that closed its end does not need it.
        let _ = to.write_all(visible(printed).as_bytes()).and_then(|()| to.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn printed(pieces: &[Piece<'_>]) -> (LiveReply, String) {
        let page = Page::default();
        let words = LiveReply::to(Some(Box::new(page.clone())));
        for piece in pieces {
            words.0.lock().expect("no panic").add(*piece);
        }
        let bytes = page.0.lock().expect("no panic").clone();
        (words, String::from_utf8(bytes).expect("it is text"))
    }

    #[test]
    fn a_reply_is_printed_as_it_arrives_and_stored_when_it_ends() {
        let pieces = [Piece::Text("Let me "), Piece::Text("look."), Piece::End, Piece::Text("Found"), Piece::End];
        let (words, page) = printed(&pieces);
        assert_eq!(page, "Let me look.\nFound\n");
        assert!(words.was_printed("Found") && !words.was_printed("Let me look."));
        let (words, _) = printed(&pieces[..4]);
        assert!(!words.was_printed("Found"), "it may continue");
    }

    #[test]
    fn an_interrupted_reply_is_not_part_of_the_next_turn() {
        let (words, page) = printed(&[Piece::Text("Hel")]);
        assert_eq!(page, "Hel");
        words.reset();
        words.0.lock().expect("no panic").add(Piece::Text("Hello"));
        words.0.lock().expect("no panic").add(Piece::End);
        assert!(words.was_printed("Hello"));
        words.reset();
        assert!(!words.was_printed("Hello"), "the next turn may have the same reply");
    }

    #[test]
    fn discarded_text_is_marked_and_is_not_part_of_the_reply() {
        let (words, page) = printed(&[Piece::Text("Ha"), Piece::Restart, Piece::Text("Hello"), Piece::End]);
        assert_eq!(page, "Ha\n(Discarded; the model is called again.)\nHello\n");
        assert!(words.was_printed("Hello"));
        let (words, page) = printed(&[Piece::Text("{"), Piece::End, Piece::Restart]);
        assert!(!words.was_printed("{") && page.ends_with("called again.)\n"), "{page}");
        assert_eq!(printed(&[Piece::Restart, Piece::End]).1, "", "nothing was printed, so nothing is discarded");
    }
}
