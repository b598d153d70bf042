import { useSyncExternalStore } from 'react'

// All times tick from the server's clock: the offset is measured when a response carries the server's time.
let offset = 0
let isMeasured = false
const listeners = new Set<() => void>()
let current = Date.now()
let timer: ReturnType<typeof setInterval> | null = null

export function setServerTime(now: string): void {
  const server = Date.parse(now)
  if (Number.isNaN(server)) return
  offset = server - Date.now()
  isMeasured = true
  tick()
}

/** The `Date` of a response, in whole seconds: for pages that have no event stream to measure with. */
export function noteResponseDate(date: string | null): void {
  const server = Date.parse(date ?? '')
  if (isMeasured || Number.isNaN(server) || Math.abs(server - serverNow()) < 2000) return
  offset = server - Date.now()
  tick()
}

export function serverNow(): number {
  return Date.now() + offset
}

function tick(): void {
  current = serverNow()
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer)
      timer = null
    }
  }
}

const seconds = () => Math.floor(current / 1000) * 1000
const tenSeconds = () => Math.floor(current / 10_000) * 10_000

/** The server's time in steps of one second. The component renders once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, seconds)
}

/** The server's time in steps of ten seconds, for lists. */
export function useSlowNow(): number {
  return useSyncExternalStore(subscribe, tenSeconds)
}
