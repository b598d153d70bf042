import type { ApprovalRecord, VoteRecord } from '../../api/approvals.ts'
import { joinNames, plural } from '../../ui/format.ts'

export interface Tally {
  choice: string
  votes: number
  /** `null` if the first answer decides. */
  required: number | null
  groups: { group: string; votes: number; needed: number }[]
}

type Counted = Pick<ApprovalRecord, 'choices' | 'votes' | 'required'> & Partial<Pick<ApprovalRecord, 'need' | 'progress' | 'veto' | 'recipients' | 'delegations' | 'escalation' | 'form'>>

/** The votes of each choice, in the order of the choices. */
export function tallies(approval: Counted): Tally[] {
  return approval.choices.map((choice) => {
    // The server counts votes with equal form values together.
    const counted = approval.progress?.find((entry) => entry.choice === choice.name)
    if (counted) return { choice: choice.name, votes: counted.votes, required: counted.required ?? approval.required ?? null, groups: counted.groups }
    const votes = approval.votes.filter((vote) => vote.choice === choice.name)
    const groups = (approval.need ?? []).map((need) => ({
      group: need.group,
      needed: need.needed,
      votes: votes.filter((vote) => vote.groups?.includes(need.group)).length,
    }))
    return { choice: choice.name, votes: votes.length, required: approval.required ?? null, groups }
  })
}

/** Whose vote a user would give: the own one, or that of a person who delegated it. `null` if the user may not vote. */
export function recipientOfVote(approval: Counted, user: string, now: number): string | null {
  const used = (recipient: string) => approval.votes.some((vote) => (vote.on_behalf_of ?? vote.user) === recipient)
  if (approval.recipients === null || approval.recipients === undefined) return user
  if (approval.recipients.includes(user)) return used(user) ? null : user
  const delegation = approval.delegations?.find((entry) => entry.to === user && Date.parse(entry.until) > now && !used(entry.recipient))
  return delegation?.recipient ?? null
}

/** The groups for which a vote counts. After an escalation, the added people count for every group. */
function groupsOf(approval: Counted, recipient: string): string[] {
  const needs = approval.need ?? []
  if (approval.escalation?.escalated && approval.escalation.users.includes(recipient)) return needs.map((need) => need.group)
  return needs.filter((need) => need.members.includes(recipient)).map((need) => need.group)
}

export type VoteEffect =
  | { kind: 'decides' }
  | { kind: 'veto' }
  | { kind: 'quorum'; votes: number; required: number }
  | { kind: 'more'; votes: number; required: number }
  | { kind: 'groups'; missing: { group: string; votes: number }[] }
  | { kind: 'no_quorum' }
  /** It depends on whether the values of the form equal those of other votes. */
  | { kind: 'form' }

/** What a vote for a choice would do, as far as the votes so far determine it. */
export function effectOfVote(approval: Counted, choice: string, user: string, now: number): VoteEffect {
  if ((approval.required ?? null) === null && (approval.need ?? []).length === 0) return { kind: 'decides' }
  const meaning = approval.choices.find((entry) => entry.name === choice)?.meaning
  const recipient = recipientOfVote(approval, user, now) ?? user
  if (meaning === 'no' && approval.veto?.includes(recipient)) return { kind: 'veto' }
  if (approval.form && approval.votes.some((vote) => vote.choice === choice)) return { kind: 'form' }
  const tally = tallies(approval).find((entry) => entry.choice === choice)
  if ((approval.need ?? []).length > 0) {
    const mine = groupsOf(approval, recipient)
    const missing = (tally?.groups ?? [])
      .map((group) => ({ group: group.group, votes: group.needed - group.votes - (mine.includes(group.group) ? 1 : 0) }))
      .filter((group) => group.votes > 0)
    return missing.length === 0 ? { kind: 'quorum', votes: (tally?.votes ?? 0) + 1, required: (tally?.votes ?? 0) + 1 } : { kind: 'groups', missing }
  }
  const required = approval.required ?? 1
  const votes = (tally?.votes ?? 0) + 1
  if (votes >= required) return { kind: 'quorum', votes, required }
  const left = (approval.recipients?.length ?? 0) - approval.votes.length - 1
  const best = Math.max(votes, ...tallies(approval).map((entry) => entry.votes))
  if (approval.recipients && best + left < required) return { kind: 'no_quorum' }
  return { kind: 'more', votes, required }
}

/** One sentence about what the selected choice will do. */
export function effectSentence(effect: VoteEffect): string {
  switch (effect.kind) {
    case 'decides': return 'The first answer decides. The run continues immediately.'
    case 'veto': return 'Your veto settles the approval. The run continues immediately.'
    case 'quorum': return effect.required === 1 ? 'Your vote settles the approval. The run continues immediately.' : `Your vote makes it ${effect.votes} of ${effect.required}. The run continues immediately.`
    case 'more': return `Your vote makes it ${effect.votes} of ${effect.required}. ${plural(effect.required - effect.votes, 'more vote is', 'more votes are')} needed.`
    case 'groups': return `Still needed after your vote: ${missingText(effect.missing)}.`
    case 'form': return 'Your vote counts together with votes that have the same form values.'
    case 'no_quorum': return 'After your vote, no choice can reach the required votes.'
  }
}

function missingText(missing: { group: string; votes: number }[]): string {
  return joinNames(missing.map((group) => `${plural(group.votes, 'vote')} of ${group.group}`))
}

/** The hint beside the choices, before one is selected. */
export function hintSentence(approval: Counted, user: string, now: number): string {
  const yes = approval.choices.find((choice) => choice.meaning === 'yes')
  if ((approval.required ?? null) === null && (approval.need ?? []).length === 0) return 'Anyone can answer; the first answer decides.'
  if (!yes) {
    const settles = approval.choices.every((choice) => ['quorum', 'veto'].includes(effectOfVote(approval, choice.name, user, now).kind))
    return settles ? 'Your vote settles the approval; the run continues immediately.' : `${rule(approval)}.`
  }
  const effect = effectOfVote(approval, yes.name, user, now)
  if (effect.kind === 'quorum') return 'Your approval meets the quorum; the run continues immediately.'
  if (effect.kind === 'more') return `Your approval makes it ${effect.votes} of ${effect.required}.`
  if (effect.kind === 'groups') return `Still needed after your approval: ${missingText(effect.missing)}.`
  return effectSentence(effect)
}

/** `2 of 3 approvers must agree on a choice` */
export function rule(approval: Counted): string {
  const needs = approval.need ?? []
  if (needs.length > 0) return `A choice needs ${joinNames(needs.map((need) => `${plural(need.needed, 'vote')} of ${need.group}`))}`
  if (approval.required === null || approval.required === undefined) return 'Anyone can answer; the first answer decides'
  const people = approval.recipients?.length ?? approval.required
  if (people === 1) return `${approval.recipients?.[0]} decides`
  if (approval.required === 1) return `The first vote of ${people} approvers decides`
  if (approval.required === people) return `All ${people} approvers must agree on a choice`
  return `${approval.required} of ${people} approvers must agree on a choice`
}

/** The vote of a user, cast in person or by a delegate. */
export function voteOf(votes: VoteRecord[], user: string): VoteRecord | undefined {
  return votes.find((vote) => vote.user === user)
}

/** The words of an outcome: `approve`, `no quorum`, `timed out`, `cancelled`. */
export function outcomeText(approval: Pick<ApprovalRecord, 'outcome' | 'status'>): string {
  if (approval.outcome === 'timeout') return 'Timed out'
  if (approval.outcome === 'no_quorum') return 'No quorum'
  if (approval.outcome === 'cancelled' || (approval.status === 'cancelled' && !approval.outcome)) return 'Cancelled'
  return approval.outcome ?? 'Answered'
}
