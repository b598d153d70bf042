//! The stored form of a run: a header in JSON, followed by the snapshot of its state.

use std::collections::BTreeMap;

use branchpoint_core::State;
use branchpoint_core::codec::{decode_state, encode_state};
use branchpoint_core::ir::Status;
use serde::{Deserialize, Serialize};

use crate::messages::{Blob, ParentMessage};

/// A run in the state of its object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) header: Header,
    pub(crate) state: State,
}

/// Everything about a run besides its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) id: String,
    pub(crate) workflow: i64,
    #[serde(default)]
    pub(crate) part: String,
    #[serde(default)]
    pub(crate) folder: String,
    #[serde(default)]
    pub(crate) parent: Option<ParentMessage>,
    pub(crate) started_ms: i64,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(default)]
    pub(crate) stepped: bool,
    /// The most ops of the run and of each of its child runs; 0 is no limit.
    #[serde(default)]
    pub(crate) max_ops: u64,
    /// The pending calls, by effect.
    #[serde(default)]
    pub(crate) flights: BTreeMap<u64, Flight>,
    /// The open requests to people, by number.
    #[serde(default)]
    pub(crate) requests: BTreeMap<u64, StoredRequest>,
    /// The time of the earliest delayed message that makes timers fire.
    #[serde(default)]
    pub(crate) wake_ms: Option<i64>,
}

/// A pending call of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flight {
    pub(crate) attempt: u32,
    /// The stored command.
    pub(crate) command: Blob,
    /// Whether the call is a child run.
    #[serde(default)]
    pub(crate) is_child: bool,
}

/// A request to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    /// The specification, as a stored value.
    pub(crate) spec: Blob,
    pub(crate) requested_ms: i64,
    #[serde(default)]
    pub(crate) reminded: u32,
    #[serde(default)]
    pub(crate) closed_ms: Option<i64>,
}

/// The entry of a run in lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ListEntry {
    pub(crate) id: String,
    pub(crate) workflow: i64,
    #[serde(default)]
    pub(crate) part: String,
    pub(crate) status: Status,
    pub(crate) seq: u64,
    #[serde(default)]
    pub(crate) parent: Option<ParentMessage>,
    #[serde(default)]
    pub(crate) folder: String,
    pub(crate) started_ms: i64,
    pub(crate) updated_ms: i64,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// The number of open requests to people.
    #[serde(default)]
    pub(crate) requests: usize,
    /// When the first timer is due.
    #[serde(default)]
    pub(crate) due_ms: Option<i64>,
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("the record of the run is truncated")]
    Truncated,
    #[error("the header of the run is invalid: {0}")]
    Header(#[from] serde_json::Error),
    #[error("the workflow has no part `{0}`")]
    NoProgram(String),
    #[error(transparent)]
    State(#[from] branchpoint_core::codec::CodecError),
}

impl Record {
    /// The bytes: the length of the header, the header, the snapshot.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let header = serde_json::to_vec(&self.header)?;
        let length = u32::try_from(header.len()).map_err(|_| RecordError::Truncated)?;
        let state = encode_state(&self.state)?;
        Ok([&length.to_le_bytes()[..], &header, &state].concat())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let (length, rest) = bytes.split_first_chunk::<4>().ok_or(RecordError::Truncated)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| RecordError::Truncated)?;
        let (header, state) = rest.split_at_checked(length).ok_or(RecordError::Truncated)?;
        Ok(Self { header: serde_json::from_slice(header)?, state: decode_state(state)? })
    }

    pub(crate) fn list_entry(&self, status: Status) -> ListEntry {
        let header = &self.header;
        ListEntry {
            id: header.id.clone(),
            workflow: header.workflow,
            part: header.part.clone(),
            status,
            seq: self.state.seq(),
            parent: header.parent.clone(),
            folder: header.folder.clone(),
            started_ms: header.started_ms,
            updated_ms: self.state.now_ms(),
            tags: header.tags.clone(),
            requests: header.requests.len(),
            due_ms: self.first_due_ms(),
        }
    }

    /// When the first timer is due.
    pub(crate) fn first_due_ms(&self) -> Option<i64> {
        self.state.timers().map(|(_, due_ms)| due_ms).min()
    }
}

/// Encodes the rows of a transition for one key of the journal: check word and length before each event.
pub(crate) fn encode_rows(rows: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (check, event) in rows {
        bytes.extend(check.to_le_bytes());
        bytes.extend(u64::try_from(event.len()).unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend(event);
    }
    bytes
}

/// Decodes the rows of one key of the journal.
pub(crate) fn decode_rows(mut bytes: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, RecordError> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let (check, rest) = bytes.split_first_chunk::<4>().ok_or(RecordError::Truncated)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or(RecordError::Truncated)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| RecordError::Truncated)?;
        let (event, rest) = rest.split_at_checked(length).ok_or(RecordError::Truncated)?;
        rows.push((u32::from_le_bytes(*check), event.to_vec()));
        bytes = rest;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let header = Header { id: "r-1".into(), workflow: 7, wake_ms: Some(9), ..Header::default() };
        let record = Record { header: header.clone(), state: State::new() };
        let bytes = record.encode().unwrap();
        assert_eq!(Record::decode(&bytes).unwrap().header, header);
        assert!(matches!(Record::decode(&bytes[..3]), Err(RecordError::Truncated)));
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows = vec![(7, b"one".to_vec()), (u32::MAX, Vec::new())];
        let bytes = encode_rows(&rows);
        assert_eq!(decode_rows(&bytes).unwrap(), rows);
        assert!(decode_rows(&bytes[..bytes.len() - 1]).is_err());
    }
}
