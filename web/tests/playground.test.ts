import { describe, expect, it } from 'vitest'
import type { Part } from '../src/api/types.ts'
import { contextOf, decodeState, encodeState } from '../src/pages/playground/address.ts'
import { commandOf } from '../src/pages/playground/command.ts'
import { marksOf, utf16Positions } from '../src/pages/playground/marks.ts'
import { SAMPLES, SPELLINGS } from '../src/pages/playground/samples.ts'

describe('the address of the playground', () => {
  it('keeps every sample, and text of any script', () => {
    for (const { value } of SPELLINGS) expect(decodeState(`#${encodeState(SAMPLES[value])}`)).toEqual(SAMPLES[value])
    const state = { ...SAMPLES.expression, condition: 'inputs.name == "Zoë 🦊"' }
    expect(encodeState(state)).toMatch(/^[\w-]+$/)
    expect(decodeState(encodeState(state))).toEqual(state)
  })

  it('ignores what it does not understand', () => {
    const without = (name: string) => encodeState({ ...SAMPLES.expression, [name]: undefined } as never)
    for (const hash of ['', '#', '#%%%', `#${btoa('[]')}`, `#${btoa('{"condition":1}')}`, without('cases'), without('spelling'), encodeState({ ...SAMPLES.expression, cases: [] })]) {
      expect(decodeState(hash)).toBeNull()
    }
  })

  it('builds a context from the values of a decision', () => {
    const values = [{ path: 'step.score.output.score', value: 0.7 }, { path: 'step.score.status', value: 'completed' }, { path: 'input' }]
    expect(contextOf(values)).toEqual({ step: { score: { output: { score: 0.7 }, status: 'completed' } }, input: null })
    expect(contextOf([{ path: '__proto__.polluted', value: 1 }])).toEqual({ polluted: 1 })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('a command for the terminal', () => {
  it('quotes conditions and contexts for a shell', () => {
    const state = { ...SAMPLES.expression, condition: "inputs.name == 'O''Neil'" }
    expect(commandOf(state, '{"inputs": {"name": "it\'s"}}')).toBe(
      `echo '{"inputs":{"name":"it'\\''s"}}' | branchpoint eval 'inputs.name == '\\''O'\\'''\\''Neil'\\''' --dialect machine --context - --explain`,
    )
    expect(commandOf(SAMPLES.targets, '{}')).toContain('--condition condition.json --dialect steps')
  })
})

const part = (text: string, source: string, more: Partial<Part> = {}): Part => {
  const start = new TextEncoder().encode(source.slice(0, source.indexOf(text))).length
  return { start, end: start + new TextEncoder().encode(text).length, text, type: 'bool', value: 'true', error: null, times: 1, decided: false, children: [], ...more }
}

describe('the marks of an evaluated condition', () => {
  it('shows values behind references, and the outcome of each line', () => {
    const source = '"ü" == inputs.a\n  && inputs.b > 3'
    const tree = part(source, source, {
      value: 'false', decided: true,
      children: [
        part('"ü" == inputs.a', source, { children: [part('inputs.a', source, { type: 'string', value: '"ü"' })] }),
        part('inputs.b > 3', source, { value: 'false', decided: true, children: [part('inputs.b', source, { type: 'int', value: '2', decided: true })] }),
      ],
    })
    expect(marksOf(tree, source, new Set(['inputs.a', 'inputs.b']))).toEqual({
      hints: [{ at: 15, text: '"ü"' }, { at: 29, text: '2' }],
      lines: [{ line: 1, kind: 'true' }, { line: 2, kind: 'false' }],
      decided: [2],
    })
  })

  it('shows nothing for parts that were not evaluated', () => {
    const source = 'inputs.a || inputs.b'
    const tree = part(source, source, { children: [part('inputs.b', source, { times: 0, value: null, type: null })] })
    expect(marksOf(tree, source, new Set(['inputs.b'])).hints).toEqual([])
  })

  it('converts byte offsets to those of editors', () => {
    const at = utf16Positions('aü🦊b')
    expect([0, 1, 3, 7, 8].map(at)).toEqual([0, 1, 2, 4, 5])
  })
})
