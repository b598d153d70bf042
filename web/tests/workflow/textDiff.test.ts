import { describe, expect, it } from 'vitest'
import { changedPart, diffLines, foldUnchanged } from '../../src/pages/workflow/textDiff.ts'

/** Each row as `left|right`, changed rows with a `!`. */
function rows(before: string, after: string): string[] {
  return diffLines(before, after).map((row) => `${row.isChanged ? '!' : ''}${row.left?.text ?? '-'}|${row.right?.text ?? '-'}`)
}

describe('the comparison of texts', () => {
  it('pairs changed lines and keeps equal ones together', () => {
    expect(rows('a\nb\nc', 'a\nB\nc')).toEqual(['a|a', '!b|B', 'c|c'])
    expect(rows('a\nc', 'a\nb\nc')).toEqual(['a|a', '!-|b', 'c|c'])
    expect(rows('a\nb\nc', 'a\nc')).toEqual(['a|a', '!b|-', 'c|c'])
    expect(rows('same', 'same')).toEqual(['same|same'])
  })
  it('numbers the lines of both sides', () => {
    const last = diffLines('a\nb', 'x\ny\na\nb').at(-1)
    expect([last?.left?.line, last?.right?.line]).toEqual([2, 4])
  })
  it('contains every line of both texts, whatever they are', () => {
    let seed = 3
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below
    const text = () => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('\n')
    for (let n = 0; n < 200; n++) {
      const [before, after] = [text(), text()]
      const all = diffLines(before, after)
      expect(all.flatMap((row) => (row.left ? [row.left.text] : [])).join('\n')).toBe(before)
      expect(all.flatMap((row) => (row.right ? [row.right.text] : [])).join('\n')).toBe(after)
      expect(all.every((row) => row.isChanged || row.left?.text === row.right?.text)).toBe(true)
    }
  })
  it('hides what is far from every change', () => {
    const before = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n')
    const blocks = foldUnchanged(diffLines(before, before.replace('line 20', 'line twenty')))
    expect(blocks.map((block) => `${block.kind} ${block.rows.length}`)).toEqual(['hidden 17', 'rows 7', 'hidden 16'])
  })
  it('finds the part of a line that changed', () => {
    const after = 'score < 0.85 || amount > 100'
    const { start, end } = changedPart('score < 0.85', after)
    expect(after.slice(start, end)).toBe(' || amount > 100')
  })
})
