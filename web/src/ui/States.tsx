import { Inbox, ListFilter, OctagonAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { Problem } from '../api/client.ts'
import { Button } from './Button.tsx'
import { clockSeconds } from './format.ts'
import { Icon, type IconComponent } from './icons.tsx'

/** What would appear here, and one action. */
export function Empty({ icon = Inbox, title, children, action, heading: Heading = 'h2' }: {
  icon?: IconComponent
  title: string
  children?: ReactNode
  action?: ReactNode
  /** `h1` where it is the whole page. */
  heading?: 'h1' | 'h2'
}) {
  return (
    <div className="empty">
      <Icon of={icon} size={22} />
      <Heading>{title}</Heading>
      {children && <p>{children}</p>}
      {action}
    </div>
  )
}

export function NoMatches({ what, filters, onClear }: { what: string; filters: string[]; onClear: () => void }) {
  return (
    <Empty icon={ListFilter} title={`No matching ${what}`} action={<Button small onClick={onClear}>Clear filters</Button>}>
      Filters: {filters.join(', ')}.
    </Empty>
  )
}

/** What happened, why, and what to do. Replaces only the part that failed. */
export function Failed({ what, error, onRetry }: { what: string; error: unknown; onRetry?: () => void }) {
  const problem = error instanceof Problem ? error : null
  const reason = problem ? problem.detail || problem.title : error instanceof Error ? error.message : String(error)
  return (
    <div className="empty err" role="alert">
      <Icon of={OctagonAlert} size={22} />
      <h2>Couldn’t load {what}</h2>
      <p>{reason}</p>
      {problem && <p className="mono11">{problem.status || 'no response'} · {problem.kind} · {clockSeconds(problem.at)}</p>}
      {onRetry && <Button small onClick={onRetry}>Try again</Button>}
    </div>
  )
}

/** Nothing for 200 ms, then its children (skeletons in the final sizes). */
export function Delayed({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 200)
    return () => clearTimeout(timer)
  }, [])
  return shown ? <>{children}</> : null
}

const WIDTHS = [92, 128, 76, 110, 140, 64, 118, 84]

/** Placeholder rows of a tree, list or table. */
export function SkeletonRows({ rows = 6, height = 28 }: { rows?: number; height?: number }) {
  return (
    <Delayed>
      <div role="status" aria-label="Loading">
        {Array.from({ length: rows }, (_, index) => (
          <div key={index} className="tr" style={{ height }} aria-hidden>
            <i className="sk" style={{ width: 14, height: 14, borderRadius: '50%' }} />
            <i className="sk" style={{ width: WIDTHS[index % WIDTHS.length], height: 10 }} />
            <span className="grow" />
            <i className="sk" style={{ width: 44, height: 10 }} />
          </div>
        ))}
      </div>
    </Delayed>
  )
}
