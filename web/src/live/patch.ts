import type { InfiniteData, Query, QueryClient } from '@tanstack/react-query'
import type { ApprovalRecord } from '../api/approvals.ts'
import type { Overview, Page, Run, RunDetail, Step } from '../api/types.ts'
import { traceStore } from '../pages/run/traceStore.ts'
import type { LiveEvent } from './stream.ts'

/** Applies a batch of live events to the cached data. Nothing polls while the stream is open. */
export function applyEvents(client: QueryClient, events: LiveEvent[]): void {
  const stale = new Set<string>()
  for (const { event, data } of events) {
    if (event === 'run') patchRun(client, data as Run, stale)
    else if (event === 'step') patchStep(client, data as { run: string; step: Step })
    else if (event === 'text') patchText(data as { run: string; key: string; text: string; offset: number })
    else if (event === 'approval' || event === 'approval_settled') patchApproval(client, data as ApprovalRecord, stale)
    else if (event === 'overview') patchOverview(client, data as Overview)
    else if (event === 'workflow') stale.add('workflows').add('workflow')
    else if (event === 'session') stale.add('sessions').add('session').add('chat')
    else if (event === 'followed') loadAgain(client, (data as { topics: string[] }).topics)
    else if (event === 'reset') resetTopic((data as { topic?: string }).topic ?? '', stale)
  }
  for (const key of stale) void client.invalidateQueries({ queryKey: [key] })
}

/** What each list topic keeps up to date. A run brings what happened just before it is followed. */
const LOADED_BY: Record<string, string[]> = { runs: ['runs'], approvals: ['approvals', 'approval'], overview: ['overview'], workflows: ['workflows'], sessions: ['sessions'] }

/** Loads again what was requested before its topic was followed: a change in between has no event. */
function loadAgain(client: QueryClient, topics: string[]): void {
  const isOutdated = ({ queryKey: [kind, document, id] }: { queryKey: readonly unknown[] }) =>
    topics.some((topic) => LOADED_BY[topic]?.includes(String(kind)) || ((kind === 'session' || kind === 'chat') && topic === `session:${document}/${id}`))
  for (const query of client.getQueryCache().findAll({ predicate: isOutdated })) {
    // The first response may be older than the topic, too.
    if (query.state.data === undefined) loadOnceMore(client, query)
    else void client.invalidateQueries({ queryKey: query.queryKey, exact: true })
  }
}

const repeated = new WeakSet<Query>()

/** Repeats the request of a query that is on its way: its response may be older than what has just happened. */
function loadOnceMore(client: QueryClient, query: Query | undefined): void {
  if (query?.state.fetchStatus !== 'fetching' || repeated.has(query)) return
  repeated.add(query)
  const again = () => {
    repeated.delete(query)
    void client.invalidateQueries({ queryKey: query.queryKey, exact: true })
  }
  void query.promise?.then(again, () => repeated.delete(query))
}

/** Like `loadOnceMore`, for all queries of a list. */
function loadListsOnceMore(client: QueryClient, key: string): void {
  for (const query of client.getQueryCache().findAll({ queryKey: [key] })) loadOnceMore(client, query)
}

function resetTopic(topic: string, stale: Set<string>): void {
  if (topic.startsWith('run:')) {
    traceStore(topic.slice(4)).reload()
    stale.add('run').add('step')
  } else if (topic.startsWith('session:')) stale.add('session').add('chat')
  else for (const key of ['runs', 'overview', 'approvals', 'approval', 'workflows', 'sessions']) stale.add(key)
}

function patchRun(client: QueryClient, run: Run, stale: Set<string>): void {
  loadOnceMore(client, client.getQueryCache().find({ queryKey: ['run', run.id] }))
  loadListsOnceMore(client, 'runs')
  const known = client.getQueryData<RunDetail>(['run', run.id])
  client.setQueryData<RunDetail>(['run', run.id], (old) => (old ? { ...old, ...run } : old))
  if (known && known.status !== run.status) {
    void client.invalidateQueries({ queryKey: ['run', run.id] })
    stale.add('overview')
  }
  let isListed = false
  client.setQueriesData<Page<Run> | InfiniteData<Page<Run>>>({ queryKey: ['runs'] }, (old) => {
    if (!old) return old
    const replace = (page: Page<Run>): Page<Run> => {
      const index = page.items.findIndex((item) => item.id === run.id)
      if (index < 0) return page
      isListed = true
      return { ...page, items: page.items.map((item) => (item.id === run.id ? { ...item, ...run } : item)) }
    }
    return 'pages' in old ? { ...old, pages: old.pages.map(replace) } : replace(old)
  })
  if (!isListed) newRuns.add(run.id)
}

/** Runs that arrived since a list was loaded. The list decides when to show them. */
class NewRuns {
  private ids = new Set<string>()
  private listeners = new Set<() => void>()
  private size = 0

  add(id: string): void {
    this.ids.add(id)
    this.publish()
  }

  clear(): void {
    this.ids.clear()
    this.publish()
  }

  private publish(): void {
    this.size = this.ids.size
    for (const listener of this.listeners) listener()
  }

  subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  count = () => this.size
}

export const newRuns = new NewRuns()

/** Live events are the same for everyone, so they lack the approvals that await this person. */
function patchOverview(client: QueryClient, overview: Overview): void {
  client.setQueryData<Overview>(['overview'], (old) => ({ ...overview, approvals: overview.approvals ?? old?.approvals }))
}

function patchStep(client: QueryClient, { run, step }: { run: string; step: Step }): void {
  traceStore(run).merge(step)
  // The full record has evaluation trees and whole values, which deltas leave out: it is loaded again when it is in view.
  const query = client.getQueryCache().find({ queryKey: ['step', run, step.key] })
  loadOnceMore(client, query)
  const open = client.getQueryData<Step>(['step', run, step.key])
  if (open && (open.status !== step.status || open.attempts.length !== step.attempts.length)) {
    void client.invalidateQueries({ queryKey: ['step', run, step.key] })
  }
}

function patchText(data: { run: string; key: string; text: string; offset: number }): void {
  traceStore(data.run).appendText(data.key, data.text, data.offset)
}

/** Live records are the same for everyone: whether I may vote is kept from before, and requested again when the rules change. */
function patchApproval(client: QueryClient, approval: ApprovalRecord, stale: Set<string>): void {
  stale.add('overview')
  if (typeof approval?.key !== 'string' || !Array.isArray(approval.votes)) {
    stale.add('approvals').add('approval')
    return
  }
  loadOnceMore(client, client.getQueryCache().find({ queryKey: ['approval', approval.key] }))
  loadListsOnceMore(client, 'approvals')
  const known = client.getQueryData<ApprovalRecord>(['approval', approval.key])
  if (known && rulesOf(known) !== rulesOf({ ...known, ...approval })) void client.invalidateQueries({ queryKey: ['approval', approval.key] })
  client.setQueryData<ApprovalRecord>(['approval', approval.key], (old) => (old ? { ...old, ...approval } : old))
  let isListed = false
  client.setQueriesData<Page<ApprovalRecord>>({ queryKey: ['approvals'] }, (old) => {
    if (!old) return old
    const index = old.items.findIndex((item) => item.key === approval.key)
    if (index < 0) return old
    isListed = true
    return { ...old, items: old.items.map((item) => (item.key === approval.key ? { ...item, ...approval } : item)) }
  })
  if (!isListed && approval.status === 'open') stale.add('approvals')
}

function rulesOf(approval: ApprovalRecord): string {
  return JSON.stringify([approval.status, approval.recipients, approval.delegations, approval.escalation, approval.shown_hash])
}
