//! Effects: every kind of work that a run asks a runner for, as data.
//!
//! An [`Effect`](crate::ir::Effect) has a [`Kind`], the fields of its request that are the same for every call (`fixed`), and
//! how a raw answer becomes the value of its step ([`Response`]). A call adds the fields that the run computes (`input`). Both
//! halves use the field names of the request; where both have a field, the call's counts, and null is the same as absent.
//!
//! | kind | request |
//! |---|---|
//! | `model` | an answer, a reply with tool calls, a score or extracted data |
//! | `http` | an HTTP request |
//! | `webhook` | a signed notification |
//! | `mail` | a mail |
//! | `process` | a command, a script or a program of the machine |
//! | `mcp` | an action of an MCP server |
//! | `tool` | a tool by name |
//! | `search` | a web search |
//! | `fetch` | a web page |
//! | `extract` | a value out of JSON, HTML or XML |
//! | `files` | files, skills and environment variables of the machine, and stored content |
//! | `memory`, `chat_history`, `retrieval`, `object_store` | stored data, behind the tool of that name |
//! | `run` | a run of another workflow |
//! | `notify` | a message to the user |
//! | `scripted` | any fields: a step that only a script answers |

mod response;
mod secret;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use response::{Format, Response};
pub use secret::{PathKey, SecretForm, SecretText};

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
    /// An agent.
    Agent = "agent",
    /// A reply of a chat.
    Chat = "chat",
    /// A score.
    Evaluate = "evaluate",
    /// An HTTP request.
    Http = "http",
    /// A signed notification.
    Webhook = "webhook",
    /// A mail.
    Mail = "mail",
    /// A command, a script or a program of the machine.
    Process = "process",
    /// A command of the user's shell.
    Shell = "shell",
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
    /// Stored content.
    Content = "content",
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
