import type { Drawing, DrawingEdge, DrawingNode } from '../api/types.ts'

/** Steps that are shown as one node: the body of a collapsed loop, or steps of branches that the run did not take. */
export interface Group {
  id: string
  kind: 'frame' | 'branch'
  nodes: string[]
}

export type ContractedEdge = DrawingEdge & { sources: string[] }

export interface Contracted {
  nodes: DrawingNode[]
  edges: ContractedEdge[]
  groups: Map<string, Group>
}

/** The drawing with each group as one node. Edges into and out of a group are merged. */
export function contract(drawing: Drawing, groups: Group[]): Contracted {
  const standIn = new Map<string, string>()
  const known = new Map<string, Group>()
  for (const group of groups) {
    const own = group.nodes.filter((id) => !standIn.has(id))
    if (own.length === 0) continue
    known.set(group.id, { ...group, nodes: own })
    for (const id of own) standIn.set(id, group.id)
  }
  const resolve = (id: string): string => {
    let current = id
    for (let depth = 0; depth < 64; depth++) {
      const next = standIn.get(current)
      if (next === undefined || next === current) return current
      current = next
    }
    return current
  }
  const nodes: DrawingNode[] = []
  const placed = new Set<string>()
  for (const node of drawing.nodes) {
    const id = resolve(node.id)
    if (placed.has(id)) continue
    placed.add(id)
    nodes.push(id === node.id ? node : { ...node, id, branches: [] })
  }
  const merged = new Map<string, ContractedEdge>()
  for (const edge of drawing.edges) {
    const [from, to] = [resolve(edge.from), resolve(edge.to)]
    const isInner = from === to && edge.from !== edge.to
    if (isInner) continue
    const keepsBranch = from === edge.from
    const key = standIn.has(edge.from) || standIn.has(edge.to) ? `${from}\n${keepsBranch ? edge.from_branch ?? '' : ''}\n${to}\n${edge.kind === 'subagent'}` : edge.id
    const same = merged.get(key)
    if (same) same.sources.push(edge.id)
    else merged.set(key, { ...edge, from, to, from_branch: keepsBranch ? edge.from_branch : null, label: keepsBranch ? edge.label : null, sources: [edge.id] })
  }
  return { nodes, edges: [...merged.values()], groups: known }
}
