import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Drawing, Step } from '../src/api/types.ts'
import { groupIterations, rangesText, worstStatus } from '../src/pages/run/iterations.ts'
import { addressOf, keyInRound, refId, refOf, refOfAddress } from '../src/pages/run/refs.ts'
import { type Row, treeRows } from '../src/pages/run/rows.ts'
import { fraction, ticksOf } from '../src/pages/run/scale.ts'
import { barsOf } from '../src/pages/run/tracks.ts'
import { TraceStore } from '../src/pages/run/traceStore.ts'

const START = '2026-11-15T21:15:00.000Z'
const at = (ms: number) => new Date(Date.parse(START) + ms).toISOString()

function step(key: string, change: Partial<Step> = {}): Step {
  return {
    key, step: /^(.*)#/.exec(key)?.[1] ?? key, type: 'text', run: 1, status: 'completed', iterations: [], attempts: [], began: at(0), ended: at(10), took_ms: 10, waited_ms: 0, hitl_wait_ms: 0,
    usage: { tokens: 0, cost_micros: 0 }, has_children: false, children_counts: {}, depth: 0, decisions: [], decisions_omitted: 0, warnings: [], child_runs: [], ...change,
  }
}

const inLoop = (key: string, index: number, change: Partial<Step> = {}) => step(`${key}#1@loop.${index}`, { step: key, parent: 'loop#1', iterations: [{ loop: 'loop', index, item: `item ${index}` }], ...change })

/** A server that answers the requests of a trace from a list of steps. */
function serve(steps: Step[]): string[] {
  const requests: string[] = []
  vi.stubGlobal('fetch', async (address: string) => {
    const url = new URL(address, 'http://server')
    requests.push(url.pathname.replace('/api/v1/runs/r/', '') + url.search)
    const parent = url.searchParams.get('parent')
    const items = url.searchParams.get('deep') ? steps : steps.filter((candidate) => (candidate.parent ?? null) === parent)
    return new Response(JSON.stringify({ items: items.slice(0, 200), next: items.length > 200 ? '200' : null, counts: {}, total: items.length }))
  })
  return requests
}

afterEach(() => vi.unstubAllGlobals())

const rowsOf = (store: TraceStore, drawing: Drawing | null = null, toggled = new Map<string, boolean>()) => treeRows(store, drawing, { toggled, chosen: new Map([['loop', 1]]), openRounds: false })
const text = (row: Row): string => {
  const name = row.kind === 'step' ? row.step.step : row.kind === 'iteration' ? `[${row.record.index}]` : row.kind === 'group' ? `${row.count} ${row.status}` : row.kind === 'planned' ? `(${row.node.title})` : '…'
  return '  '.repeat(row.level - 1) + name
}

describe('addresses of steps', () => {
  test.each([
    ['explain#1@each_charge.1', 'each_charge[1].explain', 1],
    ['deploy#2@regions.1,services.0', 'regions[1].services[0].deploy', 2],
    ['drop#0', 'drop', 0],
    ['a.b#1', 'a.b', 1],
  ])('%s is %s', (key, label, execution) => {
    expect(addressOf({ kind: 'step', key })).toEqual({ step: label, execution })
    expect(refOfAddress({ step: label, execution })).toEqual({ kind: 'step', key })
  })

  test('an iteration has an address of its own', () => {
    const ref = refOfAddress({ step: 'regions[1].services[3]', execution: 2 })
    expect(ref).toEqual({ kind: 'iteration', loop: 'services#2@regions.1', index: 3 })
    expect(addressOf(ref)).toEqual({ step: 'regions[1].services[3]', execution: 2 })
    expect(refOf(refId(ref))).toEqual(ref)
  })

  test('the same step in another round', () => expect(keyInRound('explain#1@loop.1', 'loop', 4)).toBe('explain#1@loop.4'))
})

describe('the step tree', () => {
  const loop = step('loop#1', { type: 'for_each', has_children: true, items: 3, children_counts: { completed: 4, failed: 1 } })

  test('the children of a loop are grouped into its rounds, and the chosen round is open', async () => {
    serve([step('a#1'), loop, inLoop('x', 0), inLoop('x', 1), inLoop('y', 1, { status: 'failed' }), inLoop('x', 2)])
    const store = new TraceStore('r')
    await store.openAll(100)
    expect(rowsOf(store).map(text)).toEqual(['a', 'loop', '  [0]', '  [1]', '    x', '    y', '  [2]'])
    const round = rowsOf(store).find((row) => row.kind === 'iteration' && row.record.index === 1)
    expect(round?.kind === 'iteration' && round.record.status).toBe('failed')
  })

  test('more than fifty rounds are grouped by status first', async () => {
    serve([{ ...loop, items: 80 }, ...Array.from({ length: 70 }, (_, n) => inLoop('x', n, n === 11 ? { status: 'failed' } : {}))])
    const store = new TraceStore('r')
    await store.openAll(500)
    expect(rowsOf(store).map(text)).toEqual(['loop', '  1 failed', '  69 completed', '  10 pending'])
    const failed = rowsOf(store)[1]
    expect(failed?.kind === 'group' && rangesText(failed.ranges)).toBe('[11]')
    expect(rowsOf(store, null, new Map([[failed?.id ?? '', true]])).map(text)).toContain('    [11]')
  })

  test('a live step appears in its round, and a burst of changes is one notification', async () => {
    serve([loop, inLoop('x', 0)])
    const store = new TraceStore('r')
    await store.openAll(100)
    let notified = 0
    store.subscribe(() => notified++)
    for (let index = 1; index < 6; index++) store.merge(inLoop('x', index))
    await Promise.resolve()
    expect(notified).toBe(1)
    expect(rowsOf(store).map(text)).toContain('  [5]')
  })

  test('steps that are not reached come from the drawing, in the order of the document', async () => {
    serve([step('first#1'), step('tier#1', { type: 'conditional', status: 'running', ended: null, has_children: true, children_counts: { waiting_people: 1 } }), step('ask#1', { parent: 'tier#1', status: 'waiting_people', ended: null })])
    const store = new TraceStore('r')
    store.isOngoing = true
    await store.openAll(100)
    const node = (id: string, parent: string | null = null) => ({ id, title: id, kind: 'text', shape: 'action' as const, branches: [], parent })
    const drawing: Drawing = { dialect: 'steps', editable: false, hash: 'h', edges: [], nodes: [node('first'), node('tier'), node('ask', 'tier'), node('decide', 'tier'), node('show')] }
    expect(rowsOf(store, drawing).map(text)).toEqual(['first', 'tier', '  ask', '  (decide)', '(show)'])
    // A parent shows the status of a child that waits.
    const tier = rowsOf(store, drawing)[1]
    expect(tier?.kind === 'step' && tier.status).toBe('waiting_people')
  })

  test('a run with few steps is read in one list', async () => {
    const requests = serve([step('a#1'), step('b#1')])
    const store = new TraceStore('r')
    await store.openAll(100)
    expect(requests).toHaveLength(2)
    expect(requests.some((request) => request.includes('deep=true'))).toBe(true)
  })
})

describe('rounds', () => {
  test('failed is worse than waiting, waiting than running, running than completed', () => {
    expect(worstStatus(['completed', 'running', 'waiting_people'])).toBe('waiting_people')
    expect(worstStatus(['waiting_people', 'failed'])).toBe('failed')
    expect(worstStatus([])).toBe('pending')
  })

  test('a gate that blocks ends its round in order', () => {
    const loop = step('loop#1', { has_children: true })
    const [round] = groupIterations(loop, [inLoop('found', 0, { type: 'gate', branch: 'blocked' }), inLoop('summary', 0, { status: 'skipped', reason: 'gate_blocked' })])
    expect(round?.status).toBe('completed')
  })
})

describe('bars', () => {
  const scale = { start: Date.parse(START), end: Date.parse(START) + 1000 }
  const row = (change: Partial<Step>): Row => ({ kind: 'step', id: 'a#1', level: 1, step: step('a#1', change), status: 'completed', expandable: false, open: false, position: 1, siblings: 1 })
  const bars = (change: Partial<Step>) => barsOf(row(change), scale, scale.end).map((bar) => `${bar.look} ${bar.left}+${bar.width}`)

  test('a failed attempt is red, the pause dashed, the next attempt solid', () => {
    expect(bars({ began: at(0), ended: at(500), attempts: [{ began: at(0), ended: at(100), error: { kind: 'x', message: 'y' } }, { began: at(300), ended: at(500), error: null }] }))
      .toEqual(['fail 0+0.1', 'pause 0.1+0.19999999999999998', 'own 0.3+0.2'])
  })

  test('waiting for people is hatched, a gate is a diamond, hollow if it blocked', () => {
    expect(bars({ status: 'waiting_people', ended: null, began: at(500) })).toEqual(['wait 0.5+0.5'])
    expect(bars({ type: 'gate', branch: 'blocked', began: at(200) })).toEqual(['point off 0.2+0'])
    expect(bars({ type: 'gate', branch: 'passed', began: at(200) })).toEqual(['point 0.2+0'])
  })

  test('ticks are round and do not touch', () => {
    expect(ticksOf({ start: 0, end: 8500 }, 440).map((tick) => tick.label.replace('\u202f', ' '))).toEqual(['0 s', '1 s', '2 s', '3 s', '4 s', '5 s', '6 s', '7 s', '8 s'])
    expect(ticksOf({ start: 0, end: 3 * 3_600_000 }, 440).length).toBeLessThanOrEqual(10)
    expect(fraction(scale, scale.end + 5000)).toBe(1)
  })
})

describe('a trace while its run continues', () => {
  test('a response does not replace a change that is newer than its request', async () => {
    const steps = [step('draft#1', { status: 'running', ended: null })]
    serve(steps)
    const store = new TraceStore('r')
    const loading = store.openAll(100)
    store.merge(step('draft#1'))
    await loading
    expect(store.step('draft#1')?.status).toBe('completed')
    expect(rowsOf(store).map(text)).toEqual(['draft'])
  })

  test('a person who returns to a run sees what happened meanwhile', async () => {
    const steps = [step('draft#1')]
    const requests = serve(steps)
    const store = new TraceStore('r')
    const leave = store.visit()
    await store.openAll(100)
    expect(requests).toHaveLength(2)
    leave()
    steps.push(step('send#1'))
    store.visit()
    await vi.waitFor(() => expect(rowsOf(store).map(text)).toEqual(['draft', 'send']))
  })
})
