import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import type { Drawing, DrawingNode, RunDetail, Step } from '../../api/types.ts'
import { addressOf, type Ref, refId, refOfAddress } from './refs.ts'
import { plannedId, type Row } from './rows.ts'
import { type Chosen, shownExecution } from './runStates.ts'
import type { TraceStore } from './traceStore.ts'

export type Tab = 'why' | 'input' | 'output' | 'attempts' | 'votes' | 'source'
export type Show = 'all' | 'failed' | 'decisions'

/** What the address of a run page says, and the functions that change it. */
export interface RunView {
  view: 'graph' | 'timeline'
  show: Show
  q: string
  tab: Tab | null
  selected: Ref | null
  /** The step that is selected but not reached. */
  planned: DrawingNode | null
  setView: (view: 'graph' | 'timeline') => void
  setTab: (tab: Tab) => void
  setShow: (show: Show) => void
  setQuery: (q: string) => void
  select: (ref: Ref | null) => void
  selectRow: (row: Row) => void
  selectNode: (node: string, chosen: Chosen) => void
}

export function useRunView(drawing: Drawing | null, store: TraceStore, version: number): RunView {
  const search = useSearch({ from: '/runs/$id' })
  const navigate = useNavigate({ from: '/runs/$id' })
  const selected = useMemo(() => (search.step ? refOfAddress({ step: search.step, execution: Number(search.execution ?? 1) }) : null), [search.step, search.execution])
  const planned = useMemo(() => plannedNode(selected, drawing, store), [selected, drawing, store, version])
  // Selecting replaces the history entry; changing the view or the tab adds one.
  const change = (next: Partial<typeof search>, replace: boolean) => void navigate({ search: (before) => ({ ...before, ...next }), replace })
  const select = (ref: Ref | null) => {
    const address = ref && addressOf(ref)
    change({ step: address?.step, execution: address && address.execution !== 1 ? String(address.execution) : undefined, tab: undefined }, true)
  }
  return {
    view: search.view === 'timeline' ? 'timeline' : 'graph',
    show: search.show === 'failed' || search.show === 'decisions' ? search.show : 'all',
    q: search.q ?? '',
    tab: isTab(search.tab) ? search.tab : null,
    selected, planned, select,
    setView: (view) => change({ view: view === 'graph' ? undefined : view }, false),
    setTab: (tab) => change({ tab }, false),
    setShow: (show) => change({ show: show === 'all' ? undefined : show }, true),
    setQuery: (q) => change({ q: q === '' ? undefined : q }, true),
    selectRow: (row) => {
      if (row.kind === 'step') select({ kind: 'step', key: row.id })
      else if (row.kind === 'iteration') select({ kind: 'iteration', loop: row.loop.key, index: row.record.index })
      else if (row.kind === 'planned') select({ kind: 'step', key: `${row.node.title}#1` })
    },
    selectNode: (id, chosen) => {
      const node = drawing?.nodes.find((other) => other.id === id)
      if (!node) return
      const step = shownExecution(store.executions(node.title), chosen)
      select({ kind: 'step', key: step?.key ?? `${node.title}#1` })
    },
  }
}

function isTab(tab: string | undefined): tab is Tab {
  return tab !== undefined && ['why', 'input', 'output', 'attempts', 'votes', 'source'].includes(tab)
}

function plannedNode(selected: Ref | null, drawing: Drawing | null, store: TraceStore): DrawingNode | null {
  if (selected?.kind !== 'step' || store.step(selected.key)) return null
  const title = /^(.*)#\d+/.exec(selected.key)?.[1]
  return drawing?.nodes.find((node) => node.title === title) ?? null
}

/** The id of the selected row of the tree. */
export function selectedRow(view: RunView): string | null {
  if (view.planned) return plannedId(view.planned.id)
  return view.selected ? refId(view.selected) : null
}

/** The step whose panel is open: of an iteration, its loop. */
export function selectedStep(view: RunView, store: TraceStore): Step | undefined {
  const ref = view.selected
  if (ref === null || ref.kind === 'root') return undefined
  return store.step(ref.kind === 'step' ? ref.key : ref.loop)
}

/** Opens the ancestors of a selected row, so that it exists. Skipped steps are executions of number 0. */
export function useReveal(view: RunView, store: TraceStore, onRevealed: (ids: string[]) => void): boolean {
  const [isLost, setLost] = useState(false)
  const id = view.selected ? refId(view.selected) : null
  useEffect(() => {
    const ref = view.selected
    if (ref === null) return
    let isCurrent = true
    setLost(false)
    void store.reveal(ref).then(async (ids) => {
      if (!isCurrent) return
      const key = ref.kind === 'step' ? ref.key : null
      if (key !== null && !store.step(key) && /#1(@|$)/.test(key)) {
        const skipped = await store.find(key.replace(/#1(@|$)/, '#0$1'))
        if (skipped && isCurrent) return view.select({ kind: 'step', key: skipped.key })
      }
      if (key !== null && !store.step(key)) setLost(true)
      onRevealed(ids)
    })
    return () => {
      isCurrent = false
    }
  }, [id, store])
  return isLost
}

/** What to show first: the failed step, or the last decision. */
export function firstSelection(run: RunDetail): string | null {
  if (run.status === 'failed' && run.error?.step) return run.error.step
  // While steps run the last decision changes all the time.
  return run.status === 'running' ? null : run.last_decision?.step ?? null
}
