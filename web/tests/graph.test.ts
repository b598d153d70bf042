import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Drawing, DrawingBranch, DrawingEdge, DrawingNode } from '../src/api/types.ts'
import { cellsOf, MORE } from '../src/graph/branches.ts'
import { describeNode, neighbour } from '../src/graph/describe.ts'
import { elkInput } from '../src/graph/elkInput.ts'
import { groupsOf } from '../src/graph/groups.ts'
import { buildModel } from '../src/graph/model.ts'
import { linesByLook } from '../src/graph/EdgeLayer.tsx'
import { headPath, nearestPoint, roundedPath } from '../src/graph/path.ts'
import { edgeLooks, type NodeState, outcomeText, shortReason } from '../src/graph/states.ts'

const triage = JSON.parse(readFileSync(new URL('./fixtures/triage-204.json', import.meta.url), 'utf8')).drawing as Drawing

const drawn = (id: string, change: Partial<DrawingNode> = {}): DrawingNode => ({ id, title: id, kind: 'text', shape: 'action', branches: [], ...change })
const edge = (from: string, to: string, change: Partial<DrawingEdge> = {}): DrawingEdge => ({ id: `${from}>${to}`, from, to, kind: 'next', failure: false, ...change })
const branch = (name: string, target: string, isDefault = false): DrawingBranch => ({ name, targets: [target], default: isDefault })

const state = (change: Partial<NodeState>): NodeState => ({
  status: 'completed', took: 1, since: null, attempts: 1, iteration: null, branch: null, sentence: null, outcomes: {}, votes: null, note: null, ...change,
})

describe('the model of a drawing', () => {
  const model = buildModel(triage, { mode: 'run' })

  test('a loop is a frame around its body, without edges to it', () => {
    expect(model.byId.get('each_charge')?.look).toBe('frame')
    expect(model.byId.get('receipt')?.frame).toBe('each_charge')
    expect(model.edges.some((edge) => edge.from === 'each_charge' && edge.to === 'receipt')).toBe(false)
  })

  test('edges of a decision start at the cell of their branch', () => {
    expect(model.byId.get('tier')?.cells.map((cell) => cell.name)).toEqual(['then', 'elif-0', 'else'])
    expect(model.edges.find((edge) => edge.to === 'ask')?.cell).toBe('elif-0')
  })

  test('the same graph has the same key, another size has another', () => {
    expect(buildModel(triage, { mode: 'run' }).key).toBe(model.key)
    expect(buildModel(triage, { mode: 'design' }).key).not.toBe(model.key)
  })

  test('a switchboard of many branches shows the first three, the taken one and the default', () => {
    const branches = Array.from({ length: 12 }, (_, n) => branch(`b${n}`, `t${n}`, n === 11))
    const edges = branches.map(({ name, targets }) => edge('many', targets[0] ?? '', { from_branch: name, kind: 'branch' }))
    const cells = cellsOf(drawn('many', { kind: 'switch', shape: 'decision', branches }), edges, 'run', 'b7')
    expect(cells.map((cell) => cell.name)).toEqual(['b0', 'b1', 'b2', 'b7', MORE, 'b11'])
    expect(cells.find((cell) => cell.name === MORE)?.more).toHaveLength(7)
  })

  test('answers of an approval without declared branches become its cells', () => {
    const drawing: Drawing = {
      dialect: 'graph', editable: true, hash: 'h',
      nodes: [drawn('boss', { kind: 'approval', shape: 'approval' }), drawn('sign'), drawn('end', { kind: '', shape: 'end' })],
      edges: [edge('boss', 'sign', { label: 'approve' }), edge('boss', 'end', { label: 'reject' })],
    }
    const graph = buildModel(drawing, { mode: 'design' })
    expect(graph.byId.get('boss')?.cells.map((cell) => cell.name)).toEqual(['approve', 'reject'])
    expect(graph.edges.map((edge) => edge.cell)).toEqual(['approve', 'reject'])
  })

  test('ELK gets one port on top and the branches below, in order', () => {
    const input = elkInput(model)
    const tier = input.children?.find((child) => child.id === 'tier')
    const south = tier?.ports?.filter((port) => port.layoutOptions?.['elk.port.side'] === 'SOUTH').slice(1).map((port) => port.x ?? 0) ?? []
    expect(south).toHaveLength(3)
    expect([...south].sort((a, b) => a - b)).toEqual(south)
  })
})

describe('how a run is drawn', () => {
  const model = buildModel(triage, { mode: 'run' })
  const states = new Map<string, NodeState>([
    ['score', state({})],
    ['tier', state({ status: 'running', branch: 'elif-0', sentence: 'true because step.score.output.score is 0.7, less than 0.85' })],
    ['drop', state({ status: 'skipped' })], ['mail', state({ status: 'skipped' })], ['ask', state({ status: 'waiting_people' })], ['decide', state({ status: 'pending' })],
  ])
  const looks = edgeLooks(model, states)
  const look = (from: string, to: string) => looks.get(model.edges.find((edge) => edge.from === from && edge.to === to)?.id ?? '')

  test('lines that the run took are solid, the others dashed, a pending approval is amber, the rest is open', () => {
    expect(look('score', 'tier')).toBe('taken')
    expect(look('tier', 'drop')).toBe('not')
    expect(look('tier', 'ask')).toBe('live')
    expect(look('ask', 'decide')).toBe('open')
  })

  test('a node says which branch the run took, why, and which it did not', () => {
    const tier = model.byId.get('tier')
    expect(tier && describeNode(tier, model, states.get('tier'))).toBe(
      'tier, conditional, took elif-0 because step.score.output.score is 0.7, less than 0.85. Not\u00a0taken: then to drop, else to mail.',
    )
  })

  test('arrow keys follow the taken branch and go to its neighbours', () => {
    expect(neighbour(model, states, 'tier', 'down')).toBe('ask')
    expect(neighbour(model, states, 'ask', 'left')).toBe('drop')
    expect(neighbour(model, states, 'ask', 'right')).toBe('mail')
    expect(neighbour(model, states, 'ask', 'up')).toBe('tier')
  })

  test('the short reason is the deciding value with the last part of its path', () => {
    expect(shortReason('true because step.score.output.score is 0.7, less than 0.85')).toBe('score is 0.7')
    expect(shortReason('false because input is ["a","b"], expected another value')).toBe('input is ["a","b"]')
    expect(shortReason('true because inputs.name is "Doe, Jane", which is in the list')).toBe('name is "Doe, Jane"')
    expect(outcomeText('not_evaluated', null, null, false)).toBe('not evaluated')
    expect(outcomeText('error', null, '`item.count` does not exist', false)).toBe('`item.count` does not exist')
  })
})

describe('large graphs', () => {
  const chain = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
  const large: Drawing = {
    dialect: 'steps', editable: false, hash: 'large',
    nodes: [
      drawn('pick', { kind: 'switch', shape: 'decision', branches: [branch('a', 'a0'), branch('b', 'b0')] }),
      ...[...chain('a', 100), ...chain('b', 100), 'end'].map((id) => drawn(id)),
    ],
    edges: [
      edge('pick', 'a0', { from_branch: 'a', kind: 'branch' }), edge('pick', 'b0', { from_branch: 'b', kind: 'branch' }),
      ...['a', 'b'].flatMap((prefix) => chain(prefix, 100).map((id, n) => edge(id, n === 99 ? 'end' : `${prefix}${n + 1}`))),
    ],
  }
  const states = new Map(large.nodes.map((node) => [node.id, state({ status: node.id.startsWith('b') ? 'skipped' : 'completed', branch: node.id === 'pick' ? 'a' : null })]))

  test('branches that the run did not take become one node, which can be opened', () => {
    const groups = groupsOf(large, states, new Set())
    expect(groups.map((group) => group.nodes.length)).toEqual([100])
    const model = buildModel(large, { mode: 'run', groups })
    expect(model.nodes).toHaveLength(103)
    expect(model.edges.filter((edge) => edge.from === groups[0]?.id)).toHaveLength(1)
    expect(groupsOf(large, states, new Set([groups[0]?.id ?? '']))).toEqual([])
  })
})

test('lines have rounded corners and end before the arrowhead', () => {
  expect(roundedPath([{ x: 0, y: 0 }, { x: 0, y: 20 }, { x: 30, y: 20 }], 2)).toBe('M0 0 L0 13 Q0 20 7 20 L28 20')
  expect(nearestPoint([{ x: 0, y: 0 }, { x: 0, y: 20 }], { x: 5, y: 10 })).toBe(5)
})

test('the arrowhead points along the end of its line', () => {
  expect(headPath([{ x: 0, y: 0 }, { x: 0, y: 20 }], 2)).toBe('M-3 12.5L0 18.5L3 12.5Z')
  expect(headPath([{ x: 0, y: 0 }], 2)).toBe('')
})

test('edges that meet have one arrowhead, that of the most important one', () => {
  const model = buildModel({ dialect: 'steps', editable: false, hash: 'h', nodes: [drawn('a'), drawn('b'), drawn('c')], edges: [edge('a', 'c'), edge('b', 'c')] }, { mode: 'run' })
  const line = [{ x: 0, y: 0 }, { x: 0, y: 20 }]
  const byLook = linesByLook(model, new Map([['a>c', line], ['b>c', line]]), new Map([['a>c', 'not'], ['b>c', 'taken']]))
  expect([byLook.get('not')?.lines.length, byLook.get('not')?.heads.length, byLook.get('taken')?.heads.length]).toEqual([1, 0, 1])
})
