import { Handle, type NodeProps, Position } from '@xyflow/react'
import { CircleAlert, Merge, Minus, Pencil, Plus, TriangleAlert } from 'lucide-react'
import { memo } from 'react'
import { plural } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { ApprovalNode } from './ApprovalNode.tsx'
import { MORE } from './branches.ts'
import { type Mark, useGraph } from './context.ts'
import { DecisionNode } from './DecisionNode.tsx'
import { LoopFrame } from './LoopFrame.tsx'
import { cellWidths } from './measure.ts'
import type { GraphNode } from './model.ts'
import { CollapsedLoop, nodeClass, StepNode } from './StepNode.tsx'
import { type NodeState, NOT_TAKEN } from './states.ts'

/** One component for all looks: @xyflow/react places it, the canvas' context has what it shows. */
const CanvasNode = memo(function CanvasNode({ id, selected }: NodeProps) {
  const graph = useGraph()
  const node = graph.model.byId.get(id)
  if (!node) return null
  return <NodeBox node={node} state={graph.states?.get(id)} selected={selected} />
})

// The label of the node's box says everything that can be seen inside, in order (`describeNode`).
function NodeBox({ node, state, selected }: { node: GraphNode; state: NodeState | undefined; selected: boolean }) {
  const { mode, frames, problems, marks, editing, onIteration, onToggle } = useGraph()
  const mark = marks[node.id]
  const problem = problems.get(node.id)
  const ring = selected ? ' selected' : ''
  const noted = `${problem ? (problem.errors > 0 ? ' has-error' : ' has-warning') : ''}${mark ? ` d${SHORT_MARK[mark]}` : ''}`
  const badges = <>{problem && <ProblemBadge {...problem} />}{mark && <ChangeMark mark={mark} />}</>
  if (node.look === 'terminal') return <div className={`terminal${ring}`} aria-hidden>{node.node.title}{editing && <Handles node={node} />}</div>
  if (node.look === 'frame') {
    return (
      <div className={`group${ring}${noted}${state?.status === 'skipped' ? ' is-skipped' : ''}`}>
        <LoopFrame
          node={node} state={state} frame={frames.get(node.id)} onIteration={onIteration && ((index) => onIteration(node.id, index))}
          onCollapse={() => onToggle(node.id)}
        />
        {badges}
      </div>
    )
  }
  if (node.look === 'merge') {
    return <div className={`node merge ${state ? nodeClass(node, state).replace('node ', '') : ''}${ring}${noted}`} aria-hidden><Icon of={Merge} size={14} /><b>{node.node.title}</b><small className="muted">{node.node.kind}</small>{badges}{editing && <Handles node={node} />}</div>
  }
  if (node.look === 'folded') {
    return <div className={`node folded${ring}`} aria-hidden><span>{plural(node.inside.length, 'step')} {NOT_TAKEN}</span></div>
  }
  const isCollapsed = node.inside.length > 0
  return (
    <div className={`${nodeClass(node, state)}${isCollapsed ? ' loopf' : ''}${ring}${noted}`} aria-hidden>
      {isCollapsed ? <CollapsedLoop node={node} state={state} frame={frames.get(node.id)} />
        : node.look === 'decision' ? <DecisionNode node={node} state={state} mode={mode} />
        : node.look === 'approval' ? <ApprovalNode node={node} state={state} mode={mode} />
        : <StepNode node={node} state={state} />}
      {badges}
      {editing && <Handles node={node} />}
    </div>
  )
}

const SHORT_MARK: Record<Mark, string> = { added: 'add', changed: 'chg', removed: 'del' }
const MARK_ICON = { added: Plus, changed: Pencil, removed: Minus }

function ChangeMark({ mark }: { mark: Mark }) {
  return <span className="dmark" role="img" aria-label={mark}><Icon of={MARK_ICON[mark]} size={12} /></span>
}

function ProblemBadge({ errors, warnings }: { errors: number; warnings: number }) {
  const isError = errors > 0
  return (
    <span className={`mark${isError ? '' : ' warn'}`} role="img" aria-label={isError ? plural(errors, 'error') : plural(warnings, 'warning')}>
      <Icon of={isError ? CircleAlert : TriangleAlert} size={12} />{isError ? errors : warnings}
    </span>
  )
}

/** Where lines start and end while editing. They lie above the drawn ports of branches. */
function Handles({ node }: { node: GraphNode }) {
  const { editing } = useGraph()
  const isFree = editing?.mode === 'free'
  const widths = cellWidths(node.cells, node.width)
  const lefts = widths.map((width, index) => widths.slice(0, index).reduce((sum, other) => sum + other, 0) + width / 2)
  return (
    <>
      {node.node.shape !== 'start' && <Handle type="target" id="in" position={Position.Top} isConnectable={isFree} isConnectableStart={false} aria-hidden />}
      {node.cells.length === 0
        ? <Handle type="source" id="" position={Position.Bottom} isConnectable={isFree} isConnectableEnd={false} aria-hidden />
        : node.cells.map((cell, index) => cell.name !== MORE && (
          <Handle key={cell.name} type="source" id={cell.name} position={Position.Bottom} style={{ left: lefts[index] }} isConnectable={isFree} isConnectableEnd={false} aria-hidden />
        ))}
    </>
  )
}

export const nodeTypes = { step: CanvasNode }
