//! The embedded host: runs in a SQLite store, driven under the real or a virtual clock.
//!
//! [`host::Host`] advances many runs over one [`store::Store`] in turns. [`Driver`] drives a host under the real clock,
//! [`VirtualDriver`] one run under a virtual clock. [`SqliteStorage`] stores the memories, chats, knowledge bases and files of runs.
//! [`gate`] has sessions for programs that run their own model and tools.

mod driver;
mod embedded;
pub mod gate;
pub mod host;
mod recordings;
mod script;
mod storage;
pub mod store;
mod virtual_driver;
mod zones;

pub use driver::{CallLimits, Driver, OrderResult};
pub use embedded::Embedded;
pub use recordings::{CallOutcome, History, HistoryEntry, Vote, recording_yaml};
pub use script::{EntryError, Recording, Reply, Script, ScriptError, scripted_answer, votes_in_entry};
pub use storage::SqliteStorage;
pub use virtual_driver::{CallSimulator, NoteListener, RequestedApproval, SimulatedAnswer, VirtualDriver};
