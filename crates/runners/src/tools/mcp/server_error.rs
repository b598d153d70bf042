//! Errors of MCP servers, with messages for their operators: no names of libraries, and a remedy.

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

use super::super::failure::{denied, failed, refused};
use super::super::wire::reason;
use crate::runner::Answer;
use crate::secrets::Secrets;

/// Why a server did not give a usable response, and whether another attempt makes sense.
#[derive(Clone, Debug, Error)]
pub(super) enum ServerError {
    /// There was no response. It is unknown whether the server has received the request.
    #[error("{0}")]
    Unanswered(String),
    /// The server responded with an error. Another attempt may succeed.
    #[error("{0}")]
    Transient(String),
    /// The server responded with an error, and would do so again.
    #[error("{0}")]
    Permanent(String),
}

impl ServerError {
    /// A response exceeds the limit of its server.
    pub(super) fn too_long(server: &str, max_bytes: usize) -> Self {
        Self::Permanent(format!(
            "the MCP server `{server}` sent more than {max_bytes} bytes in one response; raise max_response_bytes under \
             [mcp.{server}] in the settings"
        ))
    }

    /// Adds text before and after the message.
    pub(super) fn with_context(self, before: &str, after: &str) -> Self {
        self.map(|message| format!("{before}{message}{after}"))
    }

    /// Masks the secrets of the server, which it may repeat.
    pub(super) fn masked(self, secrets: &Secrets) -> Self {
        self.map(|message| secrets.mask(&message).into_owned())
    }

    fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unanswered(message) => Self::Unanswered(change(message)),
            Self::Transient(message) => Self::Transient(change(message)),
            Self::Permanent(message) => Self::Permanent(change(message)),
        }
    }

    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Unanswered(message) => failed(message),
            Self::Transient(message) => denied(message),
            Self::Permanent(message) => refused(message),
        }
    }

    /// Explains the failure of a request.
    pub(super) fn of_call(server: &str, error: &ServiceError) -> Self {
        match error {
            ServiceError::TransportSend(error) => Self::of_transport(server, error),
            ServiceError::TransportClosed => {
                Self::Unanswered(format!("the MCP server `{server}` has closed the connection"))
            }
            error => Self::Unanswered(format!("the MCP server `{server}` did not respond as expected: {error}")),
        }
    }

    /// Explains the failure of the first exchange with a server.
    pub(super) fn of_start(server: &str, error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of_transport(server, error),
            ClientInitializeError::ConnectionClosed(_) => {
                Self::Unanswered(format!("the MCP server `{server}` did not respond: it has closed the connection"))
            }
            error => {
                Self::Unanswered(format!("the MCP server `{server}` did not respond as expected: {}", reason(error)))
            }
        }
    }

    fn of_transport(server: &str, error: &DynamicTransportError) -> Self {
        match error.error.downcast_ref::<StreamableHttpError<Self>>() {
            Some(StreamableHttpError::Client(server_error)) => server_error.clone(),
            Some(StreamableHttpError::SessionExpired) => Self::Transient(format!(
                "the MCP server `{server}` responded with 404 for a session that it has created"
            )),
            Some(error) => Self::Unanswered(format!("the MCP server `{server}` did not respond: {error}")),
            None => Self::Unanswered(format!("the MCP server `{server}` did not respond: {}", reason(&*error.error))),
        }
    }
}
