//! A request of any kind, read from the two halves of a call.

use branchpoint_expr::{Object, Value};

use super::fields::{FieldError, Fields};
use super::{
    ChatHistoryRequest, ExtractRequest, FetchRequest, FilesRequest, HttpRequest, Kind, MailRequest, McpRequest,
    MemoryRequest, ModelRequest, NotifyRequest, ObjectStoreRequest, ProcessRequest, RetrievalRequest, RunRequest,
    SearchRequest, Task, ToolRequest, Tools, WebhookRequest,
};

/// A request, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A model or an agent.
    Model(Box<ModelRequest>),
    /// An HTTP request.
    Http(HttpRequest),
    /// A signed notification.
    Webhook(WebhookRequest),
    /// A mail.
    Mail(MailRequest),
    /// A process of the machine.
    Process(ProcessRequest),
    /// An action of an MCP server.
    Mcp(McpRequest),
    /// A tool.
    Tool(ToolRequest),
    /// A web search.
    Search(SearchRequest),
    /// A web page.
    Fetch(FetchRequest),
    /// A value out of a text.
    Extract(ExtractRequest),
    /// Files.
    Files(FilesRequest),
    /// Stored memories.
    Memory(MemoryRequest),
    /// A stored chat.
    ChatHistory(ChatHistoryRequest),
    /// A search of a knowledge base.
    Retrieval(RetrievalRequest),
    /// An object to write.
    ObjectStore(ObjectStoreRequest),
    /// A run of another workflow.
    Run(RunRequest),
    /// A message to the user.
    Notify(NotifyRequest),
    /// A step that only a script answers, with its fields.
    Scripted(Value),
}

impl Request {
    /// Reads a request: the fields of the call (`input`) before those of the effect (`fixed`).
    ///
    /// # Errors
    ///
    /// A field is unknown or has a value that it cannot have; the error names it.
    pub fn parse(kind: Kind, fixed: &Object, input: &Value) -> Result<Self, FieldError> {
        let fields = &Fields { kind, fixed, input };
        Ok(match kind {
            Kind::Model => Self::Model(Box::new(ModelRequest::read(fields)?)),
            Kind::Http => Self::Http(HttpRequest::read(fields)?),
            Kind::Webhook => Self::Webhook(WebhookRequest::read(fields)?),
            Kind::Mail => Self::Mail(MailRequest::read(fields)?),
            Kind::Process => Self::Process(ProcessRequest::read(fields)?),
            Kind::Mcp => Self::Mcp(McpRequest::read(fields)?),
            Kind::Tool => Self::Tool(ToolRequest::read(fields)?),
            Kind::Search => Self::Search(SearchRequest::read(fields)?),
            Kind::Fetch => Self::Fetch(FetchRequest::read(fields)?),
            Kind::Extract => Self::Extract(ExtractRequest::read(fields)?),
            Kind::Files => Self::Files(FilesRequest::read(fields)?),
            Kind::Memory => Self::Memory(MemoryRequest::read(fields)?),
            Kind::ChatHistory => Self::ChatHistory(ChatHistoryRequest::read(fields)?),
            Kind::Retrieval => Self::Retrieval(RetrievalRequest::read(fields)?),
            Kind::ObjectStore => Self::ObjectStore(ObjectStoreRequest::read(fields)?),
            Kind::Run => Self::Run(RunRequest::read(fields)?),
            Kind::Notify => Self::Notify(NotifyRequest::read(fields)?),
            Kind::Scripted => Self::Scripted(input.clone()),
        })
    }

    /// The names of the fields that requests of a kind have; none: any.
    pub const fn fields(kind: Kind) -> Option<&'static [&'static str]> {
        Some(match kind {
            Kind::Model => ModelRequest::FIELDS,
            Kind::Http => HttpRequest::FIELDS,
            Kind::Webhook => WebhookRequest::FIELDS,
            Kind::Mail => MailRequest::FIELDS,
            Kind::Process => ProcessRequest::FIELDS,
            Kind::Mcp => McpRequest::FIELDS,
            Kind::Tool => ToolRequest::FIELDS,
            Kind::Search => SearchRequest::FIELDS,
            Kind::Fetch => FetchRequest::FIELDS,
            Kind::Extract => ExtractRequest::FIELDS,
            Kind::Files => FilesRequest::FIELDS,
            Kind::Memory => MemoryRequest::FIELDS,
            Kind::ChatHistory => ChatHistoryRequest::FIELDS,
            Kind::Retrieval => RetrievalRequest::FIELDS,
            Kind::ObjectStore => ObjectStoreRequest::FIELDS,
            Kind::Run => RunRequest::FIELDS,
            Kind::Notify => NotifyRequest::FIELDS,
            Kind::Scripted => return None,
        })
    }

    /// Whether a model request is a turn of an agent: it offers tools, and wants an answer.
    pub fn is_agent_turn(kind: Kind, fixed: &Object, input: &Value) -> bool {
        let fields = &Fields { kind, fixed, input };
        let offers = || {
            let agents = fields.get("subagents").and_then(Value::as_list).is_some_and(|agents| !agents.is_empty());
            agents || fields.read::<Tools>("tools").is_ok_and(|tools| !tools.0.is_empty())
        };
        kind == Kind::Model && fields.read::<Task>("task").is_ok_and(|task| task == Task::Answer) && offers()
    }
}
