import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ApprovalRecord } from '../../api/approvals.ts'
import { approvalsQuery } from '../../api/queries.ts'
import type { Page } from '../../api/types.ts'
import { byDeadline } from './order.ts'

export type Show = 'mine' | 'all' | 'answered'

export interface InboxEntry {
  approval: ApprovalRecord
  /** Answered or settled while the inbox was open: greyed out in place. */
  isGone: boolean
}

/** How long an answered approval stays with its outcome. */
const STAYS_MS = 3000

/** The approvals of an inbox. What is settled elsewhere stays in place, greyed out; what I answered disappears after a moment. */
export function useInbox(show: Show, user: string) {
  const client = useQueryClient()
  const query = useQuery(approvalsQuery(show))
  const dismissed = useRef(new Set<string>())
  const [entries, setEntries] = useState<InboxEntry[] | null>(null)
  const shown = useRef(show)
  const items = query.data?.items as ApprovalRecord[] | undefined
  useEffect(() => {
    if (shown.current !== show) {
      shown.current = show
      dismissed.current.clear()
      setEntries(items ? mergeEntries([], items, dismissed.current, show, user) : null)
    } else if (items) setEntries((before) => mergeEntries(before ?? [], items, dismissed.current, show, user))
  }, [items, show, user])
  const answered = (approval: ApprovalRecord) => {
    const id = requestId(approval)
    setTimeout(() => {
      dismissed.current.add(id)
      setEntries((before) => before?.filter((entry) => requestId(entry.approval) !== id) ?? null)
      void client.invalidateQueries({ queryKey: ['approvals'] })
    }, STAYS_MS)
  }
  return { entries: shown.current === show ? entries : null, query, answered }
}

/** A step in a loop requests the same approval again: the time tells the requests apart. */
export function requestId(approval: Pick<ApprovalRecord, 'key' | 'requested'>): string {
  return `${approval.key} ${approval.requested}`
}

/** Combines what was shown with what the server lists now. */
export function mergeEntries(before: InboxEntry[], items: ApprovalRecord[], dismissed: ReadonlySet<string>, show: Show, user: string): InboxEntry[] {
  if (show === 'answered') return items.map((approval) => ({ approval, isGone: false }))
  const listed = new Set(items.map((item) => item.key))
  const wasShown = new Set(before.map((entry) => entry.approval.key))
  const left = before.filter((entry) => !listed.has(entry.approval.key))
  const current = items.map((approval) => ({ approval, isGone: isGone(approval, show, user) })).filter((entry) => !entry.isGone || wasShown.has(entry.approval.key))
  const all = [...current, ...left.map((entry) => ({ ...entry, isGone: true }))]
  const order = byDeadline(all.map((entry) => entry.approval))
  const byKey = new Map(all.map((entry) => [entry.approval.key, entry]))
  return order.map((approval) => byKey.get(approval.key)).filter((entry): entry is InboxEntry => entry !== undefined && !dismissed.has(requestId(entry.approval)))
}

function isGone(approval: ApprovalRecord, show: Show, user: string): boolean {
  return approval.status !== 'open' || (show === 'mine' && approval.votes.some((vote) => (vote.on_behalf_of ?? vote.user) === user))
}

/** The entry to select after one was answered: the next open one, else the one before. */
export function nextOpen(entries: InboxEntry[], key: string): string | null {
  const at = entries.findIndex((entry) => entry.approval.key === key)
  const open = (entry: InboxEntry) => !entry.isGone && entry.approval.key !== key
  return (entries.slice(at + 1).find(open) ?? entries.slice(0, Math.max(0, at)).findLast(open))?.approval.key ?? null
}

/** Puts a newer record of an approval into every list and page that shows it. */
export function storeApproval(client: QueryClient, approval: ApprovalRecord): void {
  client.setQueryData<ApprovalRecord>(['approval', approval.key], (old) => ({ ...old, ...approval }))
  client.setQueriesData<Page<ApprovalRecord>>({ queryKey: ['approvals'] }, (old) =>
    old && { ...old, items: old.items.map((item) => (item.key === approval.key ? { ...item, ...approval } : item)) })
  void client.invalidateQueries({ queryKey: ['overview'] })
}
