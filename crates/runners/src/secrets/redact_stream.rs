//! Redacts secrets in output that arrives in pieces, even if a secret spans several pieces.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};

use branchpoint_core::effect::Stream;

use crate::local::shell::Listener;
use crate::secrets::{PartialSecret, Secrets};

/// Redacts the output of a call before a listener receives it. Text that may be the beginning of a secret is held back until more arrives.
pub(crate) struct StreamRedactor {
    listener: Listener,
    streams: Arc<Mutex<[Pending; 2]>>,
    secrets: Secrets,
}

/// The end of a stream that is held back or needed to recognise a secret.
#[derive(Default)]
struct Pending {
    text: String,
    /// The number of its bytes that the listener has received.
    shown: usize,
}

impl StreamRedactor {
    pub(crate) fn new(listener: Listener, secrets: Secrets) -> Self {
        Self { listener, streams: Arc::default(), secrets }
    }

    /// A listener for unredacted output.
    pub(crate) fn listener(&self) -> Listener {
        let (listener, streams, secrets) =
            (Arc::clone(&self.listener), Arc::clone(&self.streams), self.secrets.clone());
        Arc::new(move |stream, text| {
            // Held while the listener runs, so that the pieces of a stream stay in order.
            let mut streams = lock(&streams);
            let redacted = streams[stream as usize].add(text, &secrets);
            if !redacted.is_empty() {
                listener(stream, &redacted);
            }
        })
    }

    /// Sends the text that is held back, at the end of the output.
    pub(crate) fn finish(self) {
        let mut streams = lock(&self.streams);
        for stream in [Stream::Out, Stream::Err] {
            let Pending { text, shown } = mem::take(&mut streams[stream as usize]);
            let rest = self.secrets.mask_from(&text, shown);
            if !rest.is_empty() {
                (self.listener)(stream, &rest);
            }
        }
    }
}

impl Pending {
    /// Adds a piece of the stream. Returns the redacted text that can be shown now.
    fn add(&mut self, more: &str, secrets: &Secrets) -> String {
        self.text.push_str(more);
        let PartialSecret { hidden_from, needed_from } = secrets.partial_secret(&self.text);
        let end = hidden_from.max(self.shown);
        let redacted = secrets.mask_from(&self.text[..end], self.shown).into_owned();
        let needed_from = needed_from.min(end);
        self.text.drain(..needed_from);
        self.shown = end - needed_from;
        redacted
    }
}

fn lock(streams: &Mutex<[Pending; 2]>) -> MutexGuard<'_, [Pending; 2]> {
    streams.lock().expect("no listener panics")
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    use super::*;
    use crate::secrets::SharedSecrets;
    use crate::secrets::tests::wrap;

    fn reported(secrets: &SharedSecrets, pieces: &[(Stream, &str)]) -> Vec<String> {
        let received = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&received);
        let listener: Listener = Arc::new(move |_, text| list.lock().expect("no panic").push(text.to_owned()));
        let redactor = StreamRedactor::new(listener, secrets.secrets());
        for (stream, text) in pieces {
            redactor.listener()(*stream, text);
        }
        redactor.finish();
        let received = received.lock().expect("no panic");
        received.clone()
    }

    #[track_caller]
    fn check(pieces: &[(Stream, &str)], expect: &[&str]) {
        let secrets = Secrets::from_values(["hunter2", "line one\nline two"].map(str::to_owned));
        assert_eq!(reported(&secrets.into(), pieces), expect);
    }

    #[test]
    fn a_secret_in_pieces_is_redacted() {
        check(&[(Stream::Out, "a hun"), (Stream::Out, "te"), (Stream::Out, "r2 !")], &["a ", "*** !"]);
        check(&[(Stream::Out, "line one\n"), (Stream::Out, "line two\n")], &["***\n"]);
    }

    #[test]
    fn the_streams_do_not_mix_and_nothing_is_lost() {
        let pieces = [(Stream::Out, "hun"), (Stream::Err, "ter2 "), (Stream::Out, "ger"), (Stream::Err, "h")];
        check(&pieces, &["ter2 ", "hunger", "h"]);
        check(&[(Stream::Err, "hunter")], &["hunter"]);
    }

    #[test]
    fn wrapped_base64_is_redacted_wherever_it_is_cut_into_pieces() {
        let secret = "correct-horse-battery-staple-correct-horse-battery-staple-correct-horse";
        let secrets = SharedSecrets::from(Secrets::from_values([secret.to_owned()]));
        for before in ["", "a", "ab", "long enough for the secret to begin at the end of a line"] {
            let encoded = BASE64_STANDARD.encode(format!("{before}{secret}."));
            for line_break in ["\n", "\r\n", "\\n"] {
                let text = format!("begin\n{}{line_break}end\n", wrap(&encoded, 76, line_break));
                for at in (0..=text.len()).step_by(3) {
                    let (first, second) = text.split_at(at);
                    check_unseen(&encoded, &reported(&secrets, &[(Stream::Out, first), (Stream::Out, second)]));
                }
                let letters: Vec<_> = (0..text.len()).map(|at| (Stream::Out, &text[at..=at])).collect();
                check_unseen(&encoded, &reported(&secrets, &letters));
            }
        }
    }

    /// Checks that all text except the secret is reported, and of the secret at most a few letters at the end of a line.
    #[track_caller]
    fn check_unseen(encoded: &str, reported: &[String]) {
        let reported = reported.concat();
        assert!(reported.starts_with("begin\n") && reported.ends_with("end\n"), "{reported}");
        for at in encoded.len() - 90..encoded.len() - 8 {
            assert!(!reported.contains(&encoded[at..at + 4]), "{reported} shows {}", &encoded[at..at + 4]);
        }
    }

    #[test]
    fn a_line_that_ends_like_the_beginning_of_a_secret_is_not_delayed() {
        // `aHVudGVyMg` is hunter2 in base64.
        check(&[(Stream::Out, "a haH\n"), (Stream::Out, "more\n")], &["a haH\n", "more\n"]);
        check(&[(Stream::Out, "aHV\n"), (Stream::Out, "udGVyMg==\n")], &["aHV\n", "***g==\n"]);
    }
}
