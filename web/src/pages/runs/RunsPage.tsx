import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Play } from 'lucide-react'
import { useEffect, useState } from 'react'
import { type RunFilter, runsQuery, workflowsQuery } from '../../api/queries.ts'
import type { Run } from '../../api/types.ts'
import { useTopics } from '../../live/connect.ts'
import { Button } from '../../ui/Button.tsx'
import { serverNow } from '../../ui/clock.ts'
import { downloadText } from '../../ui/clipboard.ts'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Select } from '../../ui/Select.tsx'
import { Empty, Failed, NoMatches, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { StartRunMenu } from '../start/StartRunMenu.tsx'
import { NewRunsPill, useNewRuns } from './NewRuns.tsx'
import { RunTable } from './RunTable.tsx'

export const STATUS_OPTIONS = [
  { value: '', label: 'any' }, { value: 'running', label: 'Running' }, { value: 'waiting_people', label: 'Waiting for approval' },
  { value: 'waiting_timer', label: 'Waiting for timer' }, { value: 'completed', label: 'Completed' }, { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
]

export const SINCE_OPTIONS = [
  { value: '', label: 'any time' }, { value: '1h', label: 'last hour' }, { value: '24h', label: 'last 24 hours' }, { value: '7d', label: 'last 7 days' },
]

/** `24h` in the address becomes a time for the server. */
export function sinceTime(since: string | undefined): string | undefined {
  const hours = { '1h': 1, '24h': 24, '7d': 168 }[since ?? '']
  if (hours === undefined) return since
  return new Date(Math.floor((serverNow() - hours * 3_600_000) / 60_000) * 60_000).toISOString()
}

export function RunsPage() {
  useTitle('Runs')
  useTopics(['runs'])
  const search = useSearch({ from: '/runs' })
  const navigate = useNavigate({ from: '/runs' })
  const workflows = useQuery(workflowsQuery()).data?.items ?? []
  const change = (patch: Record<string, string | undefined>) => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true })
  const filters = [
    search.status && `status ${STATUS_OPTIONS.find((option) => option.value === search.status)?.label.toLowerCase() ?? search.status}`,
    search.workflow && `workflow ${search.workflow}`,
    search.since && (SINCE_OPTIONS.find((option) => option.value === search.since)?.label ?? `since ${search.since}`),
    search.q && `“${search.q}”`,
  ].filter((text): text is string => Boolean(text))
  return (
    <main id="main" className="page-scroll">
      <div className="page wide">
        <div className="page-head">
          <h1>Runs</h1><span className="grow" />
          <StartRunMenu><Button look="primary" icon={Play} shortcut="R" action>Start run</Button></StartRunMenu>
        </div>
        <div className="filters">
          <SearchInput label="Run ID or workflow" value={search.q ?? ''} onChange={(q) => change({ q: q || undefined })} width={300} />
          <Select label="Status" value={search.status ?? ''} options={STATUS_OPTIONS} onChange={(status) => change({ status: status || undefined })} />
          <Select
            label="Workflow" value={search.workflow ?? ''} onChange={(workflow) => change({ workflow: workflow || undefined })}
            options={[{ value: '', label: 'any' }, ...workflows.map((workflow) => ({ value: workflow.name, label: workflow.name }))]}
          />
          <Select label="Started" value={search.since ?? ''} options={SINCE_OPTIONS} onChange={(since) => change({ since: since || undefined })} />
          <span className="grow" />
          <ExportButton filter={{ ...search, since: sinceTime(search.since) }} />
        </div>
        <RunList filter={{ ...search, since: sinceTime(search.since) }} filters={filters} onClear={() => void navigate({ search: {} })} />
      </div>
    </main>
  )
}

/** The table of runs with paging and the pill of new runs; used by the list and by a workflow's tab. */
export function RunList({ filter, filters, onClear, withoutWorkflow }: { filter: RunFilter; filters: string[]; onClear: () => void; withoutWorkflow?: boolean }) {
  const query = useInfiniteQuery(runsQuery(filter))
  const [page, setPage] = useState(0)
  const key = JSON.stringify(filter)
  useEffect(() => setPage(0), [key])
  const [fresh, showNew] = useNewRuns(page === 0, () => setPage(0))
  if (query.isPending) return <section className="card"><SkeletonRows rows={12} height={40} /></section>
  if (query.isLoadingError) return <section className="card"><Failed what="the runs" error={query.error} onRetry={() => void query.refetch()} /></section>
  const runs = query.data.pages[page]?.items ?? []
  if (runs.length === 0 && page === 0) {
    return (
      <section className="card">
        {filters.length > 0
          ? <NoMatches what="runs" filters={filters} onClear={onClear} />
          : <Empty title="No runs yet">Runs started here, in the terminal or through the API appear in this list.</Empty>}
      </section>
    )
  }
  const older = async () => {
    if (page + 1 >= query.data.pages.length) await query.fetchNextPage()
    setPage(page + 1)
  }
  const hasOlder = page + 1 < query.data.pages.length || query.hasNextPage
  return (
    <>
      <NewRunsPill count={fresh} onShow={showNew} />
      <section className="card table-card">
        <RunTable runs={runs} withoutWorkflow={withoutWorkflow} />
        <div className="card-foot">
          <span className="num">{page === 0 ? `Showing the latest ${runs.length}` : `Showing ${page * 50 + 1} to ${page * 50 + runs.length}`}</span>
          <span className="grow" />
          <Button small disabled={page === 0} onClick={() => setPage(page - 1)}>Newer</Button>
          <Button small disabled={!hasOlder} onClick={() => void older()}>Older</Button>
        </div>
      </section>
    </>
  )
}

function ExportButton({ filter }: { filter: RunFilter }) {
  const query = useInfiniteQuery(runsQuery(filter))
  const runs = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Button look="quiet" icon={Download} disabled={runs.length === 0} onClick={() => downloadText('runs.csv', toCsv(runs), 'text/csv')}>
      Export
    </Button>
  )
}

function toCsv(runs: Run[]): string {
  const cell = (value: unknown) => {
    const text = String(value ?? '')
    // A leading =, +, - or @ would be a formula in a spreadsheet.
    return `"${(/^[=+\-@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
  }
  const head = ['id', 'workflow', 'version', 'status', 'started', 'active_ms', 'tokens', 'cost_micros', 'last_decision']
  const rows = runs.map((run) => [
    run.id, run.workflow, run.version, run.status, run.started, run.active_ms, run.usage.tokens, run.usage.cost_micros,
    run.last_decision ? `${run.last_decision.step} → ${run.last_decision.branch ?? ''}` : '',
  ])
  return [head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')
}
