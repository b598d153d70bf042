//! Why a server gave no answer, in words for whoever has set it up: no names of libraries, and a way out.

use std::error::Error;
use std::fmt;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::super::failure::{denied, failed, refused};
use super::super::wire::reason;
use crate::runner::Answer;
use crate::secrets::Secrets;

/// Why a server gave no answer, by what another attempt is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Nothing came, and whether the other side has seen anything is not known.
    Unheard(String),
    /// It has answered, and may answer better the next time.
    Passing(String),
    /// It has answered, and would answer the same again.
    Lasting(String),
}

impl Trouble {
    /// The same with words around it.
    pub(super) fn between(self, before: &str, after: &str) -> Self {
        self.told(|message| format!("{before}{message}{after}"))
    }

    /// The same without secrets: a server may repeat those that it was given.
    pub(super) fn masked(self, secrets: &Secrets) -> Self {
        self.told(|message| secrets.mask(&message).into_owned())
    }

    fn told(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unheard(message) => Self::Unheard(change(message)),
            Self::Passing(message) => Self::Passing(change(message)),
            Self::Lasting(message) => Self::Lasting(change(message)),
        }
    }

    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Unheard(message) => failed(message),
            Self::Passing(message) => denied(message),
            Self::Lasting(message) => refused(message),
        }
    }

    /// What went wrong with a call of a server.
    pub(super) fn of_call(server: &str, error: &ServiceError) -> Self {
        match error {
            ServiceError::TransportSend(error) => Self::of_transport(server, error),
            ServiceError::TransportClosed => Self::Unheard(format!("the MCP server `{server}` has gone away")),
            error => Self::Unheard(format!("the MCP server `{server}` does not answer as it should: {error}")),
        }
    }

    /// What went wrong with the first words to a server.
    pub(super) fn of_start(server: &str, error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of_transport(server, error),
            ClientInitializeError::ConnectionClosed(_) => {
                Self::Unheard(format!("the MCP server `{server}` does not answer: it has gone away"))
            }
            error => {
                Self::Unheard(format!("the MCP server `{server}` does not answer as it should: {}", reason(error)))
            }
        }
    }

    fn of_transport(server: &str, error: &DynamicTransportError) -> Self {
        match error.error.downcast_ref::<StreamableHttpError<Self>>() {
            Some(StreamableHttpError::Client(trouble)) => trouble.clone(),
            Some(StreamableHttpError::SessionExpired) => {
                Self::Passing(format!("the MCP server `{server}` answers with 404 to a session that it has given"))
            }
            Some(error) => Self::Unheard(format!("the MCP server `{server}` does not answer: {error}")),
            None => Self::Unheard(format!("the MCP server `{server}` does not answer: {}", reason(&*error.error))),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unheard(message) | Self::Passing(message) | Self::Lasting(message)) = self;
        out.write_str(message)
    }
}

impl Error for Trouble {}
