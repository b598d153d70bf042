import { Link } from '@tanstack/react-router'
import { ChevronRight, GitFork } from 'lucide-react'
import type { RunDetail } from '../../api/types.ts'
import { Segments } from '../../ui/Button.tsx'
import { useNow } from '../../ui/clock.ts'
import { formatDuration, formatCost, formatCount } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { StatusBadge } from '../../ui/StatusIcon.tsx'
import { ClockTime } from '../../ui/Values.tsx'
import { RunActions } from './RunActions.tsx'
import { isOver } from './runStatus.ts'
import type { RunView } from './useRunView.ts'

export function RunHeader({ run, view }: { run: RunDetail; view: RunView }) {
  return (
    <section className="bar run-bar" aria-label="Run">
      <div className="crumb">
        <Link className="clip" to="/workflows/$name" params={{ name: run.workflow }}>{run.workflow}</Link>
        <Icon of={ChevronRight} size={14} />
        <h1 className="clip" title={run.id}>{run.id}</h1>
      </div>
      <StatusBadge status={run.status} />
      <Facts run={run} />
      <span className="grow" />
      <Segments label="View" value={view.view} onChange={view.setView} options={[{ value: 'graph', label: 'Graph' }, { value: 'timeline', label: 'Timeline' }]} />
      <RunActions run={run} />
    </section>
  )
}

function Facts({ run }: { run: RunDetail }) {
  return (
    <div className="facts">
      <span>Started <ClockTime at={run.started} /></span>
      <span>{isOver(run) && run.waited_ms === 0 ? 'Duration' : 'Active'} <ActiveTime run={run} /></span>
      {run.usage.tokens > 0 && <span>{formatCount(run.usage.tokens)} tokens</span>}
      {run.usage.cost_micros > 0 && <span>{formatCost(run.usage.cost_micros)}</span>}
      {run.version !== null && run.version !== undefined && <Link className="facts-version" to="/workflows/$name" params={{ name: run.workflow }} search={{ v: String(run.version) }}>Version {run.version}</Link>}
      {forkOf(run) && <span className="not-medium"><Icon of={GitFork} size={12} />Fork of <Link className="link" to="/runs/$id" params={{ id: forkOf(run) ?? '' }}>{forkOf(run)}</Link></span>}
    </div>
  )
}

/** The time without waits for people. It grows while steps run. */
export function ActiveTime({ run }: { run: RunDetail }) {
  return run.status === 'running' ? <Growing run={run} /> : <>{formatDuration(run.active_ms)}</>
}

function Growing({ run }: { run: RunDetail }) {
  const since = useNow() - Date.parse(run.started) - run.waited_ms
  return <>{formatDuration(Math.max(run.active_ms, since))}</>
}

export function forkOf(run: RunDetail): string | null {
  const origin = (run as { forked_from?: string | { run: string } | null }).forked_from
  return typeof origin === 'string' ? origin : origin?.run ?? null
}
