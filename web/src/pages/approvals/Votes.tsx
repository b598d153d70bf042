import { Check, Minus, X } from 'lucide-react'
import type { ApprovalRecord, VoteRecord } from '../../api/approvals.ts'
import { initial } from '../../app/UserMenu.tsx'
import { clock } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { ClockTime, Deadline } from '../../ui/Values.tsx'
import { rule, type Tally, tallies } from './quorum.ts'

const SHOWN = 12

/** The rule of the approval, one bar per choice, and who voted what and when. */
export function Votes({ approval, user, phone }: { approval: ApprovalRecord; user: string; phone?: boolean }) {
  const isOpen = approval.status === 'open'
  const waiting = (approval.waits_for ?? []).filter((person) => !approval.votes.some((vote) => vote.user === person) && !(phone && person === user))
  return (
    <section className="votes" aria-label="Votes">
      <div className="votes-head">
        <b className="grow">{phone ? rule(approval).replace(' on a choice', '') : rule(approval)}</b>
        {isOpen && !phone && <Deadline at={approval.deadline} left />}
      </div>
      {!phone && approval.recipients && <Bars rows={tallies(approval)} />}
      <ul>
        {approval.votes.map((vote) => <Voter key={vote.user} vote={vote} approval={approval} user={user} phone={phone} />)}
        {isOpen && waiting.slice(0, SHOWN).map((person) => <Missing key={person} person={person} approval={approval} user={user} />)}
      </ul>
      {isOpen && waiting.length > SHOWN && <p className="voter muted small">{waiting.length - SHOWN} more have not voted</p>}
    </section>
  )
}

function Bars({ rows }: { rows: Tally[] }) {
  const words = rows.map((row) => `${row.choice} has ${row.groups.length > 0 ? row.groups.map((group) => `${group.votes} of ${group.needed} from ${group.group}`).join(' and ') : `${row.votes} of ${row.required}`}`)
  return (
    <div className={`tally${rows.some((row) => row.groups.length > 0) ? ' by-group' : ''}`} role="img" aria-label={words.join(', ')}>
      {rows.map((row) => <Bar key={row.choice} row={row} />)}
    </div>
  )
}

function Bar({ row }: { row: Tally }) {
  const needed = row.groups.length > 0 ? row.groups.reduce((sum, group) => sum + group.needed, 0) : row.required ?? 1
  const counted = row.groups.length > 0 ? row.groups.reduce((sum, group) => sum + Math.min(group.votes, group.needed), 0) : row.votes
  return (
    <>
      <span className="tally-name clip" title={row.choice}>{row.choice}</span>
      <span className="meter"><i style={{ width: `${Math.min(100, (100 * counted) / Math.max(1, needed))}%` }} /></span>
      <span className="num">{row.groups.length > 0 ? row.groups.map((group) => `${group.group} ${group.votes} of ${group.needed}`).join(', ') : `${row.votes} of ${row.required}`}</span>
    </>
  )
}

function Voter({ vote, approval, user, phone }: { vote: VoteRecord; approval: ApprovalRecord; user: string; phone?: boolean }) {
  const form = Object.entries((vote.form ?? {}) as Record<string, unknown>)
  return (
    <li className="voter">
      <span className="avatar small" aria-hidden>{initial(vote.user)}</span>
      <b className="clip">{vote.user}</b>
      {vote.user === user && <span className="muted">(you)</span>}
      {vote.on_behalf_of && <span className="muted small">for {vote.on_behalf_of}</span>}
      <VotePill choice={vote.choice} approval={approval} />
      {vote.groups?.map((group) => <span key={group} className="tag">{group}</span>)}
      <span className="grow" />
      <span className="muted small num">{phone ? <time dateTime={vote.at}>{clock(new Date(vote.at))}</time> : <ClockTime at={vote.at} />}</span>
      {vote.comment && <p className="voter-comment">{vote.comment}</p>}
      {form.length > 0 && (
        <dl className="kv voter-form">
          {form.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}><code>{typeof value === 'string' ? value : JSON.stringify(value)}</code></dd>])}
        </dl>
      )}
    </li>
  )
}

function Missing({ person, approval, user }: { person: string; approval: ApprovalRecord; user: string }) {
  const delegation = approval.delegations?.find((entry) => entry.recipient === person)
  const groups = (approval.need ?? []).filter((need) => need.members.includes(person)).map((need) => need.group)
  return (
    <li className="voter">
      <span className="avatar small" aria-hidden>{initial(person)}</span>
      <b className="clip">{person}</b>
      {person === user && <span className="muted">(you)</span>}
      <span className="muted small">{delegation ? <>{delegation.to} votes for {person} until <ClockTime at={delegation.until} /></> : 'no vote yet'}</span>
      {groups.map((group) => <span key={group} className="tag">{group}</span>)}
      {approval.veto?.includes(person) && <span className="tag" title="A no from this person settles the approval">veto</span>}
    </li>
  )
}

export function VotePill({ choice, approval }: { choice: string; approval: Pick<ApprovalRecord, 'choices'> }) {
  const meaning = approval.choices.find((entry) => entry.name === choice)?.meaning
  return <span className={`vote ${meaning ?? ''}`}><Icon of={meaning === 'yes' ? Check : meaning === 'no' ? X : Minus} size={12} /><span className="clip">{choice}</span></span>
}
