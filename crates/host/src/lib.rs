//! The embedded host: runs in a SQLite store, driven under the real or a virtual clock.
//!
//! # Drive runs
//!
//! A [`store::Store`] is one file with the programs and the journals of all runs. A [`host::Host`] advances runs over a store in turns:
//! it takes orders and answers, commits the events, and only then returns what is to be performed. A [`Driver`] does this on a thread of
//! its own, under the real clock, and performs calls through a [`Runner`](branchpoint_runners::Runner). If the process dies, the next
//! host on the same store continues the runs, and repeats only the calls without a recorded result.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use branchpoint_core::ir::{Status, builder::Builder};
//! use branchpoint_expr::Value;
//! use branchpoint_host::host::{DrivenRuns, Host, Start};
//! use branchpoint_host::store::{Document, Durability, Store, Workflow};
//! use branchpoint_host::{CallLimits, Driver};
//! use branchpoint_runners::{Answer, AnswerFuture, Call, CancellationToken, Runner};
//!
//! struct Echo;
//!
//! impl Runner for Echo {
//!     fn perform<'c>(&'c self, call: &'c Call, _cancel: &'c CancellationToken) -> AnswerFuture<'c> {
//!         Box::pin(async move { Answer::data(call.input.clone()) })
//!     }
//!
//!     fn fact(&self, _name: &str) -> Value {
//!         Value::Null
//!     }
//! }
//!
//! let folder = tempfile::tempdir().unwrap();
//! let store = Store::open(&folder.path().join("store.db"), Durability::Full).unwrap();
//!
//! // A front-end makes programs from documents. This one completes with its input.
//! let program = Builder::sample();
//! let text = |text: &str| text.to_owned();
//! let document = Document { name: text("echo"), dialect: text("steps"), origin: text("echo.yaml"), text: text("steps: []") };
//! let saved = Workflow { document: &document, program: &program, children: &Default::default() };
//! let workflow = store.save(saved, 0).unwrap();
//!
//! let host = Host::new(store, "example", DrivenRuns::All, Arc::new(|_| Value::Null), 0).unwrap();
//! let driver = Driver::new(host, Arc::new(Echo), CallLimits::default());
//! let run = driver.start(Start::new(workflow, "r-1".into(), Value::from("hello"))).unwrap().unwrap().run;
//! assert_eq!(driver.load(run).unwrap().status(), Status::Completed);
//! driver.stop(Duration::from_secs(5)).unwrap();
//! ```
//!
//! # Try a run
//!
//! A [`VirtualDriver`] runs one program under a virtual clock, in memory, with simulated answers: hours of waiting pass at once. A
//! [`Script`] has answers by step, which a person wrote or a [`History`] recorded.
//!
//! ```
//! use branchpoint_core::ir::builder::Builder;
//! use branchpoint_expr::{Object, Value};
//! use branchpoint_host::{Script, VirtualDriver};
//!
//! let program = Builder::sample();
//! let mut driver = VirtualDriver::new(&program, 0);
//! let mut script = Script::default();
//! driver.start(Value::from("hello"), Object::default()).unwrap();
//! driver.run_until_idle(&mut |call| script.simulate(call));
//! assert_eq!(driver.result(), Some(&Value::from("hello")));
//! ```
//!
//! # The other parts
//!
//! - [`Embedded`] is the [`Backend`](branchpoint_backend::Backend) of a store and a driver, which command lines and servers use.
//! - [`SqliteStorage`] stores the memories, chats, knowledge bases and files of runs.
//! - [`approval_outcomes`] continues a copy of a run without effects, to say where each answer of an approval would lead.
//! - [`gate`] has sessions for programs that run their own model and tools.

mod approval_outcomes;
mod driver;
mod embedded;
pub mod gate;
pub mod host;
mod recordings;
mod script;
mod storage;
pub mod store;
mod virtual_driver;

pub use approval_outcomes::{ApprovalOutcome, Settlement, approval_outcomes};
pub use driver::{CallLimits, Driver, OrderResult};
pub use embedded::Embedded;
pub use recordings::{CallOutcome, History, HistoryEntry, Vote, recording_yaml};
pub use script::{EntryError, Recording, Reply, Script, ScriptError, scripted_answer, votes_in_entry};
pub use storage::SqliteStorage;
pub use virtual_driver::{CallSimulator, NoteListener, RequestedApproval, SimulatedAnswer, VirtualDriver, VirtualHost};
