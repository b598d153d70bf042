import { useEffect } from 'react'
import { serverNow, setServerTime } from '../ui/clock.ts'
import { setConnection } from '../ui/online.ts'
import { compareBuilds } from './outdated.ts'
import { EventStream, type LiveEvent, type StreamMessage } from './stream.ts'
import type { PageMessage } from './worker.ts'

type Handler = (events: LiveEvent[]) => void

const handlers = new Set<Handler>()
let send: ((message: PageMessage) => void) | null = null
let queue: LiveEvent[] = []
let flushing = false
let build: string | null = null
let lostTimer: ReturnType<typeof setTimeout> | null = null
let missed: number | null = null

// Updates are painted at most ten times a second: a burst of a thousand steps is one render.
const FLUSH_MS = 100
const LOST_AFTER_MS = 3000

let signedOut: () => void = () => undefined

/** Names what happens when the server no longer knows the user of the stream. */
export function onSignedOut(handler: () => void): void {
  signedOut = handler
}

/** Connects this tab to the browser's event stream. Pages without a signed-in user have none. */
function startLive(): void {
  if (send !== null) return
  if (typeof SharedWorker === 'function') {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'branchpoint-events' })
    worker.port.onmessage = (event: MessageEvent<StreamMessage>) => accept(event.data)
    worker.port.start()
    send = (message) => worker.port.postMessage(message)
  } else {
    const stream = new EventStream(accept)
    send = (message) => {
      if (message.type === 'subscribe') stream.subscribe(message.topics)
      else if (message.type === 'unsubscribe') stream.unsubscribe(message.topics)
      else if (message.type === 'retry') stream.retryNow()
      else stream.stop()
    }
  }
  window.addEventListener('pagehide', () => send?.({ type: 'close' }))
  window.addEventListener('pageshow', (event) => event.persisted && location.reload())
}

export function retryNow(): void {
  send?.({ type: 'retry' })
}

function accept(message: StreamMessage): void {
  if (message.type === 'lost') return lost(message.retryAt)
  if (message.type === 'open') return opened(message.reconnected)
  if (message.type === 'signed_out') return signedOut()
  if (message.type === 'followed') return deliver([{ event: 'followed', id: null, data: { topics: message.topics } }])
  const { event } = message
  if (event.event === 'hello') hello(event.data as { now?: string; build?: string })
  else enqueue(event)
}

function lost(retryAt: number): void {
  setConnection({ retryAt })
  lostTimer ??= setTimeout(() => setConnection({ state: 'lost' }), LOST_AFTER_MS)
}

function opened(reconnected: boolean): void {
  if (lostTimer !== null) clearTimeout(lostTimer)
  lostTimer = null
  setConnection({ state: 'live', retryAt: null, dataAsOf: serverNow() })
  if (!reconnected) return
  void compareBuilds()
  missed = 0
  setTimeout(() => {
    setConnection({ caughtUp: missed ?? 0 })
    missed = null
    setTimeout(() => setConnection({ caughtUp: null }), 4000)
  }, 600)
}

function hello(data: { now?: string; build?: string }): void {
  if (data.now) setServerTime(data.now)
  if (data.build === undefined) return
  if (build !== null && build !== data.build) setConnection({ outdated: true })
  build ??= data.build
}

function enqueue(event: LiveEvent): void {
  if (missed !== null) missed++
  queue.push(event)
  if (flushing) return
  flushing = true
  setTimeout(() => {
    flushing = false
    const events = queue
    queue = []
    setConnection({ dataAsOf: serverNow() })
    deliver(events)
  }, FLUSH_MS)
}

function deliver(events: LiveEvent[]): void {
  for (const handler of handlers) handler(events)
}

/** Adds a receiver of live events. Returns a function that removes it. */
export function onLiveEvents(handler: Handler): () => void {
  handlers.add(handler)
  return () => handlers.delete(handler)
}

/** Subscribes to topics while the component is mounted: `runs`, `run:ID`, `approvals`, … */
export function useTopics(topics: string[]): void {
  const joined = topics.join(',')
  useEffect(() => {
    const list = joined === '' ? [] : joined.split(',')
    if (list.length === 0) return
    startLive()
    send?.({ type: 'subscribe', topics: list })
    return () => send?.({ type: 'unsubscribe', topics: list })
  }, [joined])
}
