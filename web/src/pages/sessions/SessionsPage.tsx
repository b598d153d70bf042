import '../../styles/sessions.css'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Problem } from '../../api/client.ts'
import { sessionQuery, sessionsQuery } from '../../api/queries.ts'
import type { SessionSummary } from '../../api/types.ts'
import { useTopics } from '../../live/connect.ts'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { Events } from './Events.tsx'
import { Gate } from './Gate.tsx'
import { NoSessions, OpenSession } from './OpenSession.tsx'
import { SessionList } from './SessionList.tsx'

interface Place {
  document?: string
  id?: string
}

/** Sessions, the tool gate of one, and its events. */
export function SessionsPage() {
  const { document, id } = useParams({ strict: false }) as Place
  const { at } = useSearch({ strict: false }) as { at?: string }
  const navigate = useNavigate()
  const list = useQuery(sessionsQuery)
  const sessions = list.data?.items ?? []
  useTitle(document ? `${document} ${id}` : 'Sessions')
  useTopics(['sessions', ...(document ? [`session:${document}/${id}`] : [])])
  const open = (session: SessionSummary | undefined) => session && void navigate({ to: '/sessions/$document/$id', params: { document: session.document, id: session.id } })
  const position = sessions.findIndex((session) => session.document === document && session.id === id)
  useShortcuts([
    { keys: 'j', label: 'Next session', run: () => open(sessions[Math.min(sessions.length - 1, position + 1)]) },
    { keys: 'k', label: 'Previous session', run: () => open(sessions[Math.max(0, position - 1)]) },
  ])
  const first = sessions[0]
  useEffect(() => {
    // On wide screens the newest session is shown beside the list.
    if (!document && first && window.innerWidth >= 768) void navigate({ to: '/sessions/$document/$id', params: { document: first.document, id: first.id }, replace: true })
  }, [document, first?.document, first?.id])
  if (list.isSuccess && sessions.length === 0 && !document) return <NoSessions />
  return (
    <main id="main" className={`inbox sess${document ? ' has-session' : ''}`}>
      <section className="ilist" aria-label="Sessions">
        {list.isPending && <SkeletonRows rows={4} height={56} />}
        {list.isLoadingError && <Failed what="the sessions" error={list.error} onRetry={() => void list.refetch()} />}
        {list.data && <SessionList sessions={sessions} current={document ? `${document}/${id}` : null} />}
      </section>
      {document && id ? <Session key={`${document}/${id}`} document={document} id={id} at={at ? Number(at) : undefined} /> : <section className="gate" />}
    </main>
  )
}

function Session({ document, id, at }: { document: string; id: string; at: number | undefined }) {
  const now = useQuery(sessionQuery(document, id))
  const then = useQuery({ ...sessionQuery(document, id, at), enabled: at !== undefined, placeholderData: now.data })
  const shown = at === undefined ? now : then
  if (now.error instanceof Problem && now.error.status === 404) return <OpenSession document={document} id={id} />
  if (shown.isLoadingError) return <section className="gate"><Failed what={`session ${id}`} error={shown.error} onRetry={() => void shown.refetch()} /></section>
  if (!shown.data || !now.data) return <section className="gate" aria-busy="true"><SkeletonRows rows={8} height={36} /></section>
  return (
    <>
      <Gate session={shown.data} isPast={at !== undefined} />
      <Events session={now.data} at={at} />
    </>
  )
}
