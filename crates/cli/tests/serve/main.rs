//! The server of the real program, over HTTP.

mod approvals;
mod attacks;
mod callees;
mod changes;
mod client;
mod dev;
mod editing;
mod events;
mod identity;
mod killed;
mod links;
mod mails;
mod oidc;
mod over_http;
#[path = "../../../runners/tests/tools/package.rs"]
mod package;
mod page;
mod runs;
mod secrets;
mod sessions;
mod settings;
mod smtp;
mod webhooks;
mod workflows;
