//! The HTTP API of Branchpoint: workflows, runs, live events, approvals and sessions over one [`Backend`].
//!
//! [`Server::bind`] opens the listening socket, and [`Server::serve`] handles requests until its stop signal. The server holds no
//! rules of workflows: an endpoint checks its caller, translates the request, and calls the backend on a thread that may block.
//!
//! ```no_run
//! use branchpoint_backend::Backend;
//! use branchpoint_server::{Content, Host, Server, Settings};
//!
//! async fn serve(backend: Box<dyn Backend>) -> std::io::Result<()> {
//!     let server = Server::bind(Host::new(backend, "ada"), Content::default(), Settings::default()).await?;
//!     println!("http://{}", server.address());
//!     server.serve(std::future::pending()).await
//! }
//! ```

mod access;
mod app;
mod backend_handles;
mod body;
mod caller;
mod catalogue;
mod connections;
mod content;
mod data_errors;
mod documents;
mod drawing;
mod examples;
mod findings;
mod guard;
mod host;
mod list;
mod live;
mod metrics;
mod oidc;
mod openapi;
mod page;
mod parameters;
mod permissions;
mod prepared_workflows;
mod problem;
mod providers;
mod random;
mod router;
mod routes;
mod schemas;
mod scripts;
mod settings;
mod structure;
mod text_feed;
mod time;
mod trace_cache;
mod version_notes;
mod webhooks;

pub use access::{
    Access, AccessError, ApprovalLink, Credential, CredentialKind, InvalidLink, InvalidPattern, MAX_LINK_MS,
    NewCredential, Pattern, Role, UnknownRole, log_command,
};
pub use connections::{Server, serve_until};
pub use content::{Content, Example, Template};
pub use data_errors::DataError;
pub use host::Host;
pub use oidc::{OidcSettings, RoleRule};
pub use page::WebFile;
pub use permissions::Permission;
pub use providers::ModelProviders;
pub use scripts::DefaultScripts;
pub use settings::Settings;
pub use text_feed::TextFeed;
pub use webhooks::{Webhook, Webhooks};

#[cfg(doc)]
use branchpoint_backend::Backend;
