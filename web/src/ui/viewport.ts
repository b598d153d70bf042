import { useSyncExternalStore } from 'react'

const PHONE = '(max-width: 767px)'

function subscribe(listener: () => void): () => void {
  const query = matchMedia(PHONE)
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

/** Whether the window has the width of a phone: one column, and the navigation at the bottom. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(PHONE).matches, () => false)
}
