import { useMutation, useQuery } from '@tanstack/react-query'
import { Plug } from 'lucide-react'
import { post, segment } from '../../api/client.ts'
import { Button } from '../../ui/Button.tsx'
import { formatDuration } from '../../ui/format.ts'
import { Sentence } from '../../ui/Sentence.tsx'
import { Empty } from '../../ui/States.tsx'
import { Part } from './Part.tsx'
import { type Provider, type ProviderCheckResult, providersQuery } from './queries.ts'

const KEYS = { set: 'key is set', missing: 'key is missing', not_needed: 'needs no key' }

/** The model providers of this server, and whether they answer. Keys are in the environment and never shown. */
export function Providers() {
  const query = useQuery(providersQuery)
  return (
    <Part title="Model providers" what="the providers" query={query} note={<>Configured under <code>[models]</code> in <code>branchpoint.toml</code>. Keys come from the environment and are never shown.</>}>
      {(page) => page.items.length === 0 ? <Empty icon={Plug} title="No provider is configured">Runs need a script until a provider is configured.</Empty> : (
        <table>
          <thead><tr><th>Provider</th><th>Address</th><th>Models</th><th>Key</th><th className="right">Workflows</th><th><span className="sr">Check</span></th></tr></thead>
          <tbody>{page.items.map((provider) => <Row key={provider.name} provider={provider} />)}</tbody>
        </table>
      )}
    </Part>
  )
}

function Row({ provider }: { provider: Provider }) {
  const check = useMutation({ mutationFn: () => post<ProviderCheckResult>(`/settings/providers/${segment(provider.name)}/check`) })
  const result = check.data
  return (
    <tr>
      <td><b className="b">{provider.name}</b>{provider.kind !== provider.name && <small>{provider.kind}</small>}</td>
      <td className="soft">{provider.endpoint}</td>
      <td className="wrap soft">{provider.models.join(', ')}</td>
      <td className={provider.problem ? 'sev-error wrap' : 'soft'}>{provider.problem ? <Sentence text={provider.problem} whole /> : KEYS[provider.key]}</td>
      <td className="right muted">{provider.used_by}</td>
      <td className="right">
        {result && <span className={`small ${result.ok ? 'soft' : 'sev-error'}`} role="status">{result.message}{result.ok && ` ${formatDuration(result.took_ms)}`} </span>}
        {check.isError && <span className="small sev-error" role="alert">{check.error.message} </span>}
        <Button small action disabled={check.isPending || provider.key === 'missing'} onClick={() => check.mutate()}>{check.isPending ? 'Checking' : 'Check'}</Button>
      </td>
    </tr>
  )
}
