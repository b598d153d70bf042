import { Copy, Trash2 } from 'lucide-react'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { isRecord } from '../../../api/client.ts'
import type { Drawing, DrawingNode, PaletteEntry } from '../../../api/types.ts'
import { propertiesOf, type Schema, applicable } from '../../../source/schema.ts'
import { IconButton } from '../../../ui/Button.tsx'
import { Icon, stepIcon } from '../../../ui/icons.tsx'
import { Select } from '../../../ui/Select.tsx'
import { ConditionRows } from './ConditionRows.tsx'
import { conditionsOf } from './conditions.ts'
import { FieldEditor } from './FieldEditor.tsx'
import { focusNode } from './focusNode.ts'
import type { FieldPath, Operation } from './operations.ts'
import { TryIt } from './TryIt.tsx'

interface InspectorProps {
  node: DrawingNode
  drawing: Drawing
  /** The step's own fields; `null` while they are not known. */
  fields: Record<string, unknown> | null
  entry: PaletteEntry | null
  schema: Schema | null
  dialect: string
  readOnly: boolean
  perform: (operation: Operation) => Promise<string | null>
  onCopy: () => void
  onDelete: () => void
}

// Fields that hold other steps, and what conditions show as rows.
const STRUCTURE = new Set(['id', 'step_type', 'type', 'steps', 'child_steps', 'then', 'then_steps', 'else', 'else_steps', 'elif', 'cases', 'body', 'branches', 'on_budget', 'on_error', 'conditions', 'if', 'x', 'y'])

/** The fields of the selected step, from the schema of its type. */
export function Inspector({ node, drawing, fields, entry, schema, dialect, readOnly, perform, onCopy, onDelete }: InspectorProps) {
  const titleOf = (id: string) => drawing.nodes.find((other) => other.id === id || other.title === id)?.title ?? id
  const base: FieldPath = entry?.path ?? []
  const root = schema ?? {}
  const set = (path: FieldPath, value: unknown) => void perform(value === undefined ? { op: 'remove_field', step: node.id, path: [...base, ...path] } : { op: 'set_field', step: node.id, path: [...base, ...path], value })
  const conditions = fields ? conditionsOf(node, fields) : null
  const options = entry?.fields ? propertiesOf(applicable(root, entry.fields, null)).filter((option) => !STRUCTURE.has(option.name)) : []
  const known = new Set(options.map((option) => option.name))
  const shown = options.filter((option) => option.required || fields && fields[option.name] !== undefined && fields[option.name] !== null)
  const extra = Object.keys(fields ?? {}).filter((name) => !known.has(name) && !STRUCTURE.has(name))
  const missing = options.filter((option) => !shown.includes(option))
  const [added, setAdded] = useState<string[]>([])
  useEffect(() => setAdded([]), [node.id])
  return (
    <aside className="panel inspector" aria-label={`Step ${node.title}`} onKeyDown={(event) => event.key === 'Escape' && leave(event, node.id)}>
      <div className="panel-head">
        <span className={`tile${node.shape === 'decision' ? ' dia' : node.shape === 'approval' ? ' round' : ''}`}><Icon of={stepIcon(node.kind, node.shape)} size={node.shape === 'decision' ? 11 : 15} /></span>
        <h2 tabIndex={-1} className="clip">{node.title}</h2><span className="muted">{node.kind}</span>
        <span className="grow" />
        {!readOnly && <IconButton label={`Copy ${node.title}`} icon={Copy} size={15} onClick={onCopy} />}
        {!readOnly && <IconButton label={`Delete ${node.title}`} icon={Trash2} size={15} onClick={onDelete} />}
      </div>
      <div className="panel-body inspector-body">
        <IdField id={node.id} readOnly={readOnly} onRename={(id) => void perform({ op: 'rename', step: node.id, id })} />
        {conditions && (
          <ConditionRows
            list={conditions} readOnly={readOnly} titleOf={titleOf} onSet={set} onRemove={(path) => void perform({ op: 'remove_field', step: node.id, path: [...base, ...path] })}
            onReorder={(from, to) => void perform({ op: 'reorder', step: node.id, from, to })}
          />
        )}
        {fields && (shown.length > 0 || extra.length > 0) && <p className="section">Fields</p>}
        {fields && [...shown, ...missing.filter((option) => added.includes(option.name))].map((option) => (
          <FieldEditor key={`${node.id}.${option.name}`} name={option.name} schema={option.schema} root={root} value={fields[option.name]} readOnly={readOnly} onCommit={(value) => set([option.name], value)} />
        ))}
        {fields && extra.map((name) => <FieldEditor key={`${node.id}.${name}`} name={name} schema={{}} root={root} value={fields[name]} readOnly={readOnly} onCommit={(value) => set([name], value)} />)}
        {!readOnly && missing.length > added.length && (
          <Select
            label="Add a field" hideLabel value="" style={{ marginTop: 4 }} onChange={(name) => name && setAdded([...added, name])}
            options={[{ value: '', label: 'Add a field' }, ...missing.filter((option) => !added.includes(option.name)).map((option) => ({ value: option.name, label: option.name }))]}
          />
        )}
        {conditions && <TryIt key={node.id} rows={conditions.rows} dialect={dialect} titleOf={titleOf} />}
        {!fields && isRecord(entry) && <p className="muted small">The fields of this step are shown in the source.</p>}
      </div>
    </aside>
  )
}

/** Escape returns to the node on the canvas. */
function leave(event: KeyboardEvent, id: string): void {
  event.stopPropagation()
  event.preventDefault()
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  focusNode(id)
}

function IdField({ id, readOnly, onRename }: { id: string; readOnly: boolean; onRename: (id: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  useEffect(() => setTyped(null), [id])
  const commit = () => {
    if (typed !== null && typed.trim() !== '' && typed.trim() !== id) onRename(typed.trim())
    else setTyped(null)
  }
  return (
    <div className="field">
      <label className="label" htmlFor="inspector-id">ID</label>
      <span className="input quiet"><input id="inspector-id" className="mono" value={typed ?? id} readOnly={readOnly} spellCheck={false} onChange={(event) => setTyped(event.target.value)} onBlur={commit} onKeyDown={(event) => event.key === 'Enter' && commit()} /></span>
    </div>
  )
}
