import type { Attempt, Step } from '../../api/types.ts'
import { formatDuration } from '../../ui/format.ts'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { ClockTime, RunningDuration } from '../../ui/Values.tsx'

/** Every attempt with its start, its error, and the pause after it. */
export function AttemptsTab({ step }: { step: Step }) {
  const decisions = step.decisions.filter((decision) => decision.kind === 'retry')
  return (
    <ol className="attempts">
      {step.attempts.map((attempt, index) => {
        const pause = pauseAfter(attempt, step.attempts[index + 1])
        return (
          <li key={index}>
            <div className="row">
              <StatusIcon status={attempt.error ? 'failed' : attempt.ended ? 'completed' : 'running'} />
              <b>Attempt {index + 1}</b>
              <span className="muted small"><ClockTime at={attempt.began} /></span>
              <span className="grow" />
              <span className="muted small num">{attempt.ended ? formatDuration(Date.parse(attempt.ended) - Date.parse(attempt.began)) : <RunningDuration since={attempt.began} />}</span>
            </div>
            {attempt.error && <p className="attempt-error">{attempt.error.message} <span className="muted small">{attempt.error.kind}</span></p>}
            {decisions[index] && <p className="soft small">{decisions[index].sentence}</p>}
            {pause !== null && <p className="pause small muted">Paused for {formatDuration(pause)}</p>}
          </li>
        )
      })}
    </ol>
  )
}

function pauseAfter(attempt: Attempt, next: Attempt | undefined): number | null {
  if (!attempt.ended || !next) return null
  const pause = Date.parse(next.began) - Date.parse(attempt.ended)
  return pause > 0 ? pause : null
}
