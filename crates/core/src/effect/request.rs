//! The kinds of effects and their requests.

use std::fmt;

use branchpoint_expr::{Object, Value};
use serde::{Deserialize, Serialize};

use super::fields::{FieldError, Fields, ReadRequest};
use super::{
    ChatHistoryRequest, ExtractRequest, FetchRequest, FilesRequest, HttpRequest, MailRequest, McpRequest,
    MemoryRequest, ModelRequest, NotifyRequest, ObjectStoreRequest, ProcessRequest, RetrievalRequest, RunRequest,
    SearchRequest, Task, ToolRequest, Tools, WebhookRequest,
};

macro_rules! kinds {
    ($($(#[$about:meta])* $variant:ident($request:ty) = $name:literal,)*) => {
        /// The kind of an effect, which selects the runner that performs it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            $($(#[$about])* $variant,)*
        }

        impl Kind {
            /// Every kind, in the order of the table above.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in traces, scripts and stored programs.
            ///
            /// ```
            /// assert_eq!(branchpoint_core::effect::Kind::Model.as_str(), "model");
            /// ```
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// A request, by its kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Request {
            $(
                #[doc = concat!("A request of the kind `", $name, "`.")]
                $variant($request),
            )*
        }

        impl Request {
            /// Reads a request. The fields of the call (`input`) override those of the effect (`fixed`).
            ///
            /// # Errors
            ///
            /// A field is unknown or has an invalid value; the error names the field.
            ///
            /// ```
            /// use branchpoint_core::effect::{Kind, Request};
            /// use branchpoint_expr::Value;
            /// use serde_json::json;
            ///
            /// let fixed = [("method".into(), Value::from("POST"))].into_iter().collect();
            /// let input = Value::from(&json!({"url": "https://example.org"}));
            /// let Request::Http(request) = Request::parse(Kind::Http, &fixed, &input)? else { unreachable!() };
            /// assert_eq!(request.url.as_deref(), Some("https://example.org"));
            /// # Ok::<(), branchpoint_core::effect::FieldError>(())
            /// ```
            pub fn parse(kind: Kind, fixed: &Object, input: &Value) -> Result<Self, FieldError> {
                let fields = &Fields { kind, fixed, input };
                match kind {
                    $(Kind::$variant => Ok(Self::$variant(ReadRequest::read(fields)?)),)*
                }
            }

            /// The field names of requests of a kind; `None` if any name is valid.
            ///
            /// ```
            /// use branchpoint_core::effect::{Kind, Request};
            ///
            /// assert!(Request::fields(Kind::Http).is_some_and(|fields| fields.contains(&"url")));
            /// assert_eq!(Request::fields(Kind::Scripted), None);
            /// ```
            pub const fn fields(kind: Kind) -> Option<&'static [&'static str]> {
                match kind {
                    $(Kind::$variant => <$request as ReadRequest>::FIELDS,)*
                }
            }
        }
    };
}

kinds! {
    /// A model or an agent.
    Model(Box<ModelRequest>) = "model",
    /// An HTTP request.
    Http(HttpRequest) = "http",
    /// A signed notification.
    Webhook(WebhookRequest) = "webhook",
    /// A mail.
    Mail(MailRequest) = "mail",
    /// A command, a script or a program on the local machine.
    Process(ProcessRequest) = "process",
    /// An action of an MCP server.
    Mcp(McpRequest) = "mcp",
    /// A tool by name.
    Tool(ToolRequest) = "tool",
    /// A web search.
    Search(SearchRequest) = "search",
    /// A web page.
    Fetch(FetchRequest) = "fetch",
    /// The extraction of a value from JSON, HTML or XML.
    Extract(ExtractRequest) = "extract",
    /// Files, skills and environment variables of the local machine, and stored content.
    Files(FilesRequest) = "files",
    /// Stored memories.
    Memory(MemoryRequest) = "memory",
    /// A stored chat.
    ChatHistory(ChatHistoryRequest) = "chat_history",
    /// A knowledge base.
    Retrieval(RetrievalRequest) = "retrieval",
    /// An object store.
    ObjectStore(ObjectStoreRequest) = "object_store",
    /// A run of another workflow.
    Run(RunRequest) = "run",
    /// A message to the user.
    Notify(NotifyRequest) = "notify",
    /// A step that only a script can answer, with any fields.
    #[default]
    Scripted(Value) = "scripted",
}

impl Kind {
    /// The kind with a name.
    ///
    /// ```
    /// use branchpoint_core::effect::Kind;
    ///
    /// assert_eq!(Kind::named("mail"), Some(Kind::Mail));
    /// assert_eq!(Kind::named("letter"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Request {
    /// Whether a model request is a turn of an agent: a request for text that offers tools.
    ///
    /// ```
    /// use branchpoint_core::effect::{Kind, Request};
    /// use branchpoint_expr::Value;
    ///
    /// let tools = [("tools".into(), Value::from(vec![Value::from("search")]))].into_iter().collect();
    /// assert!(Request::is_agent_turn(Kind::Model, &tools, &Value::Null));
    /// assert!(!Request::is_agent_turn(Kind::Mail, &tools, &Value::Null));
    /// ```
    pub fn is_agent_turn(kind: Kind, fixed: &Object, input: &Value) -> bool {
        let fields = &Fields { kind, fixed, input };
        let offers = || {
            let agents = fields.get("subagents").and_then(Value::as_list).is_some_and(|agents| !agents.is_empty());
            agents || fields.read::<Tools>("tools").is_ok_and(|tools| !tools.0.is_empty())
        };
        kind == Kind::Model && fields.read::<Task>("task").is_ok_and(|task| task == Task::Answer) && offers()
    }
}
