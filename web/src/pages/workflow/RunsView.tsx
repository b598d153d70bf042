import { useNavigate, useSearch } from '@tanstack/react-router'
import type { WorkflowDetail } from '../../api/types.ts'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Select } from '../../ui/Select.tsx'
import { RunList, SINCE_OPTIONS, STATUS_OPTIONS, sinceTime } from '../runs/RunsPage.tsx'
import { RunButton } from './RunButton.tsx'
import { WorkflowHeader } from './WorkflowHeader.tsx'

/** The runs of one workflow, of all its versions. */
export function RunsView({ detail }: { detail: WorkflowDetail }) {
  const search = useSearch({ from: '/workflows/$name/runs' })
  const navigate = useNavigate({ from: '/workflows/$name/runs' })
  const change = (patch: Record<string, string | undefined>) => void navigate({ search: (old) => ({ ...old, ...patch }), replace: true })
  const filters = [
    search.status && `status ${STATUS_OPTIONS.find((option) => option.value === search.status)?.label.toLowerCase() ?? search.status}`,
    search.since && (SINCE_OPTIONS.find((option) => option.value === search.since)?.label ?? search.since),
    search.q && `“${search.q}”`,
  ].filter((text): text is string => Boolean(text))
  return (
    <>
      <WorkflowHeader detail={detail} tab="runs" version={detail.version} actions={<RunButton detail={detail} />} />
      <main id="main" className="page-scroll">
        <div className="page wide">
          <h2 className="sr">Runs</h2>
          <div className="filters">
            <SearchInput label="Run ID" value={search.q ?? ''} onChange={(q) => change({ q: q || undefined })} width={260} />
            <Select label="Status" value={search.status ?? ''} options={STATUS_OPTIONS} onChange={(status) => change({ status: status || undefined })} />
            <Select label="Started" value={search.since ?? ''} options={SINCE_OPTIONS} onChange={(since) => change({ since: since || undefined })} />
          </div>
          <RunList
            filter={{ workflow: detail.name, status: search.status, q: search.q, since: sinceTime(search.since) }} filters={filters} withoutWorkflow
            onClear={() => void navigate({ search: {} })}
          />
        </div>
      </main>
    </>
  )
}
