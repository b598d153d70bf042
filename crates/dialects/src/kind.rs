//! The stable names of what can be wrong with a document. Each has a page in `docs/diagnostics/`.

use branchpoint_core::RUN_KINDS;
use branchpoint_expr::{Kind, kinds};

kinds! {
    /// Kinds of findings about documents, as constants of [`Kind`](branchpoint_expr::Kind).
    pub trait DocumentKinds, listed in DOCUMENT_KINDS {
        // What a dialect calls a condition that does not compile.
        /// The text is not YAML or JSON.
        Yaml = "yaml",
        /// A file named `.json` that can only be read as YAML.
        NotJson = "not_json",
        /// A document of an unrecognised format.
        UnknownDialect = "unknown_dialect",

        // Bounds.
        /// The aliases of a document add too much text.
        AliasLimit = "alias_limit",

        // Whole flows.
        /// The document lacks what every flow has.
        InvalidFlow = "invalid_flow",
        /// No such type of step.
        UnknownStepType = "unknown_step_type",
        /// A type of step that is known and not supported.
        UnsupportedStep = "unsupported_step",
        /// A variable is declared twice.
        DuplicateVariable = "duplicate_variable",
        /// Two cases of a switch match the same value.
        DuplicateCase = "duplicate_case",
        /// A flow without a description.
        MissingDescription = "missing_description",
        /// A flow without a uuid.
        MissingUuid = "missing_uuid",
        /// Two steps of one id.
        DuplicateId = "duplicate_id",

        // Whole sessions.
        /// An agent's template has missing or invalid fields.
        InvalidTemplate = "invalid_template",
        /// The settings of all steps of a session are invalid.
        InvalidOrchestration = "invalid_orchestration",
        /// A step of a session is invalid.
        InvalidStep = "invalid_step",
        /// Two steps of one name.
        DuplicateStep = "duplicate_step",
        /// The default step does not exist.
        UnknownDefaultStep = "unknown_default_step",
        /// A key that is known and has no effect.
        IgnoredKey = "ignored_key",
        /// More than one step is marked as the default.
        SeveralDefaults = "several_defaults",
        /// A step that can never become active.
        UnreachableStep = "unreachable_step",
        /// A step that is always preceded by an earlier one.
        ShadowedStep = "shadowed_step",
        /// An empty list that allows everything.
        EmptyAllowed = "empty_allowed",
        /// A position of a sequence that no offered tool can fit.
        SequenceToolNotAllowed = "sequence_tool_not_allowed",

        // Whole graphs.
        /// The document is not a graph.
        InvalidPayload = "invalid_payload",
        /// Two nodes of one id.
        DuplicateNodeId = "duplicate_node_id",
        /// No such type of node.
        UnknownNodeType = "unknown_node_type",
        /// A graph without a start.
        MissingStart = "missing_start",
        /// A graph with more than one start.
        MultipleStarts = "multiple_starts",
        /// A connection to or from a node that does not exist.
        BrokenConnection = "broken_connection",
        /// A connection that is never followed.
        DeadConnection = "dead_connection",
        /// A node that no execution edge leads to.
        UnreachableNode = "unreachable_node",
        /// Nothing follows the start.
        StartNotConnected = "start_not_connected",
        /// Nothing but the start can be reached.
        NothingReachable = "nothing_reachable",
        /// An `if` that leads nowhere.
        IfWithoutBranch = "if_without_branch",
        /// An approval whose answer leads nowhere.
        ApprovalWithoutBranch = "approval_without_branch",
        /// A subagent edge from a node that is not an agent.
        SubagentSourceNotAgent = "subagent_source_not_agent",
        /// A subagent edge to a node that is not an agent.
        SubagentTargetNotAgent = "subagent_target_not_agent",
        /// A subagent edge from an agent that may not use subagents.
        SubagentToolDisabled = "subagent_tool_disabled",
        /// A subagent edge into another handle than the input.
        SubagentTargetHandle = "subagent_target_handle",
        /// An agent as its own subagent.
        SubagentSelf = "subagent_self",
        /// A subagent of two agents.
        SubagentMultipleParents = "subagent_multiple_parents",
        /// A subagent that is also a step of the run.
        SubagentInExecution = "subagent_in_execution",
        /// Agents that are subagents of each other.
        SubagentCycle = "subagent_cycle",

        // Step trees.
        /// A run without the input that its workflow reads.
        MissingInput = "missing_input",
        /// A document without steps.
        NoSteps = "no_steps",
        /// An id of other characters than it may have.
        BadId = "bad_id",
        /// Children below a step that has none.
        ChildrenNotAllowed = "children_not_allowed",
        /// A required field is absent.
        MissingField = "missing_field",
        /// An invalid duration.
        BadDuration = "bad_duration",
        /// An invalid retry policy.
        BadRetryPolicy = "bad_retry_policy",
        /// An invalid JSON Schema.
        BadSchema = "bad_schema",
        /// `on_error` other than fail, continue or a list of steps.
        OnErrorValue = "on_error_value",
        /// `on_error` where an error must not pick a branch.
        OnErrorNotAllowed = "on_error_not_allowed",
        /// A loop without items.
        ForEachInputMissing = "for_each_input_missing",
        /// Bounds of a loop that are invalid or select nothing.
        ForEachBounds = "for_each_bounds",
        /// A loop without a body.
        LoopBody = "loop_body",
        /// A bound of rounds outside its range.
        WhileMax = "while_max",
        /// Parallel branches that are absent, nameless or share a name.
        ParallelBranches = "parallel_branches",
        /// A rule that selects no attachments.
        AttachmentRule = "attachment_rule",
        /// A retry target that is not an id.
        RetryTargetFormat = "retry_target_format",
        /// A retry target that the retry cannot go back to.
        RetryTarget = "retry_target",
        /// A number of retries outside its range.
        RetryMax = "retry_max",
        /// A join target that is not an id.
        JoinTargetFormat = "join_target_format",
        /// A join target that is not a merge.
        JoinTarget = "join_target",
        /// A join that its merge cannot wait for.
        JoinOrder = "join_order",
        /// A question without a text.
        HitlPrompt = "hitl_prompt",
        /// No such way to choose recipients.
        HitlDistribution = "hitl_distribution",
        /// Recipients are to be selected, and none are.
        HitlRecipients = "hitl_recipients",
        /// Choices that are duplicate or reserved.
        HitlChoices = "hitl_choices",
        /// A number of votes that can never be reached.
        HitlRequired = "hitl_required",
        /// An invalid timeout of an approval.
        HitlTimeout = "hitl_timeout",
        /// No such outcome of a timeout.
        HitlTimeoutOutcome = "hitl_timeout_outcome",
        /// Reminders without an end.
        HitlReminders = "hitl_reminders",
        /// A called workflow that is not there.
        WorkflowNotFound = "workflow_not_found",
        /// A result shown inside an arm or a branch.
        ResultInBranch = "result_in_branch",
        /// A result shown inside a loop.
        ResultInLoop = "result_in_loop",
        /// A question to people inside a loop over items.
        HitlInForEach = "hitl_in_for_each",
        /// A streamed result that is not a child of a model call.
        StreamingPlacement = "streaming_placement",
        /// Two streamed results.
        StreamingDuplicate = "streaming_duplicate",
        /// A streamed result under a trigger without a viewer.
        StreamingTrigger = "streaming_trigger",
        /// A policy that is incomplete, or that nothing can follow.
        BadPolicy = "bad_policy",
        /// An invalid schedule of a trigger.
        BadSchedule = "bad_schedule",
        /// A step about content under a trigger that brings none.
        ContentTrigger = "content_trigger",

        // State machines.
        /// One thing said twice, in two spellings or in two fields that exclude each other.
        Conflict = "conflict",
        /// A state that the document does not have.
        UnknownState = "unknown_state",
        /// No terminal state, or none that can be reached.
        NoTerminal = "no_terminal",
        /// A loop that is in its own body.
        LoopInItself = "loop_in_itself",
        /// A state without a transition.
        NoExit = "no_exit",
        /// A duplicate state in a body.
        DuplicateBody = "duplicate_body",
        /// A called workflow that is not there.
        UnknownWorkflow = "unknown_workflow",
        /// Workflows that call each other in a circle.
        CircularCall = "circular_call",
        /// A declaration of an input that is wrong itself.
        BadInputDeclaration = "bad_input_declaration",
        /// Data in a shell command that is not quoted for the shell.
        UnquotedSubstitution = "unquoted_substitution",
        /// A value quoted for the shell inside quotes of the command.
        EscapeInQuotes = "escape_in_quotes",
        /// Only conditional transitions.
        NoDefault = "no_default",
        /// A transition after one that always matches.
        UnreachableTransition = "unreachable_transition",
        /// A state that no path leads to.
        Unreachable = "unreachable",
        /// A terminal state that no path leads to.
        UnreachableTerminal = "unreachable_terminal",
    }
}

/// Every kind of finding and failure, in the order of the crates that define them.
///
/// ```
/// use branchpoint_dialects::all_kinds;
///
/// assert!(all_kinds().any(|kind| kind.as_str() == "unknown_step_type"));
/// ```
pub fn all_kinds() -> impl Iterator<Item = Kind> {
    [Kind::ALL, RUN_KINDS, DOCUMENT_KINDS].into_iter().flatten().copied()
}
