import { Network, Plus, Redo2, Undo2 } from 'lucide-react'
import { type ReactNode, type Ref, useMemo, useRef } from 'react'
import type { PaletteEntry } from '../../../api/types.ts'
import { Canvas } from '../../../graph/Canvas.tsx'
import type { ProblemCount } from '../../../graph/context.ts'
import { IconButton } from '../../../ui/Button.tsx'
import { stepIcon } from '../../../ui/icons.tsx'
import type { DesignDrawing, Finding } from '../checks.ts'
import type { DraftState } from '../draft/draft.ts'
import type { Operation } from './operations.ts'
import { Preflight } from './Preflight.tsx'
import { shapeOfGroup } from './StepTile.tsx'
import { useEditor } from './useEditor.tsx'

interface DesignCanvasProps {
  drawing: DesignDrawing
  text: string
  isStale: boolean
  findings: Finding[]
  state: DraftState
  mayEdit: boolean
  /** The types that can be added; empty for dialects that are edited as text. */
  palette: readonly PaletteEntry[]
  selected: readonly string[]
  onSelect: (ids: string[], how: { keyboard: boolean }) => void
  perform: (operation: Operation) => Promise<string | null>
  onUndo: () => void
  onRedo: () => void
  preflight: { ref: Ref<HTMLDivElement>; onShow: (finding: Finding) => void; onRunAnyway: (() => void) | null } | null
  panel?: (actions: { copy: () => void; remove: () => void }) => ReactNode
}

/** The graph of the draft. Every change on it is an edit of the source. */
export function DesignCanvas(props: DesignCanvasProps) {
  const { drawing, text, isStale, findings, state, mayEdit, palette, selected, onSelect, perform, onUndo, onRedo, preflight } = props
  const isEditable = palette.length > 0
  const canEdit = mayEdit && isEditable && !isStale
  const editor = useEditor({ drawing, text, palette, isEnabled: canEdit, selected, onSelect: (ids) => onSelect(ids, { keyboard: false }), perform })
  const problems = useMemo(() => problemsByStep(findings), [findings])
  const places = useMemo(() => placesOf(drawing), [drawing])
  const [first] = findings
  const isExtending = useRef(false)
  const select = (id: string | null, how: { keyboard: boolean }) => {
    // A click with Shift extends the selection, which `onSelectMany` reports.
    if (!isExtending.current || how.keyboard || !canEdit) onSelect(id ? [id] : [], how)
  }
  const history = (
    <>
      <IconButton label={nameOfMove('Undo', state.history.past.at(-1)?.name)} icon={Undo2} size={15} disabled={!mayEdit || state.history.past.length === 0} onClick={onUndo} />
      <IconButton label={nameOfMove('Redo', state.history.future[0]?.name)} icon={Redo2} size={15} disabled={!mayEdit || state.history.future.length === 0} onClick={onRedo} />
    </>
  )
  const openAdd = (button: HTMLElement) => {
    const box = button.getBoundingClientRect()
    editor.openAdd({ x: box.left, y: box.bottom + 6 })
  }
  const addButton = <IconButton label="Add step" icon={Plus} onClick={(event) => openAdd(event.currentTarget)} />
  const layoutButton = <IconButton label="Auto-layout, Shift L" icon={Network} size={15} onClick={() => void editor.layOut()} />
  return (
    <>
      <div className="canvas-pane" onClickCapture={(event) => (isExtending.current = event.shiftKey)}>
        <Canvas
          drawing={drawing} mode="design" label="Canvas" selected={selected} onSelect={select} problems={problems} editing={editor.editing} places={places}
          zoom="bottom" stale={isStale ? 'Last valid version' : null} tools={!mayEdit || canEdit && editor.isFree ? null : canEdit ? <>{history}<span className="sep" />{addButton}</> : history}
        >
          {canEdit && editor.isFree && (
            <div className="canvas-tools column palette at-top" role="toolbar" aria-label="Edit the graph" aria-orientation="vertical">
              {editor.entries.slice(0, 3).map((entry, index) => (
                <IconButton key={entry.kind} label={`Add ${entry.title.toLowerCase()}, ${index + 1}`} icon={stepIcon(entry.kind, shapeOfGroup(entry.group))} onClick={() => editor.add(entry)} />
              ))}
              {editor.entries.length > 3 && addButton}
              <span className="sep" />
              {history}
              {layoutButton}
            </div>
          )}
          {!isEditable && mayEdit && <p className="canvas-note small">Edit in the source</p>}
          {!mayEdit && isEditable && <p className="canvas-note small only-phone">Editing needs a wider window</p>}
          {preflight && first && <Preflight finding={first} more={findings.length - 1} onShow={() => preflight.onShow(first)} onRunAnyway={preflight.onRunAnyway} ref={preflight.ref} />}
        </Canvas>
        {editor.menu}
      </div>
      {props.panel?.({ copy: editor.copy, remove: () => editor.remove(selected) })}
    </>
  )
}

function nameOfMove(verb: string, name: string | undefined): string {
  return name ? `${verb}: ${name}` : verb
}

function problemsByStep(findings: Finding[]): ReadonlyMap<string, ProblemCount> {
  const counts = new Map<string, ProblemCount>()
  for (const finding of findings) {
    if (!finding.step) continue
    const count = counts.get(finding.step) ?? { errors: 0, warnings: 0 }
    if (finding.severity === 'error') count.errors += 1
    else count.warnings += 1
    counts.set(finding.step, count)
  }
  return counts
}

/** The places that the document gives its nodes. */
function placesOf(drawing: DesignDrawing): Record<string, { x: number; y: number }> | null {
  const placed = drawing.nodes.flatMap((node) => (typeof node.x === 'number' && typeof node.y === 'number' ? [[node.id, { x: node.x, y: node.y }] as const] : []))
  return placed.length > 0 ? Object.fromEntries(placed) : null
}
