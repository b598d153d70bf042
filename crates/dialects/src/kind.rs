//! The stable names of findings about documents. Each has a page in `docs/diagnostics/`.

use branchpoint_core::RUN_KINDS;
use branchpoint_expr::{Kind, kinds};

kinds! {
    /// Kinds of findings about documents, as constants of [`Kind`](branchpoint_expr::Kind).
    pub trait DocumentKinds, listed in DOCUMENT_KINDS {
        // Invalid documents of any dialect.
        /// The text is not YAML or JSON.
        Yaml = "yaml",
        /// A file named `.json` that can only be read as YAML.
        NotJson = "not_json",
        /// A document of an unrecognised format.
        UnknownDialect = "unknown_dialect",

        /// The limits of a workflow's runs are invalid.
        BadLimits = "bad_limits",

        // Limits.
        /// The aliases of a document add too much text.
        AliasLimit = "alias_limit",

        // Whole flows.
        /// A required field of a flow is missing or invalid.
        InvalidFlow = "invalid_flow",
        /// An unknown type of step.
        UnknownStepType = "unknown_step_type",
        /// A known type of step that is not supported.
        UnsupportedStep = "unsupported_step",
        /// A variable is declared twice.
        DuplicateVariable = "duplicate_variable",
        /// Two cases of a switch match the same value.
        DuplicateCase = "duplicate_case",
        /// A flow without a description.
        MissingDescription = "missing_description",
        /// A flow without a uuid.
        MissingUuid = "missing_uuid",
        /// Two steps with the same id.
        DuplicateId = "duplicate_id",

        // Whole sessions.
        /// An agent's template has missing or invalid fields.
        InvalidTemplate = "invalid_template",
        /// The settings of all steps of a session are invalid.
        InvalidOrchestration = "invalid_orchestration",
        /// A step of a session is invalid.
        InvalidStep = "invalid_step",
        /// Two steps with the same name.
        DuplicateStep = "duplicate_step",
        /// The default step does not exist.
        UnknownDefaultStep = "unknown_default_step",
        /// A known key that has no effect.
        IgnoredKey = "ignored_key",
        /// More than one step is marked as the default.
        SeveralDefaults = "several_defaults",
        /// A step that can never become active.
        UnreachableStep = "unreachable_step",
        /// A step that an earlier one always precedes.
        ShadowedStep = "shadowed_step",
        /// An empty list that allows everything.
        EmptyAllowed = "empty_allowed",
        /// A position of a sequence that no offered tool can fit.
        SequenceToolNotAllowed = "sequence_tool_not_allowed",

        // Whole graphs.
        /// The document is not a graph.
        InvalidPayload = "invalid_payload",
        /// Two nodes with the same id.
        DuplicateNodeId = "duplicate_node_id",
        /// An unknown type of node.
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
        /// Only the start can be reached.
        NothingReachable = "nothing_reachable",
        /// An `if` without a connected branch.
        IfWithoutBranch = "if_without_branch",
        /// An approval without a connected branch.
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
        /// An id with characters that ids may not have.
        BadId = "bad_id",
        /// Children below a step that cannot have any.
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
        /// A limit of rounds outside of its range.
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
        /// An approval without a prompt.
        HitlPrompt = "hitl_prompt",
        /// An unknown distribution of recipients.
        HitlDistribution = "hitl_distribution",
        /// Recipients must be selected, but none are.
        HitlRecipients = "hitl_recipients",
        /// Choices that are duplicate or reserved.
        HitlChoices = "hitl_choices",
        /// A number of votes that can never be reached.
        HitlRequired = "hitl_required",
        /// An invalid timeout of an approval.
        HitlTimeout = "hitl_timeout",
        /// An unknown outcome of a timeout.
        HitlTimeoutOutcome = "hitl_timeout_outcome",
        /// An invalid number of reminders.
        HitlReminders = "hitl_reminders",
        /// Groups beside a number of votes, or groups without a number.
        HitlNeed = "hitl_need",
        /// A veto that can never be used.
        HitlVeto = "hitl_veto",
        /// An escalation without a time or without people, or one after the deadline.
        HitlEscalation = "hitl_escalation",
        /// A form with an unsupported keyword or an invalid value.
        HitlForm = "hitl_form",
        /// A called workflow that does not exist.
        WorkflowNotFound = "workflow_not_found",
        /// A result shown inside an arm or a branch.
        ResultInBranch = "result_in_branch",
        /// A result shown inside a loop.
        ResultInLoop = "result_in_loop",
        /// An approval inside a loop over items.
        HitlInForEach = "hitl_in_for_each",
        /// A streamed result that is not a child of a model call.
        StreamingPlacement = "streaming_placement",
        /// Two streamed results.
        StreamingDuplicate = "streaming_duplicate",
        /// A streamed result under a trigger without a viewer.
        StreamingTrigger = "streaming_trigger",
        /// A policy that is incomplete, or that nothing can follow.
        BadPolicy = "bad_policy",
        /// A budget that is incomplete, or at a step that cannot have one.
        BadBudget = "bad_budget",
        /// An invalid schedule of a trigger.
        BadSchedule = "bad_schedule",
        /// A step about content under a trigger that brings none.
        ContentTrigger = "content_trigger",

        // State machines.
        /// Two spellings of one field, or two fields that exclude each other.
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
        /// A called workflow that does not exist.
        UnknownWorkflow = "unknown_workflow",
        /// Workflows that call each other recursively.
        CircularCall = "circular_call",
        /// An invalid declaration of an input.
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
