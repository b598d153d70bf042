import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Plus } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { workflowsQuery } from '../../api/queries.ts'
import type { WorkflowSummary } from '../../api/types.ts'
import { useCan } from '../../app/useCan.ts'
import { useTopics } from '../../live/connect.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Select } from '../../ui/Select.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { Empty, Failed, NoMatches, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { WorkflowTable } from './WorkflowTable.tsx'

const NewWorkflowDialog = lazy(() => import('./NewWorkflowDialog.tsx'))

const DIALECTS = ['steps', 'flow', 'machine', 'graph', 'session']
const SORTS = [{ value: 'run', label: 'last run' }, { value: 'saved', label: 'last change' }, { value: 'name', label: 'name' }]

export function WorkflowsPage() {
  useTitle('Workflows')
  useTopics(['workflows', 'runs'])
  const search = useSearch({ from: '/workflows' })
  const navigate = useNavigate({ from: '/workflows' })
  const query = useQuery(workflowsQuery())
  const change = (patch: Record<string, string | undefined>) => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true })
  const create = (how: string) => change({ new: how })
  const canEdit = useCan('edit')
  useShortcuts([{ keys: 'n', label: 'New workflow', run: () => create('template') }], canEdit)
  const all = query.data?.items ?? []
  const shown = sorted(all.filter((workflow) => matches(workflow, search.q, search.dialect)), search.sort ?? 'run')
  const filters = [search.dialect && `dialect ${search.dialect}`, search.q && `“${search.q}”`].filter((text): text is string => Boolean(text))
  return (
    <main id="main" className="page-scroll">
      <div className="page">
        <div className="page-head">
          <h1>Workflows</h1>{query.data && <span className="count">{all.length}</span>}<span className="grow" />
          {canEdit && <Button icon={Download} onClick={() => create('import')}>Import</Button>}
          {canEdit && <Button look="primary" icon={Plus} shortcut="N" onClick={() => create('template')}>New workflow</Button>}
        </div>
        <div className="filters">
          <SearchInput label="Find a workflow" value={search.q ?? ''} onChange={(q) => change({ q: q || undefined })} width={260} />
          <Segments
            label="Dialect" value={search.dialect ?? ''} onChange={(dialect) => change({ dialect: dialect || undefined })}
            options={[{ value: '', label: 'All' }, ...DIALECTS.map((dialect) => ({ value: dialect, label: dialect }))]}
          />
          <span className="grow" />
          <Select label="Sort by" value={search.sort ?? 'run'} options={SORTS} onChange={(sort) => change({ sort })} />
        </div>
        <section className="card table-card">
          {query.isPending && <SkeletonRows rows={10} height={52} />}
          {query.isLoadingError && <Failed what="the workflows" error={query.error} onRetry={() => void query.refetch()} />}
          {query.data && shown.length > 0 && <WorkflowTable workflows={shown} />}
          {query.data && shown.length === 0 && (filters.length > 0
            ? <NoMatches what="workflows" filters={filters} onClear={() => void navigate({ search: {} })} />
            : <Empty title="No workflows yet" action={<Button small icon={Plus} onClick={() => create('template')}>New workflow</Button>}>Saved workflows appear here. Start from a template, or drop a file on this page.</Empty>)}
        </section>
      </div>
      {search.new && canEdit && <Suspense><NewWorkflowDialog how={search.new} onClose={() => change({ new: undefined })} /></Suspense>}
    </main>
  )
}

function matches(workflow: WorkflowSummary, text: string | undefined, dialect: string | undefined): boolean {
  if (dialect && workflow.dialect !== dialect) return false
  return !text || `${workflow.name} ${workflow.description ?? ''}`.toLowerCase().includes(text.toLowerCase())
}

function sorted(workflows: WorkflowSummary[], by: string): WorkflowSummary[] {
  return workflows.sort((left, right) => {
    if (by === 'name') return left.name.localeCompare(right.name)
    if (by === 'saved') return right.saved_at.localeCompare(left.saved_at)
    return (right.last_run_at ?? '').localeCompare(left.last_run_at ?? '') || left.name.localeCompare(right.name)
  })
}
