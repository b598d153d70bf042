//! Somebody who hears what a command says, and hears no secret, however its output is cut into pieces.

use std::mem;
use std::sync::{Arc, Mutex};

use crate::local::shell::{Listener, Stream};
use crate::secrets::Secrets;

/// A listener in front of another: what may be the beginning of a secret is held back until more is known.
pub(crate) struct Hearing {
    listener: Listener,
    held: Arc<Mutex<[String; 2]>>,
    secrets: Secrets,
}

impl Hearing {
    pub(crate) fn new(listener: Listener, secrets: Secrets) -> Self {
        Self { listener, held: Arc::default(), secrets }
    }

    /// Whom to tell.
    pub(crate) fn listener(&self) -> Listener {
        let (listener, held, secrets) = (Arc::clone(&self.listener), Arc::clone(&self.held), self.secrets.clone());
        Arc::new(move |stream, text| {
            let mut held = held.lock().expect("nobody panics while holding it");
            let pending = &mut held[place(stream)];
            pending.push_str(text);
            let rest = pending.split_off(secrets.tellable(pending));
            let told = mem::replace(pending, rest);
            // Told while it is held, so that two pieces of one stream cannot change places.
            if !told.is_empty() {
                listener(stream, &secrets.mask(&told));
            }
        })
    }

    /// Tells what is still held back: nothing more comes.
    pub(crate) fn finish(self) {
        let mut held = self.held.lock().expect("nobody panics while holding it");
        for stream in [Stream::Out, Stream::Err] {
            let rest = mem::take(&mut held[place(stream)]);
            if !rest.is_empty() {
                (self.listener)(stream, &self.secrets.mask(&rest));
            }
        }
    }
}

fn place(stream: Stream) -> usize {
    match stream {
        Stream::Out => 0,
        Stream::Err => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pieces: &[(Stream, &str)]) -> Vec<String> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&heard);
        let mut secrets = Secrets::default();
        secrets.add(["hunter2", "line one\nline two"]);
        let hearing =
            Hearing::new(Arc::new(move |_, text| list.lock().expect("no panic").push(text.to_owned())), secrets);
        for (stream, text) in pieces {
            hearing.listener()(*stream, text);
        }
        hearing.finish();
        let heard = heard.lock().expect("no panic");
        heard.clone()
    }

    #[test]
    fn a_secret_in_pieces_is_not_heard() {
        assert_eq!(told(&[(Stream::Out, "a hun"), (Stream::Out, "te"), (Stream::Out, "r2 !")]), ["a ", "*** !"]);
        assert_eq!(told(&[(Stream::Out, "line one\n"), (Stream::Out, "line two\n")]), ["***\n"]);
    }

    #[test]
    fn the_streams_do_not_mix_and_nothing_is_lost() {
        let pieces = [(Stream::Out, "hun"), (Stream::Err, "ter2 "), (Stream::Out, "ger"), (Stream::Err, "h")];
        assert_eq!(told(&pieces), ["ter2 ", "hunger", "h"]);
        assert_eq!(told(&[(Stream::Err, "hunter")]), ["hunter"]);
    }
}
