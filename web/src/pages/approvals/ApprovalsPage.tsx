import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Inbox } from 'lucide-react'
import { useEffect } from 'react'
import { type ApprovalRecord, splitKey } from '../../api/approvals.ts'
import { meQuery } from '../../api/queries.ts'
import { useTopics } from '../../live/connect.ts'
import { Button, Segments } from '../../ui/Button.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { Empty, Failed, SkeletonRows } from '../../ui/States.tsx'
import { useTitle } from '../../ui/title.ts'
import { useIsPhone } from '../../ui/viewport.ts'
import { ApprovalDetail } from './ApprovalDetail.tsx'
import { ApprovalList } from './ApprovalList.tsx'
import { type InboxEntry, nextOpen, type Show, useInbox } from './inbox.ts'

const SHOWS: { value: Show; label: string }[] = [{ value: 'mine', label: 'For me' }, { value: 'all', label: 'All' }, { value: 'answered', label: 'Answered' }]

/** The inbox, with one approval beside it. On a phone, one or the other. */
export function ApprovalsPage() {
  useTitle('Approvals')
  useTopics(['approvals'])
  const navigate = useNavigate()
  const phone = useIsPhone()
  const parameters = useParams({ strict: false }) as { run?: string; n?: string }
  const search = useSearch({ strict: false }) as { show?: string }
  const show: Show = search.show === 'all' || search.show === 'answered' ? search.show : 'mine'
  const selected = parameters.run !== undefined && parameters.n !== undefined ? `${parameters.run}/${parameters.n}` : null
  const user = useQuery(meQuery).data?.user ?? ''
  const { entries, query, answered } = useInbox(show, user)
  const showSearch = show === 'mine' ? {} : { show }
  const select = (key: string | null | undefined, replace = true) => {
    if (!key) return
    const [run, n] = splitKey(key)
    void navigate({ to: '/approvals/$run/$n', params: { run, n }, search: showSearch, replace })
  }
  const at = entries?.findIndex((entry) => entry.approval.key === selected) ?? -1
  const previous = entries?.[at - 1]?.approval.key
  const next = entries?.[at + 1]?.approval.key
  const first = entries?.find((entry) => !entry.isGone) ?? entries?.[0]
  useEffect(() => {
    if (!phone && selected === null && first) select(first.approval.key)
  }, [phone, selected, first?.approval.key])
  useShortcuts([
    { keys: 'j', label: 'Next approval', run: () => select(at < 0 ? first?.approval.key : next) },
    { keys: 'k', label: 'Previous approval', run: () => select(previous) },
  ])
  const onRecorded = (approval: ApprovalRecord) => {
    answered(approval)
    if (!phone && entries) select(nextOpen(entries, approval.key) ?? approval.key)
  }
  const detail = selected !== null && (
    <ApprovalDetail
      key={selected} approvalKey={selected} listed={entries?.[at]?.approval} user={user} phone={phone}
      position={at >= 0 && entries ? { at: at + 1, of: entries.length } : null}
      onPrevious={previous ? () => select(previous) : undefined} onNext={next ? () => select(next) : undefined} onRecorded={onRecorded}
    />
  )
  if (phone && selected !== null) return <main id="main" className="phone phone-own">{detail}</main>
  return (
    <main id="main" className={phone ? 'phone-inbox' : 'inbox'}>
      <section className="ilist" aria-label="Approvals">
        <div className="i-head">
          <h1>Approvals</h1><span className="grow" />
          <Segments label="Show" value={show} options={SHOWS} wide={phone} onChange={(value) => void navigate({ to: '/approvals', search: value === 'mine' ? {} : { show: value } })} />
        </div>
        {!phone && (
          <div className="i-sort">
            <span className="muted small">{show === 'answered' ? 'Latest first' : 'Soonest deadline first'}</span><span className="grow" />
            {entries && show !== 'answered' && <span className="count count-people">{entries.filter((entry) => !entry.isGone).length}</span>}
          </div>
        )}
        <List entries={entries} isFailed={query.isError && !query.data} error={query.error} onRetry={() => void query.refetch()} selected={selected} show={show} user={user} phone={phone} />
      </section>
      {!phone && (detail || <section className="detail" aria-label="Approval">{entries?.length === 0 && <Empty icon={Inbox} title="No approval selected" />}</section>)}
    </main>
  )
}

function List({ entries, isFailed, error, onRetry, selected, show, user, phone }: {
  entries: InboxEntry[] | null
  isFailed: boolean
  error: unknown
  onRetry: () => void
  selected: string | null
  show: Show
  user: string
  phone: boolean
}) {
  const navigate = useNavigate()
  if (isFailed) return <Failed what="the approvals" error={error} onRetry={onRetry} />
  if (entries === null) return <SkeletonRows rows={6} height={80} />
  if (entries.length > 0) return <ApprovalList entries={entries} selected={selected} show={show} user={user} phone={phone} />
  if (show === 'answered') return <Empty icon={Inbox} title="No answered approvals">Approvals appear here once they are settled.</Empty>
  if (show === 'all') return <Empty icon={Inbox} title="No pending approvals">Approvals of all people appear here immediately.</Empty>
  return (
    <Empty icon={Inbox} title="No pending approvals" action={<Button small onClick={() => void navigate({ to: '/approvals', search: { show: 'all' } })}>Show all approvals</Button>}>
      Approvals that need your vote appear here immediately.
    </Empty>
  )
}
