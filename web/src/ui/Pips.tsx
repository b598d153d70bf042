import type { Approval } from '../api/types.ts'
import { joinNames } from './format.ts'

/** One pip per required vote; filled ones are the votes of the leading choice. */
export function Pips({ filled, of }: { filled: number; of: number }) {
  if (of > 9) return null
  return (
    <span className="pips" aria-hidden>
      {Array.from({ length: of }, (_, index) => <i key={index} className={`pip${index < filled ? ' on' : ''}`} />)}
    </span>
  )
}

/** How many votes the leading choice has. */
export function leadingVotes(approval: Pick<Approval, 'votes'>): { choice: string | null; count: number } {
  const counts = new Map<string, number>()
  for (const vote of approval.votes) counts.set(vote.choice, (counts.get(vote.choice) ?? 0) + 1)
  let best: { choice: string | null; count: number } = { choice: null, count: 0 }
  for (const [choice, count] of counts) if (count > best.count) best = { choice, count }
  return best
}

type Counted = Pick<Approval, 'required' | 'recipients'> & { votes: (Approval['votes'][number] & { groups?: string[] })[]; need?: { group: string; needed: number }[] }

/** Votes so far, in words: "First vote decides", "1 of 2 · bob approved", "Anyone can answer". */
export function quorumText(approval: Counted): string {
  if (approval.need?.length) {
    const { choice } = leadingVotes(approval)
    return approval.need.map((need) => `${need.group} ${approval.votes.filter((vote) => vote.choice === choice && vote.groups?.includes(need.group)).length} of ${need.needed}`).join(', ')
  }
  if (approval.required === null || approval.required === undefined) return 'Anyone can answer'
  if (approval.required === 1 && approval.votes.length === 0) return 'First vote decides'
  const { count } = leadingVotes(approval)
  const said = approval.votes.slice(-2).map((vote) => `${vote.user} ${pastOf(vote.choice)}`)
  return [`${count} of ${approval.required}`, ...(said.length ? [joinNames(said)] : [])].join(' · ')
}

export function pastOf(choice: string): string {
  if (choice === 'approve') return 'approved'
  if (choice === 'deny') return 'denied'
  if (choice === 'reject') return 'rejected'
  return `chose ${choice}`
}

export function Quorum({ approval, lower }: { approval: Counted; lower?: boolean }) {
  const text = quorumText(approval)
  return (
    <>
      {!approval.need?.length && approval.required !== null && approval.required !== undefined && <Pips filled={leadingVotes(approval).count} of={approval.required} />}
      <span className={lower ? 'muted small' : ''}>{lower ? text.charAt(0).toLowerCase() + text.slice(1) : text}</span>
    </>
  )
}
