//! The shapes of JSON that other crates write, for the `OpenAPI` document. Nothing constructs these types.
#![expect(dead_code, reason = "the types only describe JSON")]

use branchpoint_expr::Value;
use utoipa::ToSchema;

/// The status of a run.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    Running,
    WaitingPeople,
    WaitingTimer,
    Completed,
    Failed,
    Cancelled,
}

/// The status of an execution of a step.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum StepStatus {
    Running,
    WaitingPeople,
    WaitingTimer,
    Completed,
    Failed,
    Cancelled,
    Skipped,
}

/// A finding about a document. Its page is at `/docs/{kind}`.
#[derive(ToSchema)]
pub(crate) struct Diagnostic {
    kind: String,
    /// The kind of the mistake in an embedded condition or template.
    detail: Option<String>,
    severity: Severity,
    message: String,
    /// What to do.
    help: Option<String>,
    /// The name of the document.
    origin: String,
    line: u32,
    column: u32,
    /// The place in bytes.
    start: u32,
    end: u32,
    /// The source text at the place, cut.
    text: String,
    related: Option<RelatedPlace>,
    /// The innermost step around the place. Only in the response of `/check`.
    #[schema(required = false)]
    step: Option<String>,
    /// Edits that fix it. Only in the response of `/check`.
    #[schema(required = false)]
    fixes: Vec<Fix>,
}

/// How serious a finding is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// Another place that a finding is about.
#[derive(ToSchema)]
pub(crate) struct RelatedPlace {
    message: String,
    line: u32,
    column: u32,
    start: u32,
    end: u32,
}

/// Edits that fix a finding.
#[derive(ToSchema)]
pub(crate) struct Fix {
    title: String,
    edits: Vec<TextEdit>,
}

/// A replacement of a part of a text. `start` and `end` count bytes.
#[derive(ToSchema)]
pub(crate) struct TextEdit {
    start: u32,
    end: u32,
    text: String,
}

/// An error of a run, a step, a condition or an attempt.
#[derive(ToSchema)]
pub(crate) struct StepError {
    kind: String,
    message: String,
    #[schema(required = false)]
    step: Option<String>,
}

/// A round of a loop.
#[derive(ToSchema)]
pub(crate) struct Iteration {
    /// The id of the loop.
    r#loop: String,
    /// Counted from 0.
    index: u32,
    /// The item of a loop over a list.
    item: Value,
}

/// An evaluated part of a condition.
#[derive(ToSchema)]
pub(crate) struct Part {
    /// The place in the source, in bytes; null if the part is not in the document.
    start: Option<u32>,
    end: Option<u32>,
    text: String,
    r#type: Option<String>,
    /// The value, shortened; null if the part was not evaluated or failed.
    value: Option<String>,
    error: Option<String>,
    /// How often it was evaluated.
    times: u32,
    /// Whether it decided the outcome.
    decided: bool,
    #[schema(no_recursion)]
    children: Vec<Part>,
}

/// Why a condition is true, false or an error.
#[derive(ToSchema)]
pub(crate) struct Explanation {
    /// True, false, or `{error, message}`.
    outcome: Value,
    sentence: String,
    tree: Part,
}

/// The outcome of a branch of a decision.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum BranchOutcome {
    Taken,
    True,
    False,
    Error,
    NotEvaluated,
}

/// A branch of a decision.
#[derive(ToSchema)]
pub(crate) struct Branch {
    name: String,
    /// The condition as the document spells it.
    condition: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    /// The steps to which it leads.
    targets: Vec<String>,
    outcome: BranchOutcome,
    sentence: Option<String>,
    error: Option<StepError>,
    /// Every part of the condition. Only in the record of one step.
    tree: Option<Part>,
}

/// A value that a decision read.
#[derive(ToSchema)]
pub(crate) struct ValueRead {
    path: String,
    value: Value,
    r#type: Option<String>,
}

/// The attempt after which a decision to retry was made.
#[derive(ToSchema)]
pub(crate) struct RetryFacts {
    number: u32,
    limit: u32,
    delay_ms: Option<u64>,
    retryable: bool,
}

/// A count that a decision compared with a limit.
#[derive(ToSchema)]
pub(crate) struct CountFacts {
    unit: String,
    done: u64,
    limit: Option<u64>,
}

/// The items over which a decision was made.
#[derive(ToSchema)]
pub(crate) struct ItemFacts {
    count: u64,
    left_out: u64,
    failed: Vec<u64>,
}

/// What has arrived at an input of a merge.
#[derive(ToSchema)]
pub(crate) struct InputState {
    name: String,
    state: String,
}

/// The answer of a person that decided.
#[derive(ToSchema)]
pub(crate) struct AnswerFacts {
    user: Option<String>,
    note: Value,
}

/// A choice between branches, with all branches in order.
#[derive(ToSchema)]
pub(crate) struct Decision {
    step: String,
    kind: String,
    at: String,
    /// The branch that was chosen.
    chosen: Option<String>,
    /// Its position, counted from 1.
    position: Option<u32>,
    sentence: String,
    branches: Vec<Branch>,
    values: Vec<ValueRead>,
    #[schema(required = false)]
    count: Option<CountFacts>,
    #[schema(required = false)]
    items: Option<ItemFacts>,
    #[schema(required = false)]
    error: Option<StepError>,
    /// The votes of an approval that decided, with the rule.
    #[schema(required = false)]
    approval: Option<Value>,
    #[schema(required = false)]
    inputs: Option<Vec<InputState>>,
    #[schema(required = false)]
    attempt: Option<RetryFacts>,
    #[schema(required = false)]
    answer: Option<AnswerFacts>,
    #[schema(required = false)]
    signal: Option<String>,
    /// The budget that decided.
    #[schema(required = false)]
    budget: Option<Value>,
}

/// A tool call of an agent's turn.
#[derive(ToSchema)]
pub(crate) struct ToolCall {
    tool: Value,
    arguments: Value,
    status: StepStatus,
    began: String,
    ended: Option<String>,
    output: Value,
    error: Option<StepError>,
}

/// The step and the tools of a session.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct Gate {
    active_step: Option<String>,
    allowed_tools: Vec<String>,
    recently_used_tools: Vec<String>,
    sequence_index: i64,
    changed: bool,
    why: Option<String>,
    #[schema(required = false)]
    persona: Option<Value>,
}

/// The reply of an agent.
#[derive(ToSchema)]
pub(crate) struct Reply {
    #[schema(required = false)]
    text: Option<String>,
    #[schema(required = false)]
    warnings: Option<Vec<String>>,
    #[schema(required = false)]
    error: Option<StepError>,
}

/// What a choice of an approval means.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Meaning {
    Yes,
    No,
    Other,
}

/// The status of an approval.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum ApprovalStatus {
    Open,
    Settled,
    Cancelled,
}

/// The shape of a node of a drawing.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum NodeShape {
    Action,
    Decision,
    Approval,
    Loop,
    Start,
    End,
    Subagent,
    Note,
}

/// What an edge of a drawing is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum EdgeKind {
    Next,
    Branch,
    Loop,
    Subagent,
}

/// How a part of a drawing differs from the old document.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum DiffMark {
    Added,
    Changed,
    Removed,
}

/// Where a summary lists a change.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum DiffGroup {
    Decisions,
    Approvals,
    Steps,
    Other,
}

/// What happened to a step or a field.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum DiffKind {
    Added,
    Removed,
    Changed,
    Moved,
    Renamed,
}

/// What answers the calls of a run.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum AnsweredBy {
    None,
    Script,
    Recording,
}

/// The kind of an event of a session.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum SessionEventKind {
    Message,
    Tool,
    Reset,
    Turn,
}

/// Whose line of a chat it is.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum Speaker {
    User,
    Agent,
    Tool,
}
