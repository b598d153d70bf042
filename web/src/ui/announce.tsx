import { useSyncExternalStore } from 'react'

// One polite sentence at most every two seconds, the newest one; an approval that needs my vote is announced assertively, once.
let polite = ''
let assertive = ''
let pending: string | null = null
let timer: ReturnType<typeof setTimeout> | null = null
const listeners = new Set<() => void>()

function publish(): void {
  for (const listener of listeners) listener()
}

export function announce(sentence: string): void {
  if (timer !== null) {
    pending = sentence
    return
  }
  polite = sentence
  publish()
  timer = setTimeout(() => {
    timer = null
    const next = pending
    pending = null
    if (next !== null) announce(next)
  }, 2000)
}

export function announceNow(sentence: string): void {
  assertive = sentence
  publish()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Announcer() {
  const quiet = useSyncExternalStore(subscribe, () => polite)
  const loud = useSyncExternalStore(subscribe, () => assertive)
  return (
    <>
      <div className="sr" aria-live="polite">{quiet}</div>
      <div className="sr" aria-live="assertive">{loud}</div>
    </>
  )
}
