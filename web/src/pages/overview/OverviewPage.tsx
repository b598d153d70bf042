import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Play, Plus, Terminal } from 'lucide-react'
import { overviewQuery, recentRunsQuery, sessionsQuery, workflowsQuery } from '../../api/queries.ts'
import { useCan } from '../../app/useCan.ts'
import { useTopics } from '../../live/connect.ts'
import { Button } from '../../ui/Button.tsx'
import { formatCount, plural } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { useTitle } from '../../ui/title.ts'
import { When } from '../../ui/Values.tsx'
import { NewRunsPill, useNewRuns } from '../runs/NewRuns.tsx'
import { RunTable } from '../runs/RunTable.tsx'
import { StartRunMenu } from '../start/StartRunMenu.tsx'
import { FirstRun } from './FirstRun.tsx'
import { HourChart } from './HourChart.tsx'
import { NeedsApproval } from './NeedsApproval.tsx'

/** What needs me, and what is running. An empty store shows how to start. */
/** Sessions are runs, too; they have a card of their own. */
const SHOWN_RUNS = 8

export function OverviewPage() {
  useTitle('Overview')
  useTopics(['runs', 'workflows'])
  const canEdit = useCan('edit')
  const overview = useQuery(overviewQuery)
  const runs = useQuery(recentRunsQuery(SHOWN_RUNS * 3))
  const workflows = useQuery(workflowsQuery({ sort: 'saved' }))
  const [fresh, showNew] = useNewRuns(true)
  if (runs.data?.items.length === 0 && workflows.isSuccess) return <FirstRun workflows={workflows.data.items} />
  return (
    <main id="main" className="page-scroll">
      <div className="page">
        <div className="page-head">
          <h1>Overview</h1><span className="grow" />
          {canEdit && <Link className="btn" to="/workflows" search={{ new: 'template' }}><Icon of={Plus} size={15} />New workflow</Link>}
          <StartRunMenu><Button look="primary" icon={Play} shortcut="R" action>Start run</Button></StartRunMenu>
        </div>
        <Numbers />
        <div className="cols">
          <div className="stack col-main">
            <NeedsApproval />
            <NewRunsPill count={fresh} onShow={showNew} />
            <section className="card table-card">
              <div className="card-head"><h2>Recent runs</h2><span className="grow" /><Link className="link small" to="/runs">All runs</Link></div>
              {runs.isPending && <SkeletonRows rows={8} height={40} />}
              {runs.isLoadingError && <Failed what="the runs" error={runs.error} onRetry={() => void runs.refetch()} />}
              {runs.data && <RunTable runs={runs.data.items.filter((run) => run.dialect !== 'session').slice(0, SHOWN_RUNS)} compact />}
            </section>
          </div>
          <div className="stack col-side">
            <section className="card">
              {overview.isLoadingError && <Failed what="the last 24 hours" error={overview.error} onRetry={() => void overview.refetch()} />}
              {overview.data && <HourChart hours={overview.data.hours} />}
              {overview.isPending && <div style={{ height: 153 }} />}
            </section>
            <RecentlyChanged />
            <RecentSessions />
            <div className="hint"><Icon of={Terminal} size={15} /><span>Everything here is also available in the terminal: <code>branchpoint runs list</code></span></div>
          </div>
        </div>
      </div>
    </main>
  )
}

const NUMBERS = [
  { key: 'running', label: 'Running', status: 'running', since: undefined },
  { key: 'waiting_people', label: 'Waiting for approval', status: 'waiting_people', since: undefined },
  { key: 'waiting_timer', label: 'Waiting for timer', status: 'waiting_timer', since: undefined },
  { key: 'failed_today', label: 'Failed today', status: 'failed', since: '24h' },
  { key: 'completed_today', label: 'Completed today', status: 'completed', since: '24h' },
] as const

function Numbers() {
  const counts = useQuery(overviewQuery).data?.counts
  return (
    <ul className="numbers card">
      {NUMBERS.map((entry) => (
        <li key={entry.key}>
          <Link to="/runs" search={{ status: entry.status, since: entry.since }}>
            <StatusIcon status={entry.status} decorative /><span>{entry.label}</span><b>{counts ? formatCount(counts[entry.key]) : ''}</b>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function RecentlyChanged() {
  const workflows = useQuery(workflowsQuery({ sort: 'saved' }))
  const items = [...(workflows.data?.items ?? [])].sort((left, right) => right.saved_at.localeCompare(left.saved_at)).slice(0, 4)
  return (
    <section className="card">
      <div className="card-head"><h2>Recently changed</h2><span className="grow" /><Link className="link small" to="/workflows">All workflows</Link></div>
      <div className="list">
        {workflows.isPending && <SkeletonRows rows={4} height={36} />}
        {items.map((workflow) => (
          <Link key={workflow.name} className="li" to="/workflows/$name" params={{ name: workflow.name }}>
            <span className="grow clip"><b>{workflow.name}</b> <span className="muted small">version {workflow.version}</span></span>
            <span className="muted small"><When at={workflow.saved_at} /></span>
          </Link>
        ))}
      </div>
    </section>
  )
}

function RecentSessions() {
  const sessions = useQuery(sessionsQuery).data?.items ?? []
  if (sessions.length === 0) return null
  return (
    <section className="card">
      <div className="card-head"><h2>Sessions</h2><span className="count">{sessions.length}</span><span className="grow" /><Link className="link small" to="/sessions">All sessions</Link></div>
      <div className="list">
        {sessions.slice(0, 2).map((session) => (
          <Link key={`${session.document}/${session.id}`} className="li" to="/sessions/$document/$id" params={{ document: session.document, id: session.id }}>
            <span className="grow clip"><b>{session.document}</b> <span className="muted small">{session.id}</span></span>
            {session.step && <span className="muted small">in <b className="soft">{session.step}</b>, {plural(session.tools_offered, 'tool')}</span>}
          </Link>
        ))}
      </div>
    </section>
  )
}

