import type { DrawingNode, RunDetail } from '../../api/types.ts'
import { ArrowRight } from 'lucide-react'
import { Icon } from '../../ui/icons.tsx'
import { ConditionText } from '../../why/ConditionText.tsx'
import { OutcomePill } from '../../why/OutcomePill.tsx'
import { SourceLines } from './SourceLines.tsx'
import { isOver } from './runStatus.ts'

/** A step that the run has not reached: its branches and its source. */
export function PlannedPanel({ node, run }: { node: DrawingNode; run: RunDetail }) {
  return (
    <div className="panel-body">
      <p className="why-line">{isOver(run) ? 'The run ended before this step.' : 'Not reached yet.'}</p>
      {node.branches.length > 0 && (
        <ol className="arms">
          {node.branches.map((branch) => (
            <li key={branch.name} className="arm is-open">
              <div className="arm-head"><OutcomePill outcome={null} /><b>{branch.name}</b><span className="to"><Icon of={ArrowRight} size={13} />{branch.targets.join(', ') || 'nothing'}</span></div>
              {branch.condition && <div className="arm-body"><code className="arm-condition"><ConditionText text={branch.condition} /></code></div>}
            </li>
          ))}
        </ol>
      )}
      {node.span && <SourceLines run={run} span={node.span} />}
    </div>
  )
}
