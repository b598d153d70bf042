import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Lock, Plus } from 'lucide-react'
import { useState } from 'react'
import { del, put } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Empty } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { Part, Patterns } from './Part.tsx'
import { type NamedSecret, secretPath, secretsQuery } from './queries.ts'

/** Named secrets. They can be set and removed, but never read. */
export function Secrets() {
  const query = useQuery(secretsQuery)
  const [edited, setEdited] = useState<NamedSecret | 'new' | null>(null)
  const [removed, setRemoved] = useState<NamedSecret | null>(null)
  return (
    <>
      <Part
        title="Secrets" what="the secrets" query={query} note="Stored encrypted, beside those of the environment. A value cannot be read again, not even by an admin."
        action={<Button small look="primary" icon={Plus} action onClick={() => setEdited('new')}>Add secret</Button>}
      >
        {(page) => page.items.length === 0 ? <Empty icon={Lock} title="No secrets yet">Workflows refer to a secret by its name.</Empty> : (
          <table>
            <thead><tr><th>Name</th><th>Value</th><th>Workflows</th><th>Set by</th><th>Set</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>
              {page.items.map((secret) => (
                <tr key={secret.name}>
                  <td><code>{secret.name}</code>{secret.hidden && <small className="sev-warning">The environment of the server has this name, too. Its value is used.</small>}</td>
                  <td><span className="secret"><Icon of={Lock} size={12} />••••••</span></td>
                  <td>{secret.workflows.length === 0 ? <span className="muted" title="Documents that were saved over the API may not use it">none saved here</span> : <Patterns of={secret.workflows} />}</td>
                  <td className="soft">{secret.set_by}</td>
                  <td className="muted"><When at={secret.set} /></td>
                  <td className="right"><Button small action onClick={() => setEdited(secret)}>Replace</Button> <Button small look="danger" action onClick={() => setRemoved(secret)}>Remove</Button></td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Part>
      {edited !== null && <SecretDialog secret={edited === 'new' ? null : edited} onClose={() => setEdited(null)} />}
      {removed !== null && <RemoveDialog secret={removed} onClose={() => setRemoved(null)} />}
    </>
  )
}

function SecretDialog({ secret, onClose }: { secret: NamedSecret | null; onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState(secret?.name ?? '')
  const [value, setValue] = useState('')
  const [workflows, setWorkflows] = useState(secret?.workflows.join(', ') ?? '')
  const save = useMutation({
    mutationFn: () => put(secretPath(name.trim()), { value, workflows: workflows.split(/[\s,]+/).filter(Boolean) }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['settings', 'secrets'] })
      onClose()
    },
  })
  const isReady = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name.trim()) && value !== '' && !save.isPending
  return (
    <Dialog open onClose={onClose} title={secret ? `Replace ${secret.name}` : 'Add secret'} onConfirm={() => isReady && save.mutate()}>
      {!secret && <label className="fld">Name <span className="muted">letters, digits and _</span><span className="input"><input autoFocus className="mono" value={name} maxLength={200} autoComplete="off" onChange={(event) => setName(event.target.value)} /></span></label>}
      <label className="fld">Value<span className="input"><input autoFocus={secret !== null} type="password" value={value} autoComplete="new-password" onChange={(event) => setValue(event.target.value)} /></span></label>
      <label className="fld">Workflows <span className="muted">that were saved over the API and may use it, such as deploy-*</span><span className="input"><input value={workflows} onChange={(event) => setWorkflows(event.target.value)} /></span></label>
      {save.isError && <p className="sev-error small" role="alert">{save.error.message}</p>}
      <div className="row dialog-actions">
        <span className="grow" />
        <Button onClick={onClose}>Back</Button>
        <Button look="primary" action disabled={!isReady} shortcut="Ctrl Enter" onClick={() => save.mutate()}>{secret ? 'Replace value' : 'Add secret'}</Button>
      </div>
    </Dialog>
  )
}

function RemoveDialog({ secret, onClose }: { secret: NamedSecret; onClose: () => void }) {
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: () => del(secretPath(secret.name)),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['settings', 'secrets'] })
      onClose()
    },
  })
  return (
    <Dialog open onClose={onClose} title={`Remove ${secret.name}`} onConfirm={() => remove.mutate()}>
      <p className="soft dialog-text">Calls that need it fail from now on. Its value can’t be restored.</p>
      {remove.isError && <p className="sev-error small" role="alert">{remove.error.message}</p>}
      <div className="row dialog-actions">
        <span className="grow" />
        <Button onClick={onClose}>Back</Button>
        <Button look="danger" action disabled={remove.isPending} shortcut="Ctrl Enter" onClick={() => remove.mutate()}>Remove</Button>
      </div>
    </Dialog>
  )
}
