import type { ReactNode } from 'react'
import { Failed, SkeletonRows } from '../../ui/States.tsx'

/** A query of one answer, or of pages. */
interface Loading<T> {
  isPending: boolean
  isError: boolean
  error: Error | null
  data: T | undefined
  refetch: () => Promise<unknown>
}

/** A card of the settings: title, one sentence, actions, and what a query loads. */
export function Part<T>({ title, note, action, query, what, children }: {
  title: string
  note?: ReactNode
  action?: ReactNode
  query: Loading<T>
  what: string
  children: (loaded: T) => ReactNode
}) {
  return (
    <section className="card table-card settings-part" aria-busy={query.isPending || undefined}>
      <div className="card-head"><h2>{title}</h2><span className="grow" />{action}</div>
      {note && <p className="settings-note">{note}</p>}
      {query.isPending && <SkeletonRows rows={4} height={40} />}
      {query.isError && query.data === undefined && <Failed what={what} error={query.error} onRetry={() => void query.refetch()} />}
      {query.data !== undefined && children(query.data)}
    </section>
  )
}

/** Patterns of workflow names; `*` is all of them. */
export function Patterns({ of: patterns }: { of: string[] }) {
  if (patterns.length === 0 || patterns.includes('*')) return <span className="muted">all workflows</span>
  return <span className="patterns">{patterns.map((pattern) => <code key={pattern} className="tag">{pattern}</code>)}</span>
}
