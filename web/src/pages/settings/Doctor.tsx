import { useQuery } from '@tanstack/react-query'
import { RefreshCw } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { Part } from './Part.tsx'
import { doctorQuery } from './queries.ts'

/** The state of the store and of the processes. The check reads all of the store. */
export function Doctor() {
  const query = useQuery(doctorQuery)
  const failed = query.data?.items.filter((finding) => !finding.ok).length ?? 0
  return (
    <Part
      title="Doctor" what="the findings" query={query}
      note={query.data ? (failed === 0 ? 'Everything is in order.' : `${failed} ${failed === 1 ? 'check needs' : 'checks need'} attention.`) : 'Checks the store, its key, the disk, the clock and the runs.'}
      action={<Button small icon={RefreshCw} disabled={query.isFetching} onClick={() => void query.refetch()}>{query.isFetching ? 'Checking' : 'Check again'}</Button>}
    >
      {(page) => (
        <ul className="findings">
          {page.items.map((finding) => (
            <li key={finding.name}>
              <StatusIcon status={finding.ok ? 'completed' : 'failed'} />
              <b className="finding-name">{finding.name}</b>
              <span className={finding.ok ? 'soft' : 'sev-error'}>{finding.message}</span>
            </li>
          ))}
        </ul>
      )}
    </Part>
  )
}
