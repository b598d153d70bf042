import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Webhook as WebhookIcon } from 'lucide-react'
import { post, segment } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { Part, Patterns } from './Part.tsx'
import { deliveriesQuery, type Delivery, webhooksQuery } from './queries.ts'

/** The configured webhooks, and what was delivered to them and by mail. */
export function Webhooks() {
  const webhooks = useQuery(webhooksQuery)
  const deliveries = useQuery(deliveriesQuery)
  return (
    <>
      <Part title="Webhooks" what="the webhooks" query={webhooks} note={<>Configured in <code>branchpoint.toml</code>. Each request is signed, and repeated until it is accepted.</>}>
        {(page) => page.items.length === 0 ? <Empty icon={WebhookIcon} title="No webhooks">Webhooks report runs that finish, wait or fail to other systems.</Empty> : (
          <table>
            <thead><tr><th>Name</th><th>Address</th><th>Events</th><th>Format</th><th>Workflows</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>
              {page.items.map((webhook) => (
                <tr key={webhook.name}>
                  <td><b className="b">{webhook.name}</b></td>
                  <td className="settings-url"><code className="clip" title={webhook.url}>{webhook.url}</code></td>
                  <td className="wrap soft">{webhook.events.join(', ')}</td>
                  <td className="soft">{webhook.format}</td>
                  <td><Patterns of={webhook.workflows ?? []} /></td>
                  <td className="right"><SendButton path={`/settings/webhooks/${segment(webhook.name)}/test`} label="Send test" /></td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Part>
      <Part title="Deliveries" what="the deliveries" query={deliveries} note="Mails and webhooks, newest first.">
        {(page) => page.items.length === 0 ? <p className="settings-none">Nothing has been delivered yet.</p> : <Deliveries items={page.items} />}
      </Part>
    </>
  )
}

const STATUS_WORDS: Record<Delivery['status'], string> = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed', skipped: 'Not necessary any more' }

function Deliveries({ items }: { items: Delivery[] }) {
  return (
    <table>
      <thead><tr><th>Status</th><th>To</th><th>Event</th><th>Run</th><th>Created</th><th className="right">Attempts</th><th>Last response</th><th><span className="sr">Actions</span></th></tr></thead>
      <tbody>
        {items.map((delivery) => (
          <tr key={delivery.id}>
            <td className={delivery.status === 'failed' ? 'sev-error' : 'soft'}>{STATUS_WORDS[delivery.status] ?? delivery.status}</td>
            <td>{delivery.target}{delivery.user && <small>{delivery.user}</small>}</td>
            <td className="soft">{delivery.event}</td>
            <td>{delivery.run && <Link className="link" to="/runs/$id" params={{ id: delivery.run }}>{delivery.run}</Link>}</td>
            <td className="muted"><When at={delivery.created} /></td>
            <td className="right muted">{delivery.attempts}</td>
            <td className="wrap muted small">{delivery.response}{delivery.due && <> Next attempt <When at={delivery.due} />.</>}</td>
            <td className="right">{delivery.status === 'failed' && <SendButton path={`/settings/deliveries/${segment(delivery.id)}/retry`} label="Deliver again" />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function SendButton({ path, label }: { path: string; label: string }) {
  const client = useQueryClient()
  const send = useMutation({ mutationFn: () => post(path), onSettled: () => client.invalidateQueries({ queryKey: ['settings', 'deliveries'] }) })
  return (
    <>
      {send.isError && <span className="small sev-error" role="alert">{send.error.message} </span>}
      {send.isSuccess && <span className="small soft" role="status">Queued </span>}
      <Button small action disabled={send.isPending} onClick={() => send.mutate()}>{label}</Button>
    </>
  )
}
