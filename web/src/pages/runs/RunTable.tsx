import { Link, useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, type MouseEvent, useState } from 'react'
import type { Run } from '../../api/types.ts'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { STATUS_LABEL, StatusIcon } from '../../ui/StatusIcon.tsx'
import { Cost, Duration, RunningDuration, Tokens, When } from '../../ui/Values.tsx'
import { LastDecision } from './LastDecision.tsx'

/** Runs as a table; on a phone as two-line rows. `J`, `K` and arrows move, `Enter` opens. */
export function RunTable({ runs, compact, withoutWorkflow }: { runs: Run[]; compact?: boolean; withoutWorkflow?: boolean }) {
  const navigate = useNavigate()
  const [at, setAt] = useState(-1)
  const open = (run: Run | undefined) => run && void navigate({ to: '/runs/$id', params: { id: run.id } })
  useShortcuts([
    { keys: 'j', label: 'Next run', run: () => setAt(Math.min(runs.length - 1, at + 1)) },
    { keys: 'k', label: 'Previous run', run: () => setAt(Math.max(0, at - 1)) },
    { keys: 'Enter', label: 'Open the selected run', run: () => open(runs[at]) },
  ], !compact)
  const onRow = (event: MouseEvent<HTMLTableRowElement>, run: Run) => {
    if (!(event.target as HTMLElement).closest('a, button')) open(run)
  }
  const onKey = (event: KeyboardEvent<HTMLTableRowElement>) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setAt(Math.max(0, Math.min(runs.length - 1, at + (event.key === 'ArrowDown' ? 1 : -1))))
    }
  }
  return (
    <table className="runs-table">
      <thead>
        <tr>
          <th>Run</th>
          {!compact && <th>Status</th>}
          {!withoutWorkflow && <th>Workflow</th>}
          <th>Last decision</th><th>Started</th><th className="right">Active</th>
          {!compact && <th className="right">Tokens</th>}
          <th className="right">Cost</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run, index) => (
          <tr key={run.id} className="clickable" aria-selected={!compact && index === at} onClick={(event) => onRow(event, run)} onKeyDown={onKey}>
            <td>
              <span className="status">
                <StatusIcon status={run.status} />
                <Link className="b clip run-id" to="/runs/$id" params={{ id: run.id }} title={run.id}>{run.id}</Link>
              </span>
            </td>
            {!compact && <td className="soft">{STATUS_LABEL[run.status]}</td>}
            {!withoutWorkflow && (
              <td className="soft">{run.workflow}{!compact && run.version ? <span className="muted small"> v{run.version}</span> : null}</td>
            )}
            <LastDecision run={run} width={compact ? undefined : 420} />
            <td className="muted"><When at={run.started} /></td>
            <td className="right soft">{run.status === 'running' ? <RunningDuration since={run.started} /> : <Duration ms={run.active_ms} />}</td>
            {!compact && <td className="right muted"><Tokens count={run.usage.tokens} /></td>}
            <td className="right muted"><Cost micros={run.usage.cost_micros} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
