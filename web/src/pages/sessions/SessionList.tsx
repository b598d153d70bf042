import { Link } from '@tanstack/react-router'
import type { SessionSummary } from '../../api/types.ts'
import { When } from '../../ui/Values.tsx'

export function SessionList({ sessions, current }: { sessions: SessionSummary[]; current: string | null }) {
  return (
    <>
      <div className="i-head"><h1>Sessions</h1><span className="grow" /><span className="count">{sessions.length}</span></div>
      <nav className="sess-list" aria-label="All sessions">
        {sessions.map((session) => {
          const key = `${session.document}/${session.id}`
          return (
            <Link
              key={key} className="msg" to="/sessions/$document/$id" params={{ document: session.document, id: session.id }}
              aria-current={key === current ? 'page' : undefined}
            >
              <div className="line1"><b className="clip">{session.document}</b><span className="grow" /><span className="muted small">{session.expired ? 'expired' : <When at={session.updated} />}</span></div>
              <div className="line3">
                <span className="clip">{session.id}</span><span className="grow" />
                <span className="clip">{session.step ? <>in <b className="soft">{session.step}</b>, </> : 'no step, '}{session.tools_offered} of {session.tools_total} tools</span>
              </div>
            </Link>
          )
        })}
      </nav>
    </>
  )
}
