//! Runners: they perform the effects of runs.
//!
//! A runner performs one attempt of an effect and reports the raw [`Answer`]; [`judge`] turns it into the value of a step or its
//! error, the same way for every runner. [`Models`] calls model providers, [`tools`] everything else over the network,
//! [`Local`] the commands, files and agents of this machine; [`storage`] reads and writes the stored data of a host. [`Secrets`] redacts what people and stores get to see.

pub mod agent;
mod bounded_read;
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
pub mod tools;

pub use bounded_read::{ReadError, read_line, read_regular_file, read_regular_text_file, read_text, read_text_file};
pub use hexadecimal::hexadecimal;
pub use judge::judge;
pub use local::shell::{Listener, MAX_OUTPUT, Shell, max_output};
pub use local::{Local, SecretStore, agents, no_secrets};
pub use models::Models;
pub use runner::{Answer, Call, Performing, PreparedCall, Runner};
pub use runner_check::{Lack, runner_check};
pub use runtime::{allow_many_open_files, runtime};
pub use secrets::{
    Encoding, Finder, Found, MASK, Secrets, SharedSecrets, Unfinished, Whole, is_secret, resolve, sounds_secret,
};
pub use tokio_util::sync::CancellationToken;
