/** What a row of the step tree represents, and whose children can be loaded. */
export type Ref =
  | { kind: 'root' }
  | { kind: 'step'; key: string }
  | { kind: 'iteration'; loop: string; index: number }
  | { kind: 'group'; loop: string; status: string }

export const ROOT: Ref = { kind: 'root' }

/** The id of a row, unique in its tree. Keys of steps contain no NUL. */
export function refId(ref: Ref): string {
  if (ref.kind === 'root') return ''
  if (ref.kind === 'step') return ref.key
  return ref.kind === 'iteration' ? `${ref.loop}\u0000[${ref.index}]` : `${ref.loop}\u0000?${ref.status}`
}

export function refOf(id: string): Ref {
  if (id === '') return ROOT
  const at = id.indexOf('\u0000')
  if (at < 0) return { kind: 'step', key: id }
  const loop = id.slice(0, at)
  const rest = id.slice(at + 1)
  return rest.startsWith('?') ? { kind: 'group', loop, status: rest.slice(1) } : { kind: 'iteration', loop, index: Number(rest.slice(1, -1)) }
}

/** A step as people write it in an address: `each_charge[1].explain`, and which of its executions. */
export interface StepAddress {
  step: string
  execution: number
}

/** `explain#1@each_charge.1` from `each_charge[1].explain`; an iteration from `each_charge[1]`. */
export function refOfAddress({ step, execution }: StepAddress): Ref {
  const loops: [string, number][] = []
  let rest = step
  for (let match = /^(.+?)\[(\d+)\](?:\.|$)/.exec(rest); match; match = /^(.+?)\[(\d+)\](?:\.|$)/.exec(rest)) {
    loops.push([match[1] ?? '', Number(match[2])])
    rest = rest.slice(match[0].length)
  }
  const last = loops[loops.length - 1]
  if (rest === '' && last) return { kind: 'iteration', loop: keyOf(last[0], execution, loops.slice(0, -1)), index: last[1] }
  return { kind: 'step', key: keyOf(rest, execution, loops) }
}

function keyOf(step: string, execution: number, loops: [string, number][]): string {
  const path = loops.map(([loop, index]) => `${loop}.${index}`).join(',')
  return `${step}#${execution}${path === '' ? '' : `@${path}`}`
}

/** The key of the same step in another round of one of its loops. Its execution number may differ where loops count on. */
export function keyInRound(key: string, loop: string, index: number): string {
  const { step, execution, loops } = partsOf(key)
  return keyOf(step, execution, loops.map(([name, at]): [string, number] => [name, name === loop ? index : at]))
}

export function addressOf(ref: Ref): StepAddress | null {
  if (ref.kind === 'root' || ref.kind === 'group') return null
  const { step, execution, loops } = partsOf(ref.kind === 'step' ? ref.key : ref.loop)
  const path = loops.map(([loop, index]) => `${loop}[${index}]`)
  const name = ref.kind === 'iteration' ? `${step}[${ref.index}]` : step
  return { step: [...path, name].join('.'), execution }
}

/** The step, the number of its execution and the iterations in a key of the server: `explain#1@each_charge.1`. */
export function partsOf(key: string): { step: string; execution: number; loops: [string, number][] } {
  const match = /^(.*)#(\d+)(?:@(.*))?$/s.exec(key)
  if (!match) return { step: key, execution: 1, loops: [] }
  const loops = (match[3] ?? '').split(',').filter((part) => part !== '').map((part): [string, number] => {
    const dot = part.lastIndexOf('.')
    return [part.slice(0, dot), Number(part.slice(dot + 1))]
  })
  return { step: match[1] ?? '', execution: Number(match[2]), loops }
}
