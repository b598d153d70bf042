//! Hosts of runs, and the runners that perform what runs ask for.
//!
//! [`Memory`] is the smallest host: one run, a virtual clock, everything in memory. A [`Runner`] performs calls and gives
//! raw answers; [`judge`] turns a raw answer into the value of a step or into its error, the same way for every runner.
//! [`gate`] is for hosts that run their own models and tools, and only ask what is allowed.

pub mod agent;
pub mod agents;
mod bounded_read;
mod clients;
mod driver;
mod fence;
pub mod gate;
mod hearing;
mod hexadecimal;
pub mod host;
mod judge;
mod local;
mod memory;
pub mod models;
mod network;
mod open_files;
mod outside;
mod patience;
pub mod people;
mod record;
mod redact;
mod resume;
mod runner;
mod script;
mod secrets;
mod shebang;
mod shell;
mod stop;
pub mod store;
pub mod tools;
mod unserved;
mod zones;

pub use bounded_read::{ReadError, read_line, read_regular_text_file, read_text, read_text_file};
pub use driver::{Driver, Handed, Limits, Listener as DriverListener};
pub use judge::judge;
pub use local::{Local, SecretStore};
pub use memory::{Memory, NoteListener, Question};
pub use models::Models;
pub use open_files::allow_many_open_files;
pub use outside::Outside;
pub use record::{Came, Happened, Past, Vote, cassette};
pub use resume::refusal_code;
pub use runner::{Answer, Body, Call, Runner};
pub use script::{BadScript, Recorded, Reply, Script, Wrong};
pub use secrets::{Secrets, SharedSecrets, is_secret, resolve};
pub use shell::{Listener, MAX_OUTPUT, Shell, Stream};
pub use stop::Stop;
pub use unserved::unserved;
