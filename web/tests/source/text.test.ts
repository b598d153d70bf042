import { describe, expect, it } from 'vitest'
import { definitionAt } from '../../src/source/definitions.ts'
import { editorText } from '../../src/source/lineEnds.ts'

describe('jumping to a step', () => {
  const jump = (marked: string) => {
    const position = marked.indexOf('¦')
    const text = marked.replace('¦', '')
    const target = definitionAt(text, position)
    return target === null ? null : text.slice(target, target + 5)
  }
  it('follows references in templates and conditions', () => {
    expect(jump('steps:\n  - id: score\n  - id: tier\n    if: step.sc¦ore.output < 1')).toBe('score')
    expect(jump('steps:\n  - {id: score}\n  - {id: t, template: "{{step.score.out¦put}}"}')).toBe('score')
    expect(jump('steps:\n  - id: score\n    target_step_id: sco¦re')).toBe('score')
  })
  it('finds the nodes of JSON and the states of a mapping', () => {
    expect(jump('{"nodes": [{"id": "route"}], "connections": [{"source": "rou¦te"}]}')).toBe('route')
    expect(jump('states:\n  initial: start\n  check:\n    on_failure: st¦art\n  start: {}')).toBe('start')
  })
  it('stays where the word is no step, or is the step itself', () => {
    expect(jump('steps:\n  - id: score\n    template: hel¦lo')).toBeNull()
    expect(jump('steps:\n  - id: sco¦re')).toBeNull()
  })
})

describe('line ends', () => {
  it('of Windows stay, and positions are mapped both ways', () => {
    const text = 'a: 1\r\nb: 2\r\n\r\nc: 3'
    const shown = editorText(text)
    expect(shown.doc).toBe('a: 1\nb: 2\n\nc: 3')
    expect(shown.restore(shown.doc)).toBe(text)
    for (const part of ['a', 'b', 'c', '2', '3']) {
      expect(shown.toEditor(text.indexOf(part))).toBe(shown.doc.indexOf(part))
      expect(shown.fromEditor(shown.doc.indexOf(part))).toBe(text.indexOf(part))
    }
    expect(shown.restore(shown.doc.replace('2', '9\nx'))).toBe('a: 1\r\nb: 9\r\nx\r\n\r\nc: 3')
  })
  it('of other systems are not touched', () => {
    const shown = editorText('a\nb')
    expect([shown.doc, shown.toEditor(2), shown.restore('a\nc')]).toEqual(['a\nb', 2, 'a\nc'])
  })
})
