import { describe, expect, it } from 'vitest'
import type { Drawing, DrawingNode, PaletteEntry } from '../../src/api/types.ts'
import { conditionsOf, contextOf, newCondition, trial } from '../../src/pages/workflow/editor/conditions.ts'
import { asConnections } from '../../src/pages/workflow/editor/connections.ts'
import { fragmentOf } from '../../src/pages/workflow/editor/fragments.ts'
import { orderedPalette } from '../../src/pages/workflow/editor/menus.tsx'
import { nameOf, readersOf } from '../../src/pages/workflow/editor/operations.ts'
import { filter } from '../../src/pages/workflow/editor/SearchMenu.tsx'
import { freeBranches, insideOf, movePlaces, refusalOf } from '../../src/pages/workflow/editor/places.ts'

function node(id: string, more: Partial<DrawingNode> = {}): DrawingNode {
  return { id, title: id, kind: 'text', shape: 'action', parent: null, span: null, branches: [], ...more } as DrawingNode
}

const branch = (name: string, target: string | null, isDefault = false) => ({ name, condition: null, condition_short: null, default: isDefault, targets: target ? [target] : [], line: null })

function drawing(nodes: DrawingNode[], edges: [string, string, string?, string?][] = [], dialect = 'steps'): Drawing {
  return {
    dialect, hash: 'h', editable: true, nodes,
    edges: edges.map(([from, to, cell, kind], index) => ({ id: `e${index}`, from, to, from_branch: cell ?? null, label: null, kind: (kind ?? (cell ? 'branch' : 'next')) as 'next', failure: false })),
  } as Drawing
}

/** The span of a part of a text, in bytes. */
function span(text: string, part: string) {
  const start = new TextEncoder().encode(text.slice(0, text.indexOf(part))).length
  return { start, end: start + new TextEncoder().encode(part).length, line: 1 }
}

describe('copying steps', () => {
  it('keeps the notation and comments of YAML and moves it to the left edge', () => {
    const text = 'name: é\nsteps:\n  - id: a\n    then:\n      - id: draft   # writes\n        template: |\n          Hello\n\n          you\n      - id: other\n'
    const part = 'id: draft   # writes\n        template: |\n          Hello\n\n          you'
    const copied = fragmentOf(text, drawing([node('a'), node('draft', { parent: 'a', span: span(text, part) })]), ['draft'])
    expect(copied).toBe('- id: draft   # writes\n  template: |\n    Hello\n\n    you\n')
  })
  it('takes the steps inside of a step with it, once', () => {
    const text = '- {id: a, then: [{id: b}]}'
    const picture = drawing([node('a', { span: span(text, '{id: a, then: [{id: b}]}') }), node('b', { parent: 'a', span: span(text, '{id: b}') })])
    expect(fragmentOf(text, picture, ['a', 'b'])).toBe('- {id: a, then: [{id: b}]}\n')
  })
  it('copies nodes with the connections between them', () => {
    const text = '{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "connections": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]}'
    const picture = drawing(['a', 'b', 'c'].map((id) => node(id, { span: span(text, `{"id": "${id}"}`) })), [], 'graph')
    expect(JSON.parse(fragmentOf(text, picture, ['a', 'b']) ?? '')).toEqual({ nodes: [{ id: 'a' }, { id: 'b' }], connections: [{ source: 'a', target: 'b' }] })
  })
  it('is nothing without a selection', () => {
    expect(fragmentOf('', drawing([node('start', { shape: 'start' })]), ['start'])).toBeNull()
  })
})

describe('connections', () => {
  const span = { start: 0, end: 1, line: 1 }
  const picture = drawing(
    [node('start', { shape: 'start', span }), node('a', { span, branches: [branch('output', null), branch('subagent', null)] }), node('b', { span }), node('helper', { shape: 'subagent', span }), node('end', { shape: 'end' })],
    [['start', 'a'], ['a', 'helper', 'subagent', 'subagent'], ['a', 'end', 'output'], ['b', 'end']], 'graph',
  )
  it('give the reason why they are not possible', () => {
    expect(refusalOf(picture, 'b', null, 'start')).toBe('Nothing can lead to the start')
    expect(refusalOf(picture, 'b', 'subagent', 'helper')).toBe('A target can have only one subagent edge')
    expect(refusalOf(picture, 'start', null, 'a')).toBe('These are already connected')
    expect(refusalOf(picture, 'end', null, 'b')).toBe('Nothing can follow an end')
    expect(refusalOf(picture, 'b', null, 'end')).toBe('A run ends where nothing follows, without a connection')
    expect(refusalOf(picture, 'b', null, 'helper')).toBeNull()
  })
  it('begin at branches that lead nowhere', () => {
    expect(freeBranches(picture, 'a')).toEqual(['output'])
    expect(freeBranches(picture, 'b')).toEqual([null])
    const approval = drawing([node('ask', { span }), node('end', { shape: 'end' })], [['ask', 'end', 'approve'], ['ask', 'end', 'reject']], 'graph')
    const labelled = { ...approval, edges: approval.edges.map((edge) => ({ ...edge, label: edge.from_branch, from_branch: null })) }
    expect(freeBranches(labelled, 'ask')).toEqual(['approve', 'reject'])
    expect(freeBranches(picture, 'start')).toEqual([])
  })
})

describe('a graph as people connect it', () => {
  const span = { start: 0, end: 1, line: 1 }
  const label = (picture: Drawing, names: (string | null)[]) => ({ ...picture, edges: picture.edges.map((edge, index) => ({ ...edge, label: names[index] ?? null })) })
  it('has a branch for every handle, and no end that the document does not have', () => {
    const picture = label(drawing([node('ask', { span, shape: 'approval' }), node('mail', { span }), node('end', { shape: 'end' })], [['ask', 'mail'], ['ask', 'end'], ['mail', 'end']], 'graph'), ['approve', 'reject'])
    const connected = asConnections(picture)
    expect(connected.nodes.map((entry) => entry.id)).toEqual(['ask', 'mail'])
    expect(connected.nodes[0]?.branches?.map((entry) => [entry.name, entry.targets])).toEqual([['approve', ['mail']], ['reject', []]])
    expect(connected.edges.map((edge) => [edge.from, edge.from_branch, edge.to])).toEqual([['ask', 'approve', 'mail']])
    expect(freeBranches(connected, 'ask')).toEqual(['reject'])
  })
  it('shows no target where nothing follows', () => {
    const branches = [branch('condition-0', 'nothing follows (no connection)'), branch('false', 'mail', true)]
    const connected = asConnections(drawing([node('route', { span, shape: 'decision', branches }), node('mail', { span })], [], 'graph'))
    expect(connected.nodes[0]?.branches?.map((entry) => entry.targets)).toEqual([[], ['mail']])
  })
  it('has a handle for every condition, also where the drawing leaves out what is not connected', () => {
    const fields = { conditions: [{ operator: 'equal', value: 'billing' }, { if: 'len(input) > 3' }] }
    const picture = drawing([{ ...node('route', { span }), fields } as DrawingNode, node('mail', { span })], [['route', 'mail']], 'graph')
    const [route] = asConnections(picture).nodes
    expect(route?.shape).toBe('decision')
    expect(route?.branches?.map((entry) => [entry.name, entry.condition, entry.default])).toEqual([['condition-0', 'equal "billing"', false], ['condition-1', 'len(input) > 3', false], ['false', null, true]])
  })
  it('leaves trees as they are', () => {
    const picture = drawing([node('a', { span }), node('end', { shape: 'end' })], [['a', 'end']])
    expect(asConnections(picture)).toBe(picture)
  })
})

describe('the searchable menu', () => {
  it('puts the best match first and keeps groups together', () => {
    const choice = (group: string, label: string) => ({ id: label, group, label, choose: () => undefined })
    const choices = [choice('Models', 'Evaluate it'), choice('Models', 'Agent'), choice('Flow', 'Wait'), choice('Flow', 'Await all')]
    expect(filter(choices, 'wait').map((entry) => entry.label)).toEqual(['Wait', 'Await all'])
    expect(filter(choices, 'a').map((entry) => entry.group)).toEqual(['Models', 'Models', 'Flow', 'Flow'])
    expect(filter(choices, '')).toEqual(choices)
  })
})

describe('moving a step by keyboard', () => {
  const picture = drawing([node('tier', { shape: 'decision', branches: [branch('then', 'drop'), branch('else', null, true)] }), node('drop', { parent: 'tier' }), node('inner', { parent: 'drop' }), node('show')])
  it('offers every place outside of the step', () => {
    expect(movePlaces(picture, 'drop').map((place) => place.label)).toEqual(['After tier', 'After show', 'tier → then', 'tier → else'])
    expect([...insideOf(picture, 'tier')]).toEqual(['tier', 'drop', 'inner'])
  })
})

describe('conditions as rows', () => {
  it('are found in a list, with the handle that each leads from', () => {
    const picture = node('route', { branches: [branch('condition-0', 'billing'), branch('condition-1', 'engineer'), branch('false', 'desk', true)] })
    const list = conditionsOf(picture, { conditions: [{ operator: 'equal', value: 'billing' }, { if: 'len(input) > 3' }] })
    expect(list?.rows.map((row) => [row.branch, row.form, row.target])).toEqual([['condition-0', 'match', 'billing'], ['condition-1', 'expression', 'engineer']])
    expect(list?.other).toEqual({ branch: 'false', target: 'desk' })
    expect(list?.canReorder).toBe(true)
  })
  it('are found in if and elif', () => {
    const picture = node('tier', { branches: [branch('then', 'a'), branch('elif-0', 'b'), branch('else', 'c', true)] })
    const list = conditionsOf(picture, { if: 'x < 1', elif: [{ if: 'x < 2', then: [] }] })
    const rows = [['then', ['if'], null], ['elif-0', ['elif', 0, 'if'], ['elif', 0]]]
    expect(list?.rows.map((row) => [row.branch, row.path, row.item])).toEqual(rows)
    const drawn = { ...picture, branches: picture.branches?.map((entry) => ({ ...entry, condition: entry.name === 'elif-0' ? 'x < 2' : null })) }
    expect(conditionsOf(drawn, { if: 'x < 1' })?.rows.map((row) => [row.branch, row.path, row.item])).toEqual(rows)
    expect(conditionsOf(drawn, { if: 'x < 1' })?.rows[1]?.value).toBe('x < 2')
  })
  it('are found in cases, and nowhere else', () => {
    const list = conditionsOf(node('decide'), { cases: [{ name: 'send', match: ['approve', 'yes'] }] })
    expect(list?.rows[0]).toMatchObject({ branch: 'send', form: 'text', path: ['cases', 0, 'match'] })
    expect(conditionsOf(node('a'), { template: 'x' })).toBeNull()
  })
  it('are tried in their own spelling', () => {
    const rows = conditionsOf(node('r'), { conditions: [{ operator: 'contains', value: 'bug' }, { if: 'a > 1' }, { if: { combinator: 'and', conditions: [] } }] })?.rows ?? []
    expect(rows.map((row) => trial(row)?.spelling)).toEqual(['text_match', 'expression', 'group'])
    expect(trial(rows[1]!)?.condition).toBe('a > 1')
    for (const form of ['match', 'expression', 'group'] as const) expect(conditionsOf(node('r'), { conditions: [newCondition(form)] })?.rows[0]?.form).toBe(form)
  })
  it('see typed values at their paths', () => {
    expect(contextOf({ input: 'A bug', 'step.score.output.score': '0.7', 'metadata.name': '007 Bond', '__proto__.x': '1' })).toEqual({
      input: 'A bug', step: { score: { output: { score: 0.7 } } }, metadata: { name: '007 Bond' }, x: 1,
    })
  })
})

describe('operations', () => {
  it('have names for undo', () => {
    expect(nameOf({ op: 'remove', steps: ['score'] })).toBe('delete score')
    expect(nameOf({ op: 'remove', steps: ['a', 'b', 'c', 'd'] })).toBe('delete 4 steps')
    expect(nameOf({ op: 'rename', step: 'a', id: 'b' })).toBe('rename a to b')
    expect(nameOf({ op: 'set_positions', positions: { a: { x: 1, y: 2 } } })).toBe('move a')
  })
  it('list those who refer to what is deleted, but not what is deleted itself', () => {
    const affected = [{ step: 'tier', field: 'if', names: 'score', line: 9 }, { step: 'score', field: 'target', names: 'score', line: 3 }, { step: null, field: 'output', names: 'score', line: 1 }, { step: 'mail', field: 'connections[1]', names: 'score', line: 1 }]
    expect(readersOf(affected, ['score']).map((reader) => reader.step)).toEqual(['tier', 'the document'])
  })
  it('number the types of the palette, starts and ends last', () => {
    const palette = [['start', 'Start and end'], ['agent', 'Models'], ['if', 'Decisions'], ['end', 'Start and end']].map(([kind, group]) => ({ kind, title: kind, group }) as PaletteEntry)
    expect(orderedPalette(palette, drawing([node('start', { shape: 'start' })])).map((entry) => entry.kind)).toEqual(['agent', 'if', 'end'])
    expect(orderedPalette(palette, null).map((entry) => entry.kind)).toEqual(['agent', 'if', 'start', 'end'])
  })
})
