import { afterEach, expect, test, vi } from 'vitest'
import { EventStream, SseParser, type StreamMessage } from '../src/live/stream.ts'

afterEach(() => vi.unstubAllGlobals())

/** A server whose event stream opens when the test says so. */
function stubServer() {
  const requests: { path: string; body: unknown }[] = []
  let open: (chunk: string) => void = () => undefined
  vi.stubGlobal('fetch', (path: string, options: { body?: string }) => {
    requests.push({ path, body: options.body ? JSON.parse(options.body) : null })
    if (!path.startsWith('/api/v1/events?')) return Promise.resolve(new Response(null, { status: 204 }))
    return new Promise((resolve) => {
      open = (chunk) => resolve(new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(chunk)) })))
    })
  })
  return { requests, hello: () => open('event: hello\ndata: {"client":"c1"}\n\n') }
}

test('topics that were added while the stream was being opened are sent once it is open', async () => {
  const server = stubServer()
  const messages: StreamMessage[] = []
  const stream = new EventStream((message) => messages.push(message))
  stream.start()
  stream.subscribe(['overview', 'approvals'])
  stream.unsubscribe(['overview'])
  server.hello()
  await vi.waitFor(() => expect(server.requests).toHaveLength(2))
  expect(server.requests[0]?.path).toBe('/api/v1/events?topics=')
  expect(server.requests[1]).toEqual({ path: '/api/v1/events/c1/topics', body: { add: ['approvals'], remove: [] } })
  stream.stop()
})

test('a stream without permission asks to sign in', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(null, { status: 401 })))
  const messages: StreamMessage[] = []
  const stream = new EventStream((message) => messages.push(message))
  stream.start()
  await vi.waitFor(() => expect(messages.map((message) => message.type)).toContain('signed_out'))
  stream.stop()
})

test('records that arrive in pieces are put together', () => {
  const parser = new SseParser()
  expect(parser.push('event: run\nid: 1\nda')).toEqual([])
  expect(parser.push('ta: {"a":1}\n\n: ping\n\n')).toEqual([{ event: 'run', data: '{"a":1}', id: '1' }])
})
