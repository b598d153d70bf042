import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight, Copy, Ellipsis, Lock, LockOpen, MessageCircle, RotateCcw, Route } from 'lucide-react'
import { useState } from 'react'
import { del, Problem, segment } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import type { SessionDetail, SessionEvent } from '../../api/types.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { Menu } from '../../ui/Menu.tsx'
import { Sentence } from '../../ui/Sentence.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { clockSeconds } from '../../ui/format.ts'
import { GateSteps } from './GateSteps.tsx'
import { hostResponse } from './hostResponse.ts'

/** The current step and why, the tools with the reason for each, and the conditions of every step. */
export function Gate({ session, isPast }: { session: SessionDetail; isPast: boolean }) {
  const [isResetting, setIsResetting] = useState(false)
  const may = useQuery(meQuery).data?.can.operate === true
  const offered = session.tools.filter((tool) => tool.offered).length
  const latest = session.events.at(-1)
  const where = { document: session.document, id: session.id }
  return (
    <section className="gate" aria-label="Tool gate">
      <div className="d-head">
        <Link className="icon-btn only-phone" to="/sessions" aria-label="All sessions"><Icon of={ChevronLeft} /></Link>
        <div className="crumb">
          <Link className="clip" to="/workflows/$name" params={{ name: session.document }}>{session.document}</Link><Icon of={ChevronRight} size={14} /><h1 className="clip">{session.id}</h1>
        </div>
        <span className="muted small">{session.expired ? 'expired' : ''}</span>
        <span className="grow" />
        {session.chats && <Link className="btn btn-small" to="/chat/$document/$id" params={where}><Icon of={MessageCircle} size={13} />Chat</Link>}
        {may && !session.expired && <Button small icon={RotateCcw} action onClick={() => setIsResetting(true)}>Reset</Button>}
        <Menu
          trigger={<IconButton label="More" icon={Ellipsis} />}
          entries={[
            { label: 'Copy the response to the host', icon: Copy, onSelect: () => void copyText(hostResponse(session), 'the response') },
            { label: 'Copy the session id', icon: Copy, onSelect: () => void copyText(session.id, 'the id') },
          ]}
        />
      </div>
      {isPast && latest && (
        <div className="as-of" role="status">
          As of {clockSeconds(new Date(latest.at))} <span className="dotsep">·</span> <Link className="link" to="/sessions/$document/$id" params={where} replace>Back to now</Link>
        </div>
      )}
      <div className="g-body" role="group" aria-label="Step, tools and conditions" tabIndex={0}>
        <p className="label">Current step</p>
        <p className="why-line"><CurrentStep session={session} /></p>
        <Activation session={session} />
        <h2 className="ctx-h">Tools <span className="muted light">{offered} of {session.tools.length} offered to the model</span></h2>
        {session.tools.length === 0
          ? <p className="soft small">The session was opened without tools. A host lists them when it opens a session.</p>
          : (
            <ul className="tools">
              {session.tools.map((tool) => (
                <li key={tool.name} className={`tool${tool.offered ? ' on' : ''}`}>
                  <b className="mono clip">{tool.name}</b><span className="grow" /><span className="soft small clip" title={tool.reason}>{tool.reason}</span>
                  <span className={`outcome ${tool.offered ? 'outcome-true' : 'outcome-none tl-off'}`}><Icon of={tool.offered ? LockOpen : Lock} size={12} />{tool.offered ? 'offered' : 'not offered'}</span>
                </li>
              ))}
            </ul>
          )}
        <GateSteps session={session} />
        <History session={session} />
      </div>
      {isResetting && <ResetDialog session={session} onClose={() => setIsResetting(false)} />}
    </section>
  )
}

/** Why the step is active. It stays active when its conditions no longer match, until those of another step do. */
function CurrentStep({ session }: { session: SessionDetail }) {
  const name = session.view.activeStep
  if (!name) return 'No step is active.'
  const active = session.steps.find((step) => step.active)
  const matches = session.steps.some((step) => step.holds === true)
  if (active?.holds === false && !matches) return `Still in ${name}: its conditions no longer match, but no other step matches.`
  return <Sentence text={session.view.why ?? ''} whole />
}

/** The event that made the step active. */
function Activation({ session }: { session: SessionDetail }) {
  const position = session.events.findLastIndex((event) => event.step_after === session.view.activeStep && event.step_before !== event.step_after)
  const event = session.events[position]
  if (!event || !session.view.activeStep) return null
  const later = session.events.length - 1 - position
  return <p className="soft small">Activated by {nameOf(event)}, {later === 0 ? 'the latest event' : `${plural(later, 'event')} ago`}.</p>
}

function nameOf(event: SessionEvent): string {
  if (event.kind === 'reset') return 'the reset'
  if (event.kind === 'tool') return `the tool ${String(event.value)}`
  return `the message “${String(event.value)}”`
}

const SHOWN = 24

function History({ session }: { session: SessionDetail }) {
  const used = session.view.recentlyUsedTools
  const window = windowOf(session)
  const shown = used.slice(-SHOWN)
  const inWindow = window === null ? [] : shown.slice(-window)
  const before = shown.slice(0, shown.length - inWindow.length)
  const sequence = session.steps.find((step) => step.active)?.sequence ?? []
  return (
    <>
      <h2 className="ctx-h">History <span className="muted light">tools used, oldest first</span></h2>
      <div className="histo wrap">
        {used.length > SHOWN && <span className="h-next">{used.length - SHOWN} more</span>}
        {before.map((tool, index) => <span key={index} className="h-chip">{tool}</span>)}
        {inWindow.length > 0 && <span className="h-win">{inWindow.map((tool, index) => <span key={index} className="h-chip">{tool}</span>)}<i>last {window}</i></span>}
        <span className="h-next">next</span>
      </div>
      {sequence.length > 0 && (
        <>
          <h2 className="ctx-h">Sequence <span className="muted light">{Math.min(session.view.sequenceIndex, sequence.length)} of {plural(sequence.length, 'position')} done</span></h2>
          <ol className="histo wrap">
            {sequence.map((tools, index) => (
              <li key={index} className={`h-chip${index === session.view.sequenceIndex ? ' hit' : ''}${index < session.view.sequenceIndex ? ' done' : ''}`}>{tools.join(' or ')}</li>
            ))}
          </ol>
        </>
      )}
    </>
  )
}

/** The widest window of the history that an evaluated condition read, from its explanation. */
function windowOf(session: SessionDetail): number | null {
  const found = JSON.stringify(session.steps.map((step) => step.explanation?.tree ?? null)).matchAll(/last (\d+) (?:of )?tools/g)
  const sizes = [...found].map((match) => Number(match[1]))
  return sizes.length === 0 ? null : Math.max(...sizes)
}

function ResetDialog({ session, onClose }: { session: SessionDetail; onClose: () => void }) {
  const client = useQueryClient()
  const reset = useMutation({
    mutationFn: () => del(`/agents/${segment(session.document)}/sessions/${segment(session.id)}`),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ['session', session.document, session.id] })
      void client.invalidateQueries({ queryKey: ['chat', session.document, session.id] })
      onClose()
    },
    onError: (error) => showToast({ text: error instanceof Problem ? error.message : String(error) }),
  })
  return (
    <Dialog open onClose={onClose} title={`Reset session ${session.id}`} onConfirm={() => reset.mutate()}>
      <p className="soft">The session forgets its messages, the tools that were used and its step. It begins again with the step for new sessions. The events stay in the record of its run.</p>
      <div className="row dialog-foot">
        <Link className="link small" to="/runs/$id" params={{ id: session.run }} search={{ view: 'timeline' }}><Icon of={Route} size={13} /> Open the run</Link>
        <span className="grow" />
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" icon={RotateCcw} action disabled={reset.isPending} onClick={() => reset.mutate()} shortcut="Ctrl Enter">Reset session</Button>
      </div>
    </Dialog>
  )
}
