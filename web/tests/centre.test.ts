import { describe, expect, test } from 'vitest'
import type { DrawingNode } from '../src/api/types.ts'
import { alignChains, centreTrunk } from '../src/graph/centre.ts'
import type { Placement } from '../src/graph/elkInput.ts'
import { buildModel } from '../src/graph/model.ts'

const node = (id: string, change: Partial<DrawingNode> = {}): DrawingNode => ({ id, title: id, kind: 'text', shape: 'action', branches: [], ...change })
const edge = (from: string, to: string) => ({ id: `${from}>${to}`, from, to, kind: 'next' as const, failure: false })

describe('the trunk of a graph', () => {
  const model = buildModel({ dialect: 'steps', editable: false, hash: 'h', nodes: ['a', 'b', 'c', 'd'].map((id) => node(id)), edges: [edge('a', 'b'), edge('a', 'c'), edge('b', 'd'), edge('c', 'd')] }, { mode: 'design' })
  const placement: Placement = {
    width: 500, height: 300,
    nodes: { a: { x: 20, y: 0, width: 100, height: 40 }, b: { x: 20, y: 80, width: 100, height: 40 }, c: { x: 300, y: 80, width: 100, height: 40 }, d: { x: 60, y: 160, width: 100, height: 40 } },
    edges: { 'a>b': [{ x: 70, y: 40 }, { x: 70, y: 80 }], 'a>c': [{ x: 70, y: 40 }, { x: 70, y: 60 }, { x: 350, y: 60 }, { x: 350, y: 80 }], 'b>d': [], 'c>d': [] },
  }

  test('steps that have a row for themselves are in the middle, others stay', () => {
    const centred = centreTrunk(placement, model)
    expect(centred.nodes.a?.x).toBe(200)
    expect(centred.nodes.d?.x).toBe(200)
    expect(centred.nodes.b?.x).toBe(20)
    expect(centred.nodes.c?.x).toBe(300)
  })

  test('edges follow the steps that have moved', () => {
    const centred = centreTrunk(placement, model)
    expect(centred.edges['a>b']).toEqual([{ x: 250, y: 40 }, { x: 250, y: 60 }, { x: 70, y: 60 }, { x: 70, y: 80 }])
    expect(centred.edges['a>c']).toEqual([{ x: 250, y: 40 }, { x: 250, y: 60 }, { x: 350, y: 60 }, { x: 350, y: 80 }])
  })
})

test('a frame stands below the only step that leads to it, with everything inside', () => {
  const model = buildModel({
    dialect: 'steps', editable: false, hash: 'h', nodes: [node('a'), node('loop', { shape: 'loop' }), node('inner', { parent: 'loop' })], edges: [edge('a', 'loop')],
  }, { mode: 'design' })
  const placement: Placement = {
    width: 500, height: 300,
    nodes: { a: { x: 6, y: 0, width: 100, height: 40 }, loop: { x: 100, y: 80, width: 200, height: 100 }, inner: { x: 150, y: 120, width: 100, height: 40 } },
    edges: { 'a>loop': [{ x: 56, y: 40 }, { x: 56, y: 60 }, { x: 200, y: 60 }, { x: 200, y: 80 }] },
  }
  const aligned = alignChains(placement, model)
  const centre = (id: string) => (aligned.nodes[id]?.x ?? 0) + (aligned.nodes[id]?.width ?? 0) / 2
  expect(centre('loop')).toBe(centre('a'))
  expect(centre('inner')).toBe(centre('a'))
  expect(aligned.edges['a>loop']).toHaveLength(2)
  expect(Math.min(...Object.values(aligned.nodes).map((box) => box.x))).toBe(6)
})
