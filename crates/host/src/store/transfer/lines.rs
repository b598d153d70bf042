//! The lines of a file of exported runs.

use std::collections::BTreeMap;

use branchpoint_runners::hexadecimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    /// The content of the file: `runs`.
    #[serde(default)]
    pub(super) branchpoint: String,
    pub(super) format: u64,
}

/// A line after the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Workflow(WorkflowLine),
    Run(RunLine),
    Event(EventLine),
    Attachment(AttachmentLine),
}

#[derive(Serialize, Deserialize)]
pub(super) struct WorkflowLine {
    pub(super) hash: String,
    pub(super) name: String,
    pub(super) dialect: String,
    pub(super) origin: String,
    pub(super) text: String,
    pub(super) programs: BTreeMap<String, Bytes>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunLine {
    pub(super) id: String,
    /// The hash of its workflow.
    pub(super) workflow: String,
    pub(super) part: String,
    /// For people; its events decide.
    #[serde(skip_deserializing)]
    pub(super) status: &'static str,
    pub(super) folder: String,
    pub(super) started_ms: i64,
    pub(super) parent: Option<ParentLine>,
    pub(super) script: Option<ScriptLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(default)]
    pub(super) priority: i64,
    /// How many event lines follow.
    pub(super) events: usize,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ParentLine {
    pub(super) id: String,
    pub(super) effect: u64,
    pub(super) attempt: u32,
}

/// The script of a root run.
#[derive(Serialize, Deserialize)]
pub(super) struct ScriptLine {
    pub(super) bytes: Bytes,
    pub(super) used: Vec<EntryLine>,
    pub(super) live_ms: Option<i64>,
}

/// A used entry of a script, and the call that took it.
#[derive(Serialize, Deserialize)]
pub(super) struct EntryLine {
    pub(super) step: String,
    pub(super) path: String,
    pub(super) entry: usize,
    pub(super) taker: Option<TakerLine>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TakerLine {
    /// The id of its run.
    pub(super) run: String,
    pub(super) seq: u64,
    pub(super) number: u64,
    pub(super) attempt: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct EventLine {
    /// The time and the kind are for people; the bytes have both.
    #[serde(skip_deserializing)]
    pub(super) at_ms: i64,
    #[serde(skip_deserializing)]
    pub(super) kind: &'static str,
    pub(super) mark: u32,
    pub(super) bytes: Bytes,
}

/// A file of the run whose events come before it.
#[derive(Serialize, Deserialize)]
pub(super) struct AttachmentLine {
    pub(super) name: String,
    pub(super) mime: String,
    pub(super) bytes: Bytes,
}

/// Bytes in hexadecimal.
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        });
        pairs.collect::<Option<_>>().map(Self).ok_or_else(|| D::Error::custom("bytes must be hexadecimal"))
    }
}
