import { queryOptions } from '@tanstack/react-query'
import { get, segment } from './client.ts'
import type { Approval, JsonSchema, Vote } from './types.ts'

/** A person's vote. */
export type VoteRecord = Vote

export interface GroupNeed {
  group: string
  needed: number
  members: string[]
}

export interface ChoiceProgress {
  choice: string
  votes: number
  required: number | null
  groups: { group: string; votes: number; needed: number }[]
}

export interface Delegation {
  recipient: string
  to: string
  until: string
}

export interface ContentChange {
  path: string
  before: unknown
  after: unknown
}

/** An approval with its rules: groups, veto, delegation, escalation, reminders, form. All of them are optional. */
export interface ApprovalRecord extends Omit<Approval, keyof OptionalRules | 'votes'>, OptionalRules {
  votes: VoteRecord[]
}

interface OptionalRules {
  version?: number
  path?: number[]
  shown_hash?: string | null
  content?: unknown
  form?: JsonSchema | null
  form_defaults?: Record<string, unknown> | null
  need?: GroupNeed[]
  progress?: ChoiceProgress[]
  veto?: string[]
  excluded?: string | null
  delegations?: Delegation[]
  escalation?: { at: string; users: string[]; escalated: boolean } | null
  reminder?: { interval_ms: number; max: number; sent: number; next: string | null } | null
  changes?: ContentChange[]
  timeout_outcome?: string | null
  settled?: string | null
  settled_by?: string | null
  reason?: string | null
  cancelled_by?: string | null
  may_cancel?: boolean
  may_delegate?: boolean
  input?: unknown
  decisions?: { step: string; branch?: string | null; sentence?: string | null }[]
}

export const oneApprovalQuery = (key: string) => {
  const [run = '', n = ''] = splitKey(key)
  return queryOptions({
    queryKey: ['approval', key],
    queryFn: ({ signal }) => get<ApprovalRecord>(`/approvals/${segment(run)}/${segment(n)}`, signal),
  })
}

/** `RUN/NUMBER` or `RUN/STEP`. The part after the first slash is the number or step. */
export function splitKey(key: string): [run: string, n: string] {
  const slash = key.indexOf('/')
  return slash < 0 ? [key, ''] : [key.slice(0, slash), key.slice(slash + 1)]
}

/** Where one answer, or the timeout, would lead. */
export interface Outcome {
  choice: string
  is_timeout?: boolean
  leads_to: string[]
  at?: string | null
  decisions?: { step: string; branch: string | null; sentence: string | null }[]
  /** The status of the run, if it would end. */
  ends?: string | null
}

export const outcomesQuery = (key: string) => {
  const [run, n] = splitKey(key)
  return queryOptions({
    queryKey: ['outcomes', key],
    queryFn: async ({ signal }) => (await get<{ items: Outcome[] }>(`/approvals/${segment(run)}/${segment(n)}/outcomes`, signal)).items,
    staleTime: Infinity,
    retry: false,
  })
}
