//! Prepares attachments for a model: as files if the model accepts them, else as their text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::Models;
use super::attachments::{Attachment, Source};
use super::messages::{Message, Part};
use super::providers::Target;
use crate::documents::DocumentFormat;
use crate::runner::{Answer, PreparedCall};
use crate::secrets::Secrets;
use crate::shorten::shortened;
use crate::storage::LoadedFile;
use crate::stored_files::StoredFiles;

/// The most bytes of all attachments of one call.
const MAX_CALL_BYTES: usize = 32 * 1024 * 1024;

/// A kind of files that a model may accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Images.
    Image,
    /// PDF documents.
    Pdf,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// Files of any other type.
    File,
}

impl FileKind {
    fn of(file: &Attachment) -> Self {
        match file.kind() {
            "image" => Self::Image,
            "audio" => Self::Audio,
            "video" => Self::Video,
            _ if DocumentFormat::of(&file.mime, file.shown_name()) == Some(DocumentFormat::Pdf) => Self::Pdf,
            _ => Self::File,
        }
    }
}

impl Target {
    /// The kinds of files that its model accepts, unless the settings override them.
    fn default_file_kinds(&self) -> &'static [FileKind] {
        match (self.format.endpoint().name, &*self.provider) {
            ("anthropic", _) => &[FileKind::Image, FileKind::Pdf],
            ("gemini", _) => &[FileKind::Image, FileKind::Pdf, FileKind::Audio, FileKind::Video],
            (_, "openai") => &[FileKind::Image, FileKind::Pdf, FileKind::Audio],
            // Servers that are compatible with OpenAI seldom support its `file` parts.
            _ => &[FileKind::Image, FileKind::Audio, FileKind::Video],
        }
    }
}

impl Models {
    /// Loads the attachments of messages. Files that the model does not accept become text.
    pub(super) async fn deliver(
        &self,
        prepared: &PreparedCall,
        target: &Target,
        messages: &mut [Message],
        cancel: &CancellationToken,
    ) -> Result<(), Answer> {
        let mut secrets = prepared.secrets.clone();
        secrets.add(prepared.call.sealed.values());
        let mut delivery = Delivery { models: self, prepared, target, secrets, bytes: 0 };
        for message in messages {
            let Message::User(parts) = message else { continue };
            for part in parts {
                if let Part::File(file) = part {
                    *part = delivery.part(file, cancel).await?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn stored_files(&self) -> StoredFiles {
        StoredFiles { folder: self.files.clone(), storage: self.storage.clone(), extractor: self.extractor.clone() }
    }

    /// Whether a model accepts files of a kind: by the settings of the model, of its provider, or by default.
    fn accepts(&self, target: &Target, kind: FileKind) -> bool {
        let by_model = self.settings.takes.iter().filter(|(start, _)| target.model.starts_with(&***start));
        let by_model = by_model.max_by_key(|(start, _)| start.len()).map(|(_, kinds)| &kinds[..]);
        let by_provider = || self.settings.providers.get(&*target.provider)?.takes.as_deref();
        by_model.or_else(by_provider).unwrap_or_else(|| target.default_file_kinds()).contains(&kind)
    }
}

/// The delivery of the attachments of one call.
struct Delivery<'d> {
    models: &'d Models,
    prepared: &'d PreparedCall,
    target: &'d Target,
    secrets: Secrets,
    /// The total size of the attachments so far.
    bytes: usize,
}

impl Delivery<'_> {
    async fn part(&mut self, file: &Attachment, cancel: &CancellationToken) -> Result<Part, Answer> {
        let files = self.models.stored_files();
        let (file, loaded) = match &file.source {
            Source::Url(_) => return Ok(Part::File(file.clone())),
            Source::Stored(key) => {
                let loaded = files.load(&self.prepared.call.run, key).await?;
                (file.completed(&loaded), Some(loaded.bytes))
            }
            Source::Data(_) => (file.clone(), None),
        };
        let size = match (&file.source, &loaded) {
            (Source::Data(data), None) => data.len() / 4 * 3,
            (_, loaded) => loaded.as_ref().map_or(0, Vec::len),
        };
        self.bytes += size;
        if self.bytes > MAX_CALL_BYTES {
            return Err(impossible(format!(
                "with `{}`, the attachments of the call exceed {MAX_CALL_BYTES} bytes; attach fewer files",
                shortened(file.shown_name())
            )));
        }
        if self.models.accepts(self.target, FileKind::of(&file)) {
            let source = loaded.map(|bytes| Source::Data(STANDARD.encode(bytes)));
            return Ok(Part::File(Attachment { source: source.unwrap_or_else(|| file.source.clone()), ..file }));
        }
        if DocumentFormat::of(&file.mime, file.shown_name()).is_none() {
            return Err(impossible(file.unsupported()));
        }
        let bytes = match (loaded, &file.source) {
            (Some(bytes), _) => bytes,
            (None, Source::Data(data)) => STANDARD.decode(data).unwrap_or_default(),
            (None, _) => Vec::new(),
        };
        let loaded = LoadedFile { name: file.shown_name().to_owned(), mime: file.mime.clone(), bytes };
        let text = files.text(loaded, cancel).await?;
        Ok(Part::Text(format!(
            "<attachment name=\"{}\" type=\"{}\">\n{}\n</attachment>",
            shortened(file.shown_name()).replace('"', "'"),
            shortened(&file.mime).replace('"', "'"),
            self.secrets.mask(&text).trim_end()
        )))
    }
}

fn impossible(message: String) -> Answer {
    Answer::impossible("step_failed", message)
}
