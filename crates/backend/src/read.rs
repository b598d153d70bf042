//! What a process reads from a server instead of a store: requests and responses that both sides share.
//!
//! The state of a run is a fold of its events, so a server sends events, programs and states in their stored form, with secrets masked,
//! and the reader computes everything else as it would over a store. So both show the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ApprovalRecord, Filter, Run, RunNo, WorkflowNo};

/// The version of the requests and responses. A reader rejects a server of another version.
pub const READ_VERSION: u32 = 1;

/// A request to read something. The comment of each names the type of its response.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "read", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadRequest {
    /// A run by its id: `Option<Run>`.
    Run {
        /// The id.
        id: String,
    },
    /// Runs by a part of their id: `Vec<Run>`.
    FindRuns {
        /// The beginning or the end of the id.
        part: String,
    },
    /// A page of runs, at most 1,000: `Vec<Run>`.
    Runs {
        /// The filter.
        filter: Filter,
    },
    /// Adds missing runs to the search index: `u64`, the number of those still missing.
    IndexRuns {},
    /// The row of a run: `Run`.
    Row {
        /// The run.
        run: RunNo,
    },
    /// The child runs of a run: `Vec<Run>`.
    Children {
        /// The run.
        run: RunNo,
    },
    /// The top-level run: `RunNo`.
    RootOf {
        /// The run.
        run: RunNo,
    },
    /// The status of a run with its child runs: `Status`.
    Status {
        /// The run.
        run: RunNo,
    },
    /// When the first timer is due: `Option<i64>`.
    NextDue {
        /// The run.
        run: RunNo,
    },
    /// Why a run is queued: `Option<Queued>`.
    Queued {
        /// The run.
        run: RunNo,
    },
    /// The processes that drive runs: `Vec<DriverProcess>`.
    Drivers {},
    /// The number of events and their bytes: `(u64, u64)`.
    JournalSize {
        /// The run.
        run: RunNo,
    },
    /// Why secrets are not available: `Option<String>`.
    UnavailableSecrets {
        /// The run.
        run: RunNo,
    },
    /// The script of a run: `Option<RunScript>`.
    Script {
        /// The run.
        run: RunNo,
    },
    /// Whether a script answers: `bool`.
    IsScripted {
        /// The run.
        run: RunNo,
    },
    /// The recorded responses as a script: `Value`.
    Recording {
        /// The run.
        run: RunNo,
    },
    /// The state of a run: [`RunState`].
    State {
        /// The run.
        run: RunNo,
    },
    /// Events of a run: [`JournalPart`].
    Journal {
        /// The run.
        run: RunNo,
        /// The number of events before the part.
        after: u64,
    },
    /// The requests of a run to people: `Vec<ApprovalRecord>`.
    ApprovalRecords {
        /// The run.
        run: RunNo,
    },
    /// The runs with open approvals: [`OpenRuns`].
    OpenApprovals {},
    /// A run and its child runs, those with open approvals: [`OpenRuns`].
    Approvals {
        /// The run.
        run: RunNo,
    },
    /// All versions of all workflows: `Vec<WorkflowSummary>`.
    Workflows {},
    /// The latest version of a workflow: `Option<WorkflowNo>`.
    Workflow {
        /// Its name, or the beginning of its hash.
        name: String,
    },
    /// The document of a workflow: `Document`.
    Document {
        /// The workflow.
        workflow: WorkflowNo,
    },
    /// A program of a workflow: `Option<Bytes>`.
    Program {
        /// The workflow.
        workflow: WorkflowNo,
        /// The name of the program; empty for the main program.
        part: String,
    },
    /// All sessions: `Vec<SessionSummary>`.
    Sessions {},
}

/// A run with its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunState {
    /// Its row.
    pub row: Run,
    /// The stored form of its state.
    pub state: Bytes,
}

/// Some events of a run, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JournalPart {
    /// The stored form of each event, and its check word.
    pub events: Vec<(Bytes, u32)>,
}

/// Runs with open approvals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenRuns {
    /// The runs with their requests to people.
    pub runs: Vec<(RunState, Vec<ApprovalRecord>)>,
    /// The ids of runs that cannot be read, and the reason for each.
    pub unreadable: Vec<(String, String)>,
}

/// Bytes that JSON has as Base64.
///
/// ```
/// use branchpoint_backend::Bytes;
///
/// let bytes = Bytes(b"BP".to_vec());
/// assert_eq!(bytes.0, b"BP");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(|error| D::Error::custom(format!("bytes must be Base64: {error}")))
    }
}
