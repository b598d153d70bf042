import { useSyncExternalStore } from 'react'

export interface Connection {
  /** `connecting` until the first event arrives. */
  state: 'connecting' | 'live' | 'lost'
  /** When the last event or response arrived, in server time. */
  dataAsOf: number
  /** When the next attempt starts, while the connection is lost. */
  retryAt: number | null
  /** Events that arrived after a reconnect; shown for four seconds. */
  caughtUp: number | null
  /** The build of the server differs from the build of this page. */
  outdated: boolean
}

let connection: Connection = { state: 'connecting', dataAsOf: Date.now(), retryAt: null, caughtUp: null, outdated: false }
const listeners = new Set<() => void>()

export function setConnection(change: Partial<Connection>): void {
  connection = { ...connection, ...change }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection)
}

export function useOnline(): boolean {
  return useSyncExternalStore(subscribe, () => connection.state !== 'lost')
}
