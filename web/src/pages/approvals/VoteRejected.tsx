import { Link } from '@tanstack/react-router'
import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { type ApprovalRecord, splitKey } from '../../api/approvals.ts'
import type { Problem } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { clock, formatDuration, joinNames } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { pastOf } from '../../ui/Pips.tsx'

/** A vote that was not recorded: what another person did, that nothing was lost, and two ways on. */
export function VoteRejected({ problem, approval, user, sentAt, onNext, onAgain, linkOnly }: {
  problem: Problem
  approval: ApprovalRecord
  user: string
  sentAt: Date
  onNext?: () => void
  onAgain: () => void
  linkOnly?: boolean
}) {
  const recorded = (problem.extra.approval as ApprovalRecord | undefined) ?? approval
  const { title, text } = words(problem, recorded, user, sentAt)
  const isOver = ['not_pending', 'already_voted', 'link_used', 'not_recipient'].includes(problem.kind)
  return (
    <div className="conflict card" role="alert">
      <div className="row conflict-row">
        <Icon of={CircleAlert} size={17} />
        <div className="grow"><b>{title}</b><p className="soft">{text}</p></div>
      </div>
      <div className="row conflict-actions">
        {isOver && !linkOnly && <Link className="btn btn-small" to="/runs/$id" params={{ id: splitKey(approval.key)[0] }}>Open run</Link>}
        {!isOver && <Button small action onClick={onAgain}>Choose again</Button>}
        {onNext && <Button small look="quiet" shortcut="J" onClick={onNext}>Next approval</Button>}
      </div>
    </div>
  )
}

function words(problem: Problem, recorded: ApprovalRecord, user: string, sentAt: Date): { title: string; text: ReactNode } {
  const mine = recorded.votes.find((vote) => vote.user === user)
  const last = recorded.votes.at(-1)
  const kept = 'Your comment is kept below.'
  switch (problem.kind) {
    case 'not_pending': {
      if (!last || last.user === user || recorded.outcome === 'timeout' || recorded.status === 'cancelled') {
        return { title: 'Already settled', text: `${problem.detail.replace(/^Already settled: /, '').replace(/^./, (letter) => letter.toUpperCase())} Your vote wasn’t recorded; nothing else changed.` }
      }
      const before = formatDuration(Math.max(0, sentAt.getTime() - Date.parse(last.at)))
      const count = recorded.votes.filter((vote) => vote.choice === last.choice).length
      const reached = recorded.required ? `, reaching ${count} of ${recorded.required} votes` : ''
      return { title: 'Already settled', text: `${last.user} ${pastOf(last.choice)} ${before} before you${reached}. Your vote wasn’t recorded; nothing else changed.` }
    }
    case 'link_used':
    case 'already_voted':
      return { title: mine ? `You voted ${mine.choice} at ${clock(new Date(mine.at))}` : 'You have already voted', text: 'Votes can’t be changed. This vote wasn’t recorded; nothing else changed.' }
    case 'not_recipient':
      return { title: 'You are not an approver', text: recorded.recipients?.length ? `Approvers: ${joinNames(recorded.recipients)}. Your vote wasn’t recorded.` : problem.detail }
    case 'unknown_choice':
      return { title: 'The choices have changed', text: `They are loaded again. Your vote wasn’t recorded. ${kept}` }
    case 'approval_outdated':
      return { title: 'The content changed while you were deciding', text: `Your vote wasn’t recorded. Read the new version, then choose again. ${kept}` }
    case 'invalid_input':
    case 'bad_form':
      return { title: 'The form needs a correction', text: `${problem.detail} ${kept}` }
    case 'forbidden':
      return { title: 'You may not vote', text: problem.detail }
    default:
      return { title: 'Your vote wasn’t recorded', text: `${problem.detail || problem.title} ${kept}` }
  }
}
