import { queryOptions } from '@tanstack/react-query'
import { get, segment } from './client.ts'
import type { Approval, ApprovalOutcome, ApprovalOutcomes, Vote } from './types.ts'

export type { ChoiceProgress, DelegationRecord as Delegation, GroupNeed } from './schema.d.ts'

/** A person's vote. */
export type VoteRecord = Vote

/** An approval with its rules: groups, veto, delegation, escalation, reminders, form. The decisions are absent while only the record of a list is known. */
export type ApprovalRecord = Omit<Approval, 'decisions'> & Partial<Pick<Approval, 'decisions'>>

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
export type Outcome = ApprovalOutcome

export const outcomesQuery = (key: string) => {
  const [run, n] = splitKey(key)
  return queryOptions({
    queryKey: ['outcomes', key],
    queryFn: async ({ signal }) => (await get<ApprovalOutcomes>(`/approvals/${segment(run)}/${segment(n)}/outcomes`, signal)).items,
    staleTime: Infinity,
    retry: false,
  })
}
