import { RotateCcw } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatCount } from '../ui/format.ts'
import { Icon, stepIcon } from '../ui/icons.tsx'
import { STATUS_LABEL, StatusIcon, statusLook } from '../ui/StatusIcon.tsx'
import { Duration, RunningDuration } from '../ui/Values.tsx'
import type { GraphNode } from './model.ts'
import type { FrameState, NodeState } from './states.ts'

/** A step of any kind that chooses nothing: a tile, its id, its type, and what a run did with it. */
export function StepNode({ node, state, children }: { node: GraphNode; state: NodeState | undefined; children?: ReactNode }) {
  return (
    <>
      <div className="node-row">
        <span className="tile"><Icon of={stepIcon(node.node.kind, node.node.shape)} size={15} /></span>
        <span className="node-text"><b title={node.node.title}>{node.node.title}</b><small>{subtitle(node, state)}</small></span>
        {state && <NodeEnd state={state} />}
      </div>
      {children}
    </>
  )
}

export function subtitle(node: GraphNode, state: NodeState | undefined): string {
  if (state?.note) return state.note
  return [node.node.kind, state ? null : node.node.summary, state?.iteration].filter(Boolean).join(' · ')
}

/** Retries, duration and status, at the right of a node. */
export function NodeEnd({ state }: { state: NodeState }) {
  const isQuiet = state.status === 'skipped' || state.status === 'pending'
  return (
    <span className="node-end">
      {!isQuiet && (
        <small>
          {state.attempts > 1 && <Attempts count={state.attempts} />}
          {state.since && state.status === 'running' ? <RunningDuration since={state.since} /> : <Duration ms={state.took} />}
        </small>
      )}
      <StatusIcon status={state.status} />
    </span>
  )
}

export function Attempts({ count }: { count: number }) {
  return <span className="again" title={`${count} attempts`}><Icon of={RotateCcw} size={11} />{count}</span>
}

/** A loop whose body is not shown: its progress instead. */
export function CollapsedLoop({ node, state, frame }: { node: GraphNode; state: NodeState | undefined; frame: FrameState | undefined }) {
  const total = frame?.total ?? 0
  const text = total > 0 ? `${node.node.kind} · ${frame && frame.done < total ? `${formatCount(frame.done)} of ` : ''}${formatCount(total)}` : `${node.node.kind} · ${node.inside.length} steps`
  return (
    <>
      <div className="node-row">
        <span className="tile"><Icon of={stepIcon(node.node.kind, 'loop')} size={14} /></span>
        <span className="node-text"><b title={node.node.title}>{node.node.title}</b><small>{text}</small></span>
        {state && <StatusIcon status={state.status} />}
      </div>
      {frame && total > 0 && (
        <span className="prog" aria-hidden>
          <i style={{ width: `${((frame.done - frame.failed) / total) * 100}%` }} /><u style={{ width: `${(frame.failed / total) * 100}%` }} />
        </span>
      )}
    </>
  )
}

/** The classes of a node's box: its shape and its status. */
export function nodeClass(node: GraphNode, state: NodeState | undefined): string {
  const shape = node.look === 'approval' ? 'people' : node.look === 'decision' ? 'decision' : 'action'
  const look = state ? statusLook(state.status) : 'plain'
  // A decision that has chosen is quiet, even while its branch still runs.
  const isQuiet = node.look === 'decision' && look !== 'failed' && look !== 'skipped' && look !== 'pending'
  return `node ${shape} is-${isQuiet ? 'plain' : look}`
}

export function statusWord(state: NodeState): string {
  return STATUS_LABEL[state.status]
}
