import { useEffect, useMemo, useState } from 'react'
import type { Drawing } from '../../api/types.ts'
import { refOf } from './refs.ts'
import { type Row, treeRows } from './rows.ts'
import type { Chosen } from './runStates.ts'
import type { TraceStore } from './traceStore.ts'
import { useFilteredRows } from './useFilteredRows.ts'
import { type RunView, selectedRow, useReveal } from './useRunView.ts'

export interface Rows {
  rows: Row[]
  selected: string | null
  isLost: boolean
  toggle: (row: Row, open: boolean) => void
  /** Opens or closes all loops. */
  toggleLoops: (open: boolean) => void
  /** The rows are the result of a filter. */
  isFiltered: boolean
}

const opened = new Map<string, ReadonlyMap<string, boolean>>()

/** The rows of the step tree. What is open survives a visit to another page. */
export function useRows({ drawing, store, version, view, chosen, closedLoops = false }: { drawing: Drawing | null; store: TraceStore; version: number; view: RunView; chosen: Chosen; closedLoops?: boolean }): Rows {
  const [toggled, setToggled] = useState(opened.get(store.run) ?? new Map<string, boolean>())
  useEffect(() => void opened.set(store.run, toggled), [store, toggled])
  const isLost = useReveal(view, store, (ids) => setToggled((before) => (ids.every((id) => before.get(id) !== false) && ids.every((id) => before.has(id)) ? before : new Map([...before, ...ids.map((id): [string, boolean] => [id, true])]))))
  const openRounds = view.view === 'timeline'
  const tree = useMemo(() => treeRows(store, drawing, { toggled, chosen, openRounds, closedLoops }), [store, drawing, version, toggled, chosen, openRounds, closedLoops])
  const filtered = useFilteredRows(store, view, version)
  const set = (changes: [string, boolean][]) => setToggled((before) => new Map([...before, ...changes]))
  useOpenRows(store, tree)
  return {
    rows: filtered ?? tree,
    selected: selectedRow(view),
    isLost,
    isFiltered: filtered !== null,
    toggle: (row, open) => set([[row.id, open]]),
    toggleLoops: (open) => set(store.loops().map((loop): [string, boolean] => [loop.key, open])),
  }
}

/** Loads the children of rows that are open. */
function useOpenRows(store: TraceStore, rows: Row[]): void {
  const ids = rows.filter((row) => row.open && row.kind !== 'planned').map((row) => row.id).join('\n')
  useEffect(() => {
    for (const id of ids.split('\n')) if (id !== '') void store.open(refOf(id))
  }, [store, ids])
}
