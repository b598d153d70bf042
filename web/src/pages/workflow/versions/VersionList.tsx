import type { KeyboardEvent, MouseEvent } from 'react'
import type { WorkflowDetail, WorkflowVersion } from '../../../api/types.ts'
import { plural } from '../../../ui/format.ts'
import { When } from '../../../ui/Values.tsx'
import type { Compared } from '../VersionsView.tsx'

interface VersionListProps {
  detail: WorkflowDetail
  isDraftEdited: boolean
  from: number | null
  to: Compared
  onTo: (version: Compared) => void
  onFrom: (version: number) => void
}

/** The versions, newest first. A click chooses the newer side of the comparison, Shift and a click the older one. */
export function VersionList({ detail, isDraftEdited, from, to, onTo, onFrom }: VersionListProps) {
  const choose = (event: MouseEvent | KeyboardEvent, version: Compared) => {
    if (event.shiftKey && version !== 'draft') onFrom(version)
    else onTo(version)
  }
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('button')]
    rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(document.activeElement as HTMLElement) + step))]?.focus()
  }
  return (
    <section className="ilist version-list" aria-label="Versions" onKeyDown={move}>
      {isDraftEdited && (
        <button type="button" className="msg ver" aria-pressed={to === 'draft'} onClick={(event) => choose(event, 'draft')}>
          <span className="line1"><b>Your draft</b><span className="grow" />{to === 'draft' && <span className="cmp">to</span>}</span>
          <span className="q">Not saved yet. It is kept in this browser.</span>
        </button>
      )}
      {detail.versions.map((entry) => (
        <Row key={entry.version} entry={entry} isLatest={entry.version === detail.version} side={entry.version === to ? 'to' : entry.version === from ? 'from' : null} onChoose={choose} />
      ))}
    </section>
  )
}

function Row({ entry, isLatest, side, onChoose }: {
  entry: WorkflowVersion
  isLatest: boolean
  side: 'to' | 'from' | null
  onChoose: (event: MouseEvent, version: number) => void
}) {
  return (
    <button type="button" className="msg ver" aria-pressed={side !== null} title="Click: compare to this version. Shift click: compare from it." onClick={(event) => onChoose(event, entry.version)}>
      <span className="line1">
        <b>Version {entry.version}</b>{isLatest && <span className="tag tag-fill">latest</span>}
        <span className="grow" />
        {side && <span className="cmp">{side}</span>}
      </span>
      {entry.message && <span className="q">{entry.message}</span>}
      <span className="line3">
        <span className="mono11" title={entry.hash}>{entry.hash.slice(0, 7)}</span>
        <span>{entry.saved_by ? `${entry.saved_by}, ` : ''}<When at={entry.saved_at} /></span>
        <span className="grow" />
        <span className="num">{plural(entry.runs, 'run')}</span>
      </span>
    </button>
  )
}
