import type { Part } from '../api/types.ts'
import { WhyMark, type WhyMarkKind } from '../ui/icons.tsx'
import { ConditionText } from './ConditionText.tsx'

interface Row {
  part: Part
  depth: number
}

/** Every evaluated part of a condition with its value, the root first, children in the order of the source. */
export function WhyTree({ part, decidingOnly, onHover }: { part: Part; decidingOnly?: boolean; onHover?: (part: Part | null) => void }) {
  const rows = rowsOf(part, 0, decidingOnly === true)
  return (
    <div className="expl" role="list" aria-label="Evaluation of the condition" onMouseLeave={() => onHover?.(null)}>
      {rows.map(({ part, depth }, index) => <WhyRow key={index} part={part} depth={depth} onHover={onHover} />)}
    </div>
  )
}

function rowsOf(part: Part, depth: number, decidingOnly: boolean): Row[] {
  if (decidingOnly && depth > 0 && !part.decided) return []
  return [{ part, depth }, ...part.children.flatMap((child) => rowsOf(child, depth + 1, decidingOnly))]
}

function WhyRow({ part, depth, onHover }: Row & { onHover?: (part: Part | null) => void }) {
  const mark = markOf(part)
  const hasValue = mark === 'value' && part.value !== null && part.value !== undefined
  // The root always decides; its mark says the outcome already.
  const decided = part.decided && depth > 0 && !hasValue
  const classes = ['ex', depth > 0 ? 'child' : '', mark === 'none' ? 'off' : '', decided ? 'decided' : ''].filter(Boolean).join(' ')
  return (
    <>
      <div className={classes} role="listitem" aria-level={depth + 1} style={{ marginLeft: Math.min(depth, 12) * 18 }} onMouseEnter={() => onHover?.(part)}>
        <WhyMark kind={mark} />
        <code><ConditionText text={part.text} /></code>
        {part.times > 1 && <span className="said muted">evaluated {part.times} times</span>}
        {hasValue && <span className="v">{part.value}</span>}
        {hasValue && <span className="ty">{part.type}</span>}
        {decided && part.times <= 1 && <span className="said">decided</span>}
      </div>
      {part.error && part.children.every((child) => child.error !== part.error) && (
        <p className="expl-note sev-error" style={{ marginLeft: Math.min(depth, 12) * 18 + 21 }}>{part.error}</p>
      )}
    </>
  )
}

function markOf(part: Part): WhyMarkKind {
  if (part.error) return 'error'
  if (part.times === 0) return 'none'
  if (part.type === 'bool') return part.value === 'true' ? 'true' : 'false'
  return 'value'
}

/** What the marks of a tree mean. */
export function WhyLegend() {
  const marks: [WhyMarkKind, string][] = [['true', 'true'], ['false', 'false'], ['value', 'value'], ['none', 'not evaluated'], ['error', 'failed']]
  return (
    <div className="legendline" aria-hidden>
      {marks.map(([kind, label]) => <span key={kind} className={kind === 'error' ? 'sev-error' : ''}><WhyMark kind={kind} />{label}</span>)}
    </div>
  )
}
