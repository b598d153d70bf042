import { Pips } from '../ui/Pips.tsx'
import { useNow } from '../ui/clock.ts'
import { formatRemaining } from '../ui/format.ts'
import { Cells } from './DecisionNode.tsx'
import type { CanvasMode, GraphNode } from './model.ts'
import { StepNode } from './StepNode.tsx'
import type { NodeState } from './states.ts'

/** An approval: a round tile, and below it the votes and the time that is left. */
export function ApprovalNode({ node, state, mode }: { node: GraphNode; state: NodeState | undefined; mode: CanvasMode }) {
  return (
    <StepNode node={node} state={state}>
      {mode === 'run' && <div className="node-wait"><Votes state={state} /></div>}
      {node.cells.length > 0 && <Cells node={node} state={state} mode={mode} />}
    </StepNode>
  )
}

function Votes({ state }: { state: NodeState | undefined }) {
  const votes = state?.votes
  if (!votes) return <span className="clip">{state?.status === 'skipped' ? 'No vote was needed' : state?.status === 'completed' ? 'Answered' : 'No vote yet'}</span>
  return (
    <>
      {votes.of !== null && <Pips filled={votes.filled} of={votes.of} />}
      <span className="clip">{votes.text}</span>
      <span className="grow" />
      {votes.deadline && state?.status === 'waiting_people' && <TimeLeft deadline={votes.deadline} />}
    </>
  )
}

function TimeLeft({ deadline }: { deadline: string }) {
  const left = Date.parse(deadline) - useNow()
  return <span className="num time-left">{left > 0 ? `${formatRemaining(left)} left` : 'Timed out'}</span>
}
