//! Runners: they perform the effects of runs.
//!
//! # Perform a call
//!
//! A host makes a [`Call`] from a command of a run. [`Call::prepare`] puts in the secrets that the call names and reads its request.
//! Then a runner performs one attempt and gives the raw [`Answer`]: [`Models`] calls model providers, [`tools`] everything else over the
//! network, [`Local`] commands, files and agents of this machine, and [`storage`] the stored data of a host. [`judge`] turns the answer
//! into the value of the step or its error, the same way for every runner.
//!
//! ```
//! use branchpoint_core::{effect::Kind, ir::builder::effect};
//! use branchpoint_expr::{Object, Value};
//! use branchpoint_runners::{CancellationToken, Call, Local, judge, no_secrets, runtime};
//!
//! let input: Object = [("command".into(), "echo hello".into())].into_iter().collect();
//! let call = Call::first(effect(Kind::Process), Value::from(input));
//! let prepared = call.prepare(&no_secrets()).unwrap();
//! let work = async move { Local::new("/").perform(&prepared, &CancellationToken::new()).await };
//! let answer = runtime().block_on(async { tokio::spawn(work).await.unwrap() }).unwrap();
//! assert!(judge(&call, answer).is_ok());
//! ```
//!
//! # Write a runner
//!
//! A host performs calls through one [`Runner`]. Your own can use those of this crate and add kinds of work.
//!
//! ```
//! use branchpoint_expr::Value;
//! use branchpoint_runners::{Answer, Call, CancellationToken, AnswerFuture, Runner};
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
//! ```
//!
//! # Redact secrets
//!
//! [`Secrets`] finds secret values in texts and values, however they are encoded, and masks them in what people and stores get to see.
//!
//! ```
//! use branchpoint_runners::Secrets;
//!
//! let secrets = Secrets::from_values(["pa55 word".into()]);
//! assert_eq!(secrets.mask("GET /?key=pa55%20word"), "GET /?key=***");
//! ```

pub mod agent;
mod bounded_read;
pub mod child_run;
pub mod documents;
mod hexadecimal;
mod json_block;
mod judge;
pub mod knowledge;
mod local;
pub mod models;
mod network;
mod runner;
mod runner_check;
mod runtime;
mod secrets;
mod shorten;
pub mod storage;
mod stored_files;
mod time_zones;
pub mod tools;

pub use bounded_read::{ReadError, read_line, read_regular_file, read_regular_text_file, read_text, read_text_file};
pub use hexadecimal::hexadecimal;
pub use judge::{judge, retry_after};
pub use local::shell::{Listener, MAX_OUTPUT, Shell, max_output};
pub use local::{Local, SecretStore, agents, no_secrets};
pub use models::Models;
pub use network::clients::operator_client;
pub use runner::{Answer, AnswerFuture, Call, PreparedCall, Runner};
pub use runner_check::{Unavailable, runner_check};
pub use runtime::{allow_many_open_files, runtime};
pub use secrets::{
    Encoding, Finder, MASK, PartialSecret, SecretMatch, Secrets, SharedSecrets, Untruncated, is_secret_name, resolve,
};
pub use time_zones::offsets_s;
pub use tokio_util::sync::CancellationToken;
