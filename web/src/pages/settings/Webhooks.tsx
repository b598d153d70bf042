import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Webhook as WebhookIcon } from 'lucide-react'
import { post, segment } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty } from '../../ui/States.tsx'
import { When } from '../../ui/Values.tsx'
import { Part, Patterns } from './Part.tsx'
import { type Delivery, type Webhook, webhooksQuery } from './queries.ts'

/** The configured webhooks, each with its latest deliveries. */
export function Webhooks() {
  const query = useQuery(webhooksQuery)
  return (
    <>
      <Part title="Webhooks" what="the webhooks" query={query} note={<>Configured under <code>[[webhooks]]</code> in <code>branchpoint.toml</code>. A message is repeated until it is accepted.</>}>
        {(page) => page.items.length === 0 ? <Empty icon={WebhookIcon} title="No webhooks">Webhooks report runs that complete, wait or fail to other systems.</Empty> : (
          <table>
            <thead><tr><th>Name</th><th>Host</th><th>Events</th><th>Workflows</th><th>Format</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>{page.items.map((webhook) => <Row key={webhook.name} webhook={webhook} />)}</tbody>
          </table>
        )}
      </Part>
      {query.data?.items.map((webhook) => (
        <Part key={webhook.name} title={`Deliveries to ${webhook.name}`} what="the deliveries" query={query}>
          {() => webhook.deliveries.length === 0 ? <p className="settings-none">Nothing has been delivered yet.</p> : <Deliveries items={webhook.deliveries} />}
        </Part>
      ))}
    </>
  )
}

function Row({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient()
  const test = useMutation({ mutationFn: () => post(`/settings/webhooks/${segment(webhook.name)}/test`), onSettled: () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }) })
  return (
    <tr>
      <td><b className="b">{webhook.name}</b></td>
      <td className="soft">{webhook.host ?? <span className="muted">a secret</span>}</td>
      <td className="wrap soft">{webhook.events.join(', ')}</td>
      <td><Patterns of={[webhook.workflow]} /></td>
      <td className="soft">{webhook.format}{webhook.signed ? ', signed' : ''}</td>
      <td className="right">
        {test.isError && <span className="small sev-error" role="alert">{test.error.message} </span>}
        {test.isSuccess && <span className="small soft" role="status">Queued </span>}
        <Button small action disabled={test.isPending} onClick={() => test.mutate()}>Send test</Button>
      </td>
    </tr>
  )
}

const STATUS_WORDS: Record<Delivery['status'], string> = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed', skipped: 'Not necessary any more' }

function Deliveries({ items }: { items: Delivery[] }) {
  return (
    <table>
      <thead><tr><th>Status</th><th>Event</th><th>Run</th><th>Created</th><th className="right">Attempts</th><th>Last response</th></tr></thead>
      <tbody>
        {items.map((delivery) => (
          <tr key={delivery.id} title={delivery.id}>
            <td className={delivery.status === 'failed' ? 'sev-error' : 'soft'}>{STATUS_WORDS[delivery.status] ?? delivery.status}</td>
            <td className="soft">{delivery.event}</td>
            <td>{delivery.run && <Link className="link" to="/runs/$id" params={{ id: delivery.run }}>{delivery.run}</Link>}</td>
            <td className="muted"><When at={delivery.created} /></td>
            <td className="right muted">{delivery.attempts}</td>
            <td className="wrap muted small">{delivery.response}{delivery.status === 'pending' && delivery.next_attempt && <> Next attempt <When at={delivery.next_attempt} />.</>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
