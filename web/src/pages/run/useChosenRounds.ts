import { useEffect, useMemo, useState } from 'react'
import type { StepStatus } from '../../api/types.ts'
import { type Ref, partsOf } from './refs.ts'
import type { Chosen } from './runStates.ts'
import type { TraceStore } from './traceStore.ts'

/** The round of each loop that the graph, the panel and the tree show: the selected one, the one a person chose, or the most interesting one. */
export function useChosenRounds(store: TraceStore, selected: Ref | null, version: number): { chosen: Chosen; pick: (loop: string, index: number) => void } {
  const [picked, setPicked] = useState<ReadonlyMap<string, number>>(new Map())
  const ofSelection = useMemo(() => roundsOf(selected), [selected])
  useEffect(() => {
    if (ofSelection.size > 0) setPicked((before) => new Map([...before, ...ofSelection]))
  }, [ofSelection])
  const chosen = useMemo(() => {
    const rounds = new Map<string, number>()
    for (const loop of store.loops()) if (!rounds.has(loop.step)) rounds.set(loop.step, interesting(store, loop.key))
    return new Map([...rounds, ...picked, ...ofSelection])
  }, [store, version, picked, ofSelection])
  useEffect(() => {
    for (const loop of store.loops()) if (store.isLarge(loop.key)) void store.open({ kind: 'iteration', loop: loop.key, index: chosen.get(loop.step) ?? 0 })
  }, [store, version, chosen])
  return { chosen, pick: (loop, index) => setPicked((before) => new Map(before).set(loop, index)) }
}

function roundsOf(ref: Ref | null): Map<string, number> {
  if (ref === null || ref.kind === 'root' || ref.kind === 'group') return new Map()
  const { step, loops } = partsOf(ref.kind === 'step' ? ref.key : ref.loop)
  return new Map(ref.kind === 'iteration' ? [...loops, [step, ref.index]] : loops)
}

const INTERESTING: StepStatus[] = ['waiting_people', 'running', 'waiting_timer', 'failed']

function interesting(store: TraceStore, loop: string): number {
  const rounds = store.rounds(loop)
  for (const status of INTERESTING) {
    const round = rounds.find((candidate) => candidate.status === status)
    if (round) return round.index
  }
  return rounds[0]?.index ?? 0
}
