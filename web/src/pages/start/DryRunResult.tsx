import type { RunStatus, Step } from '../../api/types.ts'
import { joinNames, plural, shortValue, stepLabel } from '../../ui/format.ts'
import { reason, Sentence } from '../../ui/Sentence.tsx'
import { STATUS_LABEL, StatusIcon } from '../../ui/StatusIcon.tsx'

/** The response to a dry run: the path that a run would take. */
export interface DryRun {
  dry_run: true
  status: RunStatus
  result: unknown
  steps: Step[]
  missing: Record<string, string>
  waits_for: string[]
  rejected: string[]
}

/** The path of a run that was neither performed nor stored. */
export function DryRunResult({ run }: { run: DryRun }) {
  const missing = Object.entries(run.missing)
  return (
    <section className="dry-run" aria-label="Dry run">
      <p className="row"><StatusIcon status={run.status} /><b>{STATUS_LABEL[run.status]}</b><span className="muted small">Nothing was performed or stored</span></p>
      {missing.length > 0 && <p className="small soft">Without responses in the script: {joinNames(missing.map(([step, kind]) => `${step} (${kind})`))}. Empty responses were assumed.</p>}
      {run.waits_for.length > 0 && <p className="small soft">The script does not answer {joinNames(run.waits_for)}, so the path ends there.</p>}
      {run.rejected.map((text) => <p key={text} className="small sev-error">{text}</p>)}
      <ol className="dry-steps" aria-label={plural(run.steps.length, 'step')}>
        {run.steps.map((step) => (
          <li key={step.key} className={`tr${step.status === 'skipped' ? ' is-skipped' : ''}`} style={{ paddingLeft: 6 + 14 * (step.depth ?? 0) }}>
            <StatusIcon status={step.status} />
            <span className="name">{stepLabel(step)}</span>
            {step.branch && <span className="way-mark">→ {step.branch}</span>}
            {step.decisions[0]?.sentence && <span className="type clip" title={step.decisions[0].sentence}><Sentence text={reason(step.decisions[0].sentence)} /></span>}
            {!step.branch && step.error && <span className="type clip sev-error" title={step.error.message}>{step.error.message}</span>}
          </li>
        ))}
      </ol>
      {run.result !== null && run.result !== undefined && <p className="small mono clip" title={JSON.stringify(run.result)}>{shortValue(run.result, 200)}</p>}
    </section>
  )
}
