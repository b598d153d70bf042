import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get, query, segment } from './client.ts'
import type {
  AgentRecord, Approval, Chat, Diff, Drawing, Me, Overview, Page, PaletteEntry, Run, RunDetail, SessionDetail, SessionSummary, Step, Template,
  WorkflowDetail, WorkflowSummary,
} from './types.ts'

export interface RunFilter {
  status?: string
  workflow?: string
  q?: string
  since?: string
  limit?: number
}

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: ({ signal }) => get<Me>('/me', signal), staleTime: 60_000, retry: false })

export const overviewQuery = queryOptions({ queryKey: ['overview'], queryFn: ({ signal }) => get<Overview>('/overview', signal) })

export const templatesQuery = queryOptions({
  queryKey: ['templates'],
  queryFn: async ({ signal }) => list(await get<Template[] | Page<Template>>('/templates', signal)),
  staleTime: Infinity,
})

export const workflowsQuery = (filter: { q?: string; dialect?: string; sort?: string } = {}) =>
  queryOptions({
    queryKey: ['workflows', filter],
    queryFn: ({ signal }) => get<Page<WorkflowSummary>>(`/workflows${query({ ...filter, limit: 200 })}`, signal),
  })

export const workflowQuery = (name: string, version?: number) =>
  queryOptions({
    queryKey: ['workflow', name, version ?? 'latest'],
    queryFn: ({ signal }) => get<WorkflowDetail>(`/workflows/${segment(name)}${query({ version })}`, signal),
  })

export const workflowDrawingQuery = (name: string, version?: number) =>
  queryOptions({
    queryKey: ['drawing', 'workflow', name, version ?? 'latest'],
    queryFn: ({ signal }) => get<Drawing>(`/workflows/${segment(name)}/drawing${query({ version })}`, signal),
  })

export const diffQuery = (name: string, from: number, to: number) =>
  queryOptions({
    queryKey: ['diff', name, from, to],
    queryFn: ({ signal }) => get<Diff>(`/workflows/${segment(name)}/diff${query({ from, to })}`, signal),
    staleTime: Infinity,
  })

export const paletteQuery = (dialect: string) =>
  queryOptions({
    queryKey: ['palette', dialect],
    queryFn: async ({ signal }) => list(await get<PaletteEntry[] | Page<PaletteEntry>>(`/palette/${segment(dialect)}`, signal)),
    staleTime: Infinity,
  })

export const schemaQuery = (dialect: string) =>
  queryOptions({ queryKey: ['schema', dialect], queryFn: ({ signal }) => get<unknown>(`/schema/${segment(dialect)}`, signal), staleTime: Infinity })

export const runsQuery = (filter: RunFilter) =>
  infiniteQueryOptions({
    queryKey: ['runs', filter],
    queryFn: ({ signal, pageParam }) =>
      get<Page<Run>>(`/runs${query({ ...filter, limit: filter.limit ?? 50, cursor: pageParam })}`, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
  })

export const recentRunsQuery = (limit: number) =>
  queryOptions({ queryKey: ['runs', 'recent', limit], queryFn: ({ signal }) => get<Page<Run>>(`/runs${query({ limit })}`, signal) })

export const runQuery = (id: string) =>
  queryOptions({ queryKey: ['run', id], queryFn: ({ signal }) => get<RunDetail>(`/runs/${segment(id)}`, signal) })

export const runDrawingQuery = (id: string) =>
  queryOptions({ queryKey: ['drawing', 'run', id], queryFn: ({ signal }) => get<Drawing>(`/runs/${segment(id)}/drawing`, signal), staleTime: Infinity })

export const runSourceQuery = (id: string) =>
  queryOptions({
    queryKey: ['source', id],
    queryFn: ({ signal }) => get<{ text: string; name: string; dialect: string }>(`/runs/${segment(id)}/source`, signal),
    staleTime: Infinity,
  })

export const stepQuery = (run: string, key: string) =>
  queryOptions({
    queryKey: ['step', run, key],
    queryFn: ({ signal }) => get<Step>(`/runs/${segment(run)}/trace/${segment(key)}`, signal),
  })

export const approvalsQuery = (show: string) =>
  queryOptions({
    queryKey: ['approvals', show],
    queryFn: ({ signal }) => get<Page<Approval>>(`/approvals${query({ show, limit: 200 })}`, signal),
  })

export const approvalQuery = (run: string, n: string) =>
  queryOptions({
    queryKey: ['approval', `${run}/${n}`],
    queryFn: ({ signal }) => get<Approval>(`/approvals/${segment(run)}/${segment(n)}`, signal),
  })

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => get<Page<SessionSummary>>('/sessions', signal),
})

export const sessionQuery = (document: string, id: string, at?: number) =>
  queryOptions({
    queryKey: ['session', document, id, at ?? 'now'],
    queryFn: ({ signal }) => get<SessionDetail>(`/agents/${segment(document)}/sessions/${segment(id)}/state${query({ at })}`, signal),
  })

export const agentQuery = (document: string) =>
  queryOptions({ queryKey: ['agent', document], queryFn: ({ signal }) => get<AgentRecord>(`/agents/${segment(document)}`, signal), retry: false })

export const chatQuery = (document: string, id: string) =>
  queryOptions({
    queryKey: ['chat', document, id],
    queryFn: ({ signal }) => get<Chat>(`/agents/${segment(document)}/sessions/${segment(id)}/chat`, signal),
    retry: false,
  })

export const docQuery = (kind: string) =>
  queryOptions({
    queryKey: ['doc', kind],
    queryFn: ({ signal }) => get<{ kind: string; title: string; markdown: string }>(`/docs/${segment(kind)}`, signal),
    staleTime: Infinity,
    retry: false,
  })

function list<T>(answer: T[] | Page<T>): T[] {
  return Array.isArray(answer) ? answer : answer.items
}
