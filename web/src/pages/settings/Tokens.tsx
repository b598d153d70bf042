import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link2, Plus } from 'lucide-react'
import { useState } from 'react'
import { del } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Empty } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { NewTokenDialog } from './NewTokenDialog.tsx'
import { Part, Patterns } from './Part.tsx'
import { type Credential, tokenPath, tokensQuery } from './queries.ts'

const KINDS: Record<string, string> = { token: 'Token', link: 'Sign-in link', browser: 'Browser' }
const kindOf = (credential: Credential) => KINDS[credential.kind] ?? credential.kind

/** Credentials that have not expired: tokens, unused links, and browsers that are signed in. */
export function Tokens() {
  const query = useQuery(tokensQuery)
  const local = useQuery(meQuery).data?.local
  const [dialog, setDialog] = useState<'token' | 'link' | Credential | null>(null)
  return (
    <>
      <Part
        title="Tokens and sign-ins" what="the tokens" query={query}
        note={local ? 'This server accepts requests from this machine without a token. Tokens are for other people and programs.' : 'Programs send a token as a bearer token. A link signs one browser in, once.'}
        action={<>
          <Button small icon={Link2} action onClick={() => setDialog('link')}>Create link</Button>
          <Button small look="primary" icon={Plus} action onClick={() => setDialog('token')}>Create token</Button>
        </>}
      >
        {(page) => page.items.length === 0 ? <Empty title="No tokens yet">Create one for a program, or a link for a person’s browser.</Empty> : (
          <table>
            <thead><tr><th>User</th><th>Kind</th><th>Role</th><th>Workflows</th><th>Created</th><th>Last used</th><th>Expires</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>
              {page.items.map((entry) => (
                <tr key={entry.id}>
                  <td><b className="b">{entry.user}</b></td>
                  <td className="soft">{kindOf(entry)}</td>
                  <td className="soft">{entry.role}</td>
                  <td><Patterns of={entry.workflows} /></td>
                  <td className="muted"><When at={entry.created} /></td>
                  <td className="muted">{entry.last_used ? <When at={entry.last_used} /> : 'never'}</td>
                  <td className="muted">{entry.expires ? <When at={entry.expires} /> : 'never'}</td>
                  <td className="right"><Button small look="danger" action onClick={() => setDialog(entry)}>Revoke</Button></td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Part>
      {(dialog === 'token' || dialog === 'link') && <NewTokenDialog kind={dialog} onClose={() => setDialog(null)} />}
      {dialog !== null && typeof dialog === 'object' && <RevokeDialog credential={dialog} onClose={() => setDialog(null)} />}
    </>
  )
}

function RevokeDialog({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const client = useQueryClient()
  const revoke = useMutation({
    mutationFn: () => del(tokenPath(credential.id)),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['settings'] })
      onClose()
    },
  })
  return (
    <Dialog open onClose={onClose} title={`Revoke the ${kindOf(credential).toLowerCase()} of ${credential.user}`} onConfirm={() => revoke.mutate()}>
      <p className="soft dialog-text">It stops working at once, and its open event streams end. This can’t be undone.</p>
      {revoke.isError && <p className="sev-error small" role="alert">{revoke.error.message}</p>}
      <div className="row dialog-actions">
        <span className="grow" />
        <Button onClick={onClose}>Back</Button>
        <Button look="danger" action disabled={revoke.isPending} shortcut="Ctrl Enter" onClick={() => revoke.mutate()}>Revoke</Button>
      </div>
    </Dialog>
  )
}
