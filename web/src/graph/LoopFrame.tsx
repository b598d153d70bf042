import { ChevronsDownUp } from 'lucide-react'
import { formatCount, plural } from '../ui/format.ts'
import { Icon, stepIcon } from '../ui/icons.tsx'
import { STATUS_LABEL } from '../ui/StatusIcon.tsx'
import type { GraphNode } from './model.ts'
import type { FrameState, NodeState } from './states.ts'

/** The double border around the body of a loop. Its head chooses the iteration that the graph shows. */
export function LoopFrame({ node, state, frame, onIteration, onCollapse }: {
  node: GraphNode
  state: NodeState | undefined
  frame: FrameState | undefined
  onIteration: ((index: number) => void) | null
  onCollapse: (() => void) | null
}) {
  return (
    <div className="group-head">
      <LoopTile node={node} onCollapse={onCollapse} />
      <b className="clip" title={node.node.title}>{node.node.title}</b>
      <small>{frame ? itemsText(frame) : node.node.kind}</small>
      <span className="grow" />
      {frame && frame.squares.length > 0 && <Squares frame={frame} onIteration={onIteration} />}
      {frame && frame.squares.length === 0 && frame.chosen !== null && <small className="num">[{frame.chosen}]</small>}
      {state?.status === 'skipped' && <span className="sr">{STATUS_LABEL.skipped}</span>}
    </div>
  )
}

/** The tile of a loop; it collapses the frame. */
function LoopTile({ node, onCollapse }: { node: GraphNode; onCollapse: (() => void) | null }) {
  const icon = <span className="loop-icon"><Icon of={stepIcon(node.node.kind, 'loop')} size={13} /></span>
  if (!onCollapse) return <span className="tile loop-tile">{icon}</span>
  const label = `Collapse ${node.node.title}`
  return <button type="button" className="tile loop-tile" aria-label={label} title={label} tabIndex={-1} onClick={onCollapse}>{icon}<span className="fold-icon"><Icon of={ChevronsDownUp} size={13} /></span></button>
}

export function itemsText(frame: FrameState): string {
  if (frame.total === 0) return frame.status === 'pending' ? '' : 'no items'
  return frame.done < frame.total && frame.status === 'running' ? `${formatCount(frame.done)} of ${formatCount(frame.total)}` : plural(frame.total, 'item')
}

/**
 * One small square for each iteration. They are too small to be targets of their own: the tree, the arrows of the panel and the keys `,` and `.`
 * choose iterations, too.
 */
export function Squares({ frame, onIteration }: { frame: FrameState; onIteration: ((index: number) => void) | null }) {
  return (
    <span className="iter" role="img" aria-label={`${plural(frame.squares.length, 'iteration')}${frame.chosen === null ? '' : `, showing [${frame.chosen}]`}`}>
      {frame.squares.map((square) => (
        <i
          key={square.index} className={`${squareClass(square.status)}${square.index === frame.chosen ? ' on' : ''}`} title={`${square.label}, ${STATUS_LABEL[square.status].toLowerCase()}`}
          onClick={(event) => {
            event.stopPropagation()
            onIteration?.(square.index)
          }}
        />
      ))}
    </span>
  )
}

function squareClass(status: string): string {
  if (status === 'skipped' || status === 'pending' || status === 'cancelled') return 'it-skip'
  if (status === 'failed') return 'it-fail'
  if (status === 'running') return 'it-run'
  return status === 'waiting_people' ? 'it-people' : ''
}
