import { useQuery } from '@tanstack/react-query'
import type { ReactNode, Ref } from 'react'
import { paletteQuery, schemaQuery } from '../../api/queries.ts'
import type { PaletteEntry, WorkflowDetail } from '../../api/types.ts'
import type { Schema } from '../../source/schema.ts'
import { Failed } from '../../ui/States.tsx'
import type { DesignNode, DrawState, Finding } from './checks.ts'
import type { DraftState } from './draft/draft.ts'
import { DesignCanvas } from './editor/DesignCanvas.tsx'
import { fieldsOf } from './editor/fields.ts'
import { Inspector } from './editor/Inspector.tsx'
import type { Operation } from './editor/operations.ts'
import { SplitPane } from './SplitPane.tsx'

export type Pane = 'canvas' | 'both' | 'source'

const NO_PALETTE: PaletteEntry[] = []

interface DesignAreaProps {
  pane: Pane
  source: ReactNode
  drawn: DrawState
  detail: WorkflowDetail
  state: DraftState
  findings: Finding[]
  mayEdit: boolean
  selected: readonly string[]
  onSelect: (ids: string[], how: { keyboard: boolean }) => void
  perform: (operation: Operation) => Promise<string | null>
  onUndo: () => void
  onRedo: () => void
  preflight: { ref: Ref<HTMLDivElement>; onShow: (finding: Finding) => void; onRunAnyway: (() => void) | null } | null
}

/** Canvas, source, or both side by side. The canvas alone has the inspector of the selected step. */
export function DesignArea({ pane, source, drawn, detail, selected, mayEdit, perform, ...rest }: DesignAreaProps) {
  const node = drawn.drawing?.nodes.find((entry) => entry.id === selected[selected.length - 1])
  const hasPanel = pane === 'canvas' && node !== undefined && selected.length === 1
  // Documents that are edited as text only have no palette.
  const palette = useQuery(paletteQuery(detail.dialect)).data ?? NO_PALETTE
  if (pane === 'source') return source
  const isEditable = palette.length > 0
  const canvas = drawn.drawing ? (
    <DesignCanvas
      drawing={drawn.drawing} text={drawn.text ?? ''} isStale={drawn.isStale} mayEdit={mayEdit} palette={palette} selected={selected} perform={perform} {...rest}
      panel={hasPanel ? ({ copy, remove }) => <StepPanel node={node} drawn={drawn} detail={detail} readOnly={!mayEdit || !isEditable || drawn.isStale} perform={perform} onCopy={copy} onDelete={remove} /> : undefined}
    />
  ) : (
    <section className="canvas" aria-label="Canvas">{drawn.error && <Failed what="the graph" error={drawn.error} />}</section>
  )
  return pane === 'both'
    ? <SplitPane left={canvas} right={source} />
    : <div className={`design-area${hasPanel ? ' with-panel' : ''}`}>{canvas}</div>
}

function StepPanel({ node, drawn, detail, readOnly, perform, onCopy, onDelete }: {
  node: DesignNode
  drawn: DrawState
  detail: WorkflowDetail
  readOnly: boolean
  perform: (operation: Operation) => Promise<string | null>
  onCopy: () => void
  onDelete: () => void
}) {
  const palette = useQuery(paletteQuery(detail.dialect)).data ?? NO_PALETTE
  const schema = useQuery(schemaQuery(detail.dialect)).data as Schema | undefined
  const entry = palette.find((candidate) => candidate.kind === node.kind) ?? null
  if (!drawn.drawing) return null
  return (
    <Inspector
      node={node} drawing={drawn.drawing} fields={fieldsOf(node, drawn.text ?? '', entry?.path ?? [])} entry={entry} schema={schema ?? null} dialect={detail.dialect}
      readOnly={readOnly} perform={perform} onCopy={onCopy} onDelete={onDelete}
    />
  )
}
