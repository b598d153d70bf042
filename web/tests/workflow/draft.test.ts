import { describe, expect, it } from 'vitest'
import { Draft, forgetDrafts, openDraft } from '../../src/pages/workflow/draft/draft.ts'
import { type DraftRecord, type DraftRecords, latestDraft } from '../../src/pages/workflow/draft/draftRecords.ts'
import { emptyHistory, type History, MAX_ENTRIES, recordEdit, redo, undo } from '../../src/pages/workflow/draft/history.ts'
import type { WorkflowDetail } from '../../src/api/types.ts'

function typed(history: History, before: string, after: string, time: number): History {
  return recordEdit(history, { name: 'edit the source', before, after, time, isTyping: true })
}

describe('the undo history', () => {
  it('combines keystrokes at one place and undoes them together', () => {
    let history = typed(emptyHistory, 'ab', 'abx', 0)
    history = typed(history, 'abx', 'abxy', 100)
    history = typed(history, 'abxy', 'abx', 200)
    expect(history.past).toHaveLength(1)
    expect(undo(history, 'abx')?.text).toBe('ab')
  })
  it('keeps keystrokes after a pause, or elsewhere, apart', () => {
    let history = typed(emptyHistory, 'ab', 'abx', 0)
    history = typed(history, 'abx', 'abxy', 5000)
    history = typed(history, 'abxy', 'Zabxy', 5100)
    expect(history.past).toHaveLength(3)
  })
  it('names operations and never combines them', () => {
    let history = recordEdit(emptyHistory, { name: 'delete score', before: 'a b c', after: 'a c', time: 0, isTyping: false })
    history = recordEdit(history, { name: 'delete draft', before: 'a c', after: 'c', time: 1, isTyping: false })
    const first = undo(history, 'c')
    expect(first?.name).toBe('delete draft')
    const second = undo(first!.history, first!.text)
    expect([second?.name, second?.text]).toEqual(['delete score', 'a b c'])
    const again = redo(second!.history, second!.text)
    expect(again?.text).toBe('a c')
    expect(redo(again!.history, again!.text)?.text).toBe('c')
  })
  it('forgets what was undone when something else is edited', () => {
    const history = recordEdit(emptyHistory, { name: 'one', before: '', after: 'x', time: 0, isTyping: false })
    const undone = undo(history, 'x')!
    expect(recordEdit(undone.history, { name: 'two', before: '', after: 'y', time: 1, isTyping: false }).future).toEqual([])
  })
  it('keeps the last 200 entries', () => {
    let history = emptyHistory
    for (let n = 0; n < MAX_ENTRIES + 50; n++) history = recordEdit(history, { name: `edit ${n}`, before: `${n}`, after: `${n + 1}`, time: n, isTyping: false })
    expect(history.past).toHaveLength(MAX_ENTRIES)
    expect(history.past[0]?.name).toBe('edit 50')
  })
  it('brings back every text of random edits', () => {
    let seed = 7
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below
    const texts = ['name: é😀\nsteps: []\n']
    let history = emptyHistory
    for (let n = 0; n < 100; n++) {
      const text = texts[texts.length - 1]!
      const at = random(text.length + 1)
      const next = text.slice(0, at) + 'abc\n'.slice(0, random(4)) + text.slice(at + random(3))
      if (next === text) continue
      history = recordEdit(history, { name: 'x', before: text, after: next, time: n * 10, isTyping: false })
      texts.push(next)
    }
    let text = texts.pop()!
    while (texts.length > 0) {
      const step = undo(history, text)!
      text = step.text
      history = step.history
      expect(text).toBe(texts.pop())
    }
    expect(undo(history, text)).toBeNull()
  })
})

class MemoryRecords implements DraftRecords {
  readonly map = new Map<string, DraftRecord>()
  all = async () => [...this.map.values()]
  put = async (record: DraftRecord) => void this.map.set(`${record.name}@${record.baseVersion}`, record)
  remove = async (name: string, version: number) => void this.map.delete(`${name}@${version}`)
}

const detail = (version: number, text: string) => ({ name: 'w', version, hash: `h${version}`, text }) as WorkflowDetail

describe('drafts', () => {
  it('are stored per workflow and version, and continued after a reload', async () => {
    const records = new MemoryRecords()
    const draft = await openDraft(detail(3, 'three'), async () => '', records)
    draft.edit('three, edited', 'edit the source', true)
    await draft.store()
    expect(records.map.get('w@3')?.text).toBe('three, edited')
    forgetDrafts()
    const reloaded = await openDraft(detail(3, 'three'), async () => '', records)
    expect(reloaded.snapshot()).toMatchObject({ text: 'three, edited', isEdited: true, stored: 'yes' })
    forgetDrafts()
  })
  it('keep their base version when somebody saves a newer one', async () => {
    const records = new MemoryRecords()
    await records.put({ name: 'w', baseVersion: 3, baseHash: 'h3', text: 'mine', editedAt: 5, errors: 1, warnings: 0 })
    const draft = await openDraft(detail(4, 'four'), async (version) => `text of ${version}`, records)
    expect(draft.snapshot().base).toEqual({ version: 3, hash: 'h3', text: 'text of 3' })
    forgetDrafts()
  })
  it('vanish from the browser when the text equals the version again', async () => {
    const records = new MemoryRecords()
    const draft = new Draft('w', records, { version: 1, hash: 'h', text: 'a' })
    draft.edit('b', 'edit')
    await draft.store()
    draft.undo()
    await draft.store()
    expect(records.map.size).toBe(0)
    expect(draft.snapshot().isEdited).toBe(false)
  })
  it('say when the browser cannot store them', async () => {
    const records = new MemoryRecords()
    records.put = () => Promise.reject(new Error('full'))
    const draft = new Draft('w', records, { version: 1, hash: 'h', text: 'a' })
    draft.edit('b', 'edit')
    await draft.store()
    expect(draft.snapshot().stored).toBe('failed')
  })
  it('prefer the draft of the current version', () => {
    const record = (baseVersion: number, editedAt: number): DraftRecord => ({ name: 'w', baseVersion, baseHash: '', text: '', editedAt, errors: 0, warnings: 0 })
    expect(latestDraft([record(2, 9), record(3, 1)], 'w', 3)?.baseVersion).toBe(3)
    expect(latestDraft([record(1, 1), record(2, 9)], 'w', 3)?.baseVersion).toBe(2)
    expect(latestDraft([record(1, 1)], 'other', 3)).toBeNull()
  })
})
