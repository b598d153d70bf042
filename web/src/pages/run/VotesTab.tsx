import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { approvalQuery } from '../../api/queries.ts'
import type { RunDetail, Step, Vote } from '../../api/types.ts'
import { joinNames } from '../../ui/format.ts'
import { pastOf, Quorum } from '../../ui/Pips.tsx'
import { ClockTime, Deadline } from '../../ui/Values.tsx'
import { splitKey } from './RunActions.tsx'
import { mainDecision } from './runStates.ts'

interface Facts {
  required?: number | null
  approvers?: string[] | null
  votes?: Vote[]
}

/** Who voted, what is still needed, and the way to the approval. */
export function VotesTab({ run, step }: { run: RunDetail; step: Step }) {
  const key = run.waiting_for?.approval ?? null
  const [ofRun, number] = splitKey(key ?? '/')
  const isOpen = step.status === 'waiting_people' && key !== null
  const approval = useQuery({ ...approvalQuery(ofRun, number), enabled: isOpen }).data
  const facts = (mainDecision(step)?.approval ?? {}) as Facts
  const votes = isOpen && approval?.step === step.step ? approval.votes : facts.votes ?? []
  const waiting = approval?.waits_for ?? []
  return (
    <>
      {isOpen && approval && (
        <>
          <p className="row"><Quorum approval={approval} /><span className="grow" /><Deadline at={approval.deadline} left /></p>
          {waiting.length > 0 && <p className="soft small">Waiting for {joinNames(waiting, 'or')}.</p>}
          <p><Link className="link" to="/approvals/$run/$n" params={{ run: run.id, n: number }}>Open the approval</Link></p>
        </>
      )}
      {!isOpen && facts.required && <p className="soft small">{facts.required} matching votes were needed from {joinNames(facts.approvers ?? [])}.</p>}
      <ul className="vote-list">
        {votes.map((vote) => (
          <li key={vote.user}>
            <span className="avatar small" aria-hidden>{(vote.user[0] ?? '?').toUpperCase()}</span>
            <span className="grow"><b>{vote.user}</b> {pastOf(vote.choice)}{vote.comment && <span className="vote-comment">{vote.comment}</span>}</span>
            <span className="muted small"><ClockTime at={vote.at} /></span>
          </li>
        ))}
        {votes.length === 0 && <li className="muted">No votes yet.</li>}
      </ul>
    </>
  )
}
