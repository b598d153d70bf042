import { Check, TriangleAlert, X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { BranchOutcome } from '../api/types.ts'
import { Icon } from '../ui/icons.tsx'

/** True is filled and false outlined, both in ink: false is a result, not a failure. Only errors are red. */
export function OutcomePill({ outcome, big, none }: { outcome: BranchOutcome | boolean | null; big?: boolean; none?: ReactNode }) {
  const size = big ? ' big' : ''
  if (outcome === true || outcome === 'true') return <span className={`outcome outcome-true${size}`}><Icon of={Check} size={big ? 18 : 12} />true</span>
  if (outcome === false || outcome === 'false') return <span className={`outcome${size}`}><Icon of={X} size={big ? 18 : 12} />false</span>
  if (outcome === 'error') return <span className={`outcome outcome-error${size}`}><Icon of={TriangleAlert} size={big ? 18 : 12} />error</span>
  if (outcome === 'taken') return <span className={`outcome outcome-true${size}`}><Icon of={Check} size={big ? 18 : 12} />taken</span>
  return <span className={`outcome outcome-none${size}`}>{none ?? 'not evaluated'}</span>
}
