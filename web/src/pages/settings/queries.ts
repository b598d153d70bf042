import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, query, segment } from '../../api/client.ts'
import type { AuditEntry, CredentialRecord as Credential, Finding, NamedSecret, People, Provider, Role, Webhook } from '../../api/schema.d.ts'
import type { Page } from '../../api/types.ts'

export type { AuditEntry, CredentialRecord as Credential, Delivery, Finding, NamedSecret, People, Provider, ProviderCheckResult, Role, Webhook } from '../../api/schema.d.ts'

export const ROLES: readonly Role[] = ['viewer', 'operator', 'approver', 'editor', 'admin']

/** Some lists have pages, others are whole. */
async function list<T>(path: string, signal: AbortSignal): Promise<Page<T>> {
  const response = await get<T[] | Page<T>>(path, signal)
  return Array.isArray(response) ? { items: response, next: null } : response
}

const settings = ['settings']

export const peopleQuery = queryOptions({ queryKey: [...settings, 'people'], queryFn: ({ signal }) => get<People>('/settings/people', signal) })
export const tokensQuery = queryOptions({ queryKey: [...settings, 'tokens'], queryFn: ({ signal }) => list<Credential>('/settings/tokens', signal) })
export const secretsQuery = queryOptions({ queryKey: [...settings, 'secrets'], queryFn: ({ signal }) => list<NamedSecret>('/settings/secrets', signal) })
export const providersQuery = queryOptions({ queryKey: [...settings, 'providers'], queryFn: ({ signal }) => list<Provider>('/settings/providers', signal) })
export const doctorQuery = queryOptions({ queryKey: [...settings, 'doctor'], queryFn: ({ signal }) => list<Finding>('/settings/doctor', signal), staleTime: 0 })
export const webhooksQuery = queryOptions({ queryKey: [...settings, 'webhooks'], queryFn: ({ signal }) => list<Webhook>('/settings/webhooks', signal) })
export const auditQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: [...settings, 'audit', q],
    queryFn: ({ signal, pageParam }) => list<AuditEntry>(`/settings/audit${query({ q, limit: 100, cursor: pageParam })}`, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next ?? null,
    placeholderData: keepPreviousData,
  })

export const secretPath = (name: string) => `/settings/secrets/${segment(name)}`
export const tokenPath = (id: string) => `/settings/tokens/${segment(id)}`
