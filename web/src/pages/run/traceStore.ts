import { useSyncExternalStore } from 'react'
import { get, query, segment } from '../../api/client.ts'
import type { Step, StepPage } from '../../api/types.ts'

export const ROOT = ''
const PAGE = 200

export interface Children {
  keys: string[]
  next: string | null
  loading: boolean
  error: unknown
  counts: Record<string, number>
  omitted: { before: number; steps: number; after: number } | null
  total: number
}

const NO_CHILDREN: Children = { keys: [], next: null, loading: false, error: null, counts: {}, omitted: null, total: 0 }

/**
 * The steps of one run, loaded in pages per parent, patched by live events.
 *
 * A store of its own rather than query results: a run can have ten thousand steps, and a burst of deltas must be one render.
 */
export class TraceStore {
  private steps = new Map<string, Step>()
  private children = new Map<string, Children>()
  private texts = new Map<string, string>()
  private listeners = new Set<() => void>()
  private version = 0
  private scheduled = false

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

  /** Model text that has streamed so far for a step that runs. */
  text(key: string): string | undefined {
    return this.texts.get(key)
  }

  childrenOf(parent: string): Children {
    return this.children.get(parent) ?? NO_CHILDREN
  }

  isLoaded(parent: string): boolean {
    return this.children.has(parent)
  }

  allSteps(): Iterable<Step> {
    return this.steps.values()
  }

  get size(): number {
    return this.steps.size
  }

  /** Loads the first page of a parent's children, once. */
  async open(parent: string): Promise<void> {
    if (!this.children.has(parent)) await this.load(parent)
  }

  /** Loads the next page of a parent's children. */
  async load(parent: string): Promise<void> {
    const known = this.children.get(parent) ?? { ...NO_CHILDREN, keys: [] }
    if (known.loading) return
    this.children.set(parent, { ...known, loading: true, error: null })
    this.changed()
    try {
      const path = `/runs/${segment(this.run)}/trace${query({ parent: parent === ROOT ? null : parent, cursor: known.next, limit: PAGE })}`
      this.accept(parent, known, await get<StepPage>(path))
    } catch (error) {
      this.children.set(parent, { ...known, loading: false, error })
    }
    this.changed()
  }

  private accept(parent: string, known: Children, page: StepPage): void {
    const keys = [...known.keys]
    const seen = new Set(keys)
    for (const step of page.items) {
      this.steps.set(step.key, { ...this.steps.get(step.key), ...step })
      if (!seen.has(step.key)) keys.push(step.key)
    }
    this.children.set(parent, {
      keys,
      next: page.next ?? null,
      loading: false,
      error: null,
      counts: page.counts ?? known.counts,
      omitted: page.omitted ?? null,
      total: page.total ?? keys.length,
    })
  }

  /** Loads the children of every container, up to a number of steps: what the graph needs. */
  async openAll(limit: number): Promise<void> {
    await this.open(ROOT)
    const queue = [...this.childrenOf(ROOT).keys]
    while (queue.length > 0 && this.steps.size < limit) {
      const step = this.steps.get(queue.shift() ?? '')
      if (!step?.has_children) continue
      await this.open(step.key)
      queue.push(...this.childrenOf(step.key).keys)
    }
  }

  /** Opens every ancestor of a step, so that its row exists. */
  async reveal(key: string): Promise<string[]> {
    const ancestors: string[] = []
    let current = this.steps.get(key) ?? (await this.fetchStep(key))
    while (current?.parent) {
      ancestors.unshift(current.parent)
      await this.open(current.parent)
      current = this.steps.get(current.parent) ?? (await this.fetchStep(current.parent))
    }
    return ancestors
  }

  private async fetchStep(key: string): Promise<Step | undefined> {
    try {
      const step = await get<Step>(`/runs/${segment(this.run)}/trace/${segment(key)}`)
      this.steps.set(step.key, { ...step, ...this.steps.get(step.key) })
      return this.steps.get(step.key)
    } catch {
      return undefined
    }
  }

  /** Applies a delta: the newest record of one step. */
  merge(step: Step): void {
    this.steps.set(step.key, { ...this.steps.get(step.key), ...step })
    const parent = step.parent ?? ROOT
    const siblings = this.children.get(parent)
    if (siblings && siblings.next === null && !siblings.keys.includes(step.key)) {
      this.children.set(parent, { ...siblings, keys: [...siblings.keys, step.key], total: siblings.total + 1 })
    }
    if (step.parent) {
      const holder = this.steps.get(step.parent)
      if (holder && !holder.has_children) this.steps.set(step.parent, { ...holder, has_children: true })
    }
    if (step.status !== 'running') this.texts.delete(step.key)
    this.changed()
  }

  appendText(key: string, text: string, offset: number): void {
    const known = this.texts.get(key) ?? ''
    this.texts.set(key, known.slice(0, offset) + text)
    this.changed()
  }

  /** Forgets everything and loads again what was open. */
  reload(): void {
    const open = [...this.children.keys()]
    this.children.clear()
    this.changed()
    for (const parent of open) void this.open(parent)
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
  return store
}
