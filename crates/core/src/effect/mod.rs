//! Effects: every kind of work that a run asks a runner for, as data.
//!
//! An [`Effect`](crate::ir::Effect) has a [`Kind`], the fields of its request that are the same for every call (`fixed`), and
//! how a raw answer becomes the value of its step ([`Response`]). A call adds the fields that the run computes (`input`). Both
//! halves use the field names of the request; where both have a field, the call's counts, and null is the same as absent.
//! [`Request::parse`] reads both halves once; its error names the field.
//!
//! | kind | request |
//! |---|---|
//! | `model` | [`ModelRequest`]: an answer, a reply with tool calls, a score or extracted data |
//! | `http` | [`HttpRequest`]: an HTTP request |
//! | `webhook` | [`WebhookRequest`]: a signed notification |
//! | `mail` | [`MailRequest`]: a mail |
//! | `process` | [`ProcessRequest`]: a command, a script or a program of the machine |
//! | `mcp` | [`McpRequest`]: an action of an MCP server |
//! | `tool` | [`ToolRequest`]: a tool by name |
//! | `search` | [`SearchRequest`]: a web search |
//! | `fetch` | [`FetchRequest`]: a web page |
//! | `extract` | [`ExtractRequest`]: a value out of JSON, HTML or XML |
//! | `files` | [`FilesRequest`]: files, skills and environment variables of the machine, and stored content |
//! | `memory` | [`MemoryRequest`]: stored memories |
//! | `chat_history` | [`ChatHistoryRequest`]: a stored chat |
//! | `retrieval` | [`RetrievalRequest`]: a search of a knowledge base |
//! | `object_store` | [`ObjectStoreRequest`]: an object to write |
//! | `run` | [`RunRequest`]: a run of another workflow |
//! | `notify` | [`NotifyRequest`]: a message to the user |
//! | `scripted` | any fields: a step that only a script answers |
//!
//! Results that are objects have structs as well, such as [`MemoryEntry`]; `Value::from` gives the object of one.

mod agent;
mod calls;
mod fields;
mod machine;
mod model;
mod request;
mod response;
mod secret;
mod storage;
mod web;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use agent::{AGENT, AGENT_DEPTH};
pub use calls::{McpRequest, RunRequest, ToolRequest};
pub use fields::FieldError;
pub use machine::{FilesOperation, FilesRequest, NotifyRequest, ProcessRequest, StoredFile};
pub use model::{ModelRequest, Task, Tools};
pub use request::Request;
pub use response::{Format, Response};
pub use secret::{PathKey, SecretForm, SecretText};
pub use storage::{
    ChatHistoryRequest, ChatOperation, ChatTurn, MemoryEntry, MemoryMatch, MemoryOperation, MemoryRequest,
    ObjectStoreRequest, Passage, ResultCount, RetrievalRequest, Role, StoredObject, TimeMs, TurnCount,
};
pub use web::{
    BodyType, ExtractRequest, FetchRequest, HttpRequest, MailRequest, PageFormat, SearchHit, SearchRequest,
    WebhookRequest,
};

macro_rules! kinds {
    ($($(#[$about:meta])* $variant:ident = $name:literal,)*) => {
        /// What kind of work an effect is, and so which runner performs it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            $($(#[$about])* $variant,)*
        }

        impl Kind {
            /// Every kind, in the order of the table above.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in traces, scripts and stored programs.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A model or an agent.
    Model = "model",
    /// An HTTP request.
    Http = "http",
    /// A signed notification.
    Webhook = "webhook",
    /// A mail.
    Mail = "mail",
    /// A command, a script or a program of the machine.
    Process = "process",
    /// An action of an MCP server.
    Mcp = "mcp",
    /// A tool by name.
    Tool = "tool",
    /// A web search.
    Search = "search",
    /// A web page.
    Fetch = "fetch",
    /// A value out of JSON, HTML or XML.
    Extract = "extract",
    /// Files, skills and environment variables of the machine, and stored content.
    Files = "files",
    /// Stored memories.
    Memory = "memory",
    /// A stored chat.
    ChatHistory = "chat_history",
    /// A knowledge base.
    Retrieval = "retrieval",
    /// An object store.
    ObjectStore = "object_store",
    /// A run of another workflow.
    Run = "run",
    /// A message to the user.
    Notify = "notify",
    /// A step that only a script answers.
    #[default]
    Scripted = "scripted",
}

impl Kind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}
