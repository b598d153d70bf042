import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { type ApprovalRecord, oneApprovalQuery, splitKey } from '../../api/approvals.ts'
import { post, Problem, segment } from '../../api/client.ts'
import { NotFound } from '../../app/NotFound.tsx'
import { IconButton } from '../../ui/Button.tsx'
import { serverNow, useNow } from '../../ui/clock.ts'
import { Icon } from '../../ui/icons.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { Answer } from './Answer.tsx'
import { ApprovalContent } from './ApprovalContent.tsx'
import { ApprovalMenu } from './ApprovalMenu.tsx'
import { choiceKeys } from './choices.ts'
import { Context } from './Context.tsx'
import { requestId, storeApproval } from './inbox.ts'
import { PhoneApproval } from './PhoneApproval.tsx'
import { recipientOfVote } from './quorum.ts'
import { Standing } from './Standing.tsx'
import { Votes } from './Votes.tsx'
import { type Ballot, useVoteState } from './votes.ts'

interface DetailProps {
  approvalKey: string
  /** What the list knows about it, shown until the whole record is loaded. */
  listed?: ApprovalRecord
  user: string
  position: { at: number; of: number } | null
  onPrevious?: () => void
  onNext?: () => void
  onRecorded: (approval: ApprovalRecord) => void
  phone: boolean
}

/** One approval: the question, the votes, and the answer. */
export function ApprovalDetail(props: DetailProps) {
  const { approvalKey, listed, user, phone } = props
  const client = useQueryClient()
  const query = useQuery({ ...oneApprovalQuery(approvalKey), placeholderData: listed })
  const [run, n] = splitKey(approvalKey)
  useTitle(query.data ? `${query.data.step} in ${run}` : 'Approval')
  // The record of a list is shown until its own is there, also where that cannot be loaded now.
  const record = query.data ?? listed
  if (query.isPending) return <section className="detail" aria-label="Approval"><SkeletonRows rows={5} height={40} /></section>
  if (query.isError && query.error instanceof Problem && query.error.status === 404) return <section className="detail" aria-label="Approval"><NotFound what="This approval" /></section>
  if (record === undefined) return <section className="detail" aria-label="Approval"><Failed what="this approval" error={query.error} onRetry={() => void query.refetch()} /></section>
  // The record of a list has no decisions: they are shown once they are loaded.
  const approval = query.isPlaceholderData || query.data === undefined ? { ...record, decisions: undefined } : query.data
  const answer = (
    <VoteOrStanding
      approval={approval} user={user} phone={phone} onNext={props.onNext}
      send={(ballot, key) => post<ApprovalRecord>(`/approvals/${segment(run)}/${segment(n)}/vote`, ballot, { 'idempotency-key': key })}
      onRecorded={(recorded) => {
        storeApproval(client, recorded)
        props.onRecorded(approval)
      }}
      onReload={() => void query.refetch()}
    />
  )
  if (phone) return <PhoneApproval approval={approval} user={user} answer={answer} />
  return <Wide {...props} approval={approval} answer={answer} />
}

function Wide({ approval, user, position, onPrevious, onNext, answer }: DetailProps & { approval: ApprovalRecord; answer: React.ReactNode }) {
  const navigate = useNavigate()
  const [run] = splitKey(approval.key)
  useShortcuts([{ keys: 'o', label: 'Open the run', run: () => void navigate({ to: '/runs/$id', params: { id: run } }) }])
  return (
    <>
      <section className="detail" aria-label="Approval">
        <div className="d-head">
          <nav className="crumb" aria-label="Breadcrumb">
            <Link className="clip" to="/workflows/$name" params={{ name: approval.workflow }}>{approval.workflow}</Link>
            <Icon of={ChevronRight} size={14} /><span className="soft clip">{approval.step}</span>
          </nav>
          <span className="grow" />
          {position && <span className="muted small num">{position.at} of {position.of}</span>}
          <IconButton label="Previous approval (K)" icon={ChevronLeft} onClick={onPrevious} disabled={!onPrevious} />
          <IconButton label="Next approval (J)" icon={ChevronRight} onClick={onNext} disabled={!onNext} />
          <ApprovalMenu approval={approval} user={user} />
        </div>
        <div className="d-body">
          <ApprovalContent approval={approval} />
          <Votes approval={approval} user={user} />
          {answer}
          <div className="context-below"><Context approval={approval} /></div>
        </div>
        <div className="keys" aria-hidden>
          <span><kbd>J</kbd><kbd>K</kbd> next / previous</span>
          {approval.may_vote && <span>{[...choiceKeys(approval.choices).values()].slice(0, 4).map((key) => <kbd key={key}>{key.toUpperCase()}</kbd>)} vote</span>}
          {approval.may_vote && <span><kbd>C</kbd> comment</span>}
          <span><kbd>O</kbd> open run</span>
          <span><kbd>?</kbd> all shortcuts</span>
        </div>
      </section>
      <aside className="panel context-aside" aria-label="Context"><Context approval={approval} /></aside>
    </>
  )
}

/** The choices if I may vote; otherwise why not, or how it ended. A rejected vote stays in view. */
export function VoteOrStanding({ approval, user, phone, linkOnly, send, onRecorded, onReload, onNext }: {
  approval: ApprovalRecord
  user: string
  phone: boolean
  linkOnly?: boolean
  send: (ballot: Ballot, idempotencyKey: string) => Promise<ApprovalRecord>
  onRecorded: (approval: ApprovalRecord, choice: string) => void
  onReload: () => void
  onNext?: () => void
}) {
  const state = useVoteState(requestId(approval))
  const isOver = useNow() >= Date.parse(approval.deadline ?? '9999-12-31T00:00:00Z')
  const mayVote = approval.status === 'open' && approval.may_vote && !isOver && recipientOfVote(approval, user, serverNow()) !== null
  if (mayVote || state !== null) {
    return (
      <>
        {!mayVote && <Standing approval={approval} user={user} linkOnly={linkOnly} />}
        <Answer key={requestId(approval)} approval={approval} user={user} send={send} onRecorded={onRecorded} onReload={onReload} onNext={onNext} phone={phone} linkOnly={linkOnly} isClosed={!mayVote} />
      </>
    )
  }
  return <Standing approval={approval} user={user} linkOnly={linkOnly} />
}
