import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Problem } from '../../api/client.ts'
import { docQuery } from '../../api/queries.ts'
import { NotFound } from '../../app/NotFound.tsx'
import Markdown from '../../ui/Markdown.tsx'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { withPageLinks } from './links.ts'

/** The reference page of a diagnostic: what it means, an example, and what to do. */
export function DocsPage() {
  const { kind } = useParams({ from: '/docs/$kind' })
  const query = useQuery(docQuery(kind))
  useTitle(kind)
  if (query.isLoadingError && query.error instanceof Problem && query.error.status === 404) return <NotFound what={`A page about ${kind}`} />
  const { title, markdown } = query.data ?? { title: kind, markdown: '' }
  return (
    <main id="main" className="page-scroll">
      <article className="page docs">
        <p className="label">Diagnostic</p>
        <h1><code>{title}</code></h1>
        {query.isPending && <SkeletonRows rows={6} height={28} />}
        {query.isLoadingError && <Failed what="this page" error={query.error} onRetry={() => void query.refetch()} />}
        <Markdown className="docs-text" text={withPageLinks(markdown.replace(/^\s*# .*\n/, ''))} />
      </article>
    </main>
  )
}
