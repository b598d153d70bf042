import { Check, TriangleAlert, X } from 'lucide-react'
import { Icon } from '../ui/icons.tsx'

/** The outcome of a condition. False is a result, not a failure, so only an error is red. */
export function OutcomePill({ outcome, big }: { outcome: boolean | 'error' | null; big?: boolean }) {
  const size = big ? ' big' : ''
  if (outcome === 'error') return <span className={`outcome outcome-error${size}`}><Icon of={TriangleAlert} />error</span>
  if (outcome === null) return <span className={`outcome outcome-none${size}`}>not evaluated</span>
  return <span className={`outcome${outcome ? ' outcome-true' : ''}${size}`}><Icon of={outcome ? Check : X} />{String(outcome)}</span>
}
