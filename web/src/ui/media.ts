import { useSyncExternalStore } from 'react'

/** Whether the window matches a media query such as `(max-width: 767px)`. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = matchMedia(query)
      list.addEventListener('change', listener)
      return () => list.removeEventListener('change', listener)
    },
    () => matchMedia(query).matches,
  )
}

/** Below this the page has one column, and documents are read, not edited. */
export const NARROW = '(max-width: 767px)'
