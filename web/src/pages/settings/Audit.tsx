import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Empty, NoMatches } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { Part } from './Part.tsx'
import { type AuditEntry, auditQuery } from './queries.ts'

/** Who requested which change, and what came of it. */
export function Audit() {
  const [text, setText] = useState('')
  const query = useQuery(auditQuery({}))
  const matches = (entry: AuditEntry) => `${entry.user ?? ''} ${entry.method} ${entry.path} ${entry.status}`.toLowerCase().includes(text.toLowerCase())
  return (
    <>
      <div className="filters"><SearchInput label="User, request or status" value={text} onChange={setText} width={300} /></div>
      <Part title="Audit log" what="the audit log" query={query} note="Requests that change something, newest first. Reading is not recorded.">
        {(page) => {
          const shown = page.items.filter(matches)
          if (page.items.length === 0) return <Empty title="No changes yet">Changes over the API appear here.</Empty>
          if (shown.length === 0) return <NoMatches what="entries" filters={[`“${text}”`]} onClear={() => setText('')} />
          return (
            <table className="audit-table">
              <thead><tr><th>Time</th><th>User</th><th>Request</th><th className="right">Status</th></tr></thead>
              <tbody>
                {shown.map((entry, index) => (
                  <tr key={`${entry.at} ${index}`}>
                    <td className="muted"><When at={entry.at} /></td>
                    <td>{entry.user === null ? <span className="muted">no valid credential</span> : <b className="b">{entry.user}</b>}{entry.credential && <span className="muted small"> {entry.credential}</span>}</td>
                    <td className="audit-request"><code className="clip" title={`${entry.method} ${entry.path}`}>{entry.method} {entry.path}</code></td>
                    <td className={`right num ${entry.status >= 400 ? 'sev-error' : 'soft'}`}>{entry.status}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }}
      </Part>
    </>
  )
}
