import { describe, expect, test } from 'vitest'
import type { ApprovalRecord } from '../src/api/approvals.ts'
import { effectOfVote, effectSentence, hintSentence, rule, recipientOfVote, tallies } from '../src/pages/approvals/quorum.ts'

const NOW = Date.parse('2026-11-15T21:17:06Z')

function approval(change: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    key: 'triage-204/18', run: 'triage-204', workflow: 'support-triage', step: 'ask', prompt: 'Send?', recipients: ['ada', 'bob', 'eve'], required: 2,
    choices: [{ name: 'approve', meaning: 'yes' }, { name: 'deny', meaning: 'no' }], votes: [], requested: '2026-11-15T21:15:00Z', may_vote: true, status: 'open',
    may_cancel: false, may_delegate: false, path: [], version: 1, changes: [], delegations: [], need: [], progress: [], veto: [], ...change,
  }
}

const vote = (user: string, choice: string, more: object = {}) => ({ user, choice, at: '2026-11-15T21:15:42Z', groups: [], ...more })

describe('votes of equal people', () => {
  test('each choice counts its own votes', () => {
    expect(tallies(approval({ votes: [vote('bob', 'approve'), vote('eve', 'deny')] })).map((tally) => [tally.choice, tally.votes])).toEqual([['approve', 1], ['deny', 1]])
  })
  test('the vote that reaches the number settles it', () => {
    const effect = effectOfVote(approval({ votes: [vote('bob', 'approve')] }), 'approve', 'ada', NOW)
    expect(effectSentence(effect)).toBe('Your vote makes it 2 of 2. The run continues immediately.')
  })
  test('a vote below the number says how many are missing', () => {
    expect(effectSentence(effectOfVote(approval({ required: 3 }), 'approve', 'ada', NOW))).toBe('Your vote makes it 1 of 3. 2 more votes are needed.')
  })
  test('a vote that leaves no choice enough people says so', () => {
    const split = approval({ recipients: ['ada', 'bob'], votes: [vote('bob', 'deny')] })
    expect(effectOfVote(split, 'approve', 'ada', NOW)).toEqual({ kind: 'no_quorum' })
  })
  test('without a number the first answer decides', () => {
    expect(hintSentence(approval({ required: null, recipients: null }), 'ada', NOW)).toBe('Anyone can answer; the first answer decides.')
  })
  test('the hint before a choice speaks about the yes', () => {
    expect(hintSentence(approval({ votes: [vote('bob', 'approve')] }), 'ada', NOW)).toBe('Your approval meets the quorum; the run continues immediately.')
  })
  test.each([[1, ['ada'], 'ada decides'], [1, ['ada', 'bob'], 'The first vote of 2 approvers decides'], [2, ['ada', 'bob'], 'All 2 approvers must agree on a choice'], [2, ['ada', 'bob', 'eve'], '2 of 3 approvers must agree on a choice']])(
    'the rule of %s of %j', (required, recipients, text) => expect(rule(approval({ required, recipients }))).toBe(text))
})

describe('groups, vetoes and delegates', () => {
  const need = [{ group: 'finance', needed: 1, members: ['bob', 'cid'] }, { group: 'legal', needed: 1, members: ['eve'] }]
  const grouped = (change: Partial<ApprovalRecord> = {}) => approval({ required: 1, recipients: ['bob', 'cid', 'eve'], need, veto: ['eve'], ...change })

  test('a choice needs the votes of every group', () => {
    expect(effectOfVote(grouped(), 'approve', 'bob', NOW)).toEqual({ kind: 'groups', missing: [{ group: 'legal', votes: 1 }] })
    expect(effectOfVote(grouped({ votes: [vote('bob', 'approve', { groups: ['finance'] })] }), 'approve', 'eve', NOW).kind).toBe('quorum')
  })
  test('a no with a veto settles it', () => {
    expect(effectOfVote(grouped(), 'deny', 'eve', NOW)).toEqual({ kind: 'veto' })
    expect(effectOfVote(grouped(), 'deny', 'bob', NOW).kind).toBe('groups')
  })
  test('a delegate gives the vote of the recipient until the time', () => {
    const delegations = [{ recipient: 'eve', to: 'fay', until: '2026-11-15T22:00:00Z' }]
    expect(recipientOfVote(grouped({ delegations }), 'fay', NOW)).toBe('eve')
    expect(recipientOfVote(grouped({ delegations }), 'fay', Date.parse('2026-11-15T22:00:00Z'))).toBeNull()
    expect(recipientOfVote(grouped({ delegations, votes: [vote('fay', 'approve', { on_behalf_of: 'eve' })] }), 'fay', NOW)).toBeNull()
  })
  test('people who were added by an escalation count for every group', () => {
    const escalated = grouped({ recipients: ['bob', 'cid', 'eve', 'dan'], escalation: { at: '2026-11-15T21:00:00Z', users: ['dan'], escalated: true } })
    expect(effectOfVote(escalated, 'approve', 'dan', NOW).kind).toBe('quorum')
  })
})
