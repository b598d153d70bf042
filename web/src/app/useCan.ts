import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../api/queries.ts'

export type Action = 'read' | 'try' | 'edit' | 'operate' | 'approve' | 'administer'

/** Whether my role allows an action with at least one workflow. A forbidden action is hidden. Allowed until the role is known. */
export function useCan(action: Action): boolean {
  return useQuery(meQuery).data?.can[action] ?? true
}
