import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Empty, NoMatches } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { Part } from './Part.tsx'
import { type AuditEntry, auditQuery } from './queries.ts'

/** Who requested which change, and what came of it. */
export function Audit() {
  const [text, setText] = useState('')
  const query = useInfiniteQuery(auditQuery(text))
  return (
    <>
      <div className="filters"><SearchInput label="User, request or status" value={text} onChange={setText} width={300} /></div>
      <Part title="Audit log" what="the audit log" query={query} note="Requests that change something, newest first. Reading is not recorded.">
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.items).filter((entry) => textOf(entry).includes(text.toLowerCase()))
          const older = query.hasNextPage && (
            <div className="card-foot">
              <span className="grow" />
              <Button small disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>{query.isFetchingNextPage ? 'Loading' : 'Older'}</Button>
            </div>
          )
          // One page covers a limited part of the log, so that it can be empty although older parts match.
          if (entries.length === 0 && older) return <><p className="settings-none">No newer entry matches.</p>{older}</>
          if (entries.length === 0 && text !== '') return <NoMatches what="entries" filters={[`“${text}”`]} onClear={() => setText('')} />
          if (entries.length === 0) return <Empty title="No changes yet">Changes over the API appear here.</Empty>
          return <><Entries entries={entries} />{older}</>
        }}
      </Part>
    </>
  )
}

/** The text in which the server searches. Entries of the search before are shown until those of this one arrive. */
function textOf(entry: AuditEntry): string {
  return `${entry.user ?? ''} ${entry.credential ?? ''} ${entry.method} ${entry.path} ${entry.status}`.toLowerCase()
}

function Entries({ entries }: { entries: AuditEntry[] }) {
  return (
    <table className="audit-table">
      <thead><tr><th>Time</th><th>User</th><th>Request</th><th className="right">Status</th></tr></thead>
      <tbody>
        {entries.map((entry, index) => (
          <tr key={`${entry.at} ${index}`}>
            <td className="muted"><When at={entry.at} /></td>
            <td>{entry.user == null ? <span className="muted">no valid credential</span> : <b className="b">{entry.user}</b>}{entry.credential && <span className="muted small"> {entry.credential}</span>}</td>
            <td className="audit-request"><code className="clip" title={`${entry.method} ${entry.path}`}>{entry.method} {entry.path}</code></td>
            <td className={`right num ${entry.status >= 400 ? 'sev-error' : 'soft'}`}>{entry.status}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
