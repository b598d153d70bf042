import type { Iteration, Step, StepStatus, Usage } from '../../api/types.ts'

/** One round of a loop, with what its steps add up to. */
export interface IterationRecord {
  index: number
  item: unknown
  status: StepStatus
  began?: string | null
  ended?: string | null
  took_ms?: number | null
  usage: Usage
  steps: number
  retries?: number
}

/** Of these statuses, the first that any step has is the status of the whole. */
const ORDER: StepStatus[] = ['failed', 'waiting_people', 'waiting_timer', 'running', 'interrupted', 'completed', 'cancelled', 'blocked', 'skipped', 'pending']

export function worstStatus(statuses: Iterable<StepStatus>): StepStatus {
  const present = new Set(statuses)
  return ORDER.find((status) => present.has(status)) ?? 'pending'
}

/** The status that a row shows: gates that blocked, and parents whose child waits. */
export function shownStatus(step: Step): StepStatus {
  if (step.type === 'gate' && step.branch === 'blocked' && step.status === 'completed') return 'blocked'
  if (step.status !== 'running') return step.status
  if ((step.children_counts?.waiting_people ?? 0) > 0) return 'waiting_people'
  return (step.children_counts?.waiting_timer ?? 0) > 0 && !step.children_counts?.running ? 'waiting_timer' : 'running'
}

/** The iteration that a child of a loop belongs to; none for children of other steps. */
export function iterationIn(loop: Step | undefined, child: Step): Iteration | undefined {
  return child.iterations[loop?.iterations.length ?? 0]
}

/** The rounds of a loop whose steps are all known, in order. */
export function groupIterations(loop: Step, children: Step[]): IterationRecord[] {
  const groups = new Map<number, { iteration: Iteration; steps: Step[] }>()
  for (const child of children) {
    const iteration = iterationIn(loop, child)
    if (!iteration) continue
    const group = groups.get(iteration.index)
    if (group) group.steps.push(child)
    else groups.set(iteration.index, { iteration, steps: [child] })
  }
  return [...groups.values()].sort((a, b) => a.iteration.index - b.iteration.index).map(({ iteration, steps }) => recordOf(iteration, steps))
}

function recordOf(iteration: Iteration, steps: Step[]): IterationRecord {
  const began = steps.map((step) => step.began).filter((at) => at != null).sort()[0] ?? null
  const isOver = steps.every((step) => step.ended != null || step.status === 'skipped')
  const ended = isOver ? steps.map((step) => step.ended).filter((at) => at != null).sort().at(-1) ?? null : null
  return {
    index: iteration.index, item: iteration.item, status: worstStatus(steps.map(shownStatusWithoutGate)), began, ended,
    took_ms: began && ended ? Date.parse(ended) - Date.parse(began) : null,
    usage: { tokens: sum(steps, (step) => step.usage?.tokens ?? 0), cost_micros: sum(steps, (step) => step.usage?.cost_micros ?? 0) },
    steps: steps.length, retries: sum(steps, (step) => Math.max(0, step.attempts.length - 1)),
  }
}

/** A gate that blocks ends its iteration in order. */
function shownStatusWithoutGate(step: Step): StepStatus {
  const status = shownStatus(step)
  return status === 'blocked' ? 'completed' : status
}

function sum<T>(items: T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0)
}

const MOST_RANGES = 3

/** How many rounds have each status, and the first ranges of them. */
export function countRounds(rounds: IterationRecord[]): { counts: Record<string, number>; ranges: Record<string, [number, number][]> } {
  const counts: Record<string, number> = {}
  const ranges: Record<string, [number, number][]> = {}
  for (const { status, index } of rounds) {
    counts[status] = (counts[status] ?? 0) + 1
    const known = (ranges[status] ??= [])
    const last = known[known.length - 1]
    if (last && last[1] === index - 1) last[1] = index
    else if (known.length < MOST_RANGES) known.push([index, index])
  }
  return { counts, ranges }
}

/** A short text for an item: itself if it is short, or its id or name. */
export function itemText(item: unknown): string | null {
  if (typeof item === 'string') return item.length > 0 ? item : null
  if (typeof item === 'number' || typeof item === 'boolean') return String(item)
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return null
  const record = item as Record<string, unknown>
  const name = record.id ?? record.name ?? record.title ?? record.key
  return typeof name === 'string' || typeof name === 'number' ? String(name) : null
}

/** `[118], [4096]`, `[0] to [9411]` */
export function rangesText(ranges: [number, number][] | undefined): string {
  return (ranges ?? []).map(([first, last]) => (first === last ? `[${first}]` : `[${first}] to [${last}]`)).join(', ')
}
