import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApprovalRecord, splitKey } from '../../api/approvals.ts'
import { post, segment } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { storeApproval } from './inbox.ts'

/** Cancels an approval for everyone. The run records the reason. */
export function CancelApprovalDialog({ approval, onClose }: { approval: ApprovalRecord; onClose: () => void }) {
  const client = useQueryClient()
  const [reason, setReason] = useState('')
  const [run, n] = splitKey(approval.key)
  const cancel = useMutation({
    mutationFn: () => post<ApprovalRecord>(`/approvals/${segment(run)}/${segment(n)}/cancel`, { reason: reason.trim() }),
    onSuccess: (recorded) => {
      storeApproval(client, recorded)
      onClose()
    },
  })
  const isReady = reason.trim() !== '' && !cancel.isPending
  return (
    <Dialog open onClose={onClose} title={`Cancel approval ${approval.step}`} note={run} onConfirm={() => isReady && cancel.mutate()}>
      <p className="soft dialog-text">No one can vote any more. The run continues with the outcome <b>cancelled</b>, and {approval.votes.length === 0 ? 'no vote has been given' : 'the votes so far stay recorded'}.</p>
      <label className="fld">Reason<span className="input"><input autoFocus value={reason} maxLength={1000} onChange={(event) => setReason(event.target.value)} /></span></label>
      {cancel.isError && <p className="sev-error small" role="alert">{cancel.error.message}</p>}
      <div className="row dialog-actions">
        <span className="grow" />
        <Button onClick={onClose}>Keep the approval</Button>
        <Button look="danger" action disabled={!isReady} shortcut="Ctrl Enter" onClick={() => cancel.mutate()}>Cancel approval</Button>
      </div>
    </Dialog>
  )
}
