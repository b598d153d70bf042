import { useEffect, useMemo } from 'react'
import type { Approval, Drawing, RunDetail, Step } from '../../api/types.ts'
import type { FrameState, NodeState } from '../../graph/states.ts'
import { keyInRound, partsOf, type Ref } from './refs.ts'
import { type Chosen, frameStates, runStates } from './runStates.ts'
import type { TraceStore } from './traceStore.ts'
import { useChosenRounds } from './useChosenRounds.ts'
import type { RunView } from './useRunView.ts'

/** So many steps are loaded for the graph; more are loaded as the tree is opened. */
const MOST_STEPS = 4000

export interface GraphOfRun {
  states: Map<string, NodeState> | null
  frames: Map<string, FrameState>
  chosen: Chosen
  /** Shows another round of a loop. A selected step of the loop follows. */
  choose: (loop: string, index: number) => void
  /** The node where the run is now. */
  newest: string | null
  /** Opens the neighbouring round of a step in a loop; null outside of loops. */
  roundOf: (step: Step | undefined) => ((by: 1 | -1) => void) | null
}

export function useGraphOfRun({ run, drawing, store, version, view, approvals = NONE }: {
  run: RunDetail
  drawing: Drawing | null
  store: TraceStore
  version: number
  view: Pick<RunView, 'selected' | 'select'>
  approvals?: Approval[]
}): GraphOfRun {
  useEffect(() => void store.openAll(MOST_STEPS), [store])
  const { chosen, pick } = useChosenRounds(store, view.selected, version)
  const choose = (loop: string, index: number) => {
    const moved = view.selected && inRound(view.selected, loop, index, store)
    if (moved) view.select(moved)
    pick(loop, index)
  }
  const own = useMemo(() => approvals.filter((approval) => approval.run === run.id), [approvals, run.id])
  const isLoaded = store.isReady
  const states = useMemo(() => (drawing && isLoaded ? runStates(drawing, store, run, chosen, own) : null), [drawing, store, version, run, chosen, own, isLoaded])
  const frames = useMemo(() => (drawing ? frameStates(drawing, store, chosen) : new Map()), [drawing, store, version, chosen])
  const newest = useMemo(() => newestNode(drawing, states, run), [drawing, states, run])
  const roundOf = (step: Step | undefined) => {
    const round = step?.iterations.at(-1)
    if (!step || !round) return null
    return (by: 1 | -1) => choose(round.loop, Math.max(0, round.index + by))
  }
  return { states, frames, chosen, choose, newest, roundOf }
}

const NONE: Approval[] = []

/** The selected row in another round; null if it is not in the loop. */
function inRound(selected: Ref, loop: string, index: number, store: TraceStore): Ref | null {
  if (selected.kind === 'iteration') {
    const { step, loops } = partsOf(selected.loop)
    if (step === loop) return { ...selected, index }
    return loops.some(([name]) => name === loop) ? { ...selected, loop: keyInRound(selected.loop, loop, index) } : null
  }
  if (selected.kind !== 'step' || !partsOf(selected.key).loops.some(([name]) => name === loop)) return null
  const key = keyInRound(selected.key, loop, index)
  const rounds = partsOf(key).loops.map(([name, at]) => `${name}.${at}`).join()
  const known = store.executions(partsOf(key).step).find((step) => partsOf(step.key).loops.map(([name, at]) => `${name}.${at}`).join() === rounds)
  return { kind: 'step', key: known?.key ?? key }
}

const ACTIVE = new Set(['running', 'waiting_people', 'waiting_timer'])

/** The innermost step that runs or waits, as the server lists them. */
function newestNode(drawing: Drawing | null, states: Map<string, NodeState> | null, run: RunDetail): string | null {
  if (!drawing || !states) return null
  const current = new Set(run.current)
  const nodes = drawing.nodes.filter((node) => current.has(node.title) && ACTIVE.has(states.get(node.id)?.status ?? ''))
  return nodes.at(-1)?.id ?? null
}
