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
  /** From now on, the events of these topics arrive; what was loaded before may be outdated. */
  | { type: 'followed'; topics: string[] }

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
  /** The topics that the server follows for this client, and those that it refused. */
  private followed = new Set<string>()
  private refused = new Set<string>()
  private isChanging = false
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
    for (const topic of topics) this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1)
    // The components of a page subscribe one after the other: one connection, or one change, for all of them.
    setTimeout(() => {
      this.start()
      void this.followTopics()
    })
  }

  unsubscribe(topics: string[]): void {
    for (const topic of topics) {
      const left = (this.topics.get(topic) ?? 0) - 1
      if (left > 0) this.topics.set(topic, left)
      else this.topics.delete(topic)
    }
    setTimeout(() => void this.followTopics())
  }

  /** Sends the server which topics have come and gone. One change at a time, so that they arrive in order. */
  private async followTopics(): Promise<void> {
    if (this.isChanging) return
    this.isChanging = true
    try {
      for (;;) {
        const client = this.client
        const add = [...this.topics.keys()].filter((topic) => !this.followed.has(topic) && !this.refused.has(topic))
        const remove = [...this.followed].filter((topic) => !this.topics.has(topic))
        if (client === null || add.length + remove.length === 0) return
        if (await this.change(client, add, remove)) continue
        // One topic that is not permitted must not keep the others away.
        for (const topic of add) if (this.client === client && !(await this.change(client, [topic], []))) this.refused.add(topic)
        for (const topic of remove) this.followed.delete(topic)
      }
    } catch {
      // The stream itself notices a lost connection and subscribes again when it is back.
    } finally {
      this.isChanging = false
    }
  }

  private async change(client: string, add: string[], remove: string[]): Promise<boolean> {
    const response = await fetch(`${BASE_PATH}/api/v1/events/${encodeURIComponent(client)}/topics`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-branchpoint': '1' },
      body: JSON.stringify({ add, remove }),
    })
    // A connection that was opened meanwhile follows topics of its own.
    if (!response.ok || client !== this.client) return response.ok
    for (const topic of add) this.followed.add(topic)
    for (const topic of remove) this.followed.delete(topic)
    if (add.length > 0) this.emit({ type: 'followed', topics: add })
    return true
  }

  private async connect(): Promise<void> {
    const controller = new AbortController()
    this.controller = controller
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' }
      if (this.lastId !== null) headers['last-event-id'] = this.lastId
      const requested = [...this.topics.keys()]
      const response = await fetch(`${BASE_PATH}/api/v1/events?topics=${encodeURIComponent(requested.join(','))}`, { headers, signal: controller.signal })
      if (response.status === 401) this.emit({ type: 'signed_out' })
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
      this.followed = new Set(requested)
      this.refused.clear()
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
      // After a reconnect, the server sends what was missed.
      if (!this.opened && this.followed.size > 0) this.emit({ type: 'followed', topics: [...this.followed] })
      this.opened = true
      this.attempt = 0
      void this.followTopics()
    }
    this.emit({ type: 'event', event: { event: record.event, id: record.id, data } })
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
