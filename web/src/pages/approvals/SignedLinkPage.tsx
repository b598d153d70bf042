import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { LinkIcon } from 'lucide-react'
import type { ApprovalRecord } from '../../api/approvals.ts'
import { get, post, Problem, segment } from '../../api/client.ts'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { VoteOrStanding } from './ApprovalDetail.tsx'
import { PhoneApproval } from './PhoneApproval.tsx'

interface LinkedApproval {
  user: string
  expires: string
  used: boolean
  approval: ApprovalRecord
}

/** Loaded again this often, because a link has no event stream. */
const REFRESH_MS = 15_000

/** An approval opened from a mail. The link signs in for this one approval; opening it does not vote. */
export function SignedLinkPage() {
  const { signed } = useParams({ from: '/a/$signed' })
  const client = useQueryClient()
  const key = ['link', signed]
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => get<LinkedApproval>(`/links/${segment(signed)}`, signal),
    refetchInterval: (state) => (state.state.data?.approval.status === 'open' ? REFRESH_MS : false),
    refetchOnWindowFocus: true,
  })
  useTitle(query.data ? `${query.data.approval.step} · ${query.data.approval.workflow}` : 'Approval')
  if (query.isPending) return <main id="main" className="phone phone-own"><SkeletonRows rows={6} height={44} /></main>
  if (query.isError && !query.data) return <main id="main" className="phone phone-own"><Unusable error={query.error} onRetry={() => void query.refetch()} /></main>
  const { approval, user, used } = query.data
  const answer = (
    <>
      <VoteOrStanding
        approval={approval} user={user} phone linkOnly
        send={async (ballot, idempotencyKey) => {
          const recorded = await post<LinkedApproval>(`/links/${segment(signed)}/vote`, ballot, { 'idempotency-key': idempotencyKey })
          client.setQueryData(key, recorded)
          return recorded.approval
        }}
        onRecorded={() => void query.refetch()} onReload={() => void query.refetch()}
      />
      <p className="muted small phone-hint">
        {used ? <>This link has been used. <Link className="link" to="/signin" search={{ to: `/approvals/${approval.key}` }}>Sign in</Link> to follow the run.</> : <>You answer as <b>{user}</b>.</>}
      </p>
    </>
  )
  return <main id="main" className="phone phone-own signed"><PhoneApproval approval={approval} user={user} answer={answer} signed /></main>
}

const WORDS: Record<string, { title: string; text: string }> = {
  link_used: { title: 'This link has already been used', text: 'Sign in to view the approval.' },
  link_expired: { title: 'This link has expired', text: 'Sign in to view the approval.' },
  link_invalid: { title: 'This link is not valid', text: 'Open it from the mail again, or sign in.' },
  not_recipient: { title: 'This approval no longer needs your vote', text: 'Sign in to view it.' },
}

function Unusable({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const words = error instanceof Problem ? WORDS[error.kind] : undefined
  if (!words) return <Failed what="this approval" error={error} onRetry={onRetry} />
  return <Empty heading="h1" icon={LinkIcon} title={words.title} action={<Link className="btn" to="/signin" search={{ to: '/approvals' }}>Sign in</Link>}>{words.text}</Empty>
}
