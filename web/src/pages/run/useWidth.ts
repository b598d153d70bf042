import { useSyncExternalStore } from 'react'

/** The widths of section 9 of the design reference. */
export type Width = 'phone' | 'narrow' | 'medium' | 'wide'

const LIMITS: [Width, string][] = [['phone', '(max-width: 767px)'], ['narrow', '(max-width: 1023px)'], ['medium', '(max-width: 1279px)']]

function current(): Width {
  return LIMITS.find(([, query]) => matchMedia(query).matches)?.[0] ?? 'wide'
}

function subscribe(listener: () => void): () => void {
  const queries = LIMITS.map(([, query]) => matchMedia(query))
  for (const query of queries) query.addEventListener('change', listener)
  return () => {
    for (const query of queries) query.removeEventListener('change', listener)
  }
}

export function useWidth(): Width {
  return useSyncExternalStore(subscribe, current)
}
