import { BASE_PATH } from '../api/base.ts'

// One event stream per browser. This class runs in the shared worker, or in the page where there is none.

export interface LiveEvent {
  event: string
  id: string | null
  data: unknown
}

export type StreamMessage =
  | { type: 'event'; event: LiveEvent }
  | { type: 'open'; reconnected: boolean }
  | { type: 'lost'; retryAt: number }
  | { type: 'signed_out' }

export interface SseRecord {
  event: string
  data: string
  id: string | null
}

/** Splits a text/event-stream into records. Incomplete records stay in the buffer for the next chunk. */
export class SseParser {
  private buffer = ''

  push(chunk: string): SseRecord[] {
    this.buffer += chunk.replace(/\r\n?/g, '\n')
    const records: SseRecord[] = []
    for (;;) {
      const end = this.buffer.indexOf('\n\n')
      if (end < 0) break
      const record = parseRecord(this.buffer.slice(0, end))
      this.buffer = this.buffer.slice(end + 2)
      if (record) records.push(record)
    }
    return records
  }
}

function parseRecord(block: string): SseRecord | null {
  let event = 'message'
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon === 0) continue
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
  }
  return data.length === 0 ? null : { event, data: data.join('\n'), id }
}

/** 1, 2, 4 … 30 seconds, each with up to 25% jitter. */
export function backoff(attempt: number, random = Math.random()): number {
  return Math.min(30_000, 1000 * 2 ** attempt) * (1 + 0.25 * random)
}

export class EventStream {
  private topics = new Map<string, number>()
  private client: string | null = null
  /** The topics that the current connection was opened with. */
  private requested: string[] = []
  private lastId: string | null = null
  private attempt = 0
  private opened = false
  private controller: AbortController | null = null
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(private readonly emit: (message: StreamMessage) => void) {}

  start(): void {
    if (this.controller === null && this.timer === null) void this.connect()
  }

  stop(): void {
    this.controller?.abort()
    if (this.timer !== null) clearTimeout(this.timer)
  }

  retryNow(): void {
    if (this.timer === null) return
    clearTimeout(this.timer)
    this.timer = null
    this.attempt = 0
    void this.connect()
  }

  subscribe(topics: string[]): void {
    const added = topics.filter((topic) => !this.topics.has(topic))
    for (const topic of topics) this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1)
    if (added.length > 0) void this.change({ add: added, remove: [] })
    this.start()
  }

  unsubscribe(topics: string[]): void {
    const removed: string[] = []
    for (const topic of topics) {
      const left = (this.topics.get(topic) ?? 0) - 1
      if (left > 0) this.topics.set(topic, left)
      else if (this.topics.delete(topic)) removed.push(topic)
    }
    if (removed.length > 0) void this.change({ add: [], remove: removed })
  }

  private async change(body: { add: string[]; remove: string[] }): Promise<void> {
    if (this.client === null) return
    try {
      await fetch(`${BASE_PATH}/api/v1/events/${encodeURIComponent(this.client)}/topics`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-branchpoint': '1' },
        body: JSON.stringify(body),
      })
    } catch {
      // The stream itself notices a lost connection and subscribes again when it is back.
    }
  }

  private async connect(): Promise<void> {
    const controller = new AbortController()
    this.controller = controller
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' }
      if (this.lastId !== null) headers['last-event-id'] = this.lastId
      this.requested = [...this.topics.keys()]
      const response = await fetch(`${BASE_PATH}/api/v1/events?topics=${encodeURIComponent(this.requested.join(','))}`, { headers, signal: controller.signal })
      if (response.status === 401) this.emit({ type: 'signed_out' })
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
      await this.read(response.body)
    } catch {
      // Falls through to the next attempt.
    }
    this.controller = null
    this.client = null
    if (!controller.signal.aborted) this.retryLater()
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const parser = new SseParser()
    const decoder = new TextDecoder()
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const record of parser.push(decoder.decode(value, { stream: true }))) this.accept(record)
    }
  }

  private accept(record: SseRecord): void {
    let data: unknown
    try {
      data = JSON.parse(record.data)
    } catch {
      return
    }
    if (record.id !== null && record.id !== '') this.lastId = record.id
    if (record.event === 'hello') {
      this.client = (data as { client?: string }).client ?? null
      this.emit({ type: 'open', reconnected: this.opened })
      this.opened = true
      this.attempt = 0
      this.followChangesSinceRequest()
    }
    this.emit({ type: 'event', event: { event: record.event, id: record.id, data } })
  }

  /** Pages subscribe and unsubscribe while the connection is being opened: the server learns of it once the client has an id. */
  private followChangesSinceRequest(): void {
    const add = [...this.topics.keys()].filter((topic) => !this.requested.includes(topic))
    const remove = this.requested.filter((topic) => !this.topics.has(topic))
    if (add.length > 0 || remove.length > 0) void this.change({ add, remove })
  }

  private retryLater(): void {
    const delay = backoff(this.attempt++)
    this.emit({ type: 'lost', retryAt: Date.now() + delay })
    this.timer = setTimeout(() => {
      this.timer = null
      void this.connect()
    }, delay)
  }
}
