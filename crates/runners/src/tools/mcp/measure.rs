//! How much of one answer of a server is read.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::trouble::Trouble;

/// Counts the bytes of one answer, and says when there are too many.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    server: Arc<str>,
    max: u64,
    ends: Ends,
    read: u64,
    /// Whether the line that is read has nothing in it yet.
    is_blank: bool,
}

/// Where one answer ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// With the stream.
    Never,
    /// At the end of every line.
    AtLine,
    /// At a line with nothing in it.
    AtBlankLine,
}

impl Measure {
    pub(super) fn new(server: &Arc<str>, max: u64, ends: Ends) -> Self {
        Self { server: Arc::clone(server), max, ends, read: 0, is_blank: true }
    }

    /// More has come.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        if self.ends == Ends::Never {
            self.read += bytes.len() as u64;
            return self.check();
        }
        for byte in bytes {
            self.read += 1;
            match byte {
                b'\n' if self.ends == Ends::AtLine || self.is_blank => {
                    self.check()?;
                    self.read = 0;
                }
                b'\n' => self.is_blank = true,
                b'\r' => {}
                _ => self.is_blank = false,
            }
        }
        self.check()
    }

    fn check(&self) -> Result<(), Trouble> {
        if self.read <= self.max { Ok(()) } else { Err(self.too_long()) }
    }

    pub(super) fn too_long(&self) -> Trouble {
        let (server, max) = (&self.server, self.max);
        Trouble::Lasting(format!(
            "the MCP server `{server}` gives more than the {max} bytes that are read of one answer; raise \
             max_response_bytes under [mcp.{server}] in the settings"
        ))
    }
}

/// The lines of a child. It ends at one that is too long: nobody could tell whose answer that is.
#[derive(Debug)]
pub(super) struct Lines<R> {
    inner: R,
    measure: Measure,
    trouble: Arc<OnceLock<Trouble>>,
}

impl<R> Lines<R> {
    /// Reads lines; what ends them is kept in `trouble`.
    pub(super) fn new(inner: R, measure: Measure, trouble: &Arc<OnceLock<Trouble>>) -> Self {
        Self { inner, measure, trouble: Arc::clone(trouble) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        if let Err(trouble) = this.measure.add(&buffer.filled()[before..]) {
            let error = io::Error::other(trouble.to_string());
            // The first is the one that counts.
            let _ = this.trouble.set(trouble);
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ends: Ends, pieces: &[&str], fits: bool) {
        let mut measure = Measure::new(&"s".into(), 8, ends);
        let result = pieces.iter().try_for_each(|piece| measure.add(piece.as_bytes()));
        assert_eq!(result.is_ok(), fits, "{ends:?} {pieces:?}");
    }

    #[test]
    fn an_answer_is_measured_from_its_beginning_to_its_end() {
        check(Ends::Never, &["1234", "5678"], true);
        check(Ends::Never, &["1234\n\n", "567"], false);
        check(Ends::AtLine, &["1234567\n12", "34567\n", "1"], true);
        check(Ends::AtLine, &["12345678\n"], false);
        check(Ends::AtLine, &["1234", "5678", "9"], false);
        check(Ends::AtBlankLine, &["a: b\r\n", "\r\n", "a: b\n\n"], true);
        check(Ends::AtBlankLine, &["a: b\n", "c: d"], false);
    }
}
