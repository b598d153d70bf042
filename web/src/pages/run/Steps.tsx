import { ListFilter, Search } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { useConnection } from '../../ui/online.ts'
import { IconButton } from '../../ui/Button.tsx'
import { formatCount, plural } from '../../ui/format.ts'
import { Menu } from '../../ui/Menu.tsx'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { Empty, Failed, NoMatches, SkeletonRows } from '../../ui/States.tsx'
import type { RunProps } from './RunBody.tsx'
import { isOver } from './runStatus.ts'
import { ROOT } from './refs.ts'
import { StepTree } from './StepTree.tsx'
import type { TreeLook } from './TreeRow.tsx'
import type { GraphOfRun } from './useGraphOfRun.ts'
import type { Rows } from './useRows.ts'
import type { RunView, Show } from './useRunView.ts'

const TRACK = 54

export interface StepsProps extends RunProps {
  rows: Rows
  graph: GraphOfRun
  onOpen: (row: Rows['rows'][number], how: { keyboard: boolean }) => void
}

/** The tree beside the graph, with search, a filter, and what `children` adds below. */
export function Steps({ children, ...props }: StepsProps & { children?: ReactNode }) {
  const { store, view } = props
  const [searches, setSearches] = useState(view.q !== '')
  const total = countSteps(props)
  return (
    <section className="steps" aria-label="Steps">
      <div className="steps-head">
        {searches ? (
          <SearchInput label="Search steps" value={view.q} onChange={view.setQuery} width={180} />
        ) : (
          <><h2>Steps</h2>{total > 0 && <span className="count">{formatCount(total)}</span>}</>
        )}
        <span className="grow" />
        <FilterMenu view={view} />
        <IconButton label="Search steps" icon={Search} size={15} aria-pressed={searches} onClick={() => {
          if (searches) view.setQuery('')
          setSearches(!searches)
        }} />
      </div>
      <TreeOf {...props} look="outline" trackWidth={TRACK} />
      {store.childrenOf(ROOT).omitted && <Partial store={store} />}
      {children}
    </section>
  )
}

/** The tree in one of its states: loading, failed, empty, no matches, or rows. */
export function TreeOf({ look, trackWidth, ...props }: StepsProps & { look: TreeLook; trackWidth: number }) {
  const { run, store, rows, graph, view, onOpen } = props
  const root = store.childrenOf(ROOT)
  const end = useScaleEnd(props)
  const scale = useMemo(() => ({ start: Date.parse(run.started), end }), [run.started, end])
  if (root.error !== null && root.keys.length === 0) return <Failed what="the steps" error={root.error} onRetry={() => void store.load(ROOT)} />
  if (rows.isFiltered && rows.rows.length === 0) return <NoMatches what="steps" filters={filtersOf(view)} onClear={() => { view.setQuery(''); view.setShow('all') }} />
  if (rows.rows.length === 0 && (root.loading || !store.isLoaded(ROOT))) return <div className="tree"><SkeletonRows rows={10} /></div>
  if (rows.rows.length === 0) return <Empty title="No steps yet">{isOver(run) ? 'The run ended before its first step.' : 'Steps appear here as soon as the run reaches them.'}</Empty>
  return (
    <StepTree
      rows={rows.rows} look={look} scale={scale} trackWidth={trackWidth} selected={rows.selected} frames={graph.frames} onOpen={onOpen}
      onToggle={rows.toggle} onMore={(row) => void store.load(row.of)} onIteration={graph.choose}
    />
  )
}

/** The end of the time axis: that of the run, or the newest data. It moves in steps, so that bars do not creep. */
export function useScaleEnd({ run }: Pick<RunProps, 'run'>): number {
  const { dataAsOf } = useConnection()
  if (run.ended) return Date.parse(run.ended)
  const started = Date.parse(run.started)
  const newest = run.status === 'running' ? dataAsOf : Date.parse(run.updated)
  return Math.max(started + 1, newest)
}

export function FilterMenu({ view, labelled }: { view: RunView; labelled?: boolean }) {
  const entries: { value: Show; label: string }[] = [{ value: 'all', label: 'All steps' }, { value: 'decisions', label: 'Decisions' }, { value: 'failed', label: 'Failed' }]
  const trigger = labelled
    ? <button type="button" className="btn btn-quiet btn-small"><ListFilter className="i" size={14} aria-hidden />Filter{view.show !== 'all' && `: ${view.show}`}</button>
    : <IconButton label="Filter steps" icon={ListFilter} size={15} aria-pressed={view.show !== 'all'} />
  return <Menu trigger={trigger} entries={entries.map(({ value, label }) => ({ label, checked: view.show === value, onSelect: () => view.setShow(value) }))} />
}

export function Partial({ store }: { store: RunProps['store'] }) {
  const omitted = store.childrenOf(ROOT).omitted
  if (!omitted) return null
  const parts = [
    omitted.before > 0 ? `${plural(omitted.before, 'earlier event')} can’t be shown` : null,
    omitted.steps > 0 ? `${plural(omitted.steps, 'ended step')} in between can’t be shown` : null,
    omitted.after > 0 ? `Later events can’t be read (${formatCount(omitted.after)})` : null,
  ].filter(Boolean)
  return <p className="hint partial" role="note">{parts.join('. ')}.</p>
}

function filtersOf(view: RunView): string[] {
  return [view.q === '' ? null : `“${view.q}”`, view.show === 'all' ? null : view.show].filter((part) => part !== null)
}

/** The steps of the whole run, as far as their numbers are known. */
export function countSteps({ store, drawing }: Pick<RunProps, 'store' | 'drawing'>): number {
  const steps = drawing?.nodes.filter((node) => node.shape !== 'start' && node.shape !== 'end').length ?? 0
  return Math.max(store.count(), steps)
}
