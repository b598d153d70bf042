//! Carries the texts of models from the runners to the server.

use std::sync::{Arc, OnceLock};

use branchpoint_runners::models::{Listener, Piece};

use crate::app::{App, WeakApp};
use crate::live::text::TextPiece;

/// The texts of models as they arrive. Runners are configured before a server exists, so the feed is connected later; texts before that
/// are not streamed.
///
/// ```
/// let texts = branchpoint_server::TextFeed::default();
/// let _listener: branchpoint_runners::models::Listener = texts.listener();
/// ```
#[derive(Clone, Default)]
pub struct TextFeed(Arc<OnceLock<WeakApp>>);

impl TextFeed {
    /// A listener for runners. It expects texts without secrets.
    pub fn listener(&self) -> Listener {
        let feed = Arc::clone(&self.0);
        Arc::new(move |call, piece| {
            let Some(app) = feed.get().and_then(WeakApp::upgrade) else { return };
            let piece = match piece {
                Piece::Text(text) => TextPiece::Next(text),
                Piece::Restart => TextPiece::Restart,
                Piece::End => TextPiece::End,
            };
            app.add_text(&call.run, call.effect, piece);
        })
    }

    /// Connects the feed with a server.
    pub(crate) fn connect(&self, app: &App) {
        // A feed belongs to one server; a second one gets nothing.
        let _ = self.0.set(app.downgrade());
    }
}
