import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Copy } from 'lucide-react'
import { useState } from 'react'
import { post } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { copyText } from '../../ui/clipboard.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { Select } from '../../ui/Select.tsx'
import { ROLES, type Role } from './queries.ts'

const MAY: Record<Role, string> = {
  viewer: 'Read, check and evaluate.',
  operator: 'Also start, cancel, resume and signal runs, and report to sessions.',
  approver: 'Read and vote.',
  editor: 'All of these, and save workflows.',
  admin: 'Everything, including settings.',
}

const DAYS = [{ value: '7', label: '7 days' }, { value: '30', label: '30 days' }, { value: '90', label: '90 days' }, { value: '365', label: '1 year' }, { value: '', label: 'never' }]
const MINUTES = [{ value: '10', label: '10 minutes' }, { value: '60', label: '1 hour' }, { value: '1440', label: '1 day' }]

/** Creates a token or a one-time sign-in link. Its text is shown once. */
export function NewTokenDialog({ kind, onClose }: { kind: 'token' | 'link'; onClose: () => void }) {
  const client = useQueryClient()
  const [user, setUser] = useState('')
  const [role, setRole] = useState<Role>(kind === 'token' ? 'operator' : 'approver')
  const [workflows, setWorkflows] = useState('')
  const [expires, setExpires] = useState(kind === 'token' ? '90' : '60')
  const create = useMutation({
    mutationFn: async () => {
      const owner = { user: user.trim(), role, workflows: workflows.split(/[\s,]+/).filter(Boolean) }
      if (kind === 'token') return (await post<{ token: string }>('/settings/tokens', { ...owner, ...(expires === '' ? {} : { expires_days: Number(expires) }) })).token
      return location.origin + (await post<{ path: string }>('/settings/links', { ...owner, expires_minutes: Number(expires) })).path
    },
    onSuccess: () => void client.invalidateQueries({ queryKey: ['settings'] }),
  })
  const isReady = user.trim() !== '' && !create.isPending
  if (create.isSuccess) return <Created kind={kind} user={user.trim()} text={create.data} onClose={onClose} />
  return (
    <Dialog open onClose={onClose} title={kind === 'token' ? 'Create token' : 'Create sign-in link'} onConfirm={() => isReady && create.mutate()}>
      <label className="fld">User<span className="input"><input autoFocus value={user} maxLength={200} autoComplete="off" onChange={(event) => setUser(event.target.value)} /></span></label>
      <div className="fld"><Select label="Role" value={role} options={ROLES.map((value) => ({ value, label: value }))} onChange={setRole} /> <p className="muted small role-note">{MAY[role]}</p></div>
      <label className="fld">Workflows <span className="muted">names or patterns such as support-*; empty for all</span><span className="input"><input value={workflows} onChange={(event) => setWorkflows(event.target.value)} /></span></label>
      <div className="fld"><Select label="Expires after" value={expires} options={kind === 'token' ? DAYS : MINUTES} onChange={setExpires} /></div>
      {create.isError && <p className="sev-error small" role="alert">{create.error.message}</p>}
      <div className="row dialog-actions">
        <span className="grow" />
        <Button onClick={onClose}>Back</Button>
        <Button look="primary" action disabled={!isReady} shortcut="Ctrl Enter" onClick={() => create.mutate()}>{kind === 'token' ? 'Create token' : 'Create link'}</Button>
      </div>
    </Dialog>
  )
}

function Created({ kind, user, text, onClose }: { kind: 'token' | 'link'; user: string; text: string; onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title={kind === 'token' ? `Token of ${user}` : `Sign-in link of ${user}`}>
      <p className="soft dialog-text">Copy it now: it is stored as a hash and not shown again.</p>
      <p className="secret-once"><code data-secret-once>{text}</code></p>
      <div className="row dialog-actions">
        <span className="grow" />
        <Button icon={Copy} onClick={() => void copyText(text, kind === 'token' ? 'the token' : 'the link')}>Copy</Button>
        <Button look="primary" onClick={onClose}>Done</Button>
      </div>
    </Dialog>
  )
}
