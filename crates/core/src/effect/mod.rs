//! Effects: every kind of work that a runner performs for a run, as data.
//!
//! An [`Effect`](crate::ir::Effect) has a [`Kind`], the fields of its request that are the same for every call (`fixed`), and
//! how the result of a runner becomes the value of its step ([`Response`]). A call adds the fields that the run computes (`input`).
//! Both halves use the field names of the request. If both have a field, the call's field applies; null is the same as absent.
//! [`Request::parse`] reads both halves; its error names the field.
//!
//! | kind | request | result |
//! |---|---|---|
//! | `model` | [`ModelRequest`] | [`ModelResult`]: text; or the fields of a [`ModelReply`] for the task `reply`; or a [`Score`] |
//! | `http` | [`HttpRequest`] | [`HttpResponse`] |
//! | `webhook` | [`WebhookRequest`] | [`HttpResponse`] |
//! | `mail` | [`MailRequest`] | [`Content`]: the id of the message |
//! | `process` | [`ProcessRequest`] | [`ProcessResult`] |
//! | `mcp` | [`McpRequest`] | [`Content`]: the result of the action |
//! | `tool` | [`ToolRequest`] | [`Content`]: the result of the tool |
//! | `search` | [`SearchRequest`] | [`Content`]: a list of [`SearchHit`] |
//! | `fetch` | [`FetchRequest`] | [`Content`]: the page, with its media type |
//! | `extract` | [`ExtractRequest`] | [`Content`]: null, the value at the path, or a list of values |
//! | `files` | [`FilesRequest`] | [`Content`]: text, whether a file exists, variables by name, or a [`StoredFile`] |
//! | `memory` | [`MemoryRequest`] | [`Content`]: a list of [`MemoryMatch`], or a [`MemoryEntry`]; for `add` the `input` |
//! | `chat_history` | [`ChatHistoryRequest`] | [`Content`]: a list of [`ChatTurn`]; for `add` the `input` |
//! | `retrieval` | [`RetrievalRequest`] | [`Content`]: a list of [`Passage`] |
//! | `object_store` | [`ObjectStoreRequest`] | [`Content`]: a [`StoredObject`] |
//! | `run` | [`RunRequest`] | [`Content`]: the result of the run |
//! | `notify` | [`NotifyRequest`] | [`Content`]: null |
//! | `scripted` | any fields | the result in the script |
//!
//! `Value::from` converts a result struct to an object of its fields.

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

pub use agent::{AGENT, AGENT_DEPTH};
pub use calls::{Content, McpRequest, RunRequest, ToolRequest};
pub use fields::FieldError;
pub use machine::{
    FilesOperation, FilesRequest, FoundFile, NotifyRequest, ProcessRequest, ProcessResult, StoredFile, Stream,
};
pub use model::{ModelReply, ModelRequest, ModelResult, ReplyUsage, Score, Task, ToolCall, Tools};
pub use request::{Kind, Request};
pub use response::{Format, Response};
pub use secret::{PathKey, SecretForm, SecretText};
pub use storage::{
    ChatHistoryRequest, ChatOperation, ChatTurn, MemoryEntry, MemoryMatch, MemoryOperation, MemoryRequest,
    ObjectStoreRequest, Passage, ResultCount, RetrievalRequest, Role, StoredObject, TimeMs, TurnCount,
};
pub use web::{
    Body, BodyType, ExtractRequest, FetchRequest, HttpRequest, HttpResponse, MailRequest, PageFormat, SearchHit,
    SearchRequest, WebhookRequest,
};
