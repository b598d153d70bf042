import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, query, segment } from '../../api/client.ts'
import type { Page } from '../../api/types.ts'

export const ROLES = ['viewer', 'operator', 'approver', 'editor', 'admin'] as const
export type Role = (typeof ROLES)[number]

export interface People {
  owner: string | null
  admins: string[]
  members: string[]
  groups?: { name: string; members: string[] }[]
  credentials?: { user: string; role: Role; workflows: string[]; last_used?: string | null }[]
}

export interface Credential {
  id: string
  kind: 'token' | 'link' | 'browser'
  user: string
  role: Role
  workflows: string[]
  created: string
  expires: string | null
  note?: string | null
  last_used?: string | null
}

export interface NamedSecret {
  name: string
  workflows: string[]
  set_by: string | null
  set: string
  /** The environment of the server has a secret of this name, which is used instead. */
  hidden?: boolean
}

export interface Provider {
  name: string
  kind?: string | null
  endpoint: string | null
  models: string[]
  key: 'set' | 'missing' | 'not_needed'
  used_by?: number | null
}

export interface AuditEntry {
  at: string
  user: string | null
  credential: string | null
  method: string
  path: string
  status: number
}

export interface Finding {
  name: string
  ok: boolean
  message: string
}

export interface Webhook {
  name: string
  /** The scheme and host; `null` if the address is a secret. */
  host: string | null
  events: string[]
  workflow: string
  format: string
  signed: boolean
  deliveries: Delivery[]
}

export interface Delivery {
  id: string
  event: string
  run: string | null
  status: 'pending' | 'delivered' | 'failed' | 'skipped'
  attempts: number
  response: string | null
  created: string
  last_attempt: string | null
  next_attempt: string | null
}

async function list<T>(path: string, signal: AbortSignal): Promise<Page<T>> {
  const answer = await get<T[] | Page<T>>(path, signal)
  return Array.isArray(answer) ? { items: answer, next: null } : answer
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
