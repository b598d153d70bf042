import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { splitKey } from '../../api/approvals.ts'
import { approvalsQuery } from '../../api/queries.ts'
import { Quorum } from '../../ui/Pips.tsx'
import { Failed } from '../../ui/States.tsx'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { Deadline } from '../../ui/Values.tsx'
import { byDeadline, firstParagraph, plainPrompt } from '../approvals/order.ts'

const SHOWN = 4

export function NeedsApproval() {
  const query = useQuery(approvalsQuery('mine'))
  if (query.isLoadingError) return <section className="card"><Failed what="your approvals" error={query.error} onRetry={() => void query.refetch()} /></section>
  const approvals = byDeadline(query.data?.items ?? []).filter((approval) => approval.status === 'open')
  if (approvals.length === 0) return null
  return (
    <section className="card table-card">
      <div className="card-head">
        <h2>Needs your approval</h2><span className="count count-people">{approvals.length}</span><span className="grow" />
        <Link className="link small" to="/approvals">All approvals</Link>
      </div>
      <table className="needs-table">
        <tbody>
          {approvals.slice(0, SHOWN).map((approval, index) => {
            const [run, n] = splitKey(approval.key)
            return (
              <tr key={approval.key}>
                <td className="tall needs-icon"><StatusIcon status="waiting_people" /></td>
                <td className="needs-prompt">
                  <div className="clip"><b>{plainPrompt(firstParagraph(approval.prompt))}</b></div>
                  <small className="clip">{approval.workflow} <span className="dotsep">·</span> {approval.step} <span className="dotsep">·</span> {approval.run}</small>
                </td>
                <td><span className="quorum"><Quorum approval={approval} lower /></span></td>
                <td><Deadline at={approval.deadline} /></td>
                <td className="right">
                  <Link className={`btn btn-small${index === 0 ? ' btn-primary' : ''}`} to="/approvals/$run/$n" params={{ run, n }}>Answer</Link>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {approvals.length > SHOWN && <div className="card-foot"><Link className="link" to="/approvals">{approvals.length - SHOWN} more</Link></div>}
    </section>
  )
}
