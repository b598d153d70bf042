import type { Drawing } from '../api/types.ts'
import type { Group } from './contract.ts'
import { groupBy } from './model.ts'
import type { NodeState } from './states.ts'

// Small graphs are shown whole. In large ones the parts that a run did not use are folded.
const LARGE_GRAPH = 150
const FOLD_FROM = 4
const COLLAPSE_FRAME_FROM = 41

/** What starts collapsed: frames with more than 40 steps and, in large graphs, branches that the run did not take. `toggled` are exceptions. */
export function groupsOf(drawing: Drawing, states: ReadonlyMap<string, NodeState> | null, toggled: ReadonlySet<string>): Group[] {
  const groups = framesToCollapse(drawing, toggled)
  if (drawing.nodes.length >= LARGE_GRAPH && states !== null) {
    const hidden = new Set(groups.flatMap((group) => group.nodes))
    groups.push(...branchesToFold(drawing, states, toggled, hidden))
  }
  return groups
}

function framesToCollapse(drawing: Drawing, toggled: ReadonlySet<string>): Group[] {
  const byParent = groupBy(drawing.nodes, (node) => node.parent ?? '')
  const groups: Group[] = []
  const inside = (id: string, found: string[] = []): string[] => {
    for (const child of byParent.get(id) ?? []) {
      found.push(child.id)
      inside(child.id, found)
    }
    return found
  }
  for (const node of drawing.nodes) {
    if (node.shape !== 'loop') continue
    const nodes = inside(node.id)
    const isCollapsed = nodes.length >= COLLAPSE_FRAME_FROM ? !toggled.has(node.id) : toggled.has(node.id)
    if (isCollapsed && nodes.length > 0) groups.push({ id: node.id, kind: 'frame', nodes })
  }
  return groups
}

function branchesToFold(drawing: Drawing, states: ReadonlyMap<string, NodeState>, toggled: ReadonlySet<string>, hidden: Set<string>): Group[] {
  const outgoing = groupBy(drawing.edges, (edge) => edge.from)
  const groups: Group[] = []
  for (const node of drawing.nodes) {
    const branch = states.get(node.id)?.branch
    if (branch == null || hidden.has(node.id)) continue
    for (const [name, edges] of groupBy((outgoing.get(node.id) ?? []).filter((edge) => edge.from_branch), (edge) => edge.from_branch ?? '')) {
      if (name === branch) continue
      const id = `${node.id}\u0000${name}`
      const isSkipped = (inner: string) => !hidden.has(inner) && states.get(inner)?.status === 'skipped'
      if (toggled.has(id) || countThrough(outgoing, edges.map((edge) => edge.to), isSkipped, FOLD_FROM) < FOLD_FROM) continue
      const region = onlyThrough(drawing, outgoing, new Set(edges.map((edge) => edge.id)), edges.map((edge) => edge.to))
      const own = region.filter(isSkipped)
      if (own.length < FOLD_FROM) continue
      for (const inner of own) hidden.add(inner)
      groups.push({ id, kind: 'branch', nodes: own })
    }
  }
  return groups
}

/** How many nodes of a kind are connected to these, up to a number: most branches are short, and need no closer look. */
function countThrough(outgoing: Map<string, Drawing['edges']>, starts: string[], accepts: (id: string) => boolean, most: number): number {
  const seen = new Set(starts.filter(accepts))
  const queue = [...seen]
  for (let id = queue.pop(); id !== undefined && seen.size < most; id = queue.pop()) {
    for (const edge of outgoing.get(id) ?? []) {
      if (seen.has(edge.to) || !accepts(edge.to)) continue
      seen.add(edge.to)
      queue.push(edge.to)
    }
  }
  return seen.size
}

/** The nodes that can only be reached over these edges. */
function onlyThrough(drawing: Drawing, outgoing: Map<string, Drawing['edges']>, cut: Set<string>, starts: string[]): string[] {
  const first = drawing.nodes[0]
  if (!first) return []
  const outside = reach(outgoing, [first.id], cut)
  return [...reach(outgoing, starts, new Set())].filter((id) => !outside.has(id))
}

function reach(outgoing: Map<string, Drawing['edges']>, starts: string[], cut: Set<string>): Set<string> {
  const seen = new Set(starts)
  const queue = [...starts]
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    for (const edge of outgoing.get(id) ?? []) {
      if (cut.has(edge.id) || seen.has(edge.to)) continue
      seen.add(edge.to)
      queue.push(edge.to)
    }
  }
  return seen
}
