import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { splitKey } from '../../api/approvals.ts'
import { Quorum } from '../../ui/Pips.tsx'
import { Deadline, When } from '../../ui/Values.tsx'
import type { InboxEntry, Show } from './inbox.ts'
import { plainPrompt } from './order.ts'
import { outcomeText } from './quorum.ts'

/** The inbox as a list box: arrows move the selection. */
export function ApprovalList({ entries, selected, show, user, phone }: { entries: InboxEntry[]; selected: string | null; show: Show; user: string; phone?: boolean }) {
  const navigate = useNavigate()
  const list = useRef<HTMLDivElement>(null)
  const open = (entry: InboxEntry | undefined) => {
    if (!entry) return
    const [run, n] = splitKey(entry.approval.key)
    void navigate({ to: '/approvals/$run/$n', params: { run, n }, search: show === 'mine' ? {} : { show }, replace: selected !== null })
  }
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [selected])
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = entries.findIndex((entry) => entry.approval.key === selected)
    const next = entries[Math.max(0, Math.min(entries.length - 1, at + step))]
    open(next)
    list.current?.querySelectorAll<HTMLElement>('[role="option"]')[entries.indexOf(next ?? entries[0]!)]?.focus()
  }
  return (
    <div role="listbox" aria-label="Approvals" className="msgs" ref={list} onKeyDown={onKeyDown}>
      {entries.map((entry, index) => (
        <Row
          key={entry.approval.key} entry={entry} user={user} phone={phone} isSelected={entry.approval.key === selected}
          isTabStop={selected === null || !entries.some((other) => other.approval.key === selected) ? index === 0 : entry.approval.key === selected} onOpen={() => open(entry)}
        />
      ))}
    </div>
  )
}

function Row({ entry, user, phone, isSelected, isTabStop, onOpen }: { entry: InboxEntry; user: string; phone?: boolean; isSelected: boolean; isTabStop: boolean; onOpen: () => void }) {
  const { approval, isGone } = entry
  const [run] = splitKey(approval.key)
  const noDeadline = !approval.deadline
  const mine = approval.votes.find((vote) => vote.user === user)
  return (
    <div
      className={`msg${isGone ? ' gone' : ''}`} role="option" aria-selected={isSelected} tabIndex={isTabStop ? 0 : -1} onClick={onOpen} title={run}
      onKeyDown={(event) => event.key === 'Enter' && !isSelected && (event.preventDefault(), event.stopPropagation(), onOpen())}
    >
      <div className="line1">
        <b className="clip">{approval.workflow}</b><span className="muted small clip">{approval.step}</span><span className="grow" />
        {approval.status === 'open' ? (phone && noDeadline ? null : <Deadline at={approval.deadline} />) : <span className="muted small"><When at={approval.settled ?? approval.votes.at(-1)?.at ?? approval.deadline} /></span>}
      </div>
      <p className="q">{plainPrompt(approval.prompt)}</p>
      <div className="line3">
        {approval.status !== 'open' ? <span>{settledText(entry)}</span>
          : isGone && mine ? <span>You voted {mine.choice}</span>
          : isGone ? <span>Answered</span>
          : <><Quorum approval={approval} />{phone && noDeadline && <span className="and-no-deadline">· No deadline</span>}</>}
      </div>
    </div>
  )
}

function settledText({ approval }: InboxEntry): string {
  const by = approval.votes.filter((vote) => vote.choice === approval.outcome).map((vote) => vote.user)
  const outcome = outcomeText(approval)
  return by.length > 0 && by.length < 4 ? `${outcome} · ${by.join(', ')}` : outcome
}
