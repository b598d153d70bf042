// The records of the API, written after its contract. Times are RFC 3339 text, durations milliseconds, cost millionths of a dollar.

export type RunStatus = 'running' | 'waiting_people' | 'waiting_timer' | 'completed' | 'failed' | 'cancelled'
export type StepStatus = RunStatus | 'skipped' | 'pending' | 'blocked' | 'interrupted'

export interface Page<T> {
  items: T[]
  next: string | null
  totals?: Record<string, number>
}

export interface Usage {
  tokens: number
  cost_micros: number
}

export interface RunError {
  kind: string
  message: string
  step?: string | null
}

export interface Run {
  id: string
  workflow: string
  version: number | null
  dialect: string
  status: RunStatus
  started: string
  updated: string
  ended?: string | null
  active_ms: number
  waited_ms: number
  usage: Usage
  last_decision?: { step: string; branch: string | null; sentence: string | null } | null
  current?: string[]
  waiting_for?: { approval?: string | null; until?: string | null; people?: string[] | null } | null
  error?: RunError | null
  tags?: string[] | Record<string, string>
  parent?: string | null
  script?: 'none' | 'script' | 'recording'
  driven?: boolean
  started_by?: string | null
}

export interface RunDetail extends Run {
  input: unknown
  result: unknown
  warnings?: unknown[]
  flags?: unknown
  program_hash?: string
  seq?: number
  children?: Run[]
  forked_from?: string | { run: string; step?: string } | null
  calls_in_flight?: { step: string; kind: string; since: string }[]
}

export interface Iteration {
  loop: string
  index: number
  item?: unknown
}

export interface Attempt {
  began: string
  ended?: string | null
  error?: RunError | null
}

/** One evaluated part of a condition, with its place in the source. */
export interface Part {
  start: number
  end: number
  text: string
  type: string | null
  value: string | null
  error: string | null
  times: number
  decided: boolean
  children: Part[]
}

export type BranchOutcome = 'taken' | 'true' | 'false' | 'error' | 'not_evaluated'

export interface BranchOfDecision {
  name: string
  condition: string | null
  line: number | null
  column: number | null
  targets: string[]
  outcome: BranchOutcome
  sentence: string | null
  error: string | null
  tree: Part | null
}

export interface ValueRead {
  path: string
  value: unknown
  type?: string
  set_by?: { step: string; key?: string | null } | null
}

export interface Decision {
  step: string
  kind: string
  at: string
  chosen: string | null
  position?: number | null
  sentence: string | null
  branches: BranchOfDecision[]
  values?: ValueRead[]
  error?: RunError | null
  attempt?: { number: number; limit: number; delay_ms?: number; retryable?: boolean } | null
  condition?: { spelling: string; dialect: string; source: string; context: unknown } | null
}

export interface Span {
  start: number
  end: number
  line: number
}

export interface Step {
  key: string
  parent: string | null
  step: string
  name?: string | null
  type: string
  run: number
  status: StepStatus
  reason?: string | null
  iterations: Iteration[]
  branch?: string | null
  took_ms?: number | null
  waited_ms?: number
  began?: string | null
  ended?: string | null
  attempts: Attempt[]
  usage?: Usage
  has_children?: boolean
  children_counts?: Record<string, number>
  depth?: number
  decisions: Decision[]
  items?: number | null
  warnings?: unknown[]
  input?: unknown
  output?: unknown
  output_content_type?: string | null
  error?: RunError | null
  tool_calls?: unknown[]
  child_runs?: string[]
  span?: Span | null
}

export interface StepPage {
  items: Step[]
  next: string | null
  counts?: Record<string, number>
  omitted?: { before: number; steps: number; after: number } | null
  total?: number
}

export type NodeShape = 'action' | 'decision' | 'approval' | 'loop' | 'start' | 'end' | 'subagent' | 'note'

export interface DrawingBranch {
  name: string
  condition?: string | null
  condition_short?: string | null
  default?: boolean
  targets: string[]
  span?: Span | null
}

export interface DrawingNode {
  id: string
  title: string
  kind: string
  shape: NodeShape
  parent?: string | null
  span?: Span | null
  x?: number | null
  y?: number | null
  branches?: DrawingBranch[]
  summary?: string | null
  problems?: unknown
}

export interface DrawingEdge {
  id: string
  from: string
  from_branch?: string | null
  to: string
  label?: string | null
  kind: 'next' | 'branch' | 'loop' | 'subagent'
  span?: Span | null
}

export interface Drawing {
  dialect: string
  nodes: DrawingNode[]
  edges: DrawingEdge[]
  editable: boolean
  hash: string
}

export interface Structure {
  steps: number
  decisions: number
  loops: number
  approvals: number
}

export interface WorkflowSummary {
  name: string
  description?: string | null
  dialect: string
  version: number
  hash: string
  saved_at: string
  origin?: string | null
  structure?: Structure | null
  last_runs: { id: string; status: RunStatus; started: string; duration_ms?: number | null }[]
  waiting: number
  runs_total: number
  last_run_at?: string | null
  editable: boolean
}

export interface WorkflowVersion {
  version: number
  hash: string
  saved_at: string
  saved_by?: string | null
  message?: string | null
  runs: number
  active_runs: number
}

export interface InputDeclaration {
  name: string
  type?: string | null
  required?: boolean
  default?: unknown
  description?: string | null
  enum?: unknown[] | null
  secret?: boolean
}

export interface WorkflowDetail extends WorkflowSummary {
  text: string
  versions: WorkflowVersion[]
  inputs: InputDeclaration[]
  callees?: string[]
  input_schema?: unknown
}

export interface TextEdit {
  start: number
  end: number
  text: string
}

export interface Diagnostic {
  kind: string
  detail?: unknown
  severity: 'error' | 'warning' | 'info'
  message: string
  help?: string | null
  notes?: string[]
  origin?: string | null
  line?: number | null
  column?: number | null
  end_line?: number | null
  end_column?: number | null
  start?: number | null
  end?: number | null
  text?: string | null
  fixes?: { title: string; edits: TextEdit[] }[]
  step?: string | null
}

export interface CheckResult {
  dialect: string | null
  diagnostics: Diagnostic[]
  ok: boolean
  structure?: Structure | null
  inputs?: InputDeclaration[]
}

export interface Vote {
  user: string
  choice: string
  comment?: string | null
  form?: unknown
  at: string
}

export interface Choice {
  name: string
  meaning: 'yes' | 'no' | 'other'
}

export interface Approval {
  key: string
  run: string
  workflow: string
  version?: number | null
  step: string
  prompt: string
  show?: unknown
  choices: Choice[]
  form?: JsonSchema | null
  recipients: string[] | null
  need?: unknown
  required: number | null
  veto?: unknown
  votes: Vote[]
  waits_for?: string[] | null
  requested: string
  deadline?: string | null
  reminders?: string[]
  escalated?: unknown
  may_vote: boolean
  status: 'open' | 'settled' | 'cancelled'
  outcome?: string | null
  shown_hash?: string | null
  content?: Record<string, unknown> | null
  decisions?: { step: string; branch: string | null; sentence: string | null }[]
  usage?: Usage | null
}

export interface ApprovalOutcome {
  choice: string
  leads_to: string[]
  sentence?: string | null
}

export interface JsonSchema {
  type?: string | string[]
  title?: string
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  enum?: unknown[]
  default?: unknown
  items?: JsonSchema
  [key: string]: unknown
}

export interface Overview {
  counts: { running: number; waiting_people: number; waiting_timer: number; failed_today: number; completed_today: number }
  hours: { hour: string; completed: number; failed: number; cancelled?: number; decisions?: number }[]
  approvals: { mine: number }
}

export interface Me {
  user: string
  roles: string[]
  groups: string[]
  can: Record<string, boolean>
  local: boolean
  server: { version: string; build: string; now: string; host?: string }
}

export interface Template {
  name: string
  title: string
  dialect: string
  description: string
  text: string
  script?: string | null
  inputs?: Record<string, unknown> | null
}

export interface SessionSummary {
  document: string
  id: string
  step?: string | null
  tools_offered?: number
  tools_total?: number
  updated?: string | null
}

export interface SessionEvent {
  n: number
  at: string
  kind: 'message' | 'tool' | 'reset' | 'turn'
  value: unknown
  step_before?: string | null
  step_after?: string | null
}

export interface SessionDetail {
  document: string
  id: string
  view: {
    activeStep: string | null
    allowedTools: string[]
    recentlyUsedTools: string[]
    sequenceIndex?: number
    why?: string | null
    [key: string]: unknown
  }
  tools: { name: string; offered: boolean; reason: string }[]
  steps: { step: string; holds: boolean | null; explanation?: Explanation | null; active: boolean; tools?: string[] }[]
  events: SessionEvent[]
  persona?: string | null
}

export interface Explanation {
  outcome: boolean | string | null
  sentence: string | null
  tree: Part | null
}

export type Spelling = 'expression' | 'group' | 'targets' | 'history' | 'text_match'

export interface EvalCase {
  outcome: boolean | null
  error: { kind?: string; message: string } | string | null
  explanation: Explanation | null
}

export interface EvalResult {
  diagnostics: Diagnostic[]
  cases: EvalCase[]
  reads?: string[]
}

export interface DiffChange {
  group: 'decisions' | 'approvals' | 'steps' | 'other'
  kind: string
  step: string | null
  before?: string | null
  after?: string | null
  sentence: string
  line_from?: number | null
  line_to?: number | null
}

export interface Diff {
  changes: DiffChange[]
  drawing: Drawing | null
  marks: Record<string, 'added' | 'changed' | 'removed'>
}

export interface EditResult {
  edits: TextEdit[]
  text: string
  selected?: string | null
  affected?: { step: string; field: string; line?: number | null }[]
  drawing?: Drawing | null
  diagnostics?: Diagnostic[]
}

export interface PaletteEntry {
  kind: string
  title: string
  group: string
  fields?: JsonSchema
}
