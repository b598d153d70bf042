import { useEffect, useSyncExternalStore } from 'react'
import type { Step } from '../../api/types.ts'
import { withPiece } from '../../live/text.ts'
import { countRounds, groupIterations, iterationIn, type IterationRecord } from './iterations.ts'
import { type Ref, ROOT, refId, refOf } from './refs.ts'
import { fetchChildren, fetchIterations, fetchStep, fetchSteps, type Loaded } from './traceRequests.ts'

/** What is known of the children of a row. */
export interface Children {
  /** The keys of steps. */
  keys: string[]
  /** The rounds of a loop that the server groups. */
  iterations: IterationRecord[]
  next: string | null
  loading: boolean
  error: unknown
  counts: Record<string, number>
  ranges: Record<string, [number, number][]>
  omitted: Loaded['omitted']
  total: number
}

const NOTHING: Children = { keys: [], iterations: [], next: null, loading: false, error: null, counts: {}, ranges: {}, omitted: null, total: 0 }
/** How often the counts of a large loop are read again while it runs. */
const RECOUNT_MS = 1000
/** Loops with more rounds are shown by status first. */
export const GROUPED_FROM = 51

/**
 * The steps of one run, loaded in pages per parent, patched by live events.
 *
 * A store of its own rather than query results: a run can have ten thousand steps, and a burst of deltas must be one render.
 */
export class TraceStore {
  private steps = new Map<string, Step>()
  private byStep = new Map<string, Set<string>>()
  private children = new Map<string, Children>()
  /** Loops with more steps than one page: their rounds come from the server. */
  private large = new Set<string>()
  private texts = new Map<string, string>()
  /** Counts live changes; the last one of each step. A response is older than the changes since its request. */
  private changes = 0
  private changedAt = new Map<string, number>()
  private recounts = new Map<string, ReturnType<typeof setTimeout>>()
  private listeners = new Set<() => void>()
  private version = 0
  private scheduled = false
  /** Enough is known to draw the graph, so that it does not change while the rest is loaded. */
  isReady = false
  private wasLeft = false
  /** The request for all steps; whether there were few enough. */
  private deep: Promise<boolean> | null = null

  /** Whether the run can still reach further steps. The page sets it from the run. */
  isOngoing = false

  constructor(readonly run: string) {}

  subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  snapshot = () => this.version

  private changed(): void {
    this.version++
    if (this.scheduled) return
    this.scheduled = true
    queueMicrotask(() => {
      this.scheduled = false
      for (const listener of this.listeners) listener()
    })
  }

  step(key: string): Step | undefined {
    return this.steps.get(key)
  }

  /** The known executions of a step. */
  executions(step: string): Step[] {
    return [...(this.byStep.get(step) ?? [])].map((key) => this.steps.get(key)).filter((found) => found !== undefined)
  }

  allSteps(): Iterable<Step> {
    return this.steps.values()
  }

  /** Model text that has streamed so far for a step that runs. */
  text(key: string): string | undefined {
    return this.texts.get(key)
  }

  childrenOf(ref: Ref): Children {
    return this.children.get(refId(ref)) ?? NOTHING
  }

  stepsOf(ref: Ref): Step[] {
    if (ref.kind === 'iteration' && !this.large.has(ref.loop)) {
      const loop = this.steps.get(ref.loop)
      return this.stepsOf({ kind: 'step', key: ref.loop }).filter((step) => iterationIn(loop, step)?.index === ref.index)
    }
    return this.childrenOf(ref).keys.map((key) => this.steps.get(key)).filter((step) => step !== undefined)
  }

  isLoaded(ref: Ref): boolean {
    const children = this.children.get(refId(ref))
    return children !== undefined && (!children.loading || children.keys.length + children.iterations.length > 0)
  }

  /** Whether the children of a step are rounds of a loop. */
  isLoop(key: string): boolean {
    if (this.large.has(key)) return true
    const first = this.stepsOf({ kind: 'step', key })[0]
    return first !== undefined && iterationIn(this.steps.get(key), first) !== undefined
  }

  isLarge(key: string): boolean {
    return this.large.has(key)
  }

  /** The steps whose children are known to be rounds. */
  loops(): Step[] {
    const loops: Step[] = []
    for (const id of this.children.keys()) {
      const step = this.steps.get(id)
      if (step && this.isLoop(id)) loops.push(step)
    }
    return loops
  }

  /** The known rounds of a loop. */
  rounds(key: string): IterationRecord[] {
    const loop = this.steps.get(key)
    if (!loop) return []
    return this.large.has(key) ? this.childrenOf({ kind: 'step', key }).iterations : groupIterations(loop, this.stepsOf({ kind: 'step', key }))
  }

  /** The number of steps, of which those of large loops need not be loaded. */
  count(): number {
    let unloaded = 0
    for (const key of this.large) {
      const own = Object.values(this.steps.get(key)?.children_counts ?? {}).reduce((sum, count) => sum + count, 0)
      const loaded = [...this.steps.values()].filter((step) => step.parent === key).length
      unloaded += Math.max(0, own - loaded)
    }
    return this.steps.size + unloaded
  }

  /** The rounds of a loop by status: their numbers, and where they are. */
  groups(key: string): Pick<Children, 'counts' | 'ranges' | 'total'> {
    if (this.large.has(key)) return this.childrenOf({ kind: 'step', key })
    const rounds = this.rounds(key)
    const items = this.steps.get(key)?.items ?? 0
    const groups = countRounds(rounds)
    return { ...groups, counts: items > rounds.length ? { ...groups.counts, pending: items - rounds.length } : groups.counts, total: Math.max(rounds.length, items) }
  }

  /** The known rounds of a loop with a status. */
  roundsOf(key: string, status: string): IterationRecord[] {
    if (this.large.has(key)) return this.childrenOf({ kind: 'group', loop: key, status }).iterations
    return this.rounds(key).filter((round) => round.status === status)
  }

  get size(): number {
    return this.steps.size
  }

  /** Loads the first page of a row's children, once. */
  async open(ref: Ref): Promise<void> {
    if ((ref.kind === 'iteration' || ref.kind === 'group') && !this.large.has(ref.loop)) return this.open({ kind: 'step', key: ref.loop })
    if (this.children.has(refId(ref))) return
    // The list of all steps is on its way: it has these, too.
    if (ref.kind !== 'root' && this.deep) await this.deep
    if (!this.children.has(refId(ref))) await this.load(ref)
  }

  /** Loads the next page of a row's children. */
  async load(ref: Ref): Promise<void> {
    const id = refId(ref)
    const known = this.children.get(id) ?? NOTHING
    if (known.loading) return
    this.children.set(id, { ...known, loading: true, error: null })
    this.changed()
    const since = this.changes
    try {
      this.accept(id, known, await this.request(ref, known.next), since)
      if (ref.kind === 'step' && !this.large.has(ref.key) && this.childrenOf(ref).next !== null && this.isLoop(ref.key)) {
        this.large.add(ref.key)
        this.accept(id, NOTHING, await this.request(ref, null), since)
      }
    } catch (error) {
      this.children.set(id, { ...(this.children.get(id) ?? known), loading: false, error })
    }
    this.changed()
  }

  private request(ref: Ref, cursor: string | null): Promise<Loaded> {
    if (ref.kind === 'group') return fetchIterations(this.run, ref.loop, ref.status, cursor)
    if (ref.kind === 'step' && this.large.has(ref.key)) return fetchIterations(this.run, ref.key, null, cursor)
    if (ref.kind === 'iteration') return fetchChildren(this.run, { parent: ref.loop, iteration: ref.index, cursor })
    return fetchChildren(this.run, { parent: ref.kind === 'step' ? ref.key : null, cursor })
  }

  private accept(id: string, known: Children, page: Loaded, since: number): void {
    const keys = new Set(known.keys)
    for (const step of page.steps) {
      this.putLoaded(step, since)
      keys.add(step.key)
    }
    const isGrouped = page.iterations.length > 0
    this.children.set(id, {
      keys: isGrouped ? [] : [...keys], iterations: [...known.iterations, ...page.iterations], next: page.next, loading: false, error: null, counts: page.counts,
      ranges: page.ranges, omitted: page.omitted, total: page.total,
    })
  }

  /** Keeps a step of a response, unless a live change since its request is newer. */
  private putLoaded(step: Step, since: number): void {
    if ((this.changedAt.get(step.key) ?? 0) <= since) this.put(step)
  }

  private put(step: Step): void {
    this.steps.set(step.key, { ...this.steps.get(step.key), ...step })
    const known = this.byStep.get(step.step)
    if (known) known.add(step.key)
    else this.byStep.set(step.step, new Set([step.key]))
  }

  /** Loads all steps of a run with up to `limit` of them: what the graph needs. Of larger runs the outer steps are loaded, and the chosen rounds of loops. */
  async openAll(limit: number): Promise<void> {
    this.deep ??= this.openDeep(limit)
    const isWhole = await this.deep
    this.isReady = true
    this.changed()
    if (isWhole) return
    await this.openWhole(ROOT, limit)
    const queue = [...this.childrenOf(ROOT).keys]
    for (let key = queue.shift(); key !== undefined && this.steps.size < limit; key = queue.shift()) {
      if (!this.steps.get(key)?.has_children) continue
      await this.openWhole({ kind: 'step', key }, limit)
      queue.push(...this.childrenOf({ kind: 'step', key }).keys)
    }
  }

  /** Reads all steps in one list rather than parent by parent. Answers whether there were few enough. */
  private async openDeep(limit: number): Promise<boolean> {
    void this.open(ROOT)
    const since = this.changes
    try {
      let page = await fetchSteps(this.run, {}, null)
      if (page.total > limit) return false
      const steps = [...page.steps]
      while (page.next !== null) {
        this.learn(page.steps)
        page = await fetchSteps(this.run, {}, page.next)
        steps.push(...page.steps)
      }
      this.fill(steps, since)
      return true
    } catch {
      // Parent by parent, each part shows its own error.
      return false
    }
  }

  private fill(steps: Step[], since: number): void {
    const byParent = new Map<string, Step[]>()
    for (const step of steps) {
      this.putLoaded(step, since)
      const siblings = byParent.get(step.parent ?? '')
      if (siblings) siblings.push(step)
      else byParent.set(step.parent ?? '', [step])
    }
    for (const [parent, own] of byParent) {
      const known = this.children.get(parent)
      // What live events have added in the meantime stays.
      const keys = [...new Set([...own.map((step) => step.key), ...(known?.keys ?? [])])]
      this.children.set(parent, { ...NOTHING, omitted: known?.omitted ?? null, keys, total: keys.length })
    }
    this.changed()
  }

  private async openWhole(ref: Ref, limit: number): Promise<void> {
    await this.open(ref)
    const isRounds = ref.kind === 'step' && this.large.has(ref.key)
    while (!isRounds && this.childrenOf(ref).next !== null && this.childrenOf(ref).error === null && this.steps.size < limit) await this.load(ref)
  }

  /** Opens every ancestor of a row, so that it exists. Answers with their ids. */
  async reveal(ref: Ref): Promise<string[]> {
    const ancestors: string[] = []
    let step: Step | undefined
    if (ref.kind === 'iteration' || ref.kind === 'group') {
      await this.open({ kind: 'step', key: ref.loop })
      ancestors.unshift(ref.loop)
      step = await this.find(ref.loop)
    } else if (ref.kind === 'step') step = await this.find(ref.key)
    while (step?.parent) {
      const parent: Step | undefined = await this.find(step.parent)
      await this.open({ kind: 'step', key: step.parent })
      const iteration = parent && iterationIn(parent, step)
      if (parent && iteration) {
        const round: Ref = { kind: 'iteration', loop: parent.key, index: iteration.index }
        await this.open(round)
        ancestors.unshift(refId(round))
      }
      ancestors.unshift(step.parent)
      step = parent
    }
    return ancestors
  }

  async find(key: string): Promise<Step | undefined> {
    const known = this.steps.get(key)
    if (known) return known
    const since = this.changes
    try {
      this.putLoaded(await fetchStep(this.run, key), since)
      this.changed()
      return this.steps.get(key)
    } catch {
      return undefined
    }
  }

  /** Keeps steps that were found by a search. Their places in the tree are loaded when they are opened. */
  learn(steps: Step[]): void {
    const unknown = steps.filter((step) => !this.steps.has(step.key))
    for (const step of unknown) this.put(step)
    if (unknown.length > 0) this.changed()
  }

  /** Applies a delta: the newest record of one step. */
  merge(step: Step): void {
    this.changedAt.set(step.key, ++this.changes)
    this.put(step)
    const parent: Ref = step.parent ? { kind: 'step', key: step.parent } : ROOT
    const holder = step.parent ? this.steps.get(step.parent) : undefined
    const iteration = holder && iterationIn(holder, step)
    if (holder && this.large.has(holder.key) && iteration) {
      this.append({ kind: 'iteration', loop: holder.key, index: iteration.index }, step.key)
      this.recount(holder.key)
    } else this.append(parent, step.key)
    if (holder && !holder.has_children) this.put({ ...holder, has_children: true })
    if (step.status !== 'running') this.texts.delete(step.key)
    this.changed()
  }

  private append(ref: Ref, key: string): void {
    const known = this.children.get(refId(ref))
    if (!known || known.next !== null || known.keys.includes(key)) return
    this.children.set(refId(ref), { ...known, keys: [...known.keys, key], total: known.total + 1 })
  }

  /** Reads the counts of a large loop again, and the groups and rounds that are open. */
  private recount(loop: string): void {
    if (this.recounts.has(loop)) return
    this.recounts.set(loop, setTimeout(() => {
      this.recounts.delete(loop)
      for (const id of [...this.children.keys()]) {
        const ref = refOf(id)
        if (id === loop || (ref.kind === 'group' && ref.loop === loop)) void this.refresh(ref)
      }
    }, RECOUNT_MS))
  }

  private async refresh(ref: Ref): Promise<void> {
    const since = this.changes
    try {
      this.accept(refId(ref), NOTHING, await this.request(ref, null), since)
      this.changed()
    } catch {
      // The next change reads it again; a lost connection is shown by the bar of the page.
    }
  }

  appendText(key: string, text: string, offset: number): void {
    this.texts.set(key, withPiece(this.texts.get(key) ?? '', text, offset))
    this.changed()
  }

  /** A page shows the run until the returned function is called. What changed since the visit before is loaded. */
  visit(): () => void {
    if (this.wasLeft) this.reload()
    this.wasLeft = false
    return () => {
      this.wasLeft = true
    }
  }

  /** Loads again what was open. What is known stays until the answers arrive, so that nothing disappears. */
  reload(): void {
    for (const id of [...this.children.keys()]) void this.refresh(refOf(id))
  }
}

const stores = new Map<string, TraceStore>()

/** The store of a run. The last few runs stay in memory, so going back is immediate. */
export function traceStore(run: string): TraceStore {
  let store = stores.get(run)
  if (!store) {
    store = new TraceStore(run)
    stores.set(run, store)
    if (stores.size > 6) {
      const oldest = stores.keys().next().value
      if (oldest !== undefined && oldest !== run) stores.delete(oldest)
    }
  }
  return store
}

/** The store of a run; the component renders when any of its steps changes. */
export function useTrace(run: string): TraceStore {
  const store = traceStore(run)
  useSyncExternalStore(store.subscribe, store.snapshot)
  useEffect(() => store.visit(), [store])
  return store
}
