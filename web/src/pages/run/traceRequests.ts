import { get, query, segment } from '../../api/client.ts'
import type { Page, Step, StepPage } from '../../api/types.ts'
import type { IterationRecord } from './iterations.ts'

const PAGE = 200

/** A page of steps, or of the rounds of a loop. */
export interface Loaded {
  steps: Step[]
  iterations: IterationRecord[]
  next: string | null
  counts: Record<string, number>
  ranges: Record<string, [number, number][]>
  omitted: { before: number; steps: number; after: number } | null
  total: number
}

const EMPTY: Loaded = { steps: [], iterations: [], next: null, counts: {}, ranges: {}, omitted: null, total: 0 }

export async function fetchChildren(run: string, request: { parent: string | null; iteration?: number; cursor: string | null }): Promise<Loaded> {
  return fromPage(await get<StepPage>(`/runs/${segment(run)}/trace${query({ ...request, limit: PAGE })}`))
}

/** Steps of any depth: search, failures, decisions. */
export async function fetchSteps(run: string, filter: StepFilter, cursor: string | null): Promise<Loaded> {
  return fromPage(await get<StepPage>(`/runs/${segment(run)}/trace${query({ deep: true, limit: PAGE, ...filter, cursor })}`))
}

export interface StepFilter {
  q?: string
  state?: string
  /** The exact id of a step. */
  step?: string
  decisions?: boolean
  /** Only steps after this key. */
  after?: string
  limit?: number
}

function fromPage(page: StepPage): Loaded {
  return { ...EMPTY, steps: page.items, next: page.next ?? null, counts: page.counts ?? {}, omitted: page.omitted ?? null, total: page.total ?? page.items.length }
}

interface IterationPage extends Page<IterationRecord> {
  counts?: Record<string, number>
  ranges?: Record<string, [number, number][]>
  total?: number
}

export async function fetchIterations(run: string, loop: string, state: string | null, cursor: string | null): Promise<Loaded> {
  const page = await get<IterationPage>(`/runs/${segment(run)}/trace/${segment(loop)}/iterations${query({ state, cursor, limit: PAGE })}`)
  return { ...EMPTY, iterations: page.items, next: page.next ?? null, counts: page.counts ?? {}, ranges: page.ranges ?? {}, total: page.total ?? page.items.length }
}

export async function fetchStep(run: string, key: string): Promise<Step> {
  return get<Step>(`/runs/${segment(run)}/trace/${segment(key)}`)
}
