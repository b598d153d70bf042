import { afterEach, expect, test, vi } from 'vitest'
import { EventStream, SseParser, type StreamMessage } from '../src/live/stream.ts'

afterEach(() => vi.unstubAllGlobals())

/** A server whose event stream opens when the test says so. */
function stubServer(statusOf: (body: { add: string[] } | null) => number = () => 204) {
  const requests: { path: string; body: unknown }[] = []
  let open: (chunk: string) => void = () => undefined
  vi.stubGlobal('fetch', (path: string, options: { body?: string }) => {
    const body = options.body ? (JSON.parse(options.body) as { add: string[] }) : null
    requests.push({ path, body })
    if (!path.startsWith('/api/v1/events?')) return Promise.resolve(new Response(null, { status: statusOf(body) }))
    return new Promise((resolve) => {
      open = (chunk) => resolve(new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(chunk)) })))
    })
  })
  return { requests, hello: () => open('event: hello\ndata: {"client":"c1"}\n\n') }
}

test('the topics of a page that opens are part of the first request', async () => {
  const server = stubServer()
  const stream = new EventStream(() => undefined)
  stream.subscribe(['overview'])
  stream.subscribe(['approvals'])
  await vi.waitFor(() => expect(server.requests).toHaveLength(1))
  expect(server.requests[0]?.path).toBe('/api/v1/events?topics=overview%2Capprovals')
  stream.stop()
})

test('topics that come and go while the stream is being opened are sent once it is open, and then loaded again', async () => {
  const server = stubServer()
  const messages: StreamMessage[] = []
  const stream = new EventStream((message) => messages.push(message))
  stream.subscribe(['overview'])
  await vi.waitFor(() => expect(server.requests).toHaveLength(1))
  stream.subscribe(['approvals', 'runs'])
  stream.unsubscribe(['overview'])
  server.hello()
  await vi.waitFor(() => expect(server.requests).toHaveLength(2))
  expect(server.requests[1]).toEqual({ path: '/api/v1/events/c1/topics', body: { add: ['approvals', 'runs'], remove: ['overview'] } })
  await vi.waitFor(() => expect(messages.at(-1)).toEqual({ type: 'followed', topics: ['approvals', 'runs'] }))
  stream.stop()
})

test('a topic that is not permitted does not keep the others away', async () => {
  const server = stubServer((body) => (body?.add.includes('run:secret') ? 403 : 204))
  const messages: StreamMessage[] = []
  const stream = new EventStream((message) => messages.push(message))
  stream.subscribe(['overview'])
  await vi.waitFor(() => expect(server.requests).toHaveLength(1))
  server.hello()
  stream.subscribe(['run:secret', 'runs'])
  await vi.waitFor(() => expect(messages.at(-1)).toEqual({ type: 'followed', topics: ['runs'] }))
  stream.stop()
})

test('a stream without permission asks to sign in', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 401 })))
  const messages: StreamMessage[] = []
  const stream = new EventStream((message) => messages.push(message))
  stream.subscribe(['runs'])
  await vi.waitFor(() => expect(messages.map((message) => message.type)).toContain('signed_out'))
  stream.stop()
})

test('records that arrive in pieces are put together', () => {
  const parser = new SseParser()
  expect(parser.push('event: run\nid: 1\nda')).toEqual([])
  expect(parser.push('ta: {"a":1}\n\n: ping\n\n')).toEqual([{ event: 'run', data: '{"a":1}', id: '1' }])
})
