import type { Step } from '../../api/types.ts'
import type { Row } from './rows.ts'
import { fraction, type Scale } from './scale.ts'

/** A piece of the bar of a row. `left` and `width` are parts of the track, from 0 to 1. */
export interface Bar {
  look: 'own' | 'group' | 'fail' | 'pause' | 'wait' | 'point' | 'point off' | 'model'
  left: number
  width: number
}

/** Work is solid, a failed attempt red, the pause between attempts dashed, waiting for people hatched, a decision a diamond. */
export function barsOf(row: Row, scale: Scale, now: number, compact = false): Bar[] {
  if (row.kind === 'iteration') {
    const { began, ended } = row.record
    return began ? [bar(compact ? 'own' : 'group', scale, Date.parse(began), ended ? Date.parse(ended) : now)] : []
  }
  return row.kind === 'step' ? stepBars(row.step, scale, now) : []
}

function stepBars(step: Step, scale: Scale, now: number): Bar[] {
  const isOver = step.ended != null || step.status === 'completed' || step.status === 'failed'
  if (step.status === 'skipped' || !step.began) return []
  const began = Date.parse(step.began)
  const ended = step.ended ? Date.parse(step.ended) : isOver ? began : now
  const decided = step.decisions.find((decision) => decision.kind !== 'loop' && decision.kind !== 'retry')
  if (step.type === 'gate') return [bar(step.branch === 'blocked' ? 'point off' : 'point', scale, began, began)]
  if (step.has_children) return !isOver && decided ? [bar('point', scale, Date.parse(decided.at), Date.parse(decided.at))] : [bar('group', scale, began, ended)]
  if (step.attempts.length === 0) {
    if (step.hitl_wait_ms > 0 || step.status === 'waiting_people' || step.status === 'waiting_timer') return [bar('wait', scale, began, ended)]
    if (ended - began < 1) return [bar('point', scale, began, began)]
    return [bar('own', scale, began, ended)]
  }
  return attemptBars(step, scale, ended)
}

function attemptBars(step: Step, scale: Scale, ended: number): Bar[] {
  const bars: Bar[] = []
  let last: number | null = null
  for (const attempt of step.attempts) {
    const from = Date.parse(attempt.began)
    const to = attempt.ended ? Date.parse(attempt.ended) : ended
    if (last !== null && from > last) bars.push(bar('pause', scale, last, from))
    bars.push(bar(attempt.error ? 'fail' : 'own', scale, from, to))
    last = to
  }
  if (last !== null && ended > last && (step.hitl_wait_ms > 0 || step.status === 'waiting_people')) bars.push(bar('wait', scale, last, ended))
  return bars
}

function bar(look: Bar['look'], scale: Scale, from: number, to: number): Bar {
  const left = fraction(scale, from)
  return { look, left, width: Math.max(0, fraction(scale, to) - left) }
}
