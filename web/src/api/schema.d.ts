// @generated from openapi.json by `npm run api`. Do not edit.

/** A place that refers to a step. */
export type AffectedRecord = {
  /** The path of the field in the step, such as `elif[0].if`. */
  field: string
  /** The line, counted from 1: in the new text, or in the old one if the edit removes the reference. */
  line: number
  /** The step that it names. */
  names: string
  /** The step with the reference; null for the document. */
  step?: string | null
}

/** The agent of a document. */
export type AgentRecord = {
  /** Whether it has a chat. The other documents are gates for programs that run their own model and tools. */
  chats: boolean
  document: string
  /** What the agent says before the first message. */
  initial_messages: string[]
  /** The name that the document gives the agent. */
  name?: string | null
  placeholder?: string | null
  /** Messages that a person may begin with. */
  prompts: string[]
  /** The steps in the order of the document. */
  steps: AgentStep[]
  /** The tools with which a session is opened unless the request lists others. */
  tools: string[]
}

/** A step of an agent. */
export type AgentStep = {
  /** The patterns of the tools that it allows; all tools if empty. */
  allowed: string[]
  /** The patterns of the tools that it denies. */
  denied: string[]
  /** Whether a session begins with this step. */
  is_default: boolean
  name: string
  /** The tools that fit each position of its sequence. */
  sequence: string[][]
}

/** The answer of a person that decided. */
export type AnswerFacts = {
  note: unknown
  user?: string | null
}

/** What answers the calls of a run. */
export type AnsweredBy = "none" | "script" | "recording"

/** An approval. */
export type Approval = ApprovalRules & {
  /** Who cancelled it. Only in the record of one approval. */
  cancelled_by?: string | null
  choices: Choice[]
  /** What the approvers decide on. */
  content?: unknown
  deadline?: string | null
  /** The decisions that led to the approval. Only in the record of one approval. */
  decisions: LeadingDecision[]
  /** The input of the run; a value above 4 KB is `{truncated, bytes}`. Only in the record of one approval. */
  input?: unknown
  /** The id of the run, `/`, and the number of the request or the id of the step. */
  key: string
  /** Whether the caller can cancel it. */
  may_cancel: boolean
  /** Whether the caller can name a delegate. */
  may_delegate: boolean
  /** Whether the caller can vote now. */
  may_vote: boolean
  /** The choice that was made, `timeout`, `no_quorum` or `cancelled`. */
  outcome?: string | null
  /** The positions of the enclosing items, outermost first. */
  path: number[]
  /** The question, as Markdown. */
  prompt: string
  /** The reason of a cancellation. */
  reason?: string | null
  /** The approvers; null if anyone can answer. */
  recipients?: string[] | null
  requested: string
  /** The number of equal votes that settle it; null if the first answer does. */
  required?: number | null
  run: string
  /** When it was settled. */
  settled?: string | null
  /** `quorum`, `veto`, `everyone_voted`, `unreachable`, `timeout`, `cancelled`, or `answer` if the first answer settled it. */
  settled_by?: string | null
  /** `open`, `settled` or `cancelled`. */
  status: ApprovalStatus
  step: string
  usage?: UsageRecord | null
  version: number
  votes: Vote[]
  /** The approvers who have not voted. */
  waits_for?: string[] | null
  workflow: string
}

/** The number of open approvals. */
export type ApprovalCounts = {
  all: number
  /** Those that await the caller. */
  mine: number
}

/** Where the run would continue after one answer. */
export type ApprovalOutcome = {
  /** The time of the timeout. */
  at?: string | null
  /** The choice, or `timeout`. */
  choice: string
  /** The decisions on the way. */
  decisions: LeadingDecision[]
  /** The status of the run, if it would end. */
  ends?: string | null
  /** Whether it is the timeout, because a choice may have the same name. */
  is_timeout: boolean
  /** The steps that begin next, in order. */
  leads_to: string[]
}

/** Where the answers of an approval lead. */
export type ApprovalOutcomes = {
  /** The choices in order, then the timeout. Outcomes that cannot be determined are absent, and a settled approval has none. */
  items: ApprovalOutcome[]
}

/** What an approval needs to be settled. All of it is empty if the first answer settles it. */
export type ApprovalRules = {
  /** What has changed since the earlier approval that this one replaces: `{path, before, after}`. */
  changes: Record<string, unknown>[]
  delegations: DelegationRecord[]
  escalation?: EscalationRecord | null
  /** The user who started the run, if that user may not vote. */
  excluded?: string | null
  /** The form that a vote carries, as a JSON Schema; null without a form. */
  form?: Record<string, unknown> | null
  /** The proposed values of the form, by field. */
  form_defaults?: Record<string, unknown> | null
  /** The groups whose votes a choice needs; empty if votes of any approvers count. */
  need: GroupNeed[]
  /** The votes for each choice, in the order of the choices. */
  progress: ChoiceProgress[]
  reminder?: ReminderRecord | null
  /** The hash of what voters see. A vote that sends it is rejected if the approval shows something else. */
  shown_hash?: string | null
  /** The approvers whose no settles the approval. */
  veto: string[]
}

/** The status of an approval. */
export type ApprovalStatus = "open" | "settled" | "cancelled"

/** An attempt of a call. */
export type AttemptRecord = {
  began: string
  ended?: string | null
  error?: StepError | null
}

/** A change that somebody requested. */
export type AuditEntry = {
  at: string
  /** The id of the credential; null for the local user. */
  credential?: string | null
  /** The method of the request, or `COMMAND` for a command on the command line. */
  method: string
  /** The path without its query, or the command without secrets. */
  path: string
  /** The status of the response. */
  status: number
  /** The user; null if the request had no valid credential. */
  user?: string | null
}

/** A branch of a decision. */
export type Branch = {
  column?: number | null
  /** The condition as the document spells it. */
  condition?: string | null
  error?: StepError | null
  line?: number | null
  name: string
  outcome: BranchOutcome
  sentence?: string | null
  /** The steps to which it leads. */
  targets: string[]
  tree?: Part | null
}

/** The outcome of a branch of a decision. */
export type BranchOutcome = "taken" | "true" | "false" | "error" | "not_evaluated"

/** What is done to each run. */
export type BulkAction = "cancel" | "resume" | "retry"

/** The preview of a change, or its outcome. */
export type BulkOutcome = BulkPreview & {
  /** Whether the runs were changed; false for a preview. */
  applied: boolean
  /** What became of each run, in order; empty for a preview. */
  outcomes: ChangedRun[]
}

/** What a request would change. */
export type BulkPreview = {
  action: BulkAction
  /** Send it to make the change. */
  confirmation: string
  /** The number of runs that would change. */
  count: number
  /** Runs that match and are left as they are. */
  left: SkippedRuns[]
  /** Whether more runs match than one request changes or looks at. Repeat the request for them, with `next` as `after`. */
  more: boolean
  /** Where the next request goes on; null if there are no more runs. */
  next?: string | null
  /** The first of them, the oldest first. */
  runs: Run[]
}

/** A change of several runs. */
export type BulkRequest = {
  action: BulkAction
  /** Only runs after those of an earlier response, from its `next`. */
  after?: string | null
  /** The `confirmation` of the preview. A request that would change other runs than the preview showed is rejected with a new preview. */
  confirmation?: string | null
  /** Shows which runs would change. Nothing changes. */
  dry_run?: boolean
  /** Which runs. */
  filter?: Selection
  /** Runners perform the calls, instead of the scripts of the runs. */
  live?: boolean
  /** The reason of a cancellation, which the runs show. */
  reason?: string | null
}

/** A call in flight. */
export type CallInFlight = {
  kind: string
  since: string
  step: string
}

/** Why a run is cancelled. */
export type CancelRequest = {
  /** The reason, which the run shows. */
  reason?: string | null
}

/** Why an evaluation failed. */
export type CaseError = {
  kind: string
  message: string
}

/** The result of one context. */
export type CaseResult = {
  error?: CaseError | null
  explanation?: Explanation | null
  /** The position of the condition that matched, for a list of conditions. */
  matched?: number | null
  /** True, false, or null for an error. */
  outcome?: boolean | null
  /** The values that the condition reads, by path. */
  reads: Record<string, unknown>
}

/** A change by meaning. */
export type ChangeRecord = {
  /** The value in the new document, as text. */
  after?: string | null
  /** What the changed field is about: `condition`, `approvers`, `prompt`, `limit`, `retry`, `policy`, `input`, `setting` or `step`. */
  aspect: string
  /** The value in the old document, as text. */
  before?: string | null
  /** The path of the field, such as `transitions[1].when`. */
  field?: string | null
  /** Where a summary lists it. */
  group: DiffGroup
  /** `added`, `removed`, `changed`, `moved` or `renamed`. */
  kind: DiffKind
  /** The line in the old document, counted from 1. */
  line_from?: number | null
  /** The line in the new document. */
  line_to?: number | null
  /** What happened, without the name of the step. */
  sentence: string
  /** The step in the new document, or in the old one if it was removed; null for the document. */
  step?: string | null
  step_type?: string | null
  /** The earlier id of a renamed step. */
  was?: string | null
}

/** What became of one run. */
export type ChangedRun = {
  /** Whether it was changed. */
  changed: boolean
  /** The run that repeats it. */
  new_run?: string | null
  /** Why it was not changed. */
  problem?: string | null
  run: string
}

/** A changed workflow: a version, or a document. One of them is required. */
export type ChangedWorkflow = {
  /** A document, which is saved as a version of the run's workflow. The caller must be allowed to edit it. */
  text?: string | null
  /** A version of the run's workflow. */
  version?: number | null
}

/** A chat so far. */
export type Chat = {
  /** Whether the agent has not replied to the last line yet. */
  in_turn: boolean
  lines: ChatLine[]
  /** The id of the run of the session; none before the first message. */
  run?: string | null
}

/** A line of a chat. */
export type ChatLine = {
  /** The arguments of the tool call. */
  arguments: unknown
  at: string
  error?: StepError | null
  /** The result of the tool call; null while it runs. */
  result: unknown
  /** `user`, `agent` or `tool`. */
  role: Speaker
  /** The active step after the line. */
  step?: string | null
  /** What was said; null for a tool call. */
  text?: string | null
  /** The name of the called tool. */
  tool?: string | null
}

/** The findings about a document. */
export type CheckResult = {
  /** The findings in the order of the text: `{kind, severity, message, help, line, column, start, end, text, step, fixes}`. `start` and `end` count bytes. A fix is `{title, edits}`, an edit `{start, end, text}`. */
  diagnostics: Diagnostic[]
  dialect?: string | null
  inputs: InputDeclaration[]
  /** Whether there are no errors. */
  ok: boolean
  structure?: Structure | null
}

/** A choice of an approval. */
export type Choice = {
  /** `yes`, `no` or `other`. */
  meaning: Meaning
  name: string
}

/** The votes for a choice. */
export type ChoiceProgress = {
  choice: string
  /** The votes of each group; empty without groups. */
  groups: GroupVotes[]
  /** The votes that it needs; null if each group needs a number of its own. */
  required?: number | null
  votes: number
}

/** A count that a decision compared with a limit. */
export type CountFacts = {
  done: number
  limit?: number | null
  unit: string
}

/** The number of runs by status. Ended runs are those of the last 24 hours. */
export type Counts = {
  completed_today: number
  failed_today: number
  running: number
  waiting_people: number
  waiting_timer: number
}

/** A new workflow. */
export type CreateRequest = {
  /** The dialect; detected by the content if absent. */
  dialect?: string | null
  /** What the document is for, for the list of versions; at most 1000 characters. */
  message?: string | null
  /** The name; that of the document if absent. */
  name?: string | null
  /** The document. */
  text: string
}

/** A credential without its secret. */
export type CredentialRecord = {
  created: string
  expires?: string | null
  id: string
  /** `token`, `link` or `browser`. */
  kind: string
  /** When it was last used, to about ten seconds; null if never. */
  last_used?: string | null
  role: Role
  user: string
  /** Patterns of the workflows that it is for. */
  workflows: string[]
}

/** A choice between branches, with all branches in order. */
export type Decision = {
  answer?: AnswerFacts | null
  /** The votes of an approval that decided, with the rule. */
  approval?: unknown
  at: string
  attempt?: RetryFacts | null
  branches: Branch[]
  /** The budget that decided. */
  budget?: unknown
  /** The branch that was chosen. */
  chosen?: string | null
  count?: CountFacts | null
  error?: StepError | null
  inputs?: InputState[] | null
  items?: ItemFacts | null
  kind: string
  /** Its position, counted from 1. */
  position?: number | null
  sentence: string
  signal?: string | null
  step: string
  values: ValueRead[]
}

/** Answers for the calls of an example. */
export type DefaultScript = {
  /** The name of its file. */
  name: string
}

/** Who votes in the place of the caller. */
export type DelegateRequest = {
  /** The person who may vote in the caller's place. */
  to: string
  /** The time at which the delegation ends, RFC 3339. */
  until: string
}

/** A recipient's vote that somebody else may use. */
export type DelegationRecord = {
  recipient: string
  to: string
  until: string
}

/** A delivery to a webhook. */
export type Delivery = {
  /** The number of attempts. */
  attempts: number
  created: string
  /** The event, such as `run.failed`. */
  event: string
  /** The id that the receiver gets as `Branchpoint-Id`, the same in every attempt. */
  id: string
  /** When the last attempt ended. */
  last_attempt?: string | null
  /** When the next attempt is due. */
  next_attempt?: string | null
  /** What came of the last attempt, such as the status of the response. */
  response?: string | null
  /** The id of the run; null for a test. */
  run?: string | null
  /** `pending`, `delivered`, `failed`, or `skipped` if it was not necessary any more. */
  status: string
}

/** A finding about a document. Its page is at `/docs/{kind}`. */
export type Diagnostic = {
  column: number
  /** The kind of the mistake in an embedded condition or template. */
  detail?: string | null
  end: number
  /** Edits that fix it. Only in the response of `/check`. */
  fixes?: Fix[]
  /** What to do. */
  help?: string | null
  kind: string
  line: number
  message: string
  /** The name of the document. */
  origin: string
  related?: RelatedPlace | null
  severity: Severity
  /** The place in bytes. */
  start: number
  /** The innermost step around the place. Only in the response of `/check`. */
  step?: string | null
  /** The source text at the place, cut. */
  text: string
}

/** The differences between two documents. */
export type Diff = {
  /** The changes by meaning, grouped; empty if both documents mean the same. */
  changes: ChangeRecord[]
  drawing?: Drawing | null
  /** How edges of the drawing differ, by id. */
  edge_marks: Record<string, DiffMark>
  /** How nodes of the drawing differ from the old document, by id. Other nodes are the same. */
  marks: Record<string, DiffMark>
}

/** Where a summary lists a change. */
export type DiffGroup = "decisions" | "approvals" | "steps" | "other"

/** What happened to a step or a field. */
export type DiffKind = "added" | "removed" | "changed" | "moved" | "renamed"

/** How a part of a drawing differs from the old document. */
export type DiffMark = "added" | "changed" | "removed"

/** The page about a kind of diagnostic. */
export type DocPage = {
  kind: string
  markdown: string
  title: string
}

/** A document that is not saved. */
export type DocumentRequest = {
  /** The dialect; detected by the content if absent. */
  dialect?: string | null
  /** The name under which it will be saved. A call of this name is circular. */
  name?: string | null
  /** The document. */
  text: string
}

/** A workflow as nodes and edges. */
export type Drawing = {
  dialect: string
  edges: DrawingEdge[]
  /** Whether edits of the drawing can be applied to the text. */
  editable: boolean
  /** Changes with the structure, not with places in the source: a key for caches of layouts. */
  hash: string
  nodes: DrawingNode[]
}

/** A branch of a decision. */
export type DrawingBranch = {
  /** The condition; null for a default. */
  condition?: string | null
  /** The condition with paths shortened to their last segments. */
  condition_short?: string | null
  default: boolean
  /** The line of the condition, counted from 1. */
  line?: number | null
  name: string
  /** The steps to which the branch leads. */
  targets: string[]
}

/** A connection between two nodes. */
export type DrawingEdge = {
  /** Whether the edge is followed after a failure. */
  failure: boolean
  from: string
  /** The branch of the decision from which the edge leads. */
  from_branch?: string | null
  id: string
  /** `next`, `branch`, `loop` for edges that lead back, or `subagent`. */
  kind: EdgeKind
  /** The words beside the edge. An edge of a branch has none, because the branch has a name. */
  label?: string | null
  to: string
}

/** A step, the start or an end. */
export type DrawingNode = {
  branches: DrawingBranch[]
  /** The step's own fields, without the steps inside of it; of a graph node, those of its `data`. Only on request. */
  fields?: Record<string, unknown> | null
  id: string
  /** The type of the step as its author wrote it. */
  kind: string
  /** The enclosing step. */
  parent?: string | null
  /** `action`, `decision`, `approval`, `loop`, `subagent`, `start` or `end`. */
  shape: NodeShape
  span?: SpanRecord | null
  /** What its settings say, in at most 30 characters. */
  summary?: string | null
  title: string
  /** Where the author of a graph has placed it. */
  x?: number | null
  y?: number | null
}

/** A document to draw. */
export type DrawingRequest = {
  /** The dialect; detected by the content if absent. */
  dialect?: string | null
  /** The name under which it will be saved. A call of this name is circular. */
  name?: string | null
  /** The document. */
  text: string
  /** Whether each node has the fields of its step. */
  with_fields?: boolean
}

/** The path of a run that was not stored. */
export type DryRun = {
  dry_run: boolean
  /** Steps for whose calls the script has no answer, with the kind of the call. */
  missing: Record<string, string>
  /** Answers of the script that were rejected. */
  rejected: string[]
  result: unknown
  status: string
  /** The steps, in the order in which they began. */
  steps: Step[]
  /** The steps whose approvals the script does not answer. */
  waits_for: string[]
}

/** What an edge of a drawing is. */
export type EdgeKind = "next" | "branch" | "loop" | "subagent"

/** A document and an operation. */
export type EditRequest = {
  /** The dialect, `steps` or `graph`; detected by the content if absent. */
  dialect?: string | null
  /** The name under which it will be saved. A call of this name is circular. */
  name?: string | null
  operation: OperationRequest
  /** The document. */
  text: string
  /** Whether each node of the drawing has the fields of its step. */
  with_fields?: boolean
}

/** The result of an edit. Nothing is saved. */
export type EditResult = {
  /** The references that the edit changed, or that name a step that it removed. */
  affected: AffectedRecord[]
  /** The findings about the new document, as from `/check`. */
  diagnostics: Diagnostic[]
  drawing?: Drawing | null
  /** The edits of the text, in its order. They keep comments, order and notation of everything else. */
  edits: TextEdit[]
  /** The steps that it removed, with those inside of them. */
  removed: string[]
  /** The step to select. */
  selected?: string | null
  /** The text with the edits. */
  text: string
}

/** An error of a run or of a step. */
export type ErrorRecord = {
  kind: string
  message: string
  /** The step that failed. */
  step?: string | null
}

/** Approvers who are added when the approval is not settled in time. */
export type EscalationRecord = {
  at: string
  escalated: boolean
  users: string[]
}

/** A condition and the contexts to evaluate it over. */
export type EvalRequest = {
  /** The contexts: objects with the values that the condition can see. At most 50. */
  cases?: Record<string, unknown>[]
  /** The condition. */
  condition: string
  /** The dialect, which decides what missing values mean. */
  dialect: string
  spelling: Spelling
}

/** The results of a condition. */
export type EvalResult = {
  /** One result for each context. */
  cases: CaseResult[]
  /** Findings about the condition. With an error, there are no results. */
  diagnostics: Diagnostic[]
  /** The paths that the condition reads. */
  reads: string[]
}

/** Why a condition is true, false or an error. */
export type Explanation = {
  /** True, false, or `{error, message}`. */
  outcome: unknown
  sentence: string
  tree: Part
}

/** Something that was checked. */
export type Finding = {
  message: string
  name: string
  ok: boolean
}

/** The findings about the store. */
export type Findings = {
  items: Finding[]
}

/** Edits that fix a finding. */
export type Fix = {
  edits: TextEdit[]
  title: string
}

/** A new run that repeats another from a step on. */
export type ForkRequest = {
  /** The number of events that the new run has of this one, in place of `step`. */
  events?: number | null
  /** The id of the new run; generated if absent. */
  id?: string | null
  /** Runners perform the calls, instead of the script of the run. */
  live?: boolean
  /** The key of the step in the trace, or the id of a step, which means its first execution. With a changed workflow it may be absent: the new run then continues where the run is. */
  step?: string | null
  with?: ChangedWorkflow | null
}

/** A formatted document. */
export type Formatted = {
  /** Whether formatting changed the text. */
  changed: boolean
  text: string
}

/** The step and the tools of a session. */
export type Gate = {
  activeStep?: string | null
  allowedTools: string[]
  changed: boolean
  persona?: unknown
  recentlyUsedTools: string[]
  sequenceIndex: number
  why?: string | null
}

/** A group of people. */
export type Group = {
  members: string[]
  name: string
}

/** A group whose votes a choice needs. */
export type GroupNeed = {
  group: string
  members: string[]
  needed: number
}

/** The votes of a group for a choice. */
export type GroupVotes = {
  group: string
  needed: number
  votes: number
}

/** What happened in an hour. */
export type Hour = {
  cancelled: number
  completed: number
  decisions: number
  failed: number
  /** The beginning of the hour. */
  hour: string
  started: number
}

/** An input that a workflow declares. */
export type InputDeclaration = {
  default: unknown
  description?: string | null
  /** The possible values; null if any value of the type is possible. */
  enum: unknown
  name: string
  required: boolean
  /** Whether the name says that the value is secret. */
  secret: boolean
  type?: string | null
}

/** What has arrived at an input of a merge. */
export type InputState = {
  name: string
  state: string
}

/** The items over which a decision was made. */
export type ItemFacts = {
  count: number
  failed: number[]
  left_out: number
}

/** A round of a loop. */
export type Iteration = {
  /** Counted from 0. */
  index: number
  /** The item of a loop over a list. */
  item: unknown
  /** The id of the loop. */
  loop: string
}

/** A page of iterations. */
export type IterationPage = {
  /** The number of iterations by status, before the filter; `pending` are items that have not begun. */
  counts: Record<string, number>
  items: LoopIteration[]
  /** The cursor of the next page; null at the end. */
  next?: string | null
  /** The first ranges of iterations by status: the first and the last index of each. */
  ranges: Record<string, number[][]>
  /** The number of iterations that match. */
  total: number
}

/** The latest decision of a run. */
export type LastDecision = {
  branch?: string | null
  sentence?: string | null
  step: string
}

/** A run in the list of the latest runs of a workflow. */
export type LatestRun = {
  duration_ms: number
  id: string
  started: string
  status: RunStatus
}

/** A decision that led to an approval. */
export type LeadingDecision = {
  branch?: string | null
  sentence?: string | null
  step: string
}

/** A sign-in link to create. */
export type LinkRequest = {
  /** The minutes until it expires. */
  expires_minutes?: number
  role: Role
  /** The user who signs in with the link. */
  user: string
  /** Patterns of the workflows that it is for; all if absent. */
  workflows?: string[]
}

/** An approval as the user of a link sees it. */
export type LinkedApproval = {
  approval: Approval
  /** When the link expires. */
  expires: string
  /** Whether the user has voted. A link is for one vote. */
  used: boolean
  /** The user who votes with the link. */
  user: string
}

/** One iteration of a loop. */
export type LoopIteration = {
  began: string
  ended?: string | null
  /** The number of the iteration, counted from 0. */
  index: number
  /** The item; a value above 4 KB is `{truncated, bytes}`. */
  item?: unknown
  /** The number of attempts after the first of each call. */
  retries: number
  /** `failed` if a step failed, else `waiting_people`, `waiting_timer`, `running` or `cancelled` if a step is so, `skipped` if a gate blocked it, else `completed`. */
  status: string
  /** The number of steps directly inside. */
  steps: number
  took_ms?: number | null
  usage: UsageRecord
}

/** The caller and the server. */
export type Me = {
  /** What the user may do with at least one workflow, by action. */
  can: Record<string, boolean>
  /** The groups of the user. */
  groups: string[]
  /** Whether the user needs no credentials because the request comes from this machine. */
  local: boolean
  role: Role
  /** The role, as a list. */
  roles: Role[]
  server: ServerFacts
  /** The user name. */
  user: string
}

/** What a choice of an approval means. */
export type Meaning = "yes" | "no" | "other"

/** A message of the user. */
export type MessageRequest = {
  /** A key that makes it safe to repeat the request. */
  key?: string | null
  text: string
}

/** A move of waiting runs. */
export type MigrateRequest = {
  /** Moves the runs that can move. Without it, nothing changes. */
  apply?: boolean
  /** The ids of runs; all waiting runs of the workflow if absent. */
  runs?: string[] | null
  /** The version to move to. */
  to: number
}

/** What becomes of the runs. */
export type MigrationPlan = {
  applied: boolean
  /** The runs, the oldest first. */
  items: MovedRun[]
  /** Whether more runs wait than one request moves. */
  more: boolean
}

/** What becomes of one run. */
export type MovedRun = {
  /** Whether the run can move, or has moved. */
  can_move: boolean
  moved: boolean
  /** Why the run cannot move. */
  problem?: string | null
  run: string
  void_votes: VoidVotes[]
  /** The steps at which the run waits on the changed workflow. */
  waits_at: string[]
}

/** A named secret without its value. */
export type NamedSecret = {
  /** Whether the environment or the secrets file of the server has a secret of this name, which is used instead. */
  hidden: boolean
  name: string
  set: string
  /** The user who has set it. */
  set_by: string
  /** Patterns of the workflows that may use it although their documents were saved over the API. */
  workflows: string[]
}

/** A new sign-in link. */
export type NewLink = CredentialRecord & {
  /** The path of the link below the address of the server. It is shown once. */
  path: string
}

/** A new token. */
export type NewToken = CredentialRecord & {
  /** The token. It is shown once. */
  token: string
}

/** The shape of a node of a drawing. */
export type NodeShape = "action" | "decision" | "approval" | "loop" | "start" | "end" | "subagent" | "note"

/** The parts of a long run that its trace does not contain. */
export type OmittedRecord = {
  /** The number of events after the trace. */
  after: number
  /** The number of events before the trace. */
  before: number
  /** The number of ended steps in between. */
  steps: number
}

/** An edit of a document, by its `op`. */
export type OperationRequest = {
  /** Fields of the step; in a graph, of its `data`. */
  fields?: Record<string, unknown> | null
  /** The id; made from the type if absent. */
  id?: string | null
  op: "add"
  position: PositionRequest
  /** The type, from the palette. */
  step_type: string
} | {
  op: "remove"
  /** The ids, at most 200. */
  steps: string[]
  /** Whether the children of a step are removed with it. Otherwise they take its place. */
  with_children?: boolean
} | {
  op: "move"
  position: PositionRequest
  step: string
} | {
  /** The handle of the source; `output` if absent. */
  handle?: string | null
  op: "connect"
  source: string
  target: string
} | {
  /** The handle of the source; any if absent. */
  handle?: string | null
  op: "disconnect"
  source: string
  target: string
} | {
  /** The new id. */
  id: string
  op: "rename"
  step: string
} | {
  op: "set_field"
  path: PathSegment[]
  step?: string | null
  value: unknown
} | {
  op: "remove_field"
  path: PathSegment[]
  step?: string | null
} | {
  /** The present position, from 0. */
  from: number
  op: "reorder"
  step: string
  /** The new position. */
  to: number
} | {
  /** Steps of a tree, or nodes and connections of a graph, as YAML or JSON. */
  fragment: string
  op: "paste"
  position: PositionRequest
} | {
  op: "set_positions"
  /** The places by id. */
  positions: Record<string, PointRequest>
}

/** The numbers of the overview. */
export type Overview = {
  approvals?: ApprovalCounts | null
  counts: Counts
  /** The last 24 hours, the oldest first. */
  hours: Hour[]
}

/** A type of step that can be added. */
export type PaletteEntry = {
  /** What it does, in one line. */
  about: string
  /** The branches or handles of the example. */
  branches: string[]
  /** The JSON Schema of its fields. References in it are those of `/schema/{dialect}`. */
  fields: Record<string, unknown>
  /** A minimal example as JSON. */
  fragment: string
  /** The group in which it is listed. */
  group: string
  /** Its name in documents. */
  kind: string
  /** The path from the object of the step to the object with its fields; `["data"]` in graphs. */
  path: string[]
  /** Its name for people. */
  title: string
}

/** An evaluated part of a condition. */
export type Part = {
  children: Part[]
  /** Whether it decided the outcome. */
  decided: boolean
  end?: number | null
  error?: string | null
  /** The place in the source, in bytes; null if the part is not in the document. */
  start?: number | null
  text: string
  /** How often it was evaluated. */
  times: number
  type?: string | null
  /** The value, shortened; null if the part was not evaluated or failed. */
  value?: string | null
}

/** A key of an object, or a position in a list. */
export type PathSegment = string | number

/** The possible approvers of workflows that name none, and the groups that approvals can name. */
export type People = {
  admins: string[]
  /** The tokens and browsers of people. Only admins see them; null for others. */
  credentials?: PersonCredential[] | null
  groups: Group[]
  members: string[]
  owner?: string | null
}

/** What a person may do with a token or a browser. */
export type PersonCredential = {
  /** When it was last used, to about ten seconds; null if never. */
  last_used?: string | null
  role: Role
  user: string
  /** Patterns of the workflows. */
  workflows: string[]
}

/** A condition of a decision. */
export type PlaygroundBranch = {
  /** Whether the decision chose this branch. */
  chosen: boolean
  /** The condition as the document has it; null for a branch without one. */
  condition?: string | null
  name: string
  spelling?: Spelling | null
}

/** A decision as conditions and a context, to evaluate again with `POST /eval`. */
export type PlaygroundDecision = {
  /** The branches in order. */
  branches: PlaygroundBranch[]
  /** The values that the conditions read, in their places. */
  context: Record<string, unknown>
  dialect: string
  /** The number of the decision among those of the step, counted from 1. */
  number: number
  step: string
}

/** A place on the canvas. */
export type PointRequest = {
  x: number
  y: number
}

/** Where a step is added, moved or pasted, by its `at`. */
export type PositionRequest = {
  at: "start"
} | {
  at: "end"
} | {
  at: "before"
  step: string
} | {
  at: "after"
  step: string
} | {
  at: "below"
  branch?: string | null
  step: string
} | {
  at: "edge"
  branch?: string | null
  /** The step that the edge leaves, or `start`. */
  from: string
  /** The step that it leads to, or `end`. */
  to: string
} | {
  at: "branch"
  /** `then`, `elif-0`, `else`, `body`, `on_error`, `child_steps`, or the name of a case or a branch. */
  branch: string
  /** The position in the branch; the end if absent. */
  index?: number | null
  step: string
} | {
  at: "free"
  x: number
  y: number
}

/** The body of a problem response. */
export type Problem = {
  /** What happened, and what to do. */
  detail: string
  /** Findings about the document of the request, with spans in its text. */
  diagnostics?: Diagnostic[] | null
  /** The stable name of the kind. */
  kind: string
  /** The HTTP status. */
  status: number
  /** The kind in a few words. */
  title: string
  /** The page about the kind of problem. */
  type: string
}

/** A provider of models. */
export type Provider = {
  /** Its address without user, password and query. */
  endpoint?: string | null
  /** `set`, `missing` or `not_needed`. */
  key: ProviderKey
  /** Its wire format, or the name of a compatible provider. */
  kind: string
  /** The models that the settings name for it. */
  models: string[]
  name: string
  /** Why its models cannot be called; null if they can. */
  problem?: string | null
  /** The number of workflows whose latest version calls it. */
  used_by: number
}

/** The result of a check of a provider. */
export type ProviderCheckResult = {
  /** What came of the request, and what to do. */
  message: string
  /** Whether it responds and accepts the key. */
  ok: boolean
  took_ms: number
}

/** Whether the key of a provider is set. */
export type ProviderKey = "set" | "missing" | "not_needed"

/** Why a run waits in a queue. */
export type QueuedRecord = {
  /** The group of runs that the limit counts. */
  group?: string | null
  /** The position in the queue, counted from 1. */
  position: number
  reason: string
}

/** Another place that a finding is about. */
export type RelatedPlace = {
  column: number
  end: number
  line: number
  message: string
  start: number
}

/** Reminders of the approvers who have not voted. */
export type ReminderRecord = {
  interval_ms: number
  /** The most reminders; null if there is no limit. */
  max?: number | null
  /** When the next is sent, unless the approval is settled before. */
  next?: string | null
  /** How many were sent. */
  sent: number
}

/** The reply of an agent. */
export type Reply = {
  error?: StepError | null
  text?: string | null
  warnings?: string[] | null
}

/** What answers the calls of a scripted run from now on. */
export type ResumeRequest = {
  /** Runners perform the calls, instead of the script of the run. */
  live?: boolean
}

/** The attempt after which a decision to retry was made. */
export type RetryFacts = {
  delay_ms?: number | null
  limit: number
  number: number
  retryable: boolean
}

/** A new run that repeats the failed call of another. */
export type RetryRequest = {
  /** The id of the new run; generated if absent. */
  id?: string | null
  /** Runners perform the calls, instead of the script of the run. */
  live?: boolean
  with?: ChangedWorkflow | null
}

/** What the owner of a credential may do with the workflows that it is for. */
export type Role = "viewer" | "operator" | "approver" | "editor" | "admin"

/** A run in a list. */
export type Run = {
  /** The duration without waits for people. */
  active_ms: number
  /** The steps that run or wait now. */
  current: string[]
  dialect: string
  /** Whether a process drives the run. */
  driven: boolean
  ended?: string | null
  error?: ErrorRecord | null
  id: string
  last_decision?: LastDecision | null
  /** The run that called this run. */
  parent?: string | null
  /** The priority in queues, from -100 to 100. */
  priority: number
  /** What answers the calls: `none` for runners, `script`, or `recording`. */
  script: AnsweredBy
  started: string
  status: RunStatus
  tags: string[]
  /** The time of the latest event. */
  updated: string
  usage: UsageRecord
  /** The version of the workflow. */
  version: number
  /** The duration of waits for people. */
  waited_ms: number
  waiting_for?: WaitsFor | null
  /** The name of the workflow. */
  workflow: string
}

/** A run with everything that is not in its trace. */
export type RunDetail = Run & {
  /** The calls in flight. */
  calls_in_flight: CallInFlight[]
  /** The first runs that this run called. */
  children: Run[]
  /** The number of runs that this run called. */
  children_total: number
  /** The facts that the run was started with. */
  facts: unknown
  /** The flags that policies have set. */
  flags: unknown
  input: unknown
  /** Why the secrets of the run are not available, or why the run cannot be read. */
  problem?: string | null
  /** The hash of the workflow with its programs. */
  program_hash: string
  queued?: QueuedRecord | null
  result: unknown
  /** The number of events. */
  seq: number
}

/** The text that a run was started with. */
export type RunSource = {
  dialect: string
  name: string
  /** The text; empty for a run of a called workflow, of which only the program is stored. */
  text: string
}

/** The status of a run. */
export type RunStatus = "running" | "waiting_people" | "waiting_timer" | "completed" | "failed" | "cancelled"

/** The steps of a workflow that have no configured runner. */
export type RunnerCheckRecord = {
  findings: RunnerFinding[]
  /** Whether all steps have a configured runner. */
  ok: boolean
  version: number
  workflow: string
}

/** A step that has no configured runner. */
export type RunnerFinding = {
  /** What to do. */
  help?: string | null
  /** The kind, such as `no_runner`. */
  kind: string
  message: string
}

/** A new version of a workflow. */
export type SaveRequest = {
  /** The version that was edited. `If-Match` with the `ETag` of that version does the same. */
  base_version?: number | null
  /** The dialect; detected by the content if absent. */
  dialect?: string | null
  /** What has changed, for the list of versions; at most 1000 characters. */
  message?: string | null
  /** The document. */
  text: string
}

/** A secret to store. The handler reads it by hand, so that no message about a wrong body repeats a part of it. */
export type SecretRequest = {
  /** The value, 1 to 65,536 bytes. */
  value: string
  /** Patterns of the workflows that may use it although their documents were saved over the API; none if absent. */
  workflows?: string[] | null
}

/** A filter for runs. Without conditions it selects all runs. */
export type Selection = {
  /** Runs that other runs called, too. */
  children?: boolean
  /** Runs whose id, workflow, input or result contains all these words. */
  q?: string | null
  /** Sessions, too. */
  sessions?: boolean
  /** Runs started at or after this time, RFC 3339, or within this duration, such as `24h`. */
  since?: string | null
  /** Runs with one of these statuses. */
  status?: RunStatus[]
  /** Runs that have all these tags. */
  tags?: string[]
  /** Runs started before this time, RFC 3339, or before this duration, such as `24h`. */
  until?: string | null
  /** Runs of this workflow. */
  workflow?: string | null
}

export type ServerFacts = {
  /** Changes with every build of the program. */
  build: string
  /** What stores and drives the runs. */
  host: string
  /** The time of the server, RFC 3339. */
  now: string
  /** The version of the requests to `/read`. */
  reads: number
  version: string
}

/** An event of a session. */
export type SessionEvent = {
  at: string
  /** `message`, `tool`, `reset` or `turn`. */
  kind: SessionEventKind
  /** The number of the event. */
  n: number
  step_after?: string | null
  step_before?: string | null
  /** The text of the message, or the name of the tool. */
  value: unknown
}

/** The kind of an event of a session. */
export type SessionEventKind = "message" | "tool" | "reset" | "turn"

/** A session in a list. */
export type SessionRecord = {
  document: string
  /** Whether it has expired. The next request opens a new one. */
  expired: boolean
  id: string
  /** The id of its run. */
  run: string
  /** The active step. */
  step?: string | null
  /** The number of tools that are offered now. */
  tools_offered: number
  /** The number of tools of the agent. */
  tools_total: number
  updated: string
}

/** A session as of an event. */
export type SessionState = {
  /** Whether the agent has a chat. */
  chats: boolean
  document: string
  /** The latest events. */
  events: SessionEvent[]
  /** Whether the session has expired. */
  expired: boolean
  id: string
  /** The id of its run. */
  run: string
  /** The steps in the order of the document, with the outcomes of their latest evaluation. */
  steps: StepOutcome[]
  tools: ToolRecord[]
  /** The tools and the step. */
  view: Gate
}

/** A session after a request. */
export type SessionView = {
  activeStep?: string | null
  allowedTools: string[]
  /** Whether the request changed the step. */
  changed: boolean
  persona?: unknown
  /** Conditions that failed and so were not true: `{step, kind, message}`. */
  problems?: StepError[]
  recentlyUsedTools: string[]
  sequenceIndex: number
  sessionId: string
  /** Why the step is active, in one sentence. */
  why?: string | null
}

/** How serious a finding is. */
export type Severity = "error" | "warning"

/** How people can sign in. */
export type SignInMethods = {
  oidc?: SignInProvider | null
  /** Whether requests need to be signed in at all. */
  required: boolean
  /** Whether tokens and one-time links are accepted. */
  token: boolean
}

/** A provider, with which `GET /sign-in/oidc` signs in. */
export type SignInProvider = {
  name: string
}

/** What a browser signs in with: a token, or the code of a one-time link. */
export type SignInRequest = {
  code?: string | null
  token?: string | null
}

/** A signal: an event that a person or a program sends. */
export type SignalRequest = {
  /** The name of the signal. */
  name: string
  /** The data of the signal. */
  payload?: unknown
}

/** Runs that match and are left as they are. */
export type SkippedRuns = {
  count: number
  reason: string
}

/** A place in the source of a document, in bytes. */
export type SpanRecord = {
  end: number
  /** The line, counted from 1. */
  line: number
  start: number
}

/** Whose line of a chat it is. */
export type Speaker = "user" | "agent" | "tool"

/** How a condition is written. */
export type Spelling = "expression" | "group" | "targets" | "history" | "text_match"

/** The run to start. */
export type StartRun = {
  /** Shows the path of the run. Nothing is performed or stored. */
  dry_run?: boolean
  /** The id of the run; generated if absent. A second start with the same id changes nothing. */
  id?: string | null
  /** The inputs by name. */
  inputs?: Record<string, unknown>
  /** Runners perform the calls of an example, which otherwise has a script. */
  live?: boolean
  /** The priority of the run in queues, from -100 to 100. */
  priority?: number
  /** Answers for calls and approvals, as YAML, as JSON text, or as an object. Calls that it answers are not performed. */
  script?: unknown
  /** Tags of the run. */
  tags?: string[]
  /** The version of the workflow; the latest if absent. */
  version?: number | null
  /** The name of the workflow. */
  workflow: string
}

/** A run, or a dry run. */
export type Started = RunDetail | DryRun

/** One execution of a step. */
export type Step = {
  attempts: AttemptRecord[]
  began?: string | null
  /** The branch that the step took. */
  branch?: string | null
  /** The ids of the runs that the step called. */
  child_runs: string[]
  /** The number of enclosed steps by status. */
  children_counts: Record<string, number>
  /** The decisions with all branches. The trees of evaluated conditions are only in the record of one step. */
  decisions: Decision[]
  /** The number of decisions omitted between the first and the last. */
  decisions_omitted: number
  depth: number
  ended?: string | null
  error?: StepError | null
  has_children: boolean
  /** The part of `waited_ms` that the step waited for people. */
  hitl_wait_ms: number
  /** The number of items of a loop. */
  items?: number | null
  /** The rounds of the enclosing loops, outermost first: `{loop, index, item}`. */
  iterations: Iteration[]
  /** Identifies the execution within its run, and stays the same while the run continues. */
  key: string
  /** The name that the document gives the step. */
  name?: string | null
  output_content_type?: string | null
  /** The key of the enclosing step. */
  parent?: string | null
  /** Why the step did not run. */
  reason?: string | null
  /** The number of this execution among those of the step at the same position, counted from 1. */
  run: number
  span?: SpanRecord | null
  status: StepStatus
  /** The id of the step. */
  step: string
  took_ms?: number | null
  type: string
  usage: UsageRecord
  waited_ms: number
  warnings: string[]
}

/** One execution of a step with its values. */
export type StepDetail = Step & {
  /** The input. A value above 4 KB is `{truncated, bytes}` unless the request asks for whole values. */
  input: unknown
  /** The output, in the same form. */
  output: unknown
  /** The tool calls of an agent's turn. */
  tool_calls: ToolCall[]
}

/** An error of a run, a step, a condition or an attempt. */
export type StepError = {
  kind: string
  message: string
  step?: string | null
}

/** A step with the outcome of its conditions. */
export type StepOutcome = {
  active: boolean
  /** The patterns of the tools that it allows; all tools if empty. */
  allowed: string[]
  /** The patterns of the tools that it denies. */
  denied: string[]
  explanation?: Explanation | null
  /** Whether the conditions were true at the event; null if they were not evaluated. */
  holds?: boolean | null
  /** Whether a session begins with this step. */
  is_default: boolean
  /** The tools that fit each position of its sequence. */
  sequence: string[][]
  step: string
}

/** A page of a trace. */
export type StepPage = {
  /** The number of steps by status, before the filter by status. */
  counts: Record<string, number>
  items: Step[]
  /** The cursor of the next page; null at the end. */
  next?: string | null
  omitted?: OmittedRecord | null
  /** The number of steps that match. */
  total: number
}

/** The status of an execution of a step. */
export type StepStatus = "running" | "waiting_people" | "waiting_timer" | "completed" | "failed" | "cancelled" | "skipped"

/** The number of steps of a workflow by what they do. */
export type Structure = {
  /** Steps that wait for people. */
  approvals: number
  /** Steps that choose a branch. */
  decisions: number
  /** Steps that repeat other steps. */
  loops: number
  steps: number
}

/** A workflow that people start from. */
export type TemplateRecord = {
  description: string
  dialect: string
  /** Inputs for a run. */
  inputs?: Record<string, unknown> | null
  name: string
  /** Answers for its calls and approvals, as YAML. */
  script?: string | null
  /** The document, named after the template. */
  text: string
  title: string
}

/** A replacement of a part of a text. `start` and `end` count bytes. */
export type TextEdit = {
  end: number
  start: number
  text: string
}

/** Two documents: the new one as text, the old one as text or as a version of a workflow. */
export type TextsRequest = {
  /** The dialect; detected by the content if absent. */
  dialect?: string | null
  /** The version of the workflow; the latest if absent. */
  from?: number | null
  /** A workflow. */
  name?: string | null
  /** The old document; without it, that of the workflow `name`. */
  old?: string | null
  /** The new document. */
  text: string
}

/** A token to create. */
export type TokenRequest = {
  /** The days until it expires; never if absent. */
  expires_days?: number | null
  role: Role
  /** The user who acts with the token. */
  user: string
  /** Patterns of the workflows that it is for; all if absent. */
  workflows?: string[]
}

/** A tool call of an agent's turn. */
export type ToolCall = {
  arguments: unknown
  began: string
  ended?: string | null
  error?: StepError | null
  output: unknown
  status: StepStatus
  tool: unknown
}

/** A tool of an agent. */
export type ToolRecord = {
  name: string
  offered: boolean
  /** Why it is offered or not, in a few words. */
  reason: string
}

/** A use of a tool. */
export type ToolRequest = {
  /** A key that makes it safe to repeat the request. */
  key?: string | null
  tool: string
}

/** The name of a topic: `runs`, `approvals`, `overview`, `workflows`, `sessions`, `run:ID` or `session:DOCUMENT/ID`. */
export type TopicName = string

/** Changes of the topics of a client. */
export type TopicsRequest = {
  /** Topics to follow. */
  add?: TopicName[]
  /** Topics to leave. */
  remove?: TopicName[]
}

/** A turn of a chat. */
export type TurnRecord = {
  /** The id of the run of the session, whose trace shows the turn. */
  run: string
  turn?: Reply | null
  view?: Gate | null
}

/** What a person says in a chat. */
export type TurnRequest = {
  /** What the user says. */
  text: string
}

/** Changes of a run. What is absent stays as it is. */
export type UpdateRequest = {
  /** Tags to add. */
  add_tags?: string[]
  /** The priority in queues, from -100 to 100. */
  priority?: number | null
  /** Tags to remove. */
  remove_tags?: string[]
}

/** The tokens and the cost of calls. */
export type UsageRecord = {
  /** The cost in millionths of a dollar. */
  cost_micros: number
  tokens: number
}

/** A value that a decision read. */
export type ValueRead = {
  path: string
  type?: string | null
  value: unknown
}

/** A part of a value as text. */
export type ValueText = {
  /** Whether the value is text. */
  is_text: boolean
  /** The offset of the next part; null at the end. */
  next?: number | null
  /** The first byte of the text. */
  offset: number
  /** The text: the value itself if it is text, else its JSON. */
  text: string
  /** The length of the whole text in bytes. */
  total_bytes: number
}

/** A version of a workflow. */
export type VersionRecord = {
  /** The number of runs of this version that have not ended, up to 1000 by status. */
  active_runs: number
  hash: string
  /** What has changed, in the words of that person. */
  message?: string | null
  /** The number of runs of this version. */
  runs: number
  saved_at: string
  /** Who saved it over the API. */
  saved_by?: string | null
  version: number
}

/** An approval that people must answer again. */
export type VoidVotes = {
  step: string
  /** The number of votes that would be void. */
  votes: number
}

/** A person's vote. */
export type Vote = {
  at: string
  choice: string
  comment?: string | null
  /** The form that the vote carries; null without a form. */
  form?: Record<string, unknown> | null
  /** The groups for which the vote counts. */
  groups: string[]
  /** The recipient whose vote a delegate used. */
  on_behalf_of?: string | null
  user: string
}

/** A vote, or the answer of anyone. */
export type VoteRequest = {
  /** One of the choices, exactly as the approval lists it. */
  choice: string
  /** A comment, which the run records. */
  comment?: string | null
  /** The values of the form, by field. Fields that are left out have their proposed values. */
  form?: Record<string, unknown> | null
  /** The `shown_hash` of the approval that the voter saw. The vote is rejected if it shows something else now. */
  shown_hash?: string | null
}

/** What a run waits for. */
export type WaitsFor = {
  /** The key of the approval. */
  approval?: string | null
  /** The approvers who have not voted; null if anyone can answer. */
  people?: string[] | null
  /** The end of the wait. */
  until?: string | null
}

/** A webhook with its latest deliveries. */
export type Webhook = {
  /** The latest deliveries, newest first. */
  deliveries: Delivery[]
  /** The patterns of its events, such as `run.*`. */
  events: string[]
  /** `json` or `slack`. */
  format: string
  /** The scheme and the host of its address; null if the address is a secret. Paths and queries are never shown. */
  host?: string | null
  name: string
  /** Whether its messages are signed. */
  signed: boolean
  /** The pattern of its workflows. */
  workflow: string
}

/** A decision of a run, and the decision with other values. */
export type WhatIf = {
  /** The number of the decision among those of the step, counted from 1. */
  number: number
  /** Whether the same branch is chosen. */
  same: boolean
  was: Decision
  would_be: Decision
}

/** Other values for a decision. */
export type WhatIfRequest = {
  /** The number of the decision, counted from 1; all decisions of the step if absent. */
  decision?: number | null
  /** The changed values by path, such as `{"step.score.output.score": 0.9}`. */
  with: Record<string, unknown>
}

/** A workflow with its text. */
export type WorkflowDetail = WorkflowRecord & {
  /** The workflows that it calls. */
  callees: string[]
  /** The declared inputs as a JSON Schema. */
  input_schema: Record<string, unknown>
  inputs: InputDeclaration[]
  script?: DefaultScript | null
  text: string
  /** All versions, newest first. */
  versions: VersionRecord[]
}

/** A workflow in a list. */
export type WorkflowRecord = {
  description?: string | null
  dialect: string
  /** Whether the drawing can be edited. */
  editable: boolean
  /** The hash of the version, which is also its `ETag`. */
  hash: string
  last_run_at?: string | null
  /** The latest runs, newest first. */
  last_runs: LatestRun[]
  name: string
  /** Where the document comes from: `api`, `example`, or the path of a file. */
  origin: string
  runs_total: number
  saved_at: string
  structure?: Structure | null
  /** The latest version. */
  version: number
  /** The number of runs that wait for people. */
  waiting: number
}
