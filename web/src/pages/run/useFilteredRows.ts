import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { shownStatus } from './iterations.ts'
import type { Row } from './rows.ts'
import type { TraceStore } from './traceStore.ts'
import { fetchSteps, type StepFilter } from './traceRequests.ts'
import type { RunView } from './useRunView.ts'

/** The steps that match a search or a filter, as a flat list from the server; null without a filter. */
export function useFilteredRows(store: TraceStore, view: RunView, version: number): Row[] | null {
  const filter = filterOf(view)
  const result = useInfiniteQuery({
    queryKey: ['steps', store.run, filter],
    queryFn: ({ pageParam }) => fetchSteps(store.run, filter ?? {}, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    enabled: filter !== null,
  })
  useEffect(() => {
    for (const page of result.data?.pages ?? []) store.learn(page.steps)
  }, [result.data, store])
  return useMemo(() => {
    if (filter === null) return null
    const steps = result.data?.pages.flatMap((page) => page.steps) ?? []
    const rows: Row[] = steps.map((found, index) => {
      const step = store.step(found.key) ?? found
      return { kind: 'step', id: step.key, level: 1, step, status: shownStatus(step), expandable: false, open: false, position: index + 1, siblings: steps.length }
    })
    return rows
  }, [filter === null, result.data, store, version])
}

function filterOf(view: RunView): StepFilter | null {
  const filter: StepFilter = {}
  if (view.q !== '') filter.q = view.q
  if (view.show === 'failed') filter.state = 'failed'
  if (view.show === 'decisions') filter.decisions = true
  return Object.keys(filter).length === 0 ? null : filter
}
