/// <reference lib="webworker" />
import { EventStream, type StreamMessage } from './stream.ts'

export type PageMessage = { type: 'subscribe'; topics: string[] } | { type: 'unsubscribe'; topics: string[] } | { type: 'retry' } | { type: 'close' }

// Holds the one stream of the browser and passes its events to every open tab.
const ports = new Map<MessagePort, string[]>()
let state: StreamMessage | null = null
let hello: StreamMessage | null = null

const stream = new EventStream((message) => {
  if (message.type === 'lost' || message.type === 'open') state = message
  else if (message.type === 'event' && message.event.event === 'hello') hello = message
  for (const port of ports.keys()) port.postMessage(message)
})

function accept(port: MessagePort, message: PageMessage): void {
  const held = ports.get(port) ?? []
  if (message.type === 'retry') stream.retryNow()
  else if (message.type === 'subscribe') {
    ports.set(port, [...held, ...message.topics])
    stream.subscribe(message.topics)
  } else if (message.type === 'unsubscribe') {
    for (const topic of message.topics) held.splice(held.indexOf(topic), 1)
    stream.unsubscribe(message.topics)
  } else {
    ports.delete(port)
    stream.unsubscribe(held)
  }
}

const scope = self as unknown as { onconnect: ((event: MessageEvent) => void) | null }
scope.onconnect = (event) => {
  const port = event.ports[0]
  if (!port) return
  ports.set(port, [])
  port.onmessage = (message: MessageEvent<PageMessage>) => accept(port, message.data)
  port.start()
  if (state) port.postMessage(state)
  if (hello && state?.type === 'open') port.postMessage(hello)
}
