import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { FrameState } from '../../graph/states.ts'
import type { Row } from './rows.ts'
import type { Scale } from './scale.ts'
import { type TreeLook, TreeRow } from './TreeRow.tsx'

export interface StepTreeProps {
  rows: Row[]
  look: TreeLook
  scale: Scale
  trackWidth: number
  selected: string | null
  frames: ReadonlyMap<string, FrameState>
  onOpen: (row: Row, how: { keyboard: boolean }) => void
  onToggle: (row: Row, open: boolean) => void
  /** Loads the children behind a row of kind `more`. */
  onMore: (row: Row & { kind: 'more' }) => void
  onIteration: (loop: string, index: number) => void
}

const HEIGHTS: Record<TreeLook, number> = { outline: 28, timeline: 28, phone: 44 }

/** The steps of a run as a tree. Only rows in view are drawn; the graph's outline for screen readers. */
export function StepTree(props: StepTreeProps) {
  const { rows, look, selected, onMore, frames } = props
  const scroller = useRef<HTMLDivElement>(null)
  const prefix = useId()
  const height = HEIGHTS[look]
  const [active, setActive] = useState<string | null>(selected)
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => height, overscan: 12, paddingStart: look === 'phone' ? 0 : 4, paddingEnd: 4 })
  const items = virtual.getVirtualItems()

  const handlers = useRef(props)
  handlers.current = props
  const stable = useRef({
    open: (row: Row) => {
      setActive(row.id)
      handlers.current.onOpen(row, { keyboard: false })
    },
    toggle: (row: Row) => handlers.current.onToggle(row, !row.open),
    iteration: (loop: string, index: number) => handlers.current.onIteration(loop, index),
  }).current

  useEffect(() => {
    for (const item of items) {
      const row = rows[item.index]
      if (row?.kind === 'more' && !row.error) onMore(row)
    }
  })
  useEffect(() => {
    if (selected === null) return
    setActive(selected)
    const index = rows.findIndex((row) => row.id === selected)
    if (index >= 0) virtual.scrollToIndex(index, { align: 'auto' })
    // Rows that arrive later must not scroll the tree again, but the selected row must be found once it is loaded.
  }, [selected, rows.some((row) => row.id === selected)])

  const activeIndex = Math.max(0, rows.findIndex((row) => row.id === active))
  const go = (index: number) => {
    const next = Math.min(rows.length - 1, Math.max(0, index))
    const row = rows[next]
    if (!row) return
    setActive(row.id)
    virtual.scrollToIndex(next, { align: 'auto' })
  }
  const onKeyDown = (event: KeyboardEvent) => treeKey(event, rows, activeIndex, go, props)
  const width = props.trackWidth
  return (
    <div
      ref={scroller} className={`tree${look === 'timeline' ? ' tl' : ''}`} role="tree" aria-label="Steps" tabIndex={0} onKeyDown={onKeyDown}
      aria-activedescendant={rows[activeIndex] && items.some((item) => item.index === activeIndex) ? `${prefix}${activeIndex}` : undefined}
    >
      <div role="none" className="tree-body" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index]
          if (!row) return null
          return (
            <TreeRow
              key={row.id} row={row} look={look} scale={props.scale} trackWidth={width} isSelected={row.id === selected} isActive={item.index === activeIndex}
              domId={`${prefix}${item.index}`} top={item.start} frame={row.kind === 'step' ? frames.get(row.step.step) : undefined}
              onOpen={stable.open} onToggle={stable.toggle} onIteration={stable.iteration}
            />
          )
        })}
      </div>
    </div>
  )
}

function treeKey(event: KeyboardEvent, rows: Row[], at: number, go: (index: number) => void, { onToggle, onOpen }: StepTreeProps): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const row = rows[at]
  const actions: Record<string, () => void> = {
    ArrowDown: () => go(at + 1),
    ArrowUp: () => go(at - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    PageDown: () => go(at + 20),
    PageUp: () => go(at - 20),
    ArrowRight: () => {
      if (row?.expandable && !row.open) onToggle(row, true)
      else if (row?.open) go(at + 1)
    },
    ArrowLeft: () => {
      if (row?.open) onToggle(row, false)
      else go(parentIndex(rows, at))
    },
    Enter: () => row && onOpen(row, { keyboard: true }),
    ' ': () => row && onOpen(row, { keyboard: true }),
  }
  const action = actions[event.key] ?? { j: actions.ArrowDown, k: actions.ArrowUp }[event.key]
  if (!action) return
  event.preventDefault()
  event.stopPropagation()
  action()
}

function parentIndex(rows: Row[], at: number): number {
  const level = rows[at]?.level ?? 1
  for (let index = at - 1; index >= 0; index--) if ((rows[index]?.level ?? 0) < level) return index
  return at
}
