import { Link } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import type { ReactNode } from 'react'
import { type ApprovalRecord, splitKey } from '../../api/approvals.ts'
import { Icon } from '../../ui/icons.tsx'
import { reason, Sentence } from '../../ui/Sentence.tsx'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { Deadline } from '../../ui/Values.tsx'
import { ApprovalContent } from './ApprovalContent.tsx'
import { ApprovalMenu } from './ApprovalMenu.tsx'
import { outcomeText, tallies } from './quorum.ts'
import { Votes } from './Votes.tsx'

/** One approval on a phone: everything in one column, the choices fixed at the bottom. */
export function PhoneApproval({ approval, user, answer, signed }: { approval: ApprovalRecord; user: string; answer: ReactNode; signed?: boolean }) {
  return (
    <>
      <header className="phone-top">
        {signed ? <span className="phone-side" /> : <Link className="icon-btn" to="/approvals" aria-label="Back to approvals"><Icon of={ChevronLeft} size={20} /></Link>}
        <div className="grow phone-title"><b className="clip">{approval.workflow}</b><div className="muted small clip">{approval.step}</div></div>
        {signed ? <span className="phone-side" /> : <ApprovalMenu approval={approval} user={user} />}
      </header>
      <div className="phone-body">
        <div className="row phone-facts">
          <Progress approval={approval} />
          <span className="grow" />
          {approval.status === 'open' && <Deadline at={approval.deadline} left />}
        </div>
        <ApprovalContent approval={approval} />
        <Why approval={approval} signed={signed} />
        <Votes approval={approval} user={user} phone />
      </div>
      <div className="phone-foot">{answer}</div>
    </>
  )
}

function Progress({ approval }: { approval: ApprovalRecord }) {
  if (approval.status !== 'open') return <span className="badge badge-done"><StatusIcon status={approval.status === 'cancelled' ? 'cancelled' : 'completed'} decorative />{outcomeText(approval)}</span>
  const best = Math.max(0, ...tallies(approval).map((tally) => tally.votes))
  return (
    <span className="badge badge-people">
      <StatusIcon status="waiting_people" />
      {(approval.required ?? null) === null || (approval.need ?? []).length > 0 ? 'Waiting for approval' : `${best} of ${approval.required} ${approval.required === 1 ? 'vote' : 'votes'}`}
    </span>
  )
}

function Why({ approval, signed }: { approval: ApprovalRecord; signed?: boolean }) {
  const decision = approval.decisions?.at(-1)
  if (!decision && signed) return null
  return (
    <details className="fold-card" open>
      <summary>Why this needs approval</summary>
      {decision
        ? <p><b>{decision.step}</b>{decision.branch && <> took <b>{decision.branch}</b></>}{decision.sentence && <>: <Sentence text={reason(decision.sentence).replace(/\.$/, '')} /></>}.</p>
        : approval.decisions && <p>No decision came before it: every run of {approval.workflow} asks here.</p>}
      {!signed && <Link className="link" to="/runs/$id" params={{ id: splitKey(approval.key)[0] }} search={{ step: approval.step }}>Open run</Link>}
    </details>
  )
}
