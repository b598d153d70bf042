import { useNavigate } from '@tanstack/react-router'
import { ArrowRight, MessageCircle, RotateCcw, Wrench } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { SessionDetail, SessionEvent } from '../../api/types.ts'
import { Icon } from '../../ui/icons.tsx'
import { ClockTime } from '../../ui/Values.tsx'
import { ConditionText } from '../../why/ConditionText.tsx'
import { hostResponse } from './hostResponse.ts'
import { Report } from './Report.tsx'

const ICONS = { message: MessageCircle, turn: MessageCircle, tool: Wrench, reset: RotateCcw }

/** The events of a session, newest last. Selecting one shows the gate as of that event. */
export function Events({ session, at }: { session: SessionDetail; at: number | undefined }) {
  const navigate = useNavigate()
  const scroller = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const count = session.events.length
  useEffect(() => {
    const [outer, inner] = [scroller.current, list.current]
    // Only the panel scrolls: on a phone, where the page scrolls instead, nothing jumps.
    if (at === undefined && outer && inner) outer.scrollTop = Math.max(0, inner.offsetTop + inner.offsetHeight - outer.clientHeight)
  }, [count, at])
  const select = (event: SessionEvent) => {
    const isLatest = event.n === session.events.at(-1)?.n
    void navigate({ to: '/sessions/$document/$id', params: { document: session.document, id: session.id }, search: { at: isLatest ? undefined : String(event.n) }, replace: true })
  }
  const current = at ?? session.events.at(-1)?.n
  return (
    <aside className="panel" aria-label="Events">
      <div className="steps-head"><h2>Events</h2><span className="count">{count}</span></div>
      <div className="panel-scroll" ref={scroller}>
        {count === 0 && <p className="soft small panel-body">No event yet. Report a message or a tool below, or connect a host.</p>}
        <ol className="events" ref={list}>
          {session.events.map((event) => {
            const moved = event.step_after !== event.step_before && event.step_after
            return (
              <li key={event.n} className={`ev${moved ? ' chg' : ''}`}>
                <button type="button" aria-current={event.n === current ? 'step' : undefined} onClick={() => select(event)}>
                  <span className="tile sm"><Icon of={ICONS[event.kind]} size={13} /></span>
                  <span className="grow">
                    <span className="ev-text">{event.kind === 'tool' ? <b className="mono">{String(event.value)}</b> : event.kind === 'reset' ? 'Reset' : `“${String(event.value)}”`}</span>
                    {moved && <span className="moved"><Icon of={ArrowRight} size={12} /><span className="sr">changed the step to </span><b>{moved}</b></span>}
                  </span>
                  <span className="muted small num"><ClockTime at={event.at} /></span>
                </button>
              </li>
            )
          })}
        </ol>
        <div className="host-response">
          <p className="section">Last response to the host</p>
          <pre className="code snippet" tabIndex={0} aria-label="Last response to the host"><ConditionText text={hostResponse(session)} /></pre>
        </div>
      </div>
      <Report session={session} />
    </aside>
  )
}
