import { useState } from 'react'
import { post, Problem, segment } from '../../api/client.ts'
import type { RunDetail } from '../../api/types.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { plural } from '../../ui/format.ts'
import { RunningDuration } from '../../ui/Values.tsx'

/** Says what a cancellation stops and withdraws before it happens. */
export function CancelDialog({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isSending, setSending] = useState(false)
  const calls = run.calls_in_flight ?? []
  const waits = run.status === 'waiting_people' ? run.current : []
  const cancel = async () => {
    setSending(true)
    try {
      await post(`/runs/${segment(run.id)}/cancel`, { reason: reason.trim() === '' ? null : reason.trim() })
      onClose()
    } catch (problem) {
      setError(problem)
      setSending(false)
    }
  }
  return (
    <Dialog open onClose={onClose} title={`Cancel ${run.id}`} onConfirm={() => void cancel()}>
      <div className="stack dialog-stack">
        {calls.length > 0 && (
          <div>
            <p>{plural(calls.length, 'call')} in flight will be stopped:</p>
            <ul className="plain-list">{calls.map((call, index) => <li key={index}><b>{call.step}</b> <span className="muted">{call.kind}, <RunningDuration since={call.since} /></span></li>)}</ul>
          </div>
        )}
        {waits.length > 0 && <p>{plural(waits.length, 'approval')} will be withdrawn: <b>{waits.join(', ')}</b>. Votes so far are kept in the trace.</p>}
        {calls.length === 0 && waits.length === 0 && <p>No call is in flight and no approval is pending.</p>}
        <p className="soft">Completed steps and their results stay. A cancelled run cannot be resumed; it can be forked.</p>
        <label className="fld">Reason (optional)
          <span className="input"><input value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} /></span>
        </label>
        {error !== null && <p className="sev-error" role="alert">{error instanceof Problem ? error.message : String(error)}</p>}
        <div className="row">
          <span className="grow" />
          <Button onClick={onClose}>Keep running</Button>
          <Button look="danger" action disabled={isSending} shortcut="Ctrl Enter" onClick={() => void cancel()}>Cancel run</Button>
        </div>
      </div>
    </Dialog>
  )
}
