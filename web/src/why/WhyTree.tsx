import './why-tree.css'
import { useState } from 'react'
import type { Part } from '../api/types.ts'
import { formatCount } from '../ui/format.ts'
import { WhyMark, type WhyMarkKind } from '../ui/icons.tsx'
import { ConditionText } from './ConditionText.tsx'

interface WhyTreeProps {
  part: Part
  /** Hides the parts that did not decide the outcome. */
  decidingOnly?: boolean
  /** The part under the pointer; null when there is none. */
  onHover?: (part: Part | null) => void
}

const INDENT_PX = 18
const MOST_INDENTS = 12
const MOST_CHILDREN = 60

/** A condition with the result of every part: root first, children in the order of the source. */
export function WhyTree({ part, decidingOnly = false, onHover }: WhyTreeProps) {
  return <div className="expl" role="list" aria-label="Evaluation of the condition" onMouseLeave={() => onHover?.(null)}><Rows part={part} depth={0} decidingOnly={decidingOnly} onHover={onHover} /></div>
}

function Rows({ part, depth, decidingOnly, onHover }: Required<Pick<WhyTreeProps, 'part' | 'decidingOnly'>> & Pick<WhyTreeProps, 'onHover'> & { depth: number }) {
  const [limit, setLimit] = useState(MOST_CHILDREN)
  const children = decidingOnly ? part.children.filter((child) => child.decided) : part.children
  const mark = markOf(part)
  const deciding = isDeciding(part)
  const classes = ['ex', depth > 0 ? 'child' : '', mark === 'none' ? 'off' : '', deciding && mark !== 'error' ? 'decided' : '', deciding && mark === 'error' ? 'failed' : ''].filter(Boolean).join(' ')
  return (
    <>
      <div className={classes} role="listitem" aria-level={depth + 1} style={{ marginLeft: Math.min(depth, MOST_INDENTS) * INDENT_PX }} onMouseEnter={() => onHover?.(part)}>
        <WhyMark kind={mark} />
        <code><ConditionText text={part.text} /></code>
        {mark === 'value' && <span className="v" title={part.value ?? undefined}><ConditionText text={part.value ?? ''} /></span>}
        {mark === 'value' && part.type && <span className="ty">{part.type}</span>}
        {part.times > 1 && <span className="times muted" title={`Evaluated ${formatCount(part.times)} times`}>×{formatCount(part.times)}</span>}
        {deciding && <span className="said">decided</span>}
        {mark === 'none' && <span className="said"><span className="nl">not evaluated</span></span>}
      </div>
      {part.error != null && part.children.every((child) => child.error == null) && <div className="expl-err" style={{ marginLeft: depth * INDENT_PX + 25 }}>{part.error}</div>}
      {/* What was not evaluated has nothing to say about its parts. */}
      {mark !== 'none' && children.slice(0, limit).map((child, index) => <Rows key={index} part={child} depth={depth + 1} decidingOnly={decidingOnly} onHover={onHover} />)}
      {mark !== 'none' && children.length > limit && (
        <button type="button" className="link small ex-more" style={{ marginLeft: (depth + 1) * INDENT_PX }} onClick={() => setLimit(limit + 200)}>Show {formatCount(children.length - limit)} more parts</button>
      )}
    </>
  )
}

function isBoolean(part: Part): boolean {
  return part.type === 'bool' || part.type === 'boolean'
}

function markOf(part: Part): WhyMarkKind {
  if (part.error != null) return 'error'
  if (part.times === 0 || part.value == null) return 'none'
  if (isBoolean(part) && part.children.length > 0) return part.value === 'true' ? 'true' : 'false'
  return isBoolean(part) && !/^[\w$]+(\.|$)/.test(part.text) ? (part.value === 'true' ? 'true' : 'false') : 'value'
}

/** The innermost comparison that decided the outcome, or that failed. */
export function isDeciding(part: Part): boolean {
  if (!part.decided || !(isBoolean(part) || part.error != null)) return false
  return !part.children.some(holdsDeciding)
}

function holdsDeciding(part: Part): boolean {
  if (part.error != null) return true
  return part.decided && isBoolean(part) && part.children.length > 0 || part.children.some(holdsDeciding)
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
