import { Check } from 'lucide-react'
import { Icon, stepIcon } from '../ui/icons.tsx'
import { StatusIcon } from '../ui/StatusIcon.tsx'
import { type Cell, MORE } from './branches.ts'
import { cellsHeight, cellWidths } from './measure.ts'
import type { CanvasMode, GraphNode } from './model.ts'
import type { NodeState } from './states.ts'

/** A decision as a switchboard: a header, and one cell for each branch in the order of evaluation. */
export function DecisionNode({ node, state, mode }: { node: GraphNode; state: NodeState | undefined; mode: CanvasMode }) {
  const showStatus = state && ['pending', 'failed', 'skipped', 'cancelled'].includes(state.status)
  return (
    <>
      <div className="node-row">
        <span className="tile"><Icon of={stepIcon(node.node.kind, 'decision')} size={14} /></span>
        <span className="node-text"><b title={node.node.title}>{node.node.title}</b><small>{[node.node.kind, state?.iteration].filter(Boolean).join(' · ')}</small></span>
        <span className="node-end">{showStatus && <StatusIcon status={state.status} />}</span>
      </div>
      <Cells node={node} state={state} mode={mode} />
    </>
  )
}

export function Cells({ node, state, mode }: { node: GraphNode; state: NodeState | undefined; mode: CanvasMode }) {
  const widths = cellWidths(node.cells, node.width)
  return (
    <ol className="ways" style={{ height: cellsHeight(node.cells, mode) }}>
      {node.cells.map((cell, index) => <CellView key={cell.name} cell={cell} width={widths[index] ?? 0} state={state} />)}
    </ol>
  )
}

function CellView({ cell, width, state }: { cell: Cell; width: number; state: NodeState | undefined }) {
  if (cell.name === MORE) {
    return <li className="way way-open" style={{ width }} title={cell.more.join(', ')}><b>{cell.more.length} more</b></li>
  }
  const outcome = state?.outcomes[cell.name]
  const isTaken = state?.branch === cell.name
  const isDecided = state !== undefined && (state.branch !== null || state.status === 'skipped' || state.status === 'failed')
  const look = isTaken ? 'taken' : isDecided ? 'not' : 'open'
  return (
    <li className={`way way-${look}`} style={{ width }} title={cell.condition ?? undefined}>
      <b><span className="clip">{cell.name}</span>{isTaken && <Icon of={Check} size={11} />}</b>
      {cell.short !== null && <code>{cell.short}</code>}
      {isDecided && <em className={outcome?.outcome === 'error' ? 'bad2' : ''} title={outcome?.text}>{outcome?.text ?? (isTaken ? 'taken' : 'not evaluated')}</em>}
    </li>
  )
}
