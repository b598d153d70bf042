import type { BranchOutcome, StepStatus } from '../api/types.ts'
import type { GraphEdge, GraphModel } from './model.ts'

/** The word for branches, on one line. */
export const NOT_TAKEN = 'not\u00a0taken'

/** What a run did with a node of the graph. */
export interface NodeState {
  status: StepStatus
  /** Milliseconds of work; null while it runs. */
  took: number | null
  /** The start, while it runs. */
  since: string | null
  attempts: number
  /** The iteration that is shown, such as `[1]`. */
  iteration: string | null
  /** The branch that a decision took. */
  branch: string | null
  /** The reason of the decision, in the engine's words. */
  sentence: string | null
  outcomes: Record<string, CellOutcome>
  votes: VoteState | null
  /** One line below the name instead of the type: "Waiting until 00:22", the last line of streamed text. */
  note: string | null
}

export interface CellOutcome {
  outcome: BranchOutcome
  /** `false: score is 0.7`, `not evaluated`. */
  text: string
}

export interface VoteState {
  filled: number
  of: number | null
  text: string
  deadline: string | null
}

/** The iterations of a loop, and which one the graph shows. */
export interface FrameState {
  status: StepStatus
  total: number
  done: number
  failed: number
  chosen: number | null
  /** One square for each iteration; empty above the number that fits. */
  squares: { index: number; status: StepStatus; label: string }[]
}

export type EdgeLook = 'open' | 'not' | 'taken' | 'fail' | 'live' | 'run'

/** Where edges share a line, the more important one is drawn above. */
export const EDGE_ORDER: EdgeLook[] = ['not', 'open', 'taken', 'fail', 'live', 'run']

/** How each edge is drawn: solid where the run passed, dashed where it did not. */
export function edgeLooks(model: GraphModel, states: ReadonlyMap<string, NodeState> | null): Map<string, EdgeLook> {
  const looks = new Map<string, EdgeLook>()
  for (const edge of model.edges) looks.set(edge.id, states === null || edge.kind === 'subagent' ? 'open' : edgeLook(edge, states))
  return looks
}

export function edgeLook(edge: GraphEdge, states: ReadonlyMap<string, NodeState>): EdgeLook {
  const from = states.get(edge.from)
  const to = states.get(edge.to)
  if (!from || !to) return 'open'
  if (from.status === 'skipped' || from.status === 'cancelled') return 'not'
  if (edge.cell !== null && from.branch !== null) return from.branch === edge.cell ? reached(edge, to) : 'not'
  if (from.status === 'pending') return 'open'
  if (edge.cell !== null) return hasBegun(to.status) ? reached(edge, to) : to.status === 'skipped' ? 'not' : 'open'
  if (from.status === 'failed' && !edge.failure) return hasBegun(to.status) ? reached(edge, to) : 'not'
  if (to.status === 'skipped') return 'not'
  if (from.status === 'completed' || from.status === 'blocked' || from.status === 'failed') return reached(edge, to)
  return hasBegun(to.status) ? reached(edge, to) : 'open'
}

function hasBegun(status: StepStatus): boolean {
  return status !== 'pending' && status !== 'skipped'
}

function reached(edge: GraphEdge, { status, branch }: NodeState): EdgeLook {
  if (edge.failure) return 'fail'
  // A decision that has chosen was passed, even while its branch still runs or waits.
  if (branch !== null) return 'taken'
  if (status === 'waiting_people') return 'live'
  if (status === 'running') return 'run'
  if (status === 'skipped') return 'not'
  return status === 'pending' ? 'open' : 'taken'
}

/** The deciding value of a sentence, short enough for a cell: `score is 0.7`. */
export function shortReason(sentence: string | null): string {
  if (sentence === null) return ''
  const bare = sentence.replace(/^(true|false) because /, '')
  return beforeComma(bare).replace(/\b[A-Za-z_$][\w$]*(?:\[[^\]]*\])?(?:\.[\w$-]+(?:\[[^\]]*\])?)*\.([A-Za-z_$][\w$-]*)/g, '$1')
}

/** The part before the first comma that is not inside quotes or brackets. */
function beforeComma(text: string): string {
  let depth = 0
  let quoted = false
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]
    if (letter === '\\') index++
    else if (letter === '"') quoted = !quoted
    else if (quoted) continue
    else if (letter === '[' || letter === '{' || letter === '(') depth++
    else if (letter === ']' || letter === '}' || letter === ')') depth--
    else if (letter === ',' && depth <= 0) return text.slice(0, index)
  }
  return text
}

/** The line below a branch: `true: score is 0.7`. */
export function outcomeText(outcome: BranchOutcome, sentence: string | null, error: string | null, isTaken: boolean): string {
  if (error !== null) return error
  const why = shortReason(sentence)
  if (outcome === 'true' || outcome === 'false') return why === '' ? outcome : `${outcome}: ${why}`
  if (isTaken || outcome === 'taken') return 'taken'
  return outcome === 'error' ? 'failed' : 'not evaluated'
}
