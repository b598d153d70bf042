// @vitest-environment jsdom
import { afterEach, describe, expect, test } from 'vitest'
import type { ApprovalRecord } from '../src/api/approvals.ts'
import { Problem } from '../src/api/client.ts'
import { choiceKeys, choiceLabel, isPrimary } from '../src/pages/approvals/choices.ts'
import { formFields, readForm } from '../src/pages/approvals/formValues.ts'
import { mergeEntries, nextOpen, requestId } from '../src/pages/approvals/inbox.ts'
import { byDeadline, plainPrompt, splitPrompt } from '../src/pages/approvals/order.ts'
import { sendVote, unconfirmedVote } from '../src/pages/approvals/votes.ts'

const item = (key: string, change: Partial<ApprovalRecord> = {}) =>
  ({ key, requested: '2026-11-15T21:00:00Z', deadline: null, status: 'open', votes: [], choices: [], recipients: ['ada'], required: 1, ...change }) as unknown as ApprovalRecord

describe('order', () => {
  test('the soonest deadline comes first, then the oldest without one', () => {
    const list = [item('c', { requested: '2026-11-15T20:00:00Z' }), item('a', { deadline: '2026-11-16T01:00:00Z' }), item('b', { deadline: '2026-11-15T22:00:00Z' }), item('d', { requested: '2026-11-15T19:00:00Z' })]
    expect(byDeadline(list).map((approval) => approval.key)).toEqual(['b', 'a', 'd', 'c'])
  })
  test('prompts in lists are plain, and names keep their underscores', () => {
    expect(plainPrompt('# Refund **ch_42** to [Ada](https://example.com)?\n> _really_ `now`')).toBe('Refund ch_42 to Ada? really now')
  })
  test('a long first line is divided after a sentence', () => {
    const long = `Send this? ${'word '.repeat(80)}`
    expect(splitPrompt(long).question).toBe('Send this?')
    expect(splitPrompt('x'.repeat(500))).toEqual({ question: '', content: 'x'.repeat(500) })
  })
})

describe('the inbox', () => {
  test('what is settled elsewhere stays in place, greyed out', () => {
    const before = mergeEntries([], [item('a', { deadline: '2026-11-15T22:00:00Z' }), item('b', { deadline: '2026-11-15T23:00:00Z' })], new Set(), 'mine', 'ada')
    const after = mergeEntries(before, [item('b', { deadline: '2026-11-15T23:00:00Z' })], new Set(), 'mine', 'ada')
    expect(after.map((entry) => [entry.approval.key, entry.isGone])).toEqual([['a', true], ['b', false]])
  })
  test('what was settled before the inbox was opened is not shown', () => {
    expect(mergeEntries([], [item('a', { status: 'settled' })], new Set(), 'mine', 'ada')).toEqual([])
  })
  test('what I answered disappears once it is dismissed', () => {
    const before = mergeEntries([], [item('a'), item('b')], new Set(), 'mine', 'ada')
    expect(mergeEntries(before, [item('b')], new Set([requestId(item('a'))]), 'mine', 'ada').map((entry) => entry.approval.key)).toEqual(['b'])
  })
  test('an approval that a loop requests again is shown again', () => {
    const dismissed = new Set([requestId(item('a'))])
    const again = item('a', { requested: '2026-11-15T21:30:00Z' })
    expect(mergeEntries([], [again], dismissed, 'mine', 'ada')).toEqual([{ approval: again, isGone: false }])
  })
  test('the next open approval is selected after a vote, else the one before', () => {
    const entries = ['a', 'b', 'c'].map((key) => ({ approval: item(key), isGone: key === 'c' }))
    expect(nextOpen(entries, 'a')).toBe('b')
    expect(nextOpen(entries, 'b')).toBe('a')
  })
})

describe('choices', () => {
  test('A and D are the first yes and the first no; all others have numbers', () => {
    const choices = [{ name: 'ship_it', meaning: 'other' as const }, { name: 'yes', meaning: 'yes' as const }, { name: 'no', meaning: 'no' as const }]
    expect([...choiceKeys(choices)]).toEqual([['ship_it', '1'], ['yes', 'a'], ['no', 'd']])
    expect(choices.map(choiceLabel)).toEqual(['ship_it', 'Yes', 'No'])
    expect(choices.map((choice) => isPrimary(choice, choices))).toEqual([false, false, false])
  })
})

describe('forms', () => {
  const schema = { type: 'object', properties: { amount: { type: 'integer', maximum: 10000 }, reason: { type: 'string' }, plan: { enum: ['team', 1] } }, required: ['amount', 'reason'] }
  const fields = formFields(schema, { amount: 900 })
  test('proposed values apply until they are changed', () => {
    expect(readForm(fields, { reason: 'discount' })).toEqual({ values: { amount: 900, reason: 'discount' }, errors: {} })
  })
  test('mistakes are reported per field', () => {
    expect(readForm(fields, { amount: '20000', plan: '1' }).errors).toEqual({ amount: 'amount must be at most 10000.', reason: 'reason is required.' })
    expect(readForm(fields, { amount: '1.5', reason: 'x' }).errors).toEqual({ amount: 'amount must be a whole number.' })
  })
})

describe('sending a vote', () => {
  afterEach(() => sessionStorage.clear())
  const soon = () => Promise.resolve()

  test('a lost response is followed by the same vote with the same key', async () => {
    const keys: string[] = []
    const recorded = await sendVote('r/1', { choice: 'approve' }, (_, key) => {
      keys.push(key)
      return keys.length < 3 ? Promise.reject(new Problem(0, {})) : Promise.resolve(item('r/1'))
    }, soon)
    expect(recorded?.key).toBe('r/1')
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect(unconfirmedVote('r/1')).toBeNull()
  })
  test('a rejected vote is never sent again', async () => {
    let sent = 0
    const recorded = await sendVote('r/2', { choice: 'approve' }, () => {
      sent++
      return Promise.reject(new Problem(409, { kind: 'not_pending' }))
    }, soon)
    expect([recorded, sent]).toEqual([null, 1])
  })
  test('a vote whose response never arrived is remembered for the next page load', async () => {
    let lose: (error: Problem) => void = () => undefined
    void sendVote('r/3', { choice: 'deny', comment: 'no' }, () => new Promise((_, reject) => (lose = reject)), () => new Promise(() => undefined))
    lose(new Problem(0, {}))
    expect(unconfirmedVote('r/3')).toEqual({ choice: 'deny', comment: 'no' })
  })
})
