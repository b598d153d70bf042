import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { browserDrafts, type DraftRecord, draftChanges } from './draftRecords.ts'

const QUERY = { queryKey: ['drafts'], queryFn: () => browserDrafts.all().catch((): DraftRecord[] => []), staleTime: 0, networkMode: 'always' as const }

/** The drafts that this browser keeps. */
export function useDrafts(): DraftRecord[] {
  const client = useQueryClient()
  useEffect(() => {
    // A draft of another page is written a moment after its last keystroke.
    const reload = () => void client.invalidateQueries({ queryKey: QUERY.queryKey })
    draftChanges.addEventListener('change', reload)
    return () => draftChanges.removeEventListener('change', reload)
  }, [client])
  return useQuery(QUERY).data ?? []
}
