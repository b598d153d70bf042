import { queryOptions } from '@tanstack/react-query'
import { browserDrafts, type DraftRecord } from './draftRecords.ts'

/** The drafts that this browser keeps, read again each time a list is opened. */
export const draftsQuery = queryOptions<DraftRecord[]>({
  queryKey: ['drafts'], queryFn: () => browserDrafts.all().catch(() => []), staleTime: 0, networkMode: 'always',
})
