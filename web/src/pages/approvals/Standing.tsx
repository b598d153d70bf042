import { CircleCheck, CircleSlash, Clock } from 'lucide-react'
import { type ApprovalRecord, splitKey } from '../../api/approvals.ts'
import { serverNow } from '../../ui/clock.ts'
import { Icon } from '../../ui/icons.tsx'
import { outcomeText } from './quorum.ts'
import { ClockTime } from '../../ui/Values.tsx'
import { Link } from '@tanstack/react-router'

const RULES: Record<string, string> = {
  quorum: 'A choice has the required votes.',
  veto: 'A veto settled it.',
  everyone_voted: 'Every approver voted, and no choice has the required votes.',
  unreachable: 'No choice could reach the required votes any more.',
  timeout: 'The deadline passed.',
}

/** In place of the choices: how the approval ended, what I voted, or why I cannot vote. */
export function Standing({ approval, user, linkOnly }: { approval: ApprovalRecord; user: string; linkOnly?: boolean }) {
  const mine = approval.votes.find((vote) => vote.user === user)
  if (approval.status !== 'open') return <Outcome approval={approval} linkOnly={linkOnly} />
  if (mine) {
    return (
      <div className="standing" role="status">
        <Icon of={CircleCheck} />
        <p>You voted <b>{mine.choice}</b> at <ClockTime at={mine.at} />. Votes can’t be changed.</p>
      </div>
    )
  }
  if (approval.deadline && Date.parse(approval.deadline) <= serverNow()) {
    return <div className="standing" role="status"><Icon of={Clock} /><p>The deadline has passed. The server is settling the approval.</p></div>
  }
  return (
    <div className="standing">
      <Icon of={CircleSlash} />
      <p>{approval.excluded === user ? 'You started this run, and the workflow does not let the person who started it vote.' : 'You are not an approver of this approval.'}</p>
    </div>
  )
}

function Outcome({ approval, linkOnly }: { approval: ApprovalRecord; linkOnly?: boolean }) {
  const wasChosen = approval.choices.some((choice) => choice.name === approval.outcome)
  const isCancelled = approval.status === 'cancelled' || approval.outcome === 'cancelled'
  const why = approval.reason ?? RULES[approval.settled_by ?? '']
  return (
    <div className="standing" role="status">
      <Icon of={wasChosen ? CircleCheck : approval.outcome === 'timeout' ? Clock : CircleSlash} />
      <p>
        <b>{wasChosen ? `Settled: ${approval.outcome}` : outcomeText(approval)}</b>
        {isCancelled && approval.cancelled_by && ` by ${approval.cancelled_by}`}
        {approval.settled && <span className="muted small"> <ClockTime at={approval.settled} /></span>}
        {why && <span className="standing-why">{why}</span>}
        {!linkOnly && <span className="standing-why"><Link className="link" to="/runs/$id" params={{ id: splitKey(approval.key)[0] }}>Open run</Link></span>}
      </p>
    </div>
  )
}
