import { useEffect } from 'react'

/** The title of the browser tab: `triage-204 · Branchpoint`. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Branchpoint' : `${title} · Branchpoint`
  }, [title])
}
