import { useSyncExternalStore } from 'react'
import type { ApprovalRecord } from '../../api/approvals.ts'
import { Problem } from '../../api/client.ts'
import { newKey } from '../../ui/newKey.ts'

export interface Ballot {
  choice: string
  comment?: string
  form?: Record<string, unknown>
  shown_hash?: string
}

export type VoteState =
  | { kind: 'sending'; ballot: Ballot; attempt: number }
  | { kind: 'rejected'; ballot: Ballot; problem: Problem }

interface Pending {
  ballot: Ballot
  idempotencyKey: string
}

/** Sends a vote; the same key for the same vote. */
export type Send = (ballot: Ballot, idempotencyKey: string) => Promise<ApprovalRecord>

const states = new Map<string, VoteState>()
const listeners = new Set<() => void>()
const STORED = 'vote:'

function publish(key: string, state: VoteState | null): void {
  if (state === null) states.delete(key)
  else states.set(key, state)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The state of the vote that was sent for an approval; `null` if there is none. */
export function useVoteState(key: string): VoteState | null {
  return useSyncExternalStore(subscribe, () => states.get(key) ?? null)
}

export function clearVote(key: string): void {
  publish(key, null)
}

/** A vote whose response had not arrived when the page was closed or reloaded. */
export function unconfirmedVote(key: string): Ballot | null {
  return stored(key)?.ballot ?? null
}

/** Sends a vote. If its response is lost, sends it again with the same key. Resolves to the approval, or `null` if the vote was rejected. */
export async function sendVote(key: string, ballot: Ballot, send: Send, pause = waitFor): Promise<ApprovalRecord | null> {
  const before = stored(key)
  const pending = before && JSON.stringify(before.ballot) === JSON.stringify(ballot) ? before : { ballot, idempotencyKey: newKey() }
  store(key, pending)
  for (let attempt = 0; ; attempt++) {
    publish(key, { kind: 'sending', ballot, attempt })
    try {
      const approval = await send(ballot, pending.idempotencyKey)
      store(key, null)
      publish(key, null)
      return approval
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(500, { title: 'The vote could not be sent', detail: String(error) })
      if (isLost(problem)) {
        publish(key, { kind: 'sending', ballot, attempt: attempt + 1 })
        await pause(Math.min(15_000, 1000 * 2 ** attempt))
        continue
      }
      store(key, null)
      publish(key, { kind: 'rejected', ballot, problem })
      return null
    }
  }
}

/** No response, or one from a proxy whose server is away: the vote may have been recorded. */
function isLost(problem: Problem): boolean {
  return problem.isOffline || [502, 503, 504].includes(problem.status)
}

function waitFor(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function stored(key: string): Pending | null {
  try {
    const text = sessionStorage.getItem(STORED + key)
    return text === null ? null : (JSON.parse(text) as Pending)
  } catch {
    return null
  }
}

function store(key: string, pending: Pending | null): void {
  try {
    if (pending === null) sessionStorage.removeItem(STORED + key)
    else sessionStorage.setItem(STORED + key, JSON.stringify(pending))
  } catch {
    // Without storage, a vote cannot be confirmed after a reload; its record is shown all the same.
  }
}
