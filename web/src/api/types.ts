// Names for the records of the API. The records themselves are generated from the OpenAPI document (`npm run api`).
// Times are RFC 3339 text, durations milliseconds, cost millionths of a dollar.
import type * as Api from './schema.d.ts'

export type {
  AgentRecord, AgentStep, AnswerFacts, Approval, ApprovalOutcome, ApprovalOutcomes, ApprovalStatus, BranchOutcome, Chat, ChatLine, Choice, Diff, DiffMark, DocPage, Diagnostic, Drawing, DrawingBranch, DrawingEdge, DrawingNode, EdgeKind,
  EvalRequest, EvalResult, Explanation, Finding, Formatted, InputDeclaration, Iteration, LeadingDecision, Me, Meaning, NodeShape, Part, People, Role,
  Run, RunDetail, RunSource, RunStatus, SessionEvent, SessionState, SessionView, Spelling, StepError, StepPage, Structure, TextEdit, ToolCall,
  TurnRecord, ValueRead, Vote, WhatIf, WorkflowDetail,
} from './schema.d.ts'

/** A page of a list. */
export interface Page<T> {
  items: T[]
  next?: string | null
}

/** A step in the trace, or its full record: values and evaluation trees are only in the latter. */
export type Step = Api.Step & Partial<Pick<Api.StepDetail, 'input' | 'output' | 'tool_calls'>>
export type StepDetail = Api.StepDetail
/** The status of a step, and what the page shows where there is none: not reached, a gate that blocked, a run without a process that executes it. */
export type StepStatus = Api.StepStatus | 'pending' | 'blocked' | 'interrupted'

export type Attempt = Api.AttemptRecord
export type AuditEntry = Api.AuditEntry
export type BranchOfDecision = Api.Branch
export type DiffChange = Api.ChangeRecord
export type CheckResult = Api.CheckResult
export type Credential = Api.CredentialRecord
export type Decision = Api.Decision
export type EvalCase = Api.CaseResult
export type NewToken = Api.NewToken
export type Overview = Api.Overview
export type RunError = Api.ErrorRecord
export type SessionDetail = Api.SessionState
export type SessionSummary = Api.SessionRecord
export type Span = Api.SpanRecord
export type Template = Api.TemplateRecord
export type Usage = Api.UsageRecord
export type WorkflowSummary = Api.WorkflowRecord
export type WorkflowVersion = Api.VersionRecord
export type EditResult = Api.EditResult
export type PaletteEntry = Api.PaletteEntry

/** The part of JSON Schema that forms use. */
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
