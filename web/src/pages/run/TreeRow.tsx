import { ArrowRight, ChevronDown, ChevronRight, LoaderCircle } from 'lucide-react'
import { memo, type ReactNode } from 'react'
import type { FrameState } from '../../graph/states.ts'
import { Squares } from '../../graph/LoopFrame.tsx'
import { Attempts } from '../../graph/StepNode.tsx'
import { formatCost, formatCount, formatDuration } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { STATUS_LABEL, StatusIcon, statusLook } from '../../ui/StatusIcon.tsx'
import { RunningDuration } from '../../ui/Values.tsx'
import { itemText, rangesText } from './iterations.ts'
import { SKIPPED } from './words.ts'
import type { Row } from './rows.ts'
import type { Scale } from './scale.ts'
import { Track } from './Track.tsx'

/** How the tree is drawn: beside the graph, as a timeline, or on a phone. */
export type TreeLook = 'outline' | 'timeline' | 'phone'

export interface TreeRowProps {
  row: Row
  look: TreeLook
  scale: Scale
  trackWidth: number
  isSelected: boolean
  isActive: boolean
  domId: string
  top: number
  frame: FrameState | undefined
  onOpen: (row: Row) => void
  onToggle: (row: Row) => void
  onIteration: (loop: string, index: number) => void
}

export const TreeRow = memo(function TreeRow(props: TreeRowProps) {
  const { row, look, isSelected, isActive, domId, top, onOpen, onToggle } = props
  const status = statusOf(row)
  const guides = Array.from({ length: row.level - 1 }, (_, index) => <span key={index} className="ind" />)
  const fold = (
    <span
      className="fold"
      onClick={(event) => {
        if (!row.expandable) return
        event.stopPropagation()
        onToggle(row)
      }}
    >
      {row.expandable && <Icon of={row.open ? ChevronDown : ChevronRight} size={look === 'phone' ? 15 : 13} />}
    </span>
  )
  const mark = row.kind === 'more' ? <Icon of={LoaderCircle} /> : status && <StatusIcon status={status} decorative />
  const name = <Name row={row} look={look} />
  return (
    <div
      id={domId} role="treeitem" aria-level={row.level} aria-posinset={row.position || undefined} aria-setsize={row.siblings || undefined}
      aria-expanded={row.expandable ? row.open : undefined} aria-selected={isSelected}
      className={`tr${status ? ` is-${statusLook(status)}` : ''}${isActive ? ' is-active' : ''}${row.kind === 'iteration' ? ' iterrow' : ''}`}
      style={{ top }} onClick={() => onOpen(row)}
    >
      {look === 'timeline' ? <TimelineCells {...props} lead={<>{guides}{fold}{mark}{name}</>} /> : <>{guides}{fold}{mark}{name}<span className="grow" /><OutlineEnd {...props} /></>}
    </div>
  )
})

function statusOf(row: Row) {
  if (row.kind === 'more') return null
  return row.kind === 'iteration' ? row.record.status : row.status
}

function Name({ row, look }: { row: Row; look: TreeLook }) {
  if (row.kind === 'more') return <span className="muted small">{row.error ? 'Couldn’t load these steps. Select to try again.' : row.count > 0 ? `Loading ${formatCount(row.count)} more` : 'Loading'}</span>
  if (row.kind === 'group') return <><span className="name">{formatCount(row.count)} {STATUS_LABEL[row.status].toLowerCase()}</span><span className="type clip num">{rangesText(row.ranges)}</span></>
  if (row.kind === 'iteration') return <><span className="name num">[{row.record.index}]<Unseen row={row} look={look} /></span><code className="clip mono11">{itemText(row.record.item)}</code></>
  if (row.kind === 'planned') return <><span className="name clip">{row.node.title}<Unseen row={row} look={look} /></span>{look === 'timeline' && <span className="type clip">{row.node.kind}</span>}</>
  const { step } = row
  return (
    <>
      <span className="name clip">{step.step}<Unseen row={row} look={look} /></span>
      {step.run > 1 && step.iterations.length === 0 && <span className="type num" title={`Execution ${step.run}`}>#{step.run}</span>}
      {look === 'timeline' && <span className="type clip">{typeText(row)}</span>}
      {step.branch && <span className="way-mark"><Icon of={ArrowRight} size={12} /><span className="clip">{step.branch}</span></span>}
      {step.attempts.length > 1 && <Attempts count={step.attempts.length} />}
    </>
  )
}

function Unseen({ row, look }: { row: Row; look: TreeLook }) {
  return <span className="sr">{unseen(row, look)}</span>
}

function typeText(row: Row & { kind: 'step' }): string {
  const { step } = row
  if (step.status === 'skipped' && step.reason) return `${step.type} · ${SKIPPED[step.reason] ?? step.reason}`
  const omitted = itemsOmitted(row)
  return omitted ? `${step.type} · ${omitted}` : step.type
}

/** "5 of 6 items", where a loop left some out. */
function itemsOmitted({ step }: { step: Row extends never ? never : (Row & { kind: 'step' })['step'] }): string | null {
  const facts = step.decisions.findLast((decision) => decision.items)?.items
  if (!facts) return step.items ? `${formatCount(step.items)} items` : null
  return facts.left_out > 0 ? `${formatCount(facts.count)} of ${formatCount(facts.count + facts.left_out)} items` : `${formatCount(facts.count)} items`
}

function OutlineEnd({ row, look, scale, trackWidth }: TreeRowProps) {
  const isQuiet = row.kind === 'step' && row.step.status === 'skipped'
  return (
    <>
      {look === 'outline' && row.kind !== 'more' && row.kind !== 'group' && <Track row={row} scale={scale} width={trackWidth} />}
      <span className="dur num" style={look === 'outline' ? { width: 48 } : undefined}>{look === 'phone' && isQuiet ? SKIPPED[row.step.reason ?? ''] ?? '' : <Took row={row} short={look === 'outline'} />}</span>
      {look === 'phone' && <span className="muted"><Icon of={ChevronRight} size={14} /></span>}
    </>
  )
}

function TimelineCells({ row, scale, trackWidth, frame, onIteration, lead }: TreeRowProps & { lead: ReactNode }) {
  const usage = row.kind === 'step' ? row.step.usage : row.kind === 'iteration' ? row.record.usage : null
  return (
    <>
      <span className="c-name">
        {lead}
        {row.kind === 'step' && frame && frame.squares.length > 0 && <Squares frame={frame} onIteration={(index) => onIteration(row.step.step, index)} />}
      </span>
      {trackWidth > 0 && <Track row={row} scale={scale} width={trackWidth} />}
      <span className="dur c-dur num"><Took row={row} /></span>
      <span className="dur c-tok num">{usage && usage.tokens > 0 ? formatCount(usage.tokens) : ''}</span>
      <span className="dur c-cost num">{usage && usage.cost_micros > 0 ? formatCost(usage.cost_micros) : ''}</span>
    </>
  )
}

/** The duration of a row. `short` leaves out the smaller unit: the tree beside the graph has no room for it. */
function Took({ row, short = false }: { row: Row; short?: boolean }): ReactNode {
  const format = (ms: number) => (short ? formatDuration(ms).split(' ')[0] : formatDuration(ms))
  if (row.kind === 'iteration') return row.record.took_ms != null ? format(row.record.took_ms) : row.record.began && !row.record.ended ? <RunningDuration since={row.record.began} short={short} /> : null
  if (row.kind !== 'step') return null
  const { step, status } = row
  if (step.status === 'skipped' || step.type === 'gate') return null
  // A parent shows the time that its bracket spans, with the waits of its children.
  if (step.has_children && step.began && step.ended) return format(Date.parse(step.ended) - Date.parse(step.began))
  if (step.took_ms != null) return format(step.took_ms + step.hitl_wait_ms)
  return step.began && (status === 'running' || !step.has_children) ? <RunningDuration since={step.began} short={short} /> : null
}

/** What a screen reader says after the name of a row; the rest can be seen. */
function unseen(row: Row, look: TreeLook): string {
  if (row.kind === 'more' || row.kind === 'group') return ''
  if (row.kind === 'planned') return `, ${STATUS_LABEL.pending.toLowerCase()}`
  if (row.kind === 'iteration') return `, ${STATUS_LABEL[row.record.status].toLowerCase()}`
  const { step, status } = row
  const why = step.status === 'skipped' && step.reason ? SKIPPED[step.reason] ?? step.reason : STATUS_LABEL[status].toLowerCase()
  return `, ${[look === 'timeline' ? null : step.type, why, step.attempts.length > 1 ? `${step.attempts.length} attempts` : null, step.branch ? 'took' : null].filter(Boolean).join(', ')}`
}
