import { ArrowRight, GripVertical, Plus, X } from 'lucide-react'
import { type DragEvent, type KeyboardEvent, useState } from 'react'
import { isRecord } from '../../../api/client.ts'
import { Button, IconButton } from '../../../ui/Button.tsx'
import { Icon } from '../../../ui/icons.tsx'
import { Select } from '../../../ui/Select.tsx'
import { type ConditionForm, type ConditionList, type ConditionRow, newCondition } from './conditions.ts'
import type { FieldPath } from './operations.ts'

interface ConditionRowsProps {
  list: ConditionList
  readOnly: boolean
  titleOf: (target: string) => string
  onSet: (path: FieldPath, value: unknown) => void
  onRemove: (path: FieldPath) => void
  onReorder: (from: number, to: number) => void
}

const ADD: Record<ConditionForm, string> = { match: 'Text match', expression: 'Expression', group: 'Group', text: 'Text' }

/** The conditions of a decision, in the order in which they are evaluated. Drag a row, or press Alt and an arrow, to reorder. */
export function ConditionRows({ list, readOnly, titleOf, onSet, onRemove, onReorder }: ConditionRowsProps) {
  const [dragged, setDragged] = useState<number | null>(null)
  const [over, setOver] = useState<number | null>(null)
  const canReorder = list.canReorder && !readOnly
  const drop = (to: number) => {
    if (dragged !== null && dragged !== to) onReorder(dragged, to)
    setDragged(null)
    setOver(null)
  }
  const onKeyDown = (event: KeyboardEvent, index: number) => {
    const step = event.altKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined
    if (step === undefined || !canReorder) return
    const to = index + step
    if (to < 0 || to >= list.rows.length) return
    event.preventDefault()
    onReorder(index, to)
  }
  return (
    <>
      <p className="section">Conditions, evaluated in this order</p>
      <ol className="conds">
        {list.rows.map((row, index) => (
          <li
            key={`${row.branch}-${index}`} className={`cond${over === index && dragged !== index ? ' drop' : ''}`} onKeyDown={(event) => onKeyDown(event, index)}
            onDragOver={(event: DragEvent) => {
              if (dragged === null) return
              event.preventDefault()
              setOver(index)
            }}
            onDrop={() => drop(index)}
          >
            <div className="row cond-head">
              {canReorder && (
                <span
                  className="grip" draggable tabIndex={0} role="button" aria-label={`Reorder ${row.branch}: Alt and arrow up or down`} title="Drag, or Alt and an arrow"
                  onDragStart={(event) => {
                    event.dataTransfer.setData('text/plain', row.branch)
                    event.dataTransfer.effectAllowed = 'move'
                    setDragged(index)
                  }}
                  onDragEnd={() => drop(dragged ?? index)}
                ><Icon of={GripVertical} size={13} /></span>
              )}
              <b className="small cond-name">{row.branch}</b>
              <span className="grow" />
              <Target target={row.target} titleOf={titleOf} />
              {row.item && !readOnly && <IconButton extraSmall label={`Remove ${row.branch}`} icon={X} size={13} onClick={() => onRemove(row.item ?? [])} />}
            </div>
            <RowFields row={row} readOnly={readOnly} onSet={onSet} />
          </li>
        ))}
        {list.other && (
          <li className="cond other">
            <div className="row cond-head"><b className="small">{list.other.branch}</b><span className="muted small">if none match</span><span className="grow" /><Target target={list.other.target} titleOf={titleOf} /></div>
          </li>
        )}
      </ol>
      {list.list && !readOnly && (
        <div className="row cond-add">
          {list.list.forms.map((form) => (
            <Button key={form} small icon={Plus} onClick={() => onSet([...(list.list?.path ?? []), list.rows.length], newCondition(form))}>{ADD[form]}</Button>
          ))}
        </div>
      )}
    </>
  )
}

function Target({ target, titleOf }: { target: string | null; titleOf: (target: string) => string }) {
  if (target === null) return <span className="to muted small">not connected</span>
  return <span className="to muted small"><Icon of={ArrowRight} size={12} />{titleOf(target)}</span>
}

const OPERATORS = [{ value: 'equal', label: 'equal' }, { value: 'contains', label: 'contains' }]

function RowFields({ row, readOnly, onSet }: { row: ConditionRow; readOnly: boolean; onSet: (path: FieldPath, value: unknown) => void }) {
  if (row.form === 'match') {
    const value = isRecord(row.value) ? row.value : {}
    const operator = String(value.operator ?? 'equal')
    return (
      <div className="row cond-fields">
        <Select label={`Operator of ${row.branch}`} hideLabel value={operator} options={OPERATORS} style={{ width: 112 }} onChange={(next) => onSet([...row.path, 'operator'], next)} />
        <TextField label={`Value of ${row.branch}`} text={String(value.value ?? '')} readOnly={readOnly} onCommit={(next) => onSet([...row.path, 'value'], next)} />
      </div>
    )
  }
  if (row.form === 'text') {
    const text = Array.isArray(row.value) ? row.value.join(', ') : String(row.value ?? '')
    const read = (typed: string) => (typed.includes(',') ? typed.split(',').map((part) => part.trim()).filter(Boolean) : typed)
    return <div className="row cond-fields"><span className="muted small">is</span><TextField label={`Values of ${row.branch}, separated by commas`} text={text} readOnly={readOnly} onCommit={(next) => onSet(row.path, read(next))} /></div>
  }
  const isInner = isRecord(row.value) && 'if' in row.value
  const inner = isRecord(row.value) && 'if' in row.value ? row.value.if : row.value
  const path = isInner ? [...row.path, 'if'] : row.path
  const text = typeof inner === 'string' ? inner : JSON.stringify(inner, null, 1)
  return <div className="row cond-fields"><TextField label={`Condition of ${row.branch}`} mono text={text ?? ''} readOnly={readOnly} onCommit={(next) => onSet(path, row.form === 'group' ? parseOr(next, inner) : next)} /></div>
}

function parseOr(text: string, before: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return before
  }
}

function TextField({ label, text, readOnly, mono, onCommit }: { label: string; text: string; readOnly: boolean; mono?: boolean; onCommit: (text: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  const commit = () => {
    if (typed !== null && typed !== text) onCommit(typed)
    setTyped(null)
  }
  return (
    <span className="input quiet grow">
      <input className={mono ? 'mono' : ''} aria-label={label} value={typed ?? text} readOnly={readOnly} spellCheck={false} onChange={(event) => setTyped(event.target.value)} onBlur={commit} onKeyDown={(event) => event.key === 'Enter' && commit()} />
    </span>
  )
}
