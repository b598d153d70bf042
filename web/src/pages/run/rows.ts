import type { Drawing, DrawingNode, Step, StepStatus } from '../../api/types.ts'
import { isTerminal } from '../../graph/model.ts'
import { type IterationRecord, shownStatus } from './iterations.ts'
import { type Ref, ROOT, refId } from './refs.ts'
import { GROUPED_FROM, type TraceStore } from './traceStore.ts'

interface RowBase {
  id: string
  level: number
  /** Position among its siblings and their number, for screen readers. */
  position: number
  siblings: number
  expandable: boolean
  open: boolean
}

export type Row =
  | (RowBase & { kind: 'step'; step: Step; status: StepStatus })
  | (RowBase & { kind: 'iteration'; loop: Step; record: IterationRecord })
  | (RowBase & { kind: 'group'; loop: Step; status: StepStatus; count: number; ranges: [number, number][] })
  /** A step that the run has not reached. */
  | (RowBase & { kind: 'planned'; node: DrawingNode; status: StepStatus })
  /** More children exist; they are loaded when the row comes into view. */
  | (RowBase & { kind: 'more'; of: Ref; count: number; error: unknown })

export interface RowOptions {
  /** What a person has opened and closed; the rest is open by default where it is small. */
  toggled: ReadonlyMap<string, boolean>
  /** The rounds that the graph shows, by loop. They are open. */
  chosen: ReadonlyMap<string, number>
  /** All rounds of small loops are open, as in the timeline. */
  openRounds: boolean
  /** Loops are closed by default: a phone has no room for them. */
  closedLoops?: boolean
}

const SMALL_PARENT = 50
const SMALL_LOOP = 10

/** The visible rows of a run, from what is loaded. Steps that are not reached come from the drawing. */
export function treeRows(store: TraceStore, drawing: Drawing | null, options: RowOptions): Row[] {
  const order = new Map(drawing?.nodes.map((node, index) => [node.title, index]))
  const planned = new PlannedSteps(drawing, store)
  const rows: Row[] = []
  const siblings = (own: RowBase[]) => own.forEach((row, index) => Object.assign(row, { position: index + 1, siblings: own.length }))
  const addSteps = (ref: Ref, level: number, parent: string | null) => {
    const own: RowBase[] = []
    for (const entry of inOrder(store.stepsOf(ref), planned.below(parent, ref), order, store.childrenOf(ref).next === null)) own.push('key' in entry ? addStep(entry, level) : addPlanned(entry, level))
    addMore(ref, level)
    siblings(own)
  }
  const addMore = (ref: Ref, level: number) => {
    const { next, loading, error, total, keys, iterations } = store.childrenOf(ref)
    const known = keys.length + iterations.length
    if (next !== null || error !== null || (loading && known === 0)) {
      rows.push({ kind: 'more', id: `${refId(ref)}\u0000+`, of: ref, count: Math.max(0, total - known), error, level, position: 0, siblings: 0, expandable: false, open: false })
    }
  }
  const addStep = (step: Step, level: number): RowBase => {
    const id = step.key
    const ref: Ref = { kind: 'step', key: id }
    const expandable = step.has_children || planned.below(step.step, ref).length > 0
    const open = expandable && (options.toggled.get(id) ?? (isSmall(store, step) && !(options.closedLoops && store.isLoop(id))))
    const row: Row = { kind: 'step', id, level, step, status: shownStatus(step), expandable, open, position: 0, siblings: 0 }
    rows.push(row)
    if (!open) return row
    if (store.isLoop(id)) addRounds(step, level + 1)
    else addSteps(ref, level + 1, step.step)
    return row
  }
  const addRounds = (loop: Step, level: number) => {
    const ref: Ref = { kind: 'step', key: loop.key }
    const { counts, ranges, total } = store.groups(loop.key)
    const own: RowBase[] = []
    if (total >= GROUPED_FROM) {
      for (const status of GROUP_ORDER) if (counts[status]) own.push(addGroup(loop, status, counts[status], ranges[status] ?? [], level))
    } else {
      const rounds = store.rounds(loop.key)
      for (const record of rounds) own.push(addRound(loop, record, level, rounds.length))
      addMore(ref, level)
    }
    siblings(own)
  }
  const addGroup = (loop: Step, status: StepStatus, count: number, ranges: [number, number][], level: number): RowBase => {
    const ref: Ref = { kind: 'group', loop: loop.key, status }
    const expandable = status !== 'pending'
    const open = expandable && options.toggled.get(refId(ref)) === true
    const row: Row = { kind: 'group', id: refId(ref), level, loop, status, count, ranges, expandable, open, position: 0, siblings: 0 }
    rows.push(row)
    if (!open) return row
    const own = store.roundsOf(loop.key, status).map((record) => addRound(loop, record, level + 1, count))
    addMore(ref, level + 1)
    siblings(own)
    return row
  }
  const addRound = (loop: Step, record: IterationRecord, level: number, rounds: number): RowBase => {
    const ref: Ref = { kind: 'iteration', loop: loop.key, index: record.index }
    const id = refId(ref)
    const isOpen = options.chosen.get(loop.step) === record.index || (options.openRounds && rounds <= SMALL_LOOP)
    const open = options.toggled.get(id) ?? isOpen
    const row: Row = { kind: 'iteration', id, level, loop, record, expandable: true, open, position: 0, siblings: 0 }
    rows.push(row)
    if (open) addSteps(ref, level + 1, loop.step)
    return row
  }
  const addPlanned = (node: DrawingNode, level: number): RowBase => {
    const id = plannedId(node.id)
    const inner = planned.inside(node)
    const open = inner.length > 0 && options.toggled.get(id) === true
    const row: Row = { kind: 'planned', id, level, node, status: 'pending', expandable: inner.length > 0, open, position: 0, siblings: 0 }
    rows.push(row)
    if (open) {
        siblings(inner.map((child) => addPlanned(child, level + 1)))
    }
    return row
  }
  addSteps(ROOT, 1, null)
  return rows
}

const GROUP_ORDER: StepStatus[] = ['failed', 'waiting_people', 'waiting_timer', 'running', 'completed', 'cancelled', 'skipped', 'pending']

export const plannedId = (node: string) => `\u0000planned:${node}`

function isSmall(store: TraceStore, step: Step): boolean {
  const children = Object.values(step.children_counts ?? {}).reduce((sum, count) => sum + count, 0)
  // A loop that is grouped by status has few rows.
  if (store.isLoop(step.key)) return store.groups(step.key).total >= GROUPED_FROM || store.rounds(step.key).length <= SMALL_LOOP
  return children <= SMALL_PARENT
}

/** Steps in the order of the document; in the order of time where a step ran more than once, or where not all are known. */
function inOrder(steps: Step[], planned: DrawingNode[], order: Map<string, number>, isWhole: boolean): (Step | DrawingNode)[] {
  const isOnce = new Set(steps.map((step) => step.step)).size === steps.length
  if (!isWhole || !isOnce || steps.some((step) => !order.has(step.step))) return [...steps, ...planned]
  const place = (entry: Step | DrawingNode) => order.get('key' in entry ? entry.step : entry.title) ?? Infinity
  return [...steps, ...planned].sort((a, b) => place(a) - place(b))
}

/** The steps of the drawing that have no record yet, by the step that encloses them. */
class PlannedSteps {
  private byParent = new Map<string | null, DrawingNode[]>()

  constructor(drawing: Drawing | null, private readonly store: TraceStore) {
    const titles = new Map(drawing?.nodes.map((node) => [node.id, node.title]))
    for (const node of drawing?.nodes ?? []) {
      if (isTerminal(node) || node.shape === 'note') continue
      const parent = node.parent ? titles.get(node.parent) ?? null : null
      const known = this.byParent.get(parent)
      if (known) known.push(node)
      else this.byParent.set(parent, [node])
    }
  }

  /** Planned steps directly below a step that runs, or on the outside of a run that is not over. */
  below(parent: string | null, ref: Ref): DrawingNode[] {
    if (!this.isOngoing(ref)) return []
    const known = new Set(this.store.stepsOf(ref).map((step) => step.step))
    return (this.byParent.get(parent) ?? []).filter((node) => !known.has(node.title) && (parent !== null || this.store.executions(node.title).length === 0))
  }

  inside(node: DrawingNode): DrawingNode[] {
    return this.byParent.get(node.title) ?? []
  }

  private isOngoing(ref: Ref): boolean {
    if (ref.kind === 'group') return false
    if (ref.kind === 'root') return this.store.isOngoing && this.store.isLoaded(ref) && this.store.childrenOf(ref).next === null
    const key = ref.kind === 'step' ? ref.key : ref.loop
    if (ref.kind === 'step' && this.store.isLoop(key)) return false
    const status = this.store.step(key)?.status
    if (!this.store.isOngoing || status === undefined || !['running', 'waiting_people', 'waiting_timer'].includes(status)) return false
    if (ref.kind === 'step') return true
    return this.store.rounds(ref.loop).find((record) => record.index === ref.index)?.ended == null
  }
}
