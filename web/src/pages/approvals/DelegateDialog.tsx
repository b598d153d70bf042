import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApprovalRecord, type Delegation, splitKey } from '../../api/approvals.ts'
import { del, post, segment } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { serverNow } from '../../ui/clock.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { fullTime } from '../../ui/format.ts'
import { Select } from '../../ui/Select.tsx'
import { storeApproval } from './inbox.ts'

const PERIODS = [
  { value: '4', label: '4 hours' }, { value: '24', label: '1 day' }, { value: '48', label: '2 days' }, { value: '168', label: '1 week' }, { value: '336', label: '2 weeks' },
]

/** Names one person who votes in my place until a time. It can be revoked until that person has voted. */
export function DelegateDialog({ approval, own, onClose }: { approval: ApprovalRecord; own: Delegation | null; onClose: () => void }) {
  const client = useQueryClient()
  const [to, setTo] = useState(own?.to ?? '')
  const [hours, setHours] = useState('48')
  const [run, n] = splitKey(approval.key)
  const path = `/approvals/${segment(run)}/${segment(n)}/delegate`
  const change = useMutation({
    mutationFn: (person: string | null) =>
      person === null
        ? del<ApprovalRecord>(path)
        : post<ApprovalRecord>(path, { to: person, until: new Date(serverNow() + Number(hours) * 3_600_000).toISOString() }),
    onSuccess: (recorded) => {
      storeApproval(client, recorded)
      onClose()
    },
  })
  const person = to.trim()
  const isReady = person !== '' && !change.isPending
  return (
    <Dialog open onClose={onClose} title="Delegate my vote" note={approval.step} onConfirm={() => isReady && change.mutate(person)}>
      <p className="soft dialog-text">
        {own ? <>{own.to} may vote for you until <time dateTime={own.until} title={fullTime(new Date(own.until))}>{fullTime(new Date(own.until)).slice(0, 16).replace('T', ' ')}</time>.</>
          : 'This person may vote in your place. You can revoke it until the vote is given.'}
      </p>
      <label className="fld">User name<span className="input"><input autoFocus value={to} maxLength={200} autoComplete="off" onChange={(event) => setTo(event.target.value)} /></span></label>
      <div className="fld"><Select label="For" value={hours} options={PERIODS} onChange={setHours} /></div>
      {change.isError && <p className="sev-error small" role="alert">{change.error.message}</p>}
      <div className="row dialog-actions">
        {own && <Button look="danger" action disabled={change.isPending} onClick={() => change.mutate(null)}>Revoke</Button>}
        <span className="grow" />
        <Button onClick={onClose}>Back</Button>
        <Button look="primary" action disabled={!isReady} shortcut="Ctrl Enter" onClick={() => change.mutate(person)}>Delegate</Button>
      </div>
    </Dialog>
  )
}
