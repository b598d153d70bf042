//! Why an MCP server gave no usable response, in words for its operator: no names of libraries, and a remedy.

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

use super::super::failure::{denied, failed, refused};
use super::super::wire::reason;
use crate::runner::Answer;
use crate::secrets::Secrets;

/// Why a server gave no usable response, by what another attempt is worth.
#[derive(Clone, Debug, Error)]
pub(super) enum StoreError {
    /// No response came. Whether the server has seen the request is unknown.
    #[error("{0}")]
    Unanswered(String),
    /// The server responded, and may respond better to another attempt.
    #[error("{0}")]
    Transient(String),
    /// The server responded, and would respond the same again.
    #[error("{0}")]
    Permanent(String),
}

impl StoreError {
    /// A response exceeds the limit of its server.
    pub(super) fn too_long(server: &str, max_bytes: usize) -> Self {
        Self::Permanent(format!(
            "the MCP server `{server}` sends more than {max_bytes} bytes in one response; raise max_response_bytes under \
             [mcp.{server}] in the settings"
        ))
    }

    /// Adds text before and after the message.
    pub(super) fn between(self, before: &str, after: &str) -> Self {
        self.map(|message| format!("{before}{message}{after}"))
    }

    /// Masks secrets that the server was given and may repeat.
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
            ServiceError::TransportClosed => Self::Unanswered(format!("the MCP server `{server}` has gone away")),
            error => Self::Unanswered(format!("the MCP server `{server}` does not answer as it should: {error}")),
        }
    }

    /// Explains the failure of the first exchange with a server.
    pub(super) fn of_start(server: &str, error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of_transport(server, error),
            ClientInitializeError::ConnectionClosed(_) => {
                Self::Unanswered(format!("the MCP server `{server}` does not answer: it has gone away"))
            }
            error => {
                Self::Unanswered(format!("the MCP server `{server}` does not answer as it should: {}", reason(error)))
            }
        }
    }

    fn of_transport(server: &str, error: &DynamicTransportError) -> Self {
        match error.error.downcast_ref::<StreamableHttpError<Self>>() {
            Some(StreamableHttpError::Client(trouble)) => trouble.clone(),
            Some(StreamableHttpError::SessionExpired) => {
                Self::Transient(format!("the MCP server `{server}` answers with 404 to a session that it has given"))
            }
            Some(error) => Self::Unanswered(format!("the MCP server `{server}` does not answer: {error}")),
            None => Self::Unanswered(format!("the MCP server `{server}` does not answer: {}", reason(&*error.error))),
        }
    }
}
