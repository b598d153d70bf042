//! The stable names of everything that can be wrong. Each has a page in `docs/diagnostics/`.

use std::fmt;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The stable name of a finding or a failure, as the specs give it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(clippy::enum_variant_names, reason = "the names are those of the specs")]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Kind {
            /// All kinds, in the order in which they are declared.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

kinds! {
    // What a dialect calls a condition that does not compile.
    /// `machine`: a condition that does not compile, or whose result can never be boolean.
    BadCondition = "bad_condition",
    /// `steps`, `flow`: an expression that does not compile.
    BadExpression = "bad_expression",
    /// A placeholder or reference that does not parse.
    BadTemplate = "bad_template",
    /// The text is not YAML or JSON.
    Yaml = "yaml",
    /// A document that bears the marks of no dialect.
    UnknownDialect = "unknown_dialect",

    // Why an expression does not compile.
    /// The text does not parse.
    Syntax = "syntax",
    /// No such function.
    UnknownFunction = "unknown_function",
    /// A function with too many or too few arguments.
    WrongArity = "wrong_arity",
    /// Operands whose kinds are known from the text and can never fit.
    TypeClash = "type_clash",
    /// Division or remainder by a literal zero.
    ZeroDivisor = "zero_divisor",
    /// An integer literal beyond 64 bits.
    IntegerRange = "integer_range",
    /// `let` with a name that is taken already.
    Redeclared = "redeclared",
    /// `#`, `#index` or `#acc` where there is no element.
    NoElement = "no_element",
    /// The result is neither boolean nor nil.
    NotBoolean = "not_boolean",
    /// A regular expression that does not compile.
    BadRegex = "bad_regex",
    /// A secret where none may be read.
    SecretNotAllowed = "secret_not_allowed",

    // Names that a document cannot have.
    /// A root or state that the document cannot have.
    UnknownName = "unknown_name",
    /// A property that no value of this name has.
    UnknownProperty = "unknown_property",
    /// A reference to an id that does not exist in the document.
    UnknownReference = "unknown_reference",

    // What a dialect calls a condition that cannot be evaluated.
    /// `machine`, `graph`: an evaluation error.
    ConditionError = "condition_error",
    /// `steps`: an evaluation error of an expression.
    ConditionType = "condition_type",
    /// `flow`: an evaluation error of an expression.
    Expression = "expression",

    // Why an expression cannot be evaluated.
    /// Values of kinds that the operation does not take.
    WrongKind = "wrong_kind",
    /// Division or remainder by zero.
    DivisionByZero = "division_by_zero",
    /// A result that leaves the range of numbers.
    OutOfRange = "out_of_range",
    /// An argument of the right kind that the function cannot use.
    BadArgument = "bad_argument",
    /// Text that is not JSON.
    BadJson = "bad_json",
    /// A path that does not exist.
    MissingVariable = "missing_variable",

    // Bounds.
    /// Nested too deeply.
    DepthLimit = "depth_limit",
    /// Too long or too many parts.
    NodeLimit = "node_limit",
    /// Too much work.
    StepLimit = "step_limit",
    /// Too much produced.
    SizeLimit = "size_limit",
    /// A value is too large when nothing in it is shared.
    ValueLimit = "value_limit",
    /// The values of a run are too large together.
    StateLimit = "state_limit",
    /// The aliases of a document stand for too much text.
    AliasLimit = "alias_limit",
    /// Too much work for a regular expression.
    RegexLimit = "regex_limit",

    // Typed groups.
    /// The shape of a condition.
    InvalidCondition = "invalid_condition",
    /// A combinator other than and, or, not.
    InvalidCombinator = "invalid_combinator",
    /// A combinator was left out.
    CombinatorAbsent = "combinator_absent",
    /// A group without conditions.
    EmptyConditions = "empty_conditions",
    /// `not` with other than one condition.
    NotArity = "not_arity",
    /// No such operator.
    UnknownOperator = "unknown_operator",
    /// No such type.
    UnknownType = "unknown_type",
    /// A value that is required is absent or null.
    MissingValue = "missing_value",
    /// The operator does not work on that type.
    InvalidOperatorForType = "invalid_operator_for_type",
    /// A value of another type than declared.
    TypeMismatch = "type_mismatch",
    /// Text that cannot be read as its declared type.
    Parse = "parse",
    /// Numeric text beyond the range of numbers.
    Overflow = "overflow",
    /// Values that have no order.
    Incomparable = "incomparable",
    /// A key that no table lists.
    UnknownKey = "unknown_key",

    // Target lists and switches.
    /// Both `conditions` and `if`.
    TwoConditions = "two_conditions",
    /// Neither `conditions` nor `if`, or an empty list.
    NoConditions = "no_conditions",
    /// `match` other than all or any.
    UnknownMatch = "unknown_match",
    /// `on_match` other than continue or stop.
    UnknownOnMatch = "unknown_on_match",
    /// No such target.
    UnknownTarget = "unknown_target",
    /// `target` was left out.
    TargetOmitted = "target_omitted",
    /// An older spelling.
    AliasUsed = "alias_used",
    /// No such value type.
    UnknownValueType = "unknown_value_type",
    /// The operator does not work on that value type.
    OperatorValueType = "operator_value_type",
    /// A literal that is no number.
    BadNumberValue = "bad_number_value",
    /// A literal that is no date.
    BadDateValue = "bad_date_value",
    /// A literal that is no boolean.
    BadBooleanValue = "bad_boolean_value",
    /// A phrase that names no time.
    BadRelativeTime = "bad_relative_time",
    /// A field of the wrong type.
    BadField = "bad_field",
    /// A switch without cases.
    NoCases = "no_cases",
    /// A case without a name.
    CaseName = "case_name",
    /// Two cases of one name.
    CaseNameDuplicate = "case_name_duplicate",
    /// A case named `else`.
    CaseNameReserved = "case_name_reserved",
    /// A case without a match value.
    CaseMatchMissing = "case_match_missing",
    /// A match value that has not the format of its type.
    CaseMatchFormat = "case_match_format",
    /// One match value in two cases.
    DuplicateMatch = "duplicate_match",

    // History conditions.
    /// No such condition type.
    UnknownConditionType = "unknown_condition_type",
    /// `sequence_match` in a step without a sequence.
    MissingSequence = "missing_sequence",

    // Whole flows.
    /// The document lacks what every flow has.
    InvalidFlow = "invalid_flow",
    /// A step lacks a setting, or has one that cannot be.
    InvalidConfig = "invalid_config",
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
    /// A variable below something that is no object.
    PathConflict = "path_conflict",
    /// A loop without a cap of its own that would go on for too long.
    TooManyRounds = "too_many_rounds",
    /// A call of the outside that has failed for good.
    EffectFailed = "effect_failed",
    /// A command printed more than its output limit.
    OutputLimit = "output_limit",
    /// Stored data or a search of it exceeds a size or a count.
    StorageLimit = "storage_limit",
    /// A loop that its cap has ended.
    MaxIterations = "max_iterations",

    // Whole sessions.
    /// An agent's template lacks something, or something in it cannot be.
    InvalidTemplate = "invalid_template",
    /// What is said about all steps of a session cannot be.
    InvalidOrchestration = "invalid_orchestration",
    /// A step of a session cannot be as it is.
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
    /// A step that an earlier one always wins over.
    ShadowedStep = "shadowed_step",
    /// An empty list that allows everything.
    EmptyAllowed = "empty_allowed",
    /// A position of a sequence that no offered tool can fit.
    SequenceToolNotAllowed = "sequence_tool_not_allowed",

    // Whole graphs.
    /// The document is no graph.
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
    /// A subagent edge from something that is no agent.
    SubagentSourceNotAgent = "subagent_source_not_agent",
    /// A subagent edge to something that is no agent.
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

    // Text match.
    /// A field neither text nor null, or a value of the wrong kind.
    InvalidField = "invalid_field",

    // Step trees.
    /// A document without steps.
    NoSteps = "no_steps",
    /// An id of other characters than it may have.
    BadId = "bad_id",
    /// Children below a step that has none.
    ChildrenNotAllowed = "children_not_allowed",
    /// A required field is absent.
    MissingField = "missing_field",
    /// What is no duration.
    BadDuration = "bad_duration",
    /// A retry policy that cannot be followed.
    BadRetryPolicy = "bad_retry_policy",
    /// What is no JSON Schema.
    BadSchema = "bad_schema",
    /// A JSON Schema that exceeds a limit, or a value whose check does.
    SchemaLimit = "schema_limit",
    /// `on_error` other than fail, continue or a list of steps.
    OnErrorValue = "on_error_value",
    /// `on_error` where an error must not pick a branch.
    OnErrorNotAllowed = "on_error_not_allowed",
    /// A loop that is not told what to go over.
    ForEachInputMissing = "for_each_input_missing",
    /// Bounds of a loop that leave nothing, or are no positions.
    ForEachBounds = "for_each_bounds",
    /// A loop without a body.
    LoopBody = "loop_body",
    /// A bound of rounds outside its range.
    WhileMax = "while_max",
    /// Parallel branches that are absent, nameless or share a name.
    ParallelBranches = "parallel_branches",
    /// A rule that selects no attachments.
    AttachmentRule = "attachment_rule",
    /// A retry target that is no id.
    RetryTargetFormat = "retry_target_format",
    /// A retry target that the retry cannot go back to.
    RetryTarget = "retry_target",
    /// A number of retries outside its range.
    RetryMax = "retry_max",
    /// A join target that is no id.
    JoinTargetFormat = "join_target_format",
    /// A join target that is no merge.
    JoinTarget = "join_target",
    /// A join that its merge cannot wait for.
    JoinOrder = "join_order",
    /// A question without a text.
    HitlPrompt = "hitl_prompt",
    /// No such way to choose recipients.
    HitlDistribution = "hitl_distribution",
    /// Recipients are to be selected, and none are.
    HitlRecipients = "hitl_recipients",
    /// Choices that cannot be told apart or are reserved.
    HitlChoices = "hitl_choices",
    /// A number of votes that can never be reached.
    HitlRequired = "hitl_required",
    /// A time limit of a question that is no time.
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
    /// A streamed result that is no child of a model call.
    StreamingPlacement = "streaming_placement",
    /// Two streamed results.
    StreamingDuplicate = "streaming_duplicate",
    /// A streamed result under a trigger that has nobody to watch.
    StreamingTrigger = "streaming_trigger",
    /// A step about content under a trigger that brings none.
    ContentTrigger = "content_trigger",

    // What a host cannot do for a document.
    /// A step that nothing here performs.
    NoRunner = "no_runner",
    /// An agent that is a program, which is not installed here.
    ProviderNotFound = "provider_not_found",
    /// A trigger that nothing here serves.
    TriggerNotServed = "trigger_not_served",

    // State machines.
    /// A value that the field does not take.
    BadValue = "bad_value",
    /// One thing said twice, in two spellings or in two fields that exclude each other.
    Conflict = "conflict",
    /// A state that the document does not have.
    UnknownState = "unknown_state",
    /// No terminal state, or none that can be reached.
    NoTerminal = "no_terminal",
    /// A loop that is in its own body.
    LoopInItself = "loop_in_itself",
    /// A state without a way on.
    NoExit = "no_exit",
    /// A state that stands twice in a body.
    DuplicateBody = "duplicate_body",
    /// A called workflow that is not there.
    UnknownWorkflow = "unknown_workflow",
    /// Workflows that call each other in a circle.
    CircularCall = "circular_call",
    /// Values that the declared inputs do not take.
    InvalidInput = "invalid_input",
    /// An input that a workflow with declared inputs does not declare.
    UnknownInput = "unknown_input",
    /// A declaration of an input that is wrong itself.
    BadInputDeclaration = "bad_input_declaration",
    /// Rounds of a loop that ended with an error.
    FailedRounds = "failed_rounds",
    /// Data in a shell command that is not quoted for the shell.
    UnquotedSubstitution = "unquoted_substitution",
    /// A value quoted for the shell inside quotes of the command.
    EscapeInQuotes = "escape_in_quotes",
    /// Something of the original system that is not offered.
    Unsupported = "unsupported",
    /// Only conditional ways on.
    NoDefault = "no_default",
    /// A transition after one that always matches.
    UnreachableTransition = "unreachable_transition",
    /// A state that no path leads to.
    Unreachable = "unreachable",
    /// A terminal state that no path leads to.
    UnreachableTerminal = "unreachable_terminal",
    /// A run ended in a terminal state of failure.
    TerminalFailure = "terminal_failure",
    /// A state failed and nothing handles it.
    StepFailed = "step_failed",
    /// A state succeeded and none of its ways on matches.
    NoTransition = "no_transition",
    /// A hook at the start of a run failed.
    HookFailed = "hook_failed",
    /// A run has executed more operations than the operator allows.
    OpLimit = "op_limit",

    // Failures of runs that no document tells.
    /// A command ended with an exit code other than 0.
    ExitCode = "exit_code",
    /// A command could not be started.
    StartFailed = "start_failed",
    /// The working directory of a command does not exist or cannot be used.
    BadWorkingDir = "bad_working_dir",
    /// An environment variable that a command may not set, or whose name is not valid.
    BadEnvName = "bad_env_name",
    /// A step took longer than its time limit.
    Timeout = "timeout",
    /// The output of a step does not fit its schema.
    OutputSchema = "output_schema",
    /// A request was answered with a status that is not expected.
    HttpStatus = "http_status",
    /// A called workflow did not complete.
    CalleeFailed = "callee_failed",
    /// A loop that needs items has none.
    ForEachEmpty = "for_each_empty",
    /// A loop was ended by its bound while its condition still held.
    WhileLimit = "while_limit",
    /// A document gives its input a content type that does not exist.
    InputContentType = "input_content_type",
    /// The call of an agent's model failed.
    LlmError = "llm_error",
    /// No model is configured for an agent.
    NoLlm = "no_llm",
    /// The call of an agent failed.
    Agent = "agent",
    /// The reply of an agent is not in the format that is asked for.
    Format = "format",
    /// A text cannot be expanded.
    Template = "template",
    /// A parallel state failed because of its branches.
    Parallel = "parallel",
    /// A loop failed because a state of its body failed.
    Loop = "loop",
    /// A condition of a loop or of a conversation cannot be evaluated.
    Condition = "condition",
    /// A called workflow did not complete.
    Child = "child",
    /// A chat turn was ended by its bound on model calls.
    MaxSteps = "max_steps",
    /// A run reached one of its bounds.
    Exhausted = "exhausted",
    /// Workflows call each other too deeply.
    CallDepth = "call_depth",
    /// An answer is nested too deeply to be stored.
    TooDeep = "too_deep",
    /// A call ended without a response, because of an error of Branchpoint itself.
    Runner = "runner",
    /// A question to people reaches nobody.
    HitlNoRecipients = "hitl_no_recipients",
    /// A response contains a secret that cannot be sealed.
    KeyUnavailable = "key_unavailable",
    /// `graph`: an answer that an approval does not accept.
    BadApprovalInput = "bad_approval_input",
    /// `graph`: an answer for a run that is not paused.
    NotPaused = "not_paused",
    /// `graph`: an answer for a node that does not wait.
    NotWaiting = "not_waiting",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
