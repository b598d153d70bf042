import { QueryClient } from '@tanstack/react-query'
import { expect, test, vi } from 'vitest'
import { applyEvents } from '../src/live/patch.ts'
import { withPiece } from '../src/live/text.ts'

const followed = (topics: string[]) => [{ event: 'followed', id: null, data: { topics } }]

/** A request whose responses the test gives, and how often it was sent. */
function request(client: QueryClient, queryKey: string[]) {
  const waiting: ((value: string) => void)[] = []
  const queryFn = vi.fn(() => new Promise<string>((resolve) => waiting.push(resolve)))
  void client.fetchQuery({ queryKey, queryFn })
  return { queryFn, respond: (value: string) => waiting.shift()?.(value) }
}

test.each([
  [['runs', 'recent'], 'runs'],
  [['session', 'helper', 'c1', 'now'], 'session:helper/c1'],
  [['chat', 'helper', 'c1'], 'session:helper/c1'],
])('%j, requested before its topic was followed, is marked as outdated when its response arrives', async (key, topic) => {
  const client = new QueryClient()
  const { respond } = request(client, key)
  applyEvents(client, followed([topic]))
  respond('older than the topic')
  await vi.waitFor(() => expect(client.getQueryState(key)).toMatchObject({ data: 'older than the topic', isInvalidated: true }))
})

test('a run that changes while it is first requested is requested once more', async () => {
  const client = new QueryClient()
  const { respond } = request(client, ['run', 'r1'])
  for (const status of ['running', 'waiting_people']) applyEvents(client, [{ event: 'run', id: null, data: { id: 'r1', status } }])
  respond('before the change')
  await vi.waitFor(() => expect(client.getQueryState(['run', 'r1'])).toMatchObject({ isInvalidated: true }))
})

test('the full record of a step that changes while it is first requested is requested once more', async () => {
  const client = new QueryClient()
  const { respond } = request(client, ['step', 'r1', 'write#1'])
  applyEvents(client, [{ event: 'step', id: null, data: { run: 'r1', step: { key: 'write#1', step: 'write', status: 'completed', attempts: [] } } }])
  respond('without its output')
  await vi.waitFor(() => expect(client.getQueryState(['step', 'r1', 'write#1'])).toMatchObject({ isInvalidated: true }))
})

test('an older response of a request that repeats another does not stand, either', async () => {
  const client = new QueryClient()
  const key = ['approval', 'notes/3']
  const vote = { user: 'bob', choice: 'approve' }
  client.setQueryData(key, { key: 'notes/3', votes: [] })
  const { respond } = request(client, key)
  applyEvents(client, [{ event: 'approval', id: null, data: { key: 'notes/3', status: 'open', votes: [vote] } }])
  expect(client.getQueryData(key)).toMatchObject({ votes: [vote] })
  respond('before the vote')
  await vi.waitFor(() => expect(client.getQueryState(key)).toMatchObject({ data: 'before the vote', isInvalidated: true }))
})

test('what a topic does not keep up to date is not loaded again', () => {
  const client = new QueryClient()
  client.setQueryData(['session', 'helper', 'c2', 'now'], 'another session')
  client.setQueryData(['me'], 'ada')
  applyEvents(client, followed(['session:helper/c1', 'runs']))
  expect(client.getQueryState(['session', 'helper', 'c2', 'now'])?.isInvalidated).toBe(false)
  expect(client.getQueryState(['me'])?.isInvalidated).toBe(false)
})

test.each([
  ['Tides ', 'follow', 6, 'Tides follow'],
  ['Tides follow', 'Tides follow the', 0, 'Tides follow the'],
  ['Tides follow', '', 0, ''],
  ['', 'follow', 6, ''],
])('%j with %j at %i is %j', (known, text, offset, whole) => {
  expect(withPiece(known, text, offset)).toBe(whole)
})
