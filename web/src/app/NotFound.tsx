import { Link, useLocation } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { Empty, Failed } from '../ui/States.tsx'

export function NotFound({ what }: { what?: string }) {
  const path = useLocation().pathname
  return (
    <main id="main" className="page-scroll">
      <Empty heading="h1" icon={SearchX} title={`${what ?? 'This page'} does not exist`} action={<Link className="btn btn-small" to="/">Go to the overview</Link>}>
        Requested: <code>{decodeURIComponent(path)}</code>. Press <kbd>Ctrl K</kbd> to search.
      </Empty>
    </main>
  )
}

export function RouteError({ error, reset }: { error: unknown; reset?: () => void }) {
  return <main id="main" className="page-scroll"><Failed what="this page" error={error} onRetry={reset} /></main>
}
