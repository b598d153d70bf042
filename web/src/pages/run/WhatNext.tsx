import type { Decision, Step } from '../../api/types.ts'
import { StatusIcon } from '../../ui/StatusIcon.tsx'
import { iterationIn, shownStatus } from './iterations.ts'
import { ROOT } from './refs.ts'
import type { TraceStore } from './traceStore.ts'
import { SKIPPED } from './words.ts'

interface Consequence {
  step: Step
  words: string
}

/** What a gate led to: the steps that it skipped, and where the loop continued. Other decisions show it in the graph. */
export function WhatNext({ step, decision, store, onOpen }: { step: Step; decision: Decision; store: TraceStore; onOpen: (key: string) => void }) {
  if (decision.kind !== 'gate') return null
  const consequences = consequencesOf(step, store)
  if (consequences.length === 0) return null
  return (
    <>
      <p className="section">What happened next</p>
      <div className="values">
        {consequences.map(({ step: next, words }) => (
          <button key={next.key} type="button" onClick={() => onOpen(next.key)}>
            <StatusIcon status={shownStatus(next)} />
            <span>{next.step} {next.iterations.length > 0 && <span className="muted num">[{next.iterations.at(-1)?.index}]</span>}</span>
            <span className="grow" />
            <span className="muted small">{words}</span>
          </button>
        ))}
      </div>
    </>
  )
}

function consequencesOf(step: Step, store: TraceStore): Consequence[] {
  const parent = step.parent ? store.step(step.parent) : undefined
  const round = parent && iterationIn(parent, step)
  const around = store.stepsOf(parent ? (round ? { kind: 'iteration', loop: parent.key, index: round.index } : { kind: 'step', key: parent.key }) : ROOT)
  const isBlocked = step.branch === 'blocked'
  const later = around.filter((other) => other.key !== step.key && (other.began ?? '') >= (step.ended ?? step.began ?? '') && (isBlocked ? other.reason === 'gate_blocked' : other.status !== 'skipped'))
  const list: Consequence[] = later.slice(0, isBlocked ? 5 : 1).map((next) => ({ step: next, words: next.status === 'skipped' ? `skipped: ${SKIPPED[next.reason ?? ''] ?? ''}` : 'ran next' }))
  const skipped = isBlocked ? around.filter((other) => other.reason === 'gate_blocked' && !later.includes(other)).map((next) => ({ step: next, words: 'skipped: gate blocked' })) : []
  const next = parent && round ? store.rounds(parent.key).find((other) => other.index === round.index + 1) : undefined
  return [...list, ...skipped, ...(parent && round ? [{ step: parent, words: next ? `continues with [${next.index}]` : 'ends' }] : [])]
}
