import { ArrowRight } from 'lucide-react'
import type { Run } from '../../api/types.ts'
import { formatDuration, formatWhen, joinNames } from '../../ui/format.ts'
import { Icon } from '../../ui/icons.tsx'
import { plainText, reason } from '../../ui/Sentence.tsx'
import { useSlowNow } from '../../ui/clock.ts'

/** The most useful column: the last decision and why, the current step, what the run waits for, or the error. */
export function LastDecision({ run, width }: { run: Run; width?: number }) {
  return (
    <td className="dec" style={width ? { maxWidth: width } : undefined}>
      <span className="clip"><Content run={run} /></span>
    </td>
  )
}

function Content({ run }: { run: Run }) {
  const now = useSlowNow()
  const decision = run.last_decision
  if (run.error && run.status === 'failed') {
    const step = run.error.step ?? run.current?.[0]
    return <>{step && <b>{step}</b>}<span className="bad">{run.error.kind}: {plainText(run.error.message)}</span></>
  }
  if (run.status === 'waiting_timer' && run.waiting_for?.until) {
    const until = new Date(run.waiting_for.until)
    return <><b>{run.current?.[0]}</b><span className="muted">resumes {formatWhen(until, new Date(now))}, in {formatDuration(Math.max(0, until.getTime() - now))}</span></>
  }
  if (run.status === 'running' && run.current?.length) {
    return <><b>{run.current[0]}</b><span className="muted">{run.current.length > 1 ? `and ${joinNames(run.current.slice(1))} are running` : 'is running'}</span></>
  }
  if (decision) {
    return (
      <>
        <b>{decision.step}</b>
        {decision.branch && <><Icon of={ArrowRight} size={12} /><b>{decision.branch}</b></>}
        <span className="muted">{plainText(reason(decision.sentence))}</span>
      </>
    )
  }
  if (run.status === 'waiting_people') {
    const people = run.waiting_for?.people
    return <><b>{run.current?.[0] ?? 'approval'}</b><span className="muted">waiting for {people?.length ? joinNames(people, 'or') : 'anyone to answer'}</span></>
  }
  return null
}
