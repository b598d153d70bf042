//! Kinds of failures of runs, and of documents that a host cannot run. The names are stable; each has a page in `docs/diagnostics/`.

use branchpoint_expr::kinds;

kinds! {
    /// Kinds of failures of runs, as constants of [`Kind`](branchpoint_expr::Kind).
    pub trait RunKinds, listed in RUN_KINDS {
        // Bounds.
        /// The values of a run exceed the size limit together.
        StateLimit = "state_limit",

        // Whole flows.
        /// A step lacks a setting, or has an invalid one.
        InvalidConfig = "invalid_config",
        /// A variable below a value that is not an object.
        PathConflict = "path_conflict",
        /// A loop without a limit of its own exceeds the default limit.
        TooManyRounds = "too_many_rounds",
        /// A call that failed in its last attempt.
        EffectFailed = "effect_failed",
        /// A command printed more than its output limit.
        OutputLimit = "output_limit",
        /// Stored data or a search of it exceeds a size or a count.
        StorageLimit = "storage_limit",
        /// A loop reached its limit.
        MaxIterations = "max_iterations",

        // Step trees.
        /// A JSON Schema that exceeds a limit, or a value whose check does.
        SchemaLimit = "schema_limit",
        /// A policy blocked a step.
        PolicyBlocked = "policy_blocked",
        /// A policy that could not be evaluated.
        PolicyError = "policy_error",

        // Documents that a host cannot run.
        /// A step without a configured runner.
        NoRunner = "no_runner",
        /// The command-line program of an agent is not installed.
        ProviderNotFound = "provider_not_found",
        /// An unsupported trigger.
        TriggerNotServed = "trigger_not_served",

        // State machines.
        /// A value that the field does not accept.
        BadValue = "bad_value",
        /// Values that the declared inputs do not accept.
        InvalidInput = "invalid_input",
        /// An input that a workflow with declared inputs does not declare.
        UnknownInput = "unknown_input",
        /// Rounds of a loop that ended with an error.
        FailedRounds = "failed_rounds",
        /// A run ended in a terminal state of failure.
        TerminalFailure = "terminal_failure",
        /// A state succeeded and none of its transitions matches.
        NoTransition = "no_transition",
        /// A hook at the start of a run failed.
        HookFailed = "hook_failed",
        /// A run has executed more operations than the operator allows.
        OpLimit = "op_limit",

        // Failures that only occur while a run executes.
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
        /// The output of a step does not match its schema.
        OutputSchema = "output_schema",
        /// The response to a request has an unexpected HTTP status.
        HttpStatus = "http_status",
        /// A called workflow did not complete.
        CalleeFailed = "callee_failed",
        /// A loop that needs items has none.
        ForEachEmpty = "for_each_empty",
        /// A loop reached its limit while its condition was still true.
        WhileLimit = "while_limit",
        /// A document gives its input a content type that does not exist.
        InputContentType = "input_content_type",
        /// The call of an agent's model failed.
        LlmError = "llm_error",
        /// No model is configured for an agent.
        NoLlm = "no_llm",
        /// The call of an agent failed.
        Agent = "agent",
        /// An HTTP request or a notification failed.
        Operation = "operation",
        /// The reply of an agent does not have the requested format.
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
        /// A chat turn reached its limit of model calls.
        MaxSteps = "max_steps",
        /// A budget of a part, or of the callers of a run, is used up.
        BudgetExceeded = "budget_exceeded",
        /// A run reached one of its limits.
        Exhausted = "exhausted",
        /// Workflows call each other too deeply.
        CallDepth = "call_depth",
        /// A result is nested too deeply to be stored.
        TooDeep = "too_deep",
        /// A call ended without a response because of an error in Branchpoint itself.
        Runner = "runner",
        /// An approval has no recipients.
        HitlNoRecipients = "hitl_no_recipients",
        /// A group of an approval that is not defined, or that has too few members who may vote.
        HitlGroup = "hitl_group",
        /// An approval excludes the user who started the run, but that user is unknown.
        HitlRequesterUnknown = "hitl_requester_unknown",
        /// What an approval shows has changed too often, or since a voter saw it.
        ApprovalOutdated = "approval_outdated",
        /// A response contains a secret that cannot be sealed.
        KeyUnavailable = "key_unavailable",
        /// `graph`: an answer that an approval does not accept.
        BadApprovalInput = "bad_approval_input",
        /// `graph`: an answer for a run that is not paused.
        NotPaused = "not_paused",
        /// `graph`: an answer for a node that does not wait.
        NotWaiting = "not_waiting",
    }
}
