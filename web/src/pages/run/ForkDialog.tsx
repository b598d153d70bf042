import { useState } from 'react'
import { post, Problem, segment } from '../../api/client.ts'
import type { RunDetail, Step } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { stepLabel } from '../../ui/format.ts'
import { Select } from '../../ui/Select.tsx'
import { ROOT } from './refs.ts'
import { traceStore } from './traceStore.ts'

/** Starts a new run that repeats this one up to a step and continues from there. */
export function ForkDialog({ run, step, onClose, onForked }: { run: RunDetail; step: Step | null; onClose: () => void; onForked: (id: string) => void }) {
  const steps = forkPoints(run.id, step)
  const [chosen, setChosen] = useState(step?.key ?? steps[0]?.key ?? '')
  const [id, setId] = useState('')
  const [isLive, setLive] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const fork = async () => {
    try {
      const forked = await post<RunDetail>(`/runs/${segment(run.id)}/fork`, { step: chosen, id: id.trim() === '' ? null : id.trim(), live: isLive })
      onClose()
      onForked(forked.id)
    } catch (problem) {
      setError(problem)
    }
  }
  return (
    <Dialog open onClose={onClose} title={`Fork ${run.id}`} onConfirm={() => void fork()}>
      <div className="stack dialog-stack">
        <p className="soft">The new run takes over the results of all steps before this one, without calling anything again, and continues from here.</p>
        {step ? <p>From <b>{stepLabel(step)}</b></p> : <Select label="From" value={chosen} options={steps.map((option) => ({ value: option.key, label: stepLabel(option) }))} onChange={setChosen} />}
        <label className="fld">Id of the new run
          <span className="input"><input value={id} placeholder="Generated if empty" onChange={(event) => setId(event.target.value)} /></span>
        </label>
        {run.script !== 'none' && (
          <label className="check-line"><input type="checkbox" checked={isLive} onChange={(event) => setLive(event.target.checked)} />Call the configured runners instead of the script</label>
        )}
        {error !== null && <p className="sev-error" role="alert">{error instanceof Problem ? error.message : String(error)}</p>}
        <div className="row">
          <span className="grow" />
          <Button onClick={onClose}>Back</Button>
          <Button look="primary" action disabled={chosen === ''} shortcut="Ctrl Enter" onClick={() => void fork()}>Fork run</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** The outermost steps that ran. A step inside is forked from its own panel. */
function forkPoints(run: string, step: Step | null): Step[] {
  if (step) return [step]
  return traceStore(run).stepsOf(ROOT).filter((candidate) => candidate.run > 0 && candidate.status !== 'skipped')
}
