//! Topics of live events.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::problem::Problem;

/// How long changes of a topic are published after its last subscriber has left, so that a client that reconnects misses nothing.
const LINGER: Duration = Duration::from_mins(2);

/// The longest topic in bytes.
const LONGEST: usize = 600;

/// What a client follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Topic {
    /// The records of all runs.
    Runs,
    /// Requested, changed and settled approvals.
    Approvals,
    /// The numbers of the overview.
    Overview,
    /// Saved workflows.
    Workflows,
    /// Changed sessions.
    Sessions,
    /// A run with its steps and the texts of its models, by id.
    Run(String),
    /// A session: the name of the document, `/`, and the id of the session.
    Session(String),
}

impl Topic {
    /// Reads a topic.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let named = match text {
            "runs" => Some(Self::Runs),
            "approvals" => Some(Self::Approvals),
            "overview" => Some(Self::Overview),
            "workflows" => Some(Self::Workflows),
            "sessions" => Some(Self::Sessions),
            _ => None,
        };
        let of = |prefix| text.strip_prefix(prefix).filter(|name: &&str| !name.is_empty() && name.len() <= LONGEST);
        let run = || of("run:").map(|id| Self::Run(id.to_owned()));
        let session = || of("session:").map(|id| Self::Session(id.to_owned()));
        named.or_else(run).or_else(session).ok_or_else(|| {
            Problem::bad_request(
                "A topic is `runs`, `approvals`, `overview`, `workflows`, `sessions`, `run:ID` or `session:DOCUMENT/ID`.",
            )
        })
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs => f.write_str("runs"),
            Self::Approvals => f.write_str("approvals"),
            Self::Overview => f.write_str("overview"),
            Self::Workflows => f.write_str("workflows"),
            Self::Sessions => f.write_str("sessions"),
            Self::Run(id) => write!(f, "run:{id}"),
            Self::Session(id) => write!(f, "session:{id}"),
        }
    }
}

/// A topic that somebody follows, or did a moment ago.
#[derive(Debug)]
pub(super) struct TopicState {
    pub(super) subscribers: usize,
    /// The number of the event after which all changes are published.
    pub(super) since: u64,
    pub(super) idle_since: Option<Instant>,
    /// The published steps of a run by key, each with a fingerprint; none before the first look.
    pub(super) steps: Option<HashMap<String, u64>>,
    /// The number of events of the run when it was last published.
    pub(super) seq: u64,
}

impl TopicState {
    pub(super) fn new(since: u64) -> Self {
        Self { subscribers: 1, since, idle_since: None, steps: None, seq: 0 }
    }

    pub(super) fn is_over(&self) -> bool {
        self.idle_since.is_some_and(|idle| idle.elapsed() > LINGER)
    }
}
