import type { Approval, Decision, Drawing, DrawingNode, RunDetail, Step } from '../../api/types.ts'
import { type CellOutcome, type FrameState, type NodeState, NOT_TAKEN, outcomeText, type VoteState } from '../../graph/states.ts'
import { isTerminal } from '../../graph/model.ts'
import { clock, formatCount } from '../../ui/format.ts'
import { leadingVotes } from '../../ui/Pips.tsx'
import { type IterationRecord, itemText, shownStatus } from './iterations.ts'
import type { TraceStore } from './traceStore.ts'

/** The rounds of loops that the graph shows, by the id of the loop. */
export type Chosen = ReadonlyMap<string, number>

const MOST_SQUARES = 8

/** What a run did, for every node of its graph, in the chosen rounds of loops. */
export function runStates(drawing: Drawing, store: TraceStore, run: RunDetail, chosen: Chosen, approvals: Approval[]): Map<string, NodeState> {
  const states = new Map<string, NodeState>()
  const isOver = run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled'
  for (const node of drawing.nodes) {
    if (isTerminal(node)) states.set(node.id, terminalState(node, run))
    else {
      const step = shownExecution(store.executions(node.title), chosen)
      const parent = node.parent ? states.get(node.parent) : undefined
      const isSkipped = isOver || parent?.status === 'skipped'
      states.set(node.id, step ? stepState(step, store, run, approvals) : { ...NO_STATE, status: isSkipped ? 'skipped' : 'pending' })
    }
  }
  return states
}

const NO_STATE: NodeState = { status: 'pending', took: null, since: null, attempts: 0, iteration: null, branch: null, sentence: null, outcomes: {}, votes: null, note: null }

function terminalState(node: DrawingNode, run: RunDetail): NodeState {
  const isReached = node.kind === 'start' || node.shape === 'start' || run.status === 'completed'
  return { ...NO_STATE, status: isReached ? 'completed' : run.status === 'failed' || run.status === 'cancelled' ? 'skipped' : 'pending' }
}

/** The newest execution in the chosen rounds. */
export function shownExecution(executions: Step[], chosen: Chosen): Step | undefined {
  let best: Step | undefined
  for (const step of executions) {
    if (step.iterations.some((iteration) => (chosen.get(iteration.loop) ?? 0) !== iteration.index)) continue
    if (!best || step.run > best.run) best = step
  }
  return best
}

function stepState(step: Step, store: TraceStore, run: RunDetail, approvals: Approval[]): NodeState {
  const decision = mainDecision(step)
  const status = shownStatus(step)
  const iteration = step.iterations[step.iterations.length - 1]
  return {
    status,
    took: step.took_ms ?? null,
    since: step.status === 'running' && !step.has_children ? step.began ?? null : null,
    attempts: step.attempts.length,
    iteration: iteration ? `[${iteration.index}]` : null,
    branch: decision && decision.kind !== 'approval' ? decision.chosen ?? step.branch ?? null : step.branch ?? null,
    sentence: decision?.sentence ?? null,
    outcomes: decision ? outcomesOf(decision) : {},
    votes: votesOf(step, decision, approvals),
    note: noteOf(step, store, run),
  }
}

/** The decision that chose the branch of a step: not those about retries, items or budgets. */
export function mainDecision(step: Step): Decision | undefined {
  return step.decisions.findLast((decision) => BRANCHING.has(decision.kind))
}

const BRANCHING = new Set(['branch', 'switch', 'gate', 'transition', 'approval'])

function outcomesOf(decision: Decision): Record<string, CellOutcome> {
  const outcomes: Record<string, CellOutcome> = {}
  for (const branch of decision.branches) {
    const isTaken = branch.name === decision.chosen
    const error = branch.error?.message ?? null
    const hasNoCondition = branch.sentence == null && (decision.kind === 'transition' || branch.condition == null) && branch.outcome !== 'not_evaluated'
    const text = hasNoCondition ? (isTaken ? 'taken' : NOT_TAKEN) : outcomeText(branch.outcome, branch.sentence ?? null, error, isTaken)
    outcomes[branch.name] = { outcome: branch.outcome, text }
  }
  return outcomes
}

interface ApprovalFacts {
  required?: number | null
  votes?: { user: string; choice: string; at: string }[]
}

function votesOf(step: Step, decision: Decision | undefined, approvals: Approval[]): VoteState | null {
  const open = approvals.find((approval) => approval.step === step.step && approval.status === 'open')
  if (step.status === 'waiting_people' && open) {
    const { count } = leadingVotes(open)
    const text = open.required == null ? 'Anyone can answer' : `${count} of ${open.required} ${open.required === 1 ? 'vote' : 'votes'}`
    return { filled: count, of: open.required ?? null, text, deadline: open.deadline ?? null }
  }
  if (decision?.kind !== 'approval') return null
  const facts = (decision.approval ?? {}) as ApprovalFacts
  const given = facts.votes?.filter((vote) => vote.choice === decision.chosen).length ?? 0
  const filled = given > 0 ? given : Math.max(0, facts.votes?.length ?? 0)
  const at = step.ended ? ` · ${clock(new Date(step.ended))}` : ''
  return { filled, of: facts.required ?? null, text: `${decision.chosen ?? 'answered'}${facts.required && given > 0 ? `, ${given} of ${facts.required} votes` : ''}${at}`, deadline: null }
}

function noteOf(step: Step, store: TraceStore, run: RunDetail): string | null {
  if (step.status === 'waiting_timer') return run.waiting_for?.until ? `Waiting until ${clock(new Date(run.waiting_for.until))}` : 'Waiting for timer'
  if (step.status !== 'running') return null
  const text = store.text(step.key)
  return text ? text.trimEnd().split('\n').at(-1)?.slice(-60) ?? null : null
}

/** The rounds of each loop, for its frame. */
export function frameStates(drawing: Drawing, store: TraceStore, chosen: Chosen): Map<string, FrameState> {
  const frames = new Map<string, FrameState>()
  for (const node of drawing.nodes) {
    if (node.shape !== 'loop') continue
    const loop = shownExecution(store.executions(node.title), chosen)
    if (loop) frames.set(node.id, frameOf(loop, store, chosen.get(node.title) ?? 0))
  }
  return frames
}

function frameOf(loop: Step, store: TraceStore, chosen: number): FrameState {
  const rounds = store.rounds(loop.key)
  const { counts, total } = store.childrenOf({ kind: 'step', key: loop.key })
  const isLarge = store.isLarge(loop.key)
  const known = isLarge ? total : Math.max(rounds.length, loop.items ?? 0)
  const done = isLarge ? known - (counts.pending ?? 0) - (counts.running ?? 0) - (counts.waiting_people ?? 0) : rounds.filter((round) => round.ended != null).length
  const squares = known <= MOST_SQUARES && !isLarge ? rounds.map((round) => ({ index: round.index, status: squareStatus(round, loop, store), label: squareLabel(round) })) : []
  const failed = isLarge ? counts.failed ?? 0 : rounds.filter((round) => round.status === 'failed').length
  return { status: shownStatus(loop), total: known, done, failed, chosen: rounds.length > 0 || isLarge ? chosen : null, squares }
}

/** A round that a gate ended early is drawn dashed. */
function squareStatus(round: IterationRecord, loop: Step, store: TraceStore): IterationRecord['status'] {
  const isBlocked = store.stepsOf({ kind: 'iteration', loop: loop.key, index: round.index }).some((step) => step.reason === 'gate_blocked')
  return isBlocked && round.status === 'completed' ? 'skipped' : round.status
}

function squareLabel(round: IterationRecord): string {
  const item = itemText(round.item)
  return item === null ? `[${formatCount(round.index)}]` : `[${formatCount(round.index)}] ${item}`
}
